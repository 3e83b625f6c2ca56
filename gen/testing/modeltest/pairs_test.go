package modeltest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/hostcpu"
)

// pairContractions are contractions of bf16, of which names that begin with k are constants; pairs: instructions take in pairs of products.
func pairContractions() map[string]contraction {
	conv := func(x, w, b, attrs string) string {
		return "input %x bf16[" + x + "]\ninput %kw bf16[" + w + "]\ninput %kb bf16[" + b + "]\n%c ?[*] = Conv.22(%x, %kw, %kb) {" + attrs + "}\n%y ?[*] = Relu.14(%c)\noutput %y\n"
	}
	return map[string]contraction{
		"constant W":               {"input %a bf16[20, 32]\ninput %kb bf16[32, 40]\n%y ?[*] = MatMul.13(%a, %kb)\noutput %y\n", true},
		"computed W":               {"input %a bf16[20, 32]\ninput %b bf16[32, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"constant X":               {"input %ka bf16[20, 30]\ninput %b bf16[30, 40]\n%y ?[*] = MatMul.13(%ka, %b)\noutput %y\n", true},
		"groups that are not full": {"input %a bf16[20, 31]\ninput %kb bf16[31, 40]\n%y ?[*] = MatMul.13(%a, %kb)\noutput %y\n", true},
		"both, not full":           {"input %a bf16[21, 7]\ninput %b bf16[7, 19]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"a long sum":               {"input %a bf16[24, 777]\ninput %b bf16[777, 33]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"to f32":                   {"input %a bf16[20, 32]\ninput %kb bf16[32, 40]\n%c ?[*] = MatMul.13(%a, %kb)\n%y ?[*] = Cast.13(%c) {to = 1}\noutput %y\n", true},
		"transposed":               {"input %a bf16[20, 32]\ninput %kb bf16[40, 32]\ninput %kc bf16[40]\n%y ?[*] = Gemm.13(%a, %kb, %kc) {transB = 1}\noutput %y\n", true},
		"a batch":                  {"input %a bf16[2, 3, 10, 12]\ninput %b bf16[2, 3, 12, 24]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"broadcast":                {"input %a bf16[2, 1, 20, 33]\ninput %b bf16[1, 3, 33, 48]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", true},
		"heads": {"input %a bf16[1, 18, 4, 16]\ninput %b bf16[1, 18, 4, 16]\n%q ?[*] = Transpose.13(%a) {perm = [0, 2, 1, 3]}\n%k ?[*] = Transpose.13(%b) {perm = [0, 2, 3, 1]}\n" +
			"%y ?[*] = MatMul.13(%q, %k)\noutput %y\n", true},
		"many sizes":         {"symbol N 1..400\ninput %a bf16[N, 33]\ninput %kb bf16[33, 48]\n%y ?[*] = MatMul.13(%a, %kb)\noutput %y\n", true},
		"widened":            {"input %a bf16[20, 32]\ninput %b f32[32, 40]\n%c ?[*] = Cast.13(%a) {to = 1}\n%y ?[*] = MatMul.13(%c, %b)\noutput %y\n", true},
		"pointwise":          {conv("2, 8, 5, 7", "12, 8, 1, 1", "12", ""), true},
		"pointwise in steps": {conv("1, 8, 9, 11", "32, 8, 1, 1", "32", "strides = [2, 2]"), true},
		"a window":           {conv("1, 8, 9, 11", "32, 8, 3, 3", "32", ""), true},
		"padded":             {conv("2, 16, 8, 21", "48, 16, 3, 3", "48", "pads = [1, 1, 1, 1]"), true},
		"few channels":       {conv("1, 3, 12, 21", "16, 3, 5, 5", "16", "pads = [2, 2, 2, 2], strides = [2, 2]"), true},
		"dilated in steps":   {conv("1, 16, 13, 22", "64, 16, 3, 3", "64", "pads = [2, 1, 0, 2], dilations = [2, 3], strides = [2, 3]"), true},
		"groups":             {conv("1, 32, 9, 11", "64, 16, 3, 3", "64", "group = 2, pads = [1, 1, 1, 1]"), true},
		"one axis":           {conv("1, 8, 40", "16, 8, 3", "16", "pads = [1, 1]"), true},
		"three axes":         {conv("1, 16, 6, 7, 9", "32, 16, 3, 3, 3", "32", "pads = [1, 1, 1, 1, 1, 1]"), true},
		"depthwise":          {conv("1, 16, 12, 21", "16, 1, 3, 3", "16", "group = 16, pads = [1, 1, 1, 1]"), false},
		"no elements":        {"input %a bf16[20, 0]\ninput %b bf16[0, 40]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y\n", false},
	}
}

// filledWithNumbers is such a graph with constants, and its inputs, of random numbers, and zeros.
func (c contraction) filledWithNumbers(t *testing.T) (*ir.Graph, map[string]*ir.Tensor) {
	t.Helper()
	g := irtest.Parse(t, c.graph)
	r := &random{Rand: rand.New(rand.NewPCG(1, 2)), env: map[string]int64{"N": 7}}
	inputs := map[string]*ir.Tensor{}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v *ir.Value) bool {
		x := ir.NewTensor(v.Type, r.concrete(v.Shape)...)
		for i := range x.Len() {
			n := float32(r.NormFloat64())
			if r.IntN(50) == 0 {
				n = 0
			}
			setNumber(x, i, n)
		}
		if strings.HasPrefix(v.Name, "k") {
			v.Const = x
			return true
		}
		inputs[v.Name] = x
		return false
	})
	return g, inputs
}

// without is a chip without instructions of some names.
func without(t *testing.T, chip string, names ...string) *target.Target {
	t.Helper()
	all, err := chips.All()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(c chips.Chip) bool { return c.Name == chip })
	var facts map[string]any
	require.NoError(t, json.Unmarshal(all[i].Facts, &facts))
	facts["instructions"] = slices.DeleteFunc(facts["instructions"].([]any), func(name any) bool { return slices.Contains(names, name.(string)) })
	text, err := json.Marshal(facts)
	require.NoError(t, err)
	out, err := target.Parse(text)
	require.NoError(t, err)
	return out
}

