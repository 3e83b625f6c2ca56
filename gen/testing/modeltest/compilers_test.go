package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/target/hostcpu"
)

// compiledGraph is a random graph as a program, and what it is to compute.
type compiledGraph struct {
	cpptest.Case
	text string
	want []*ir.Tensor
	// exact: no sum may round in another way than the interpreter's.
	exact bool
}

// TestCompilers compiles random graphs with each release of a C++ compiler that the machine has, for each chip that it runs: networks of f32, and
// chains of conversions and exact functions of few elements, of double, too, which compilers make vectors of by themselves.
func TestCompilers(t *testing.T) {
	byChip := map[string][]compiledGraph{}
	for i, chip := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
		on, err := Chip(chip)
		require.NoError(t, err)
		if !hostcpu.Runs(on.GOARCH(), on.CPUFeatures...) {
			t.Logf("this machine does not run code for %s", chip)
			continue
		}
		byChip[chip] = append(randomCases(t, chip, 100+20*i), conversionCases(t, chip, i)...)
	}
	cpptest.EachCompiler(t, func(t *testing.T, m *cpptest.Machine) {
		for chip, graphs := range byChip {
			on, err := Chip(chip)
			require.NoError(t, err)
			for _, level := range []string{"-O2", "-O3"} {
				t.Run(chip+level, func(t *testing.T) { runGraphs(t, m, graphs, append([]string{level}, on.Copts...)) })
			}
		}
	})
}

func runGraphs(t *testing.T, m *cpptest.Machine, graphs []compiledGraph, flags []string) {
	var cases []cpptest.Case
	for _, g := range graphs {
		cases = append(cases, g.Case)
	}
	for i, got := range m.Run(t, root(), cases, flags...) {
		if !assert.Zero(t, got.Status, graphs[i].text) {
			continue
		}
		for k, want := range graphs[i].want {
			if graphs[i].exact {
				assert.Equal(t, want.Data, got.Outputs[k].Data, "output %d of\n%s", k, graphs[i].text)
			} else {
				assert.NoError(t, compare(got.Outputs[k], want), "output %d of\n%s", k, graphs[i].text)
			}
		}
	}
}

// randomCases are random graphs of seeds from a number on.
func randomCases(t *testing.T, chip string, from int) []compiledGraph {
	var out []compiledGraph
	for s := from; len(out) < 12; s++ {
		r := newRandom(uint64(s))
		if len(r.g.Outputs) == 0 {
			continue
		}
		if want, err := interp.Graph(r.g, r.inputs); err == nil {
			out = append(out, compiled(t, newRandom(uint64(s)).g, chip, r.inputs, r.env, want))
		}
	}
	return out
}

// compiled compiles a graph.
func compiled(t *testing.T, g *ir.Graph, chip string, inputs map[string]*ir.Tensor, dims map[string]int64, want []*ir.Tensor) compiledGraph {
	before := text(g)
	p, err := Compile(g, Config{Chip: chip})
	require.NoError(t, err, before)
	of := map[string]int64{}
	for _, s := range p.Symbols {
		of[s.Name] = dims[s.Name]
	}
	return compiledGraph{Case: cpptest.Case{Name: "random", Program: p, Dims: of, Inputs: InputsOf(p, inputs), Denormals: true}, text: before, want: want}
}

// conversionCases are chains of conversions and of functions that round in one way only.
func conversionCases(t *testing.T, chip string, turn int) []compiledGraph {
	r := rand.New(rand.NewPCG(uint64(turn), 7))
	texts := []string{"input %x f64[2]\n%f ?[*] = Cast.13(%x) {to = 1}\n%y ?[*] = Cast.13(%f) {to = 11}\noutput %y\n"}
	for n := range 24 {
		texts = append(texts, conversions(r, 2+n%8))
	}
	var out []compiledGraph
	for _, text := range texts {
		g := irtest.Parse(t, text)
		inputs := map[string]*ir.Tensor{}
		for _, v := range g.Inputs {
			inputs[v.Name] = hardDoubles(r, v.Shape[0])
		}
		want, err := interp.Graph(g, inputs)
		require.NoError(t, err, text)
		c := compiled(t, irtest.Parse(t, text), chip, inputs, nil, want)
		c.exact = true
		out = append(out, c)
	}
	return out
}

// conversions is the text of a chain over vectors of n doubles that ends in double: Cast to another type of floats or to integers and back, and
// functions that neither contraction nor another order changes.
func conversions(r *rand.Rand, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "input %%x f64[%d]\ninput %%z f64[%d]\n", n, n)
	value, names := "x", 0
	add := func(node string, args ...any) {
		names++
		fmt.Fprintf(&b, "%%v%d ?[*] = %s\n", names, fmt.Sprintf(node, args...))
		value = fmt.Sprintf("v%d", names)
	}
	for range 2 + r.IntN(4) {
		switch r.IntN(6) {
		case 0:
			add("%s.13(%%%s)", []string{"Neg", "Abs", "Ceil"}[r.IntN(3)], value)
		case 1:
			add("%s.13(%%%s, %%z)", []string{"Max", "Min"}[r.IntN(2)], value)
		case 2:
			add("Add.14(%%%s, %%z)", value)
		default:
			add("Cast.13(%%%s) {to = %d}", value, []int{1, 1, 1, 10, 16, 6, 7, 12}[r.IntN(8)])
			add("Cast.13(%%%s) {to = 11}", value)
		}
	}
	fmt.Fprintf(&b, "output %%%s\n", value)
	return b.String()
}

// hardDoubles are doubles that no float is, some beyond its range.
func hardDoubles(r *rand.Rand, n interface{ Const() (int64, bool) }) *ir.Tensor {
	size, _ := n.Const()
	x := ir.NewTensor(ir.F64, size)
	for i := range size {
		v := (r.Float64() - 0.5) * math.Ldexp(1, r.IntN(12))
		switch r.IntN(8) {
		case 0:
			v = 1.00000001
		case 1:
			v *= 1e300
		}
		binary.LittleEndian.PutUint64(x.Data[8*i:], math.Float64bits(v))
	}
	return x
}
