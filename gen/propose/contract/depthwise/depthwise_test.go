package depthwise

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract/contracttest"
)

// TestDirectTypes: a depthwise convolution of 16 bits reads X where it lies as one of f32 does, and W as it is packed for the chip: both become f32 in
// loads, each once for a row of taps.
func TestDirectTypes(t *testing.T) {
	for _, c := range []struct {
		chip    string
		typ     ir.DType
		weights ir.DType
	}{
		{"x86_64", ir.F16, ir.F32},
		{"x86_64", ir.BF16, ir.F32},
		{"x86_64_v3", ir.F32, ir.F32},
		{"x86_64_v3", ir.F16, ir.F32},
		{"x86_64_v4", ir.F16, ir.F32},
		{"x86_64_v4", ir.BF16, ir.F32},
	} {
		t.Run(c.chip+"/"+c.typ.String(), func(t *testing.T) {
			b, env := contracttest.Convolution(t, c.typ, "1, 40, 14, 14; 40, 1, 3, 3; group = 40, pads = [1, 1, 1, 1]", c.chip, true)
			l, err := Candidate(b, env)
			require.NoError(t, err)
			require.NotNil(t, l)
			require.NoError(t, loop.Verify(l.Kernel))
			assert.Equal(t, c.weights, l.Packing.Type)
			values, err := l.Args()
			require.NoError(t, err)
			assert.Equal(t, []ir.DType{c.typ, c.weights, c.typ}, []ir.DType{values[0].Type, values[1].Type, values[2].Type})
			loads, sums := map[ir.DType]int{}, 0
			loop.Walk(l.Kernel.Body, func(s loop.Stmt) bool {
				if loop.MultiplyAdds(s) {
					sums++
				}
				d, isDef := s.(loop.Def)
				if !isDef {
					return true
				}
				assert.Equal(t, ir.F32, d.Init.DType(), "%s is a float in registers", d.Name)
				te.Walk(d.Init, func(e te.Expr) {
					if m, isMem := e.(loop.Mem); isMem {
						loads[m.Buf.Type]++
					}
				})
				return true
			})
			for typ := range loads {
				assert.Contains(t, []ir.DType{c.typ, c.weights}, typ)
			}
			assert.Positive(t, sums)
			assert.Less(t, loads[c.typ]+loads[c.weights], 2*sums, "what several products read is loaded, and converted, once")
		})
	}
}

// TestDirectBias: what results read of constants of 16 bits is packed as float32, of which no pixel converts it again.
func TestDirectBias(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F16, "1, 40, 14, 14; 40, 1, 3, 3; group = 40, pads = [1, 1, 1, 1]; 40", "x86_64_v4", true)
	l, err := Candidate(b, env)
	require.NoError(t, err)
	require.NotNil(t, l)
	require.NoError(t, loop.Verify(l.Kernel))
	values, err := l.Args()
	require.NoError(t, err)
	require.Len(t, values, 4)
	for i, want := range []ir.DType{ir.F16, ir.F32, ir.F32, ir.F16} {
		assert.Equal(t, want, values[i].Type, values[i].Name)
		assert.Equal(t, want, l.Kernel.Buffers[i].Type, l.Kernel.Buffers[i].Name)
	}
}
