package modeltest

import (
	"fmt"
	"maps"
	"slices"
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
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// notWidened are contractions of halfContractions that no kernel multiplies as f16: windows, and
// one without elements.
var notWidened = []string{"a depthwise step", "depthwise", "depthwise of a network in f16", "no elements"}

// TestWidenedContractions compiles contractions that are stored in f16 for a chip that multiplies
// f16 and adds in f32. Their results in C++ are the bytes of the interpreter of loops.
func TestWidenedContractions(t *testing.T) {
	chip := chipstest.Target(t, "arm64_i8mm")
	all := halfContractions()
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	var without []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g, inputs := all[name].filledWithNumbers(t)
		exact, err := interp.Graph(g, inputs)
		require.NoError(t, err, name)
		found := map[string]bool{}
		for k := range 8 {
			g, _ := all[name].filledWithNumbers(t)
			p, err := compile(&pipeline.State{Graph: g, Target: chip, Store: storeOf(g), Candidate: k}, nil)
			require.NoError(t, err, name)
			kernel := widenedBy(p)
			if kernel == "" || found[kernel] {
				continue
			}
			found[kernel] = true
			label := fmt.Sprintf("%s by %s", name, kernel)
			got, err := run.Program(p, InputsOf(p, inputs))
			require.NoError(t, err, label)
			for i, w := range exact {
				assertWithin(t, w, got[i], 0x1p-8, label)
			}
			cases, wants = append(cases, cpptest.Case{Name: label, Program: p, Dims: map[string]int64{"N": 7}, Inputs: InputsOf(p, inputs)}), append(wants, got)
		}
		if len(found) == 0 {
			without = append(without, name)
		}
	}
	assert.Equal(t, notWidened, without)
	for i, got := range armMachine.Run(t, "../../..", cases, chip.Copts...) {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assert.Equal(t, w.Data, got.Outputs[k].Data, cases[i].Name)
		}
	}
}

// TestWidenedVariants: all variants have kernels in tiles. If the last chip packs weights as f32,
// one that multiplies f16 reads the same weights.
func TestWidenedVariants(t *testing.T) {
	for _, names := range [][]string{{"arm64", "arm64_i8mm"}, {"arm64_i8mm", "arm64"}} {
		g, inputs := halfContractions()["pointwise"].filledWithNumbers(t)
		exact, err := interp.Graph(g, inputs)
		require.NoError(t, err)
		var chips []*target.Target
		for _, name := range names {
			chips = append(chips, chipstest.Target(t, name))
		}
		s := &pipeline.State{Graph: g, Store: ir.F16}
		require.NoError(t, s.SetChips(chips))
		p, err := compile(s, nil)
		require.NoError(t, err)
		for i, name := range names {
			tiles := 0
			for _, c := range p.Variant(i).Calls() {
				loop.Tiles(c.Kernel.Body, func(loop.Tile) { tiles++ })
			}
			assert.Positive(t, tiles, "%s of %v", name, names)
			got, err := run.Program(p.Variant(i), InputsOf(p, inputs))
			require.NoError(t, err)
			assertWithin(t, exact[0], got[0], 0x1p-8, name)
		}
		if names[0] == "arm64_i8mm" {
			_, alone := p.ConstantBytes(0)
			assert.Zero(t, alone, "weights that only %s reads", names[0])
		}
	}
}

// storeOf returns the type in which a graph of f32 is stored, or none for a graph of f16.
func storeOf(g *ir.Graph) ir.DType {
	if g.Inputs[0].Type == ir.F16 {
		return ir.Invalid
	}
	return ir.F16
}

// widenedBy returns the name of the first kernel that adds products of f16 in f32, or "".
func widenedBy(p *plan.Program) string {
	for _, c := range p.Calls() {
		found := false
		loop.Tiles(c.Kernel.Body, func(t loop.Tile) { found = found || t.Micro.Instr.WidensHalves() })
		if found {
			return c.Kernel.Anchor
		}
	}
	return ""
}