// TestPairContractions: contractions of bf16 take in pairs of products where that is asked for, and only there; what they give in C++ are the bytes of the
// interpreter of loops, and but for the order of sums and for denormal numbers what stages mean.
func TestPairContractions(t *testing.T) {
	zen4 := chipstest.Target(t, "x86_64_zen4")
	arm := chipstest.Target(t, "arm64_i8mm")
	for _, c := range []struct {
		name    string
		chip    *target.Target
		machine *cpptest.Machine
		flags   []string
		runs    bool // here
	}{
		{"vectors", zen4, &cpptest.Host, zen4.Copts, hostcpu.Has("avx512bf16")},
		{"matrices", without(t, "x86_64_sapphire_rapids", "vdpbf16ps_x16"), &cpptest.Host, portable, true},
		{"lanes", arm, &armMachine, arm.Copts, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := pairContractions()
			names := make([]string, 0, len(all))
			for name := range all {
				names = append(names, name)
			}
			slices.Sort(names)
			var cases []cpptest.Case
			var wants [][]*ir.Tensor
			for _, name := range names {
				g, inputs := all[name].filledWithNumbers(t)
				exact, err := interp.Graph(g, inputs)
				require.NoError(t, err, name)
				plain, err := CompileFor(g, c.chip, nil)
				require.NoError(t, err, name)
				for _, call := range plain.Calls() {
					assert.False(t, inPairs(call.Kernel), "%s: nobody asked for pairs", name)
				}
				p := pairedProgram(t, all[name], c.chip)
				assert.Equal(t, all[name].tiled, p != nil, name)
				if p == nil {
					continue
				}
				got, err := run.Program(p, InputsOf(p, inputs))
				require.NoError(t, err, name)
				for k, w := range exact {
					assertWithin(t, w, got[k], tolerances[ir.BF16], name)
				}
				cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Dims: map[string]int64{"N": 7}, Inputs: InputsOf(p, inputs)}), append(wants, got)
			}
			if !c.runs {
				t.Skip("this machine has no such instructions")
			}
			for i, got := range c.machine.Run(t, "../../..", cases, c.flags...) {
				require.Zero(t, got.Status, cases[i].Name)
				for k, w := range wants[i] {
					assert.Equal(t, w.Data, got.Outputs[k].Data, cases[i].Name)
				}
			}
		})
	}
}

