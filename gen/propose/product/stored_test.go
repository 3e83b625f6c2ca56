package product

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/target/instr"
)

// TestLayouts: GCD2's layouts are for products and for convolutions of single pixels, which read activations as they are stored.
func TestLayouts(t *testing.T) {
	wanted := func(b *block.Block) []string {
		var out []string
		env := lower.NewEnv(lowertest.Chip(t, "hexagon_v68"), nil, lower.Options{Contractions: true})
		require.NoError(t, Layouts(b, env, func(v *ir.Value, l layout.Layout) {
			if s := v.Name + " " + l.String(); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}))
		return out
	}
	assert.Equal(t, []string{"x axis3/32+axis1/4", "w axis0/32+axis1/4", "x axis3/64+axis1/2", "x axis3/128"}, wanted(lowertest.Formed(t, lowertest.WholePixels)))
	assert.Equal(t, []string{"w axis0/32+axis1/4"}, wanted(lowertest.Formed(t, lowertest.Neighbours)))
	assert.Equal(t, []string{"x axis0/32+axis1/4", "w axis0/4", "w axis1/32+axis0/4", "x axis1/4", "x axis0/64+axis1/2", "x axis0/128"},
		wanted(lowertest.Formed(t, "  input %x u8[40, 6]\n  input %w i8[6, 33]\n  %y ?[*] = MatMulInteger.10(%x, %w)\n  output %y\n")))
	assert.Empty(t, wanted(lowertest.Formed(t, "  input %x f32[40, 6]\n  input %w f32[6, 33]\n  %y ?[*] = MatMul.13(%x, %w)\n  output %y\n")))
}

// TestStoredFactors: what is stored as an instruction reads it is not packed, and results are stored so, too.
func TestStoredFactors(t *testing.T) {
	columns := DotLayout(instr.Lookup("vrmpy_i8u8"), 3, 1)
	for name, c := range map[string]struct {
		graph   string
		layouts map[string]layout.Layout
		stages  []int // of each kernel
		values  []string
	}{
		"row-major":       {lowertest.WholePixels, nil, []int{2}, nil},
		"columns":         {lowertest.WholePixels, map[string]layout.Layout{"x": columns, "y": columns}, []int{1}, []string{"0 1 2 3 3*32 1*4", "0 1 2 3 3*32 1*4"}},
		"packed of these": {lowertest.Neighbours, map[string]layout.Layout{"x": columns}, []int{3}, []string{"0 1 2 3 3*32 1*4"}},
		"padded channels": {"  input %x u8[1, 32, 8, 64]\n  input %w i8[46, 32, 1, 1]\n  %y ?[*] = ConvInteger.10(%x, %w)\n  output %y\n",
			map[string]layout.Layout{"x": columns, "y": columns}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Propose(lowertest.Formed(t, c.graph), lowertest.HexagonEnv(t, c.layouts))
			require.NoError(t, err)
			var stages []int
			for _, l := range all {
				stages = append(stages, len(l.Schedule.Stages))
				var values []string
				for _, v := range l.Schedule.Values {
					values = append(values, v.Parts.String())
				}
				assert.Equal(t, c.values, values)
				require.NoError(t, l.Check())
				require.NoError(t, l.Make())
			}
			assert.Equal(t, c.stages, stages)
		})
	}
}

// TestExactConstants: constants that an instruction can hold minus their zero point are packed so, and nothing corrects the sums; others are
// packed less a constant.
func TestExactConstants(t *testing.T) {
	for greatest, stages := range map[string]int{"9": 1, "250": 2} {
		b := lowertest.Formed(t, `
  const @w u8[4, 2] = {1, 2, 3, 4, 5, 6, 7, `+greatest+`}
  const @a u8[] = {0}
  const @b u8[] = {100}
  input %x u8[8, 4]
  %y i32[8, 2] = MatMulInteger.10(%x, @w, @a, @b)
  output %y
`)
		all, err := Propose(b, lowertest.HexagonEnv(t, nil))
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Len(t, all[0].Schedule.Stages, stages, greatest)
	}
}
