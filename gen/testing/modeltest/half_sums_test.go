package modeltest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
)

// halfContractions returns the contractions of pairContractions in f32, and others whose kernels
// add in f16 in ways of their own. tiled reports that a kernel adds in f16.
func halfContractions() map[string]contraction {
	conv := func(x, w, attrs string) string {
		return "input %x f32[" + x + "]\ninput %kw f32[" + w + "]\n%c ?[*] = Conv.22(%x, %kw) {" + attrs + "}\n"
	}
	all := map[string]contraction{
		"a sum of many blocks":   {conv("1, 400, 9, 10", "24, 400, 1, 1", "") + "%y ?[*] = Relu.14(%c)\noutput %y\n", true},
		"blocks of windows":      {conv("1, 40, 9, 10", "24, 40, 5, 5", "pads = [2, 2, 2, 2]") + "%y ?[*] = Relu.14(%c)\noutput %y\n", true},
		"windows of many points": {conv("1, 3, 40, 40", "16, 3, 9, 9", "strides = [2, 2]") + "%y ?[*] = HardSwish.22(%c)\noutput %y\n", true},
		"transformed windows":    {conv("1, 160, 14, 14", "32, 160, 3, 3", "pads = [1, 1, 1, 1]") + "%y ?[*] = Relu.14(%c)\noutput %y\n", true},
		"SiLU":                   {conv("1, 24, 12, 12", "48, 24, 1, 1", "") + "%s ?[*] = Sigmoid.13(%c)\n%y ?[*] = Mul.14(%c, %s)\noutput %y\n", true},
		"a sum with X": {conv("1, 24, 12, 12", "24, 24, 1, 1", "") +
			"%y ?[*] = Add.14(%c, %x)\noutput %y\n", true},
		"a depthwise step": {"input %x f32[1, 24, 15, 15]\ninput %kw f32[24, 1, 3, 3]\n%c ?[*] = Conv.22(%x, %kw) {group = 24, strides = [2, 2], pads = [1, 1, 1, 1]}\n" +
			"%y ?[*] = Clip.13(%c)\noutput %y\n", true},
		"a maximum": {conv("1, 24, 12, 12", "24, 24, 1, 1", "") + "%y ?[*] = MaxPool.22(%c) {kernel_shape = [3, 3], strides = [2, 2]}\noutput %y\n", true},
	}
	inHalves := []string{"constant W", "constant X", "computed W", "both, not full", "a long sum", "a batch", "broadcast", "heads", "groups that are not full", "transposed", "pointwise", "pointwise in steps", "a window", "padded", "few channels", "dilated in steps",
		"groups", "one axis", "three axes", "depthwise", "many sizes"}
	for name, c := range pairContractions() {
		if name != "widened" && name != "to f32" { // which convert bf16
			all[name] = contraction{strings.ReplaceAll(c.graph, "bf16", "f32"), slices.Contains(inHalves, name)}
		}
	}
	for _, name := range []string{"constant W", "computed W", "padded", "pointwise", "depthwise"} {
		all[name+" of a network in f16"] = contraction{strings.ReplaceAll(pairContractions()[name].graph, "bf16", "f16"), true}
	}
	return all
}

// TestHalfContractions compiles contractions that are stored in f16 for a chip that adds f16. Their
// results in C++ nearly equal the results of the interpreter of loops, and the results in f32.
func TestHalfContractions(t *testing.T) {
	chip := chipstest.Target(t, "arm64_cortex_a76")
	all := halfContractions()
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
		found := map[string]bool{}
		for k := range 8 {
			g, _ := all[name].filledWithNumbers(t)
			p, err := compile(&pipeline.State{Graph: g, Target: chip, Store: ir.F16, SumHalves: true, Candidate: k}, nil)
			require.NoError(t, err, name)
			kernel := halvesOf(p)
			if kernel == "" || found[kernel] {
				continue
			}
			found[kernel] = true
			label := fmt.Sprintf("%s by %s", name, kernel)
			got, err := run.Program(p, InputsOf(p, inputs))
			require.NoError(t, err, label)
			for i, w := range exact {
				assertWithin(t, w, got[i], 0x1p-6, label)
			}
			cases, wants = append(cases, cpptest.Case{Name: label, Program: p, Dims: map[string]int64{"N": 7}, Inputs: InputsOf(p, inputs)}), append(wants, got)
		}
		assert.Equal(t, all[name].tiled, len(found) > 0, "%s: whether a kernel adds in f16", name)
	}
	t.Logf("%d kernels", len(cases))
	for i, got := range armMachine.Run(t, "../../..", cases, chip.Copts...) {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assertWithin(t, w, got.Outputs[k], 0x1p-9, cases[i].Name)
		}
	}
}

// TestLargeHalves: transforms of Winograd's algorithm do not leave the range of f16 if inputs and
// results are far from its end. Those of F(4,3) would make these inputs up to 32 times as large.
func TestLargeHalves(t *testing.T) {
	c := contraction{"const @large f32[] = {12000}\nconst @small f32[] = {0.02}\ninput %x f32[1, 64, 14, 14]\ninput %kw f32[32, 64, 3, 3]\n" +
		"%l ?[*] = Mul.14(%x, @large)\n%w ?[*] = Mul.14(%kw, @small)\n" +
		"%y ?[*] = Conv.22(%l, %w) {pads = [1, 1, 1, 1]}\noutput %y\n", true}
	g, inputs := c.filledWithNumbers(t)
	exact, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	found := map[string]bool{}
	for k := range 24 {
		g, _ := c.filledWithNumbers(t)
		p, err := compile(&pipeline.State{Graph: g, Target: chipstest.Target(t, "arm64_cortex_a76"), Store: ir.F16, SumHalves: true, Candidate: k}, nil)
		require.NoError(t, err)
		kernel := halvesOf(p)
		found[kernel] = true
		got, err := run.Program(p, InputsOf(p, inputs))
		require.NoError(t, err, kernel)
		assertWithin(t, exact[0], got[0], 0x1p-6, kernel)
	}
	assert.Subset(t, slices.Collect(maps.Keys(found)), []string{"winograd F(2,3)", "winograd F(4,3)"})
}