// pairedProgram is the program of the first kernels of a contraction, in the order of estimates, that take in pairs; nil where none does.
func pairedProgram(t *testing.T, c contraction, chip *target.Target) *plan.Program {
	t.Helper()
	for k := range 8 {
		g, _ := c.filledWithNumbers(t)
		p, err := compile(&pipeline.State{Graph: g, Target: chip, Store: ir.BF16, Candidate: k}, nil)
		require.NoError(t, err)
		if slices.ContainsFunc(p.Calls(), func(call *plan.Call) bool { return inPairs(call.Kernel) }) {
			require.Equal(t, "bf16", p.Precision.Product)
			require.Positive(t, p.Precision.Pairs)
			return p
		}
		require.Equal(t, "f32", p.Precision.Product)
	}
	return nil
}

// TestRandomPairs: random graphs stored in bf16 compute on a chip with instructions for pairs what they do on one without, where products are widened, but
// for roundings, and in C++ what they do in Go.
func TestRandomPairs(t *testing.T) {
	zen4 := chipstest.Target(t, "x86_64_zen4")
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	for s := range uint64(150) {
		r := newRandom(s + 1)
		program := func(chip string, candidate int) *plan.Program {
			c := chipstest.Target(t, chip)
			p, err := compile(&pipeline.State{Graph: newRandom(s + 1).g, Target: c, Store: ir.BF16, Candidate: candidate}, nil)
			if err != nil {
				require.ErrorContains(t, err, "leave the precision out", "seed %d", s+1)
			}
			return p
		}
		widened := program("x86_64_v4", 0)
		if widened == nil {
			continue
		}
		want, err := run.Program(widened, InputsOf(widened, r.inputs))
		if err != nil {
			continue // the dimensions suit no shape of the network
		}
		for k := range 4 {
			p := program("x86_64_zen4", k)
			if !slices.ContainsFunc(p.Calls(), func(call *plan.Call) bool { return inPairs(call.Kernel) }) {
				continue
			}
			name := fmt.Sprintf("seed %d, candidate %d", s+1, k)
			got, err := run.Program(p, InputsOf(p, r.inputs))
			require.NoError(t, err, name)
			for i, w := range want {
				assertWithin(t, w, got[i], tolerances[ir.BF16], name)
			}
			cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Dims: r.env, Inputs: InputsOf(p, r.inputs)}), append(wants, got)
			break
		}
	}
	t.Logf("%d graphs", len(cases))
	require.Greater(t, len(cases), 10)
	if !hostcpu.Has("avx512bf16") {
		t.Skip("this machine has no such instructions")
	}
	for i, got := range cpptest.Run(t, "../../..", cases, zen4.Copts...) {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assertWithin(t, w, got.Outputs[k], tolerances[ir.BF16], cases[i].Name)
		}
	}
}

// inPairs reports whether a kernel's tiles take in pairs of products of floats.
func inPairs(k *loop.Kernel) bool {
	found := false
	loop.Tiles(k.Body, func(x loop.Tile) { found = found || x.Micro.Instr.InPairs() })
	return found
}
