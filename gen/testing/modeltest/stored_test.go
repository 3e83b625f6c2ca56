package modeltest

import (
	"errors"
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
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// chain is a graph of functions of one value, and a transposition among them, so that each value is read in one layout and written in
// another one.
func chain(r *rand.Rand, dims []int64) string {
	perm := r.Perm(len(dims))
	turned := make([]string, len(dims))
	for i, p := range perm {
		turned[i] = fmt.Sprint(p)
	}
	return fmt.Sprintf(`  input %%x f32%s
  %%a ?[*] = Neg.13(%%x)
  %%b ?[*] = Abs.13(%%a)
  %%c ?[*] = Transpose.13(%%b) {perm = [%s]}
  %%d ?[*] = Neg.13(%%c)
  %%e ?[*] = Relu.14(%%d)
  %%f ?[*] = Sub.14(%%d, %%c)
  %%y ?[*] = Add.14(%%e, %%f)
  output %%y
  output %%d
`, strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), strings.Join(turned, ", "))
}

// TestStored: values of random shapes and layouts become ones of other layouts, in the interpreter of loops and in C++.
func TestStored(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	others, padded := 0, 0
	for n := range 48 {
		dims, size := make([]int64, 2+n%4), 1
		for i := range dims {
			dims[i] = 1 + r.Int64N(9)
			size *= int(dims[i])
		}
		x := ir.NewTensor(ir.F32, dims...)
		for i := range size {
			put(x, i, float32(i+1))
		}
		text := chain(r, dims)
		inputs := map[string]*ir.Tensor{"x": x}
		want, err := interp.Graph(irtest.Parse(t, text), inputs)
		require.NoError(t, err)
		c := Config{Chip: Chips[n/4%3], Disable: []string{"fuse"}}
		if n%3 == 0 {
			c.Disable = nil
		}
		p, got, err := RunStored(irtest.Parse(t, text), c, AnyLayouts(uint64(n)), inputs)
		require.NoError(t, err, "%s\n%s", c, text)
		for i, w := range want {
			require.NoError(t, compare(got[i], w), "%s\n%s\n%s", c, text, p)
		}
		o, pads := unusual(t, p)
		others, padded = others+o, padded+pads
		if c.Chip == Chips[0] { // any processor runs it
			cases, wants = append(cases, cpptest.Case{Name: fmt.Sprint(n), Program: p, Inputs: InputsOf(p, inputs)}), append(wants, want)
		}
	}
	assert.Greater(t, others, 100, "values are stored in other layouts")
	assert.Greater(t, padded, 40, "of which some are padded")
	require.NotEmpty(t, cases)
	if testing.Short() {
		return
	}
	for i, got := range cpptest.Run(t, "../../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assert.NoError(t, compare(got.Outputs[k], w), "%s: output %d", cases[i].Name, k)
		}
	}
}

// unusual is how many values of a program are not row-major, and how many of these are padded.
func unusual(t *testing.T, p *plan.Program) (others, padded int) {
	for v, l := range p.Layouts {
		read, err := layout.Parse(l.String()) // the manifest's text
		require.NoError(t, err)
		require.True(t, read == l && l.Fits(v.Shape), "%s of %v", l, v.Shape)
		if l == layout.RowMajor {
			continue
		}
		if others++; l.Padded(v.Shape) {
			padded++
		}
	}
	return others, padded
}

// put sets an element.
func put(x *ir.Tensor, i int, to float32) {
	bits := math.Float32bits(to)
	for k := range 4 {
		x.Data[4*i+k] = byte(bits >> (8 * k))
	}
}

// TestStoredGraphs: random graphs compute the same whatever layouts their values have.
func TestStoredGraphs(t *testing.T) {
	others := 0
	for s := uint64(1); s <= 60; s++ {
		r := newRandom(s)
		if len(r.g.Outputs) == 0 {
			continue
		}
		want, refused := interp.Graph(r.g, r.inputs)
		c := Config{Chip: Chips[s%uint64(len(Chips))]}
		if s%2 == 0 {
			c.Disable = []string{"fuse"}
		}
		r = newRandom(s)
		p, got, err := RunStored(r.g, c, AnyLayouts(s), r.inputs)
		if refused != nil && (errors.As(err, new(*run.DimsError)) || len(r.g.Symbols) > 0) {
			continue
		}
		require.NoError(t, err, "seed %d, %s\n%s", s, c, text(r.g))
		n, _ := unusual(t, p)
		others += n
		for i, w := range want {
			require.NoError(t, compare(got[i], w), "seed %d, %s: output %d\n%s\n%s", s, c, i, text(r.g), p)
		}
	}
	assert.Greater(t, others, 60, "values are stored in other layouts")
}