// TestMeansOfHalves: a mean of many f16 is summed in f32. In f16 the sum would be infinite.
func TestMeansOfHalves(t *testing.T) {
	c := contraction{"const @large f32[] = {20}\ninput %x f32[1, 96, 56, 56]\ninput %kw f32[24, 96, 3, 3]\ninput %ka f32[6, 24, 1, 1]\ninput %kb f32[24, 6, 1, 1]\n" +
		"input %kv f32[16, 24, 3, 3]\n%l ?[*] = Mul.14(%x, @large)\n%c ?[*] = Conv.22(%l, %kw) {pads = [1, 1, 1, 1]}\n%r ?[*] = Relu.14(%c)\n" +
		"%g ?[*] = GlobalAveragePool.22(%r)\n%a ?[*] = Conv.22(%g, %ka)\n%b ?[*] = Relu.14(%a)\n%d ?[*] = Conv.22(%b, %kb)\n%e ?[*] = HardSigmoid.6(%d)\n" +
		"%m ?[*] = Mul.14(%r, %e)\n%y ?[*] = Conv.22(%m, %kv) {pads = [1, 1, 1, 1]}\noutput %y\n", true}
	g, inputs := c.filledWithNumbers(t)
	exact, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	p, err := compile(&pipeline.State{Graph: g, Target: chipstest.Target(t, "arm64_cortex_a76"), Store: ir.F16, SumHalves: true}, nil)
	require.NoError(t, err)
	got, err := run.Program(p, InputsOf(p, inputs))
	require.NoError(t, err)
	assertWithin(t, exact[0], got[0], 0x1p-6, "means")
}

// TestRandomHalves: random graphs stored in f16 compute in f16 nearly what they compute in f32, and
// in C++ what they compute in Go.
func TestRandomHalves(t *testing.T) {
	chip := chipstest.Target(t, "arm64_cortex_a76")
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	for s := range uint64(200) {
		r := newRandom(s + 1)
		program := func(halves bool) *plan.Program {
			p, err := compile(&pipeline.State{Graph: newRandom(s + 1).g, Target: chip, Store: ir.F16, SumHalves: halves}, nil)
			if err != nil {
				require.ErrorContains(t, err, "leave the precision out", "seed %d", s+1)
			}
			return p
		}
		wide := program(false)
		if wide == nil {
			continue
		}
		want, err := run.Program(wide, InputsOf(wide, r.inputs))
		if err != nil {
			continue // the dimensions suit no shape of the network
		}
		p, name := program(true), fmt.Sprintf("seed %d", s+1)
		got, err := run.Program(p, InputsOf(p, r.inputs))
		require.NoError(t, err, name)
		for i, w := range want {
			assertWithin(t, w, got[i], 0x1p-6, name)
		}
		if len(cases) < 40 && usesHalves(p) {
			cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Dims: r.env, Inputs: InputsOf(p, r.inputs)}), append(wants, got)
		}
	}
	require.Greater(t, len(cases), 10)
	for i, got := range armMachine.Run(t, "../../..", cases, chip.Copts...) {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assertWithin(t, w, got.Outputs[k], 0x1p-8, cases[i].Name)
		}
	}
}

// halvesOf returns the name of the first kernel that adds in f16, or "".
func halvesOf(p *plan.Program) string {
	for _, c := range p.Calls() {
		found := false
		loop.Walk(c.Kernel.Body, func(s loop.Stmt) bool {
			t, ok := s.(loop.Tile)
			found = found || ok && t.Micro.Instr.InHalves()
			if d, ok := s.(loop.Def); ok && c.Kernel.Anchor == "direct" {
				found = found || d.Init.DType() == ir.F16
			}
			return !found
		})
		if found {
			return c.Kernel.Anchor
		}
	}
	return ""
}

// usesHalves reports whether a kernel has vectors of f16.
func usesHalves(p *plan.Program) bool {
	found := false
	for _, c := range p.Calls() {
		loop.Walk(c.Kernel.Body, func(s loop.Stmt) bool {
			x, ok := s.(loop.For)
			found = found || ok && x.Halves
			return !found
		})
	}
	return found
}

// assertWithin compares numbers: they may differ by a part of the greatest one.
func assertWithin(t *testing.T, want, got *ir.Tensor, part float64, name string) {
	t.Helper()
	require.Equal(t, want.Shape, got.Shape, name)
	most := 0.0
	for i := range want.Len() {
		if x := math.Abs(elementAt(want, i)); !math.IsInf(x, 0) {
			most = max(most, x)
		}
	}
	for i := range want.Len() {
		x, y := elementAt(want, i), elementAt(got, i)
		if d := math.Abs(x - y); x != y && !(math.IsNaN(x) && math.IsNaN(y)) && !(d <= part*most) {
			require.Failf(t, "differs", "%s: element %d is %g, want %g", name, i, y, x)
		}
	}
}
