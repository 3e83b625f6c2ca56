package instr

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

func TestRowsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Table() {
		t.Run(r.Name, func(t *testing.T) {
			assert.False(t, names[r.Name], "another row has the name")
			names[r.Name] = true
			assert.Same(t, r, Lookup(r.Name))
			assert.NotEmpty(t, r.CPU)
			assert.Contains(t, []int64{4, 8, 16}, r.Lanes)
			assert.Equal(t, int64(1), r.Group, "micro-kernels take in one product at a time")
			assert.Positive(t, r.Ops)
			assert.Positive(t, r.Latency)
			assert.Equal(t, r.Acc, r.Meaning.DType())
			require.NotEmpty(t, r.Broadcast)
			assert.NotEqual(t, Lane, r.Broadcast[len(r.Broadcast)-1], "something must do where X has no neighbours")
			assert.False(t, r.Allows(Vector) && contains(r.Broadcast, Vector), "a vector is no broadcast")
			assert.Equal(t, "acc += x[0] * b1;", r.Text("cpp", "acc", "x[0]", "b1"))
			assert.Empty(t, r.Text("no dialect", "a", "x", "w"))
		})
	}
	assert.Nil(t, Lookup("fma"))
}

func contains(list []Operand, o Operand) bool {
	for _, x := range list {
		if x == o {
			return true
		}
	}
	return false
}

// eval is an expression's value by package scalar.
func eval(t *testing.T, e te.Expr, acc, x, w float32) float32 {
	switch y := e.(type) {
	case te.Acc:
		return acc
	case te.In:
		return []float32{x, w}[y.N]
	case te.Call:
		var args []*scalar.Vec
		var types []ir.DType
		for _, a := range y.Args {
			args = append(args, &scalar.Vec{F32: []float32{eval(t, a, acc, x, w)}})
			types = append(types, a.DType())
		}
		f, err := scalar.Bind(y.Fn, y.Type, types)
		require.NoError(t, err)
		out := &scalar.Vec{F32: make([]float32, 1)}
		f(out, args)
		return out.F32[0]
	}
	t.Fatalf("%T has no place in a meaning", e)
	return 0
}

// TestMeaning: the accumulator plus the product of X and W, to within the rounding of the product.
func TestMeaning(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, r := range Table() {
		assert.Equal(t, float32(17), eval(t, r.Meaning, 2, 3, 5), r.Name)
		for range 1000 {
			acc, x, w := random.Float32()-0.5, random.Float32()-0.5, random.Float32()-0.5
			want := float64(acc) + float64(x)*float64(w)
			assert.InDelta(t, want, eval(t, r.Meaning, acc, x, w), math.Ldexp(1, -24), r.Name)
		}
	}
}

func TestBroadcaster(t *testing.T) {
	for _, c := range []struct {
		row   string
		steps int64
		want  Operand
	}{
		{"fma_f32x4", 8, Lane},
		{"fma_f32x4", 7, Register},
		{"fma_f32x4", 0, Register},
		{"fma_f32x8", 8, Register},
		{"fma_f32x16", 16, Memory},
		{"muladd_f32x4", 8, Register},
	} {
		assert.Equal(t, c.want, Lookup(c.row).Broadcaster(c.steps), "%s, %d neighbours", c.row, c.steps)
	}
}

func TestRegistersAndLoads(t *testing.T) {
	for _, c := range []struct {
		row           string
		x             Operand
		rows, vectors int64
		registers     int64
		loads, instrs float64
	}{
		{"fma_f32x8", Register, 6, 2, 12 + 2 + 1 + 1, 6, 6},
		{"fma_f32x8", Vector, 14, 1, 14 + 1 + 1, 14, 0},
		{"fma_f32x16", Memory, 31, 1, 31 + 1, 31, 0},
		{"fma_f32x16", Memory, 14, 2, 28 + 2 + 1, 14, 14},
		{"fma_f32x4", Lane, 9, 2, 18 + 2 + 9 + 1, 2.25, 2.25},
		{"fma_f32x4", Register, 6, 4, 24 + 4 + 1 + 1, 6, 6},
		{"fma_f32x4", Vector, 9, 2, 18 + 2 + 9 + 1, 18, 18},
	} {
		r := Lookup(c.row)
		assert.Equal(t, c.registers, r.Registers(c.x, c.rows, c.vectors), "%+v", c)
		loads, instrs := r.Loads(c.x, c.rows, c.vectors)
		assert.Equal(t, []float64{c.loads, c.instrs}, []float64{loads, instrs}, "%+v", c)
	}
}
