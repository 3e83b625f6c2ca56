package ckernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// value is an expression of floats, x being the variable, by package scalar.
func value(t *testing.T, e te.Expr, x float32) float32 {
	switch y := e.(type) {
	case te.Const:
		return float32(scalar.Value(y.Type, math.Float64frombits(y.Bits)))
	case loop.Ref:
		return x
	}
	c := e.(te.Call)
	var args []*scalar.Vec
	var types []ir.DType
	for _, a := range c.Args {
		args, types = append(args, &scalar.Vec{F32: []float32{value(t, a, x)}}), append(types, c.Type)
	}
	if scalar.Lookup(c.Fn).Rounds() {
		types[0] = c.Args[0].DType()
	}
	f, err := scalar.Bind(c.Fn, c.Type, types)
	require.NoError(t, err)
	out := &scalar.Vec{F32: []float32{0}}
	f(out, args)
	return out.F32[0]
}

// TestStored: what a store is given becomes, rounded, the number that it was to store, bit by bit: between two numbers, about zeros and
// bounds of either sign, beyond the greatest, and where it is none.
func TestStored(t *testing.T) {
	buf := &loop.Buffer{Type: ir.F16}
	half := func(v float64) te.Expr { return te.Float(ir.F16, v) }
	rounded, narrowed := te.Fn(ir.F16, "cast", loop.Ref{Name: "x", Type: ir.F32}), te.Fn(ir.F16, "narrow", loop.Ref{Name: "x", Type: ir.F32})
	xs := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e30, -1e30}
	for _, x := range []float32{0x1p-26, 0x1p-25, 0x1.8p-25, 0x1p-24, 0.7, 1, 1 + 0x1p-11, 1 + 0x1p-12, 1 + 0x3p-12, 6, 6.001, 65504, 65519, 65520} {
		xs = append(xs, x, -x)
	}
	bounds := []float64{0, math.Copysign(0, -1), 0x1p-24, 1, -1, 1 + 0x1p-10, 6, 65504, -65504, math.Inf(1)}
	var values []te.Expr
	for _, of := range []te.Expr{rounded, narrowed} {
		for _, a := range bounds {
			low := te.Fn(ir.F16, "max", of, half(a))
			values = append(values, low, te.Fn(ir.F16, "min", of, half(a)), te.Fn(ir.F16, "max", half(a), of),
				te.Fn(ir.F16, "add", of, half(a)), te.Fn(ir.F16, "mul", of, half(a)))
			for _, b := range bounds {
				values = append(values, te.Fn(ir.F16, "min", low, half(b)))
			}
		}
		values = append(values, of, te.Fn(ir.F16, "neg", of), te.Fn(ir.F16, "abs", of), te.Fn(ir.F16, "cast", of), te.Fn(ir.F16, "exp", of))
	}
	for _, v := range values {
		given := heldIf(stored(loop.Store{Buf: buf, Value: v}))
		for _, x := range xs {
			want, got := scalar.F32ToF16(value(t, v, x)), scalar.F32ToF16(value(t, given, x))
			if math.IsNaN(float64(value(t, v, x))) {
				assert.True(t, math.IsNaN(float64(value(t, given, x))))
				continue
			}
			assert.Equal(t, fmt.Sprintf("%04x", want), fmt.Sprintf("%04x", got), "%v of %x", v, x)
		}
	}
	// It is the same where nothing is rounded.
	is := func(want te.Expr, held bool, x loop.Store) {
		t.Helper()
		got, narrowed := stored(x)
		assert.Equal(t, want, got)
		assert.Equal(t, held, narrowed)
	}
	x := loop.Ref{Name: "x", Type: ir.F32}
	is(rounded, false, loop.Store{Buf: &loop.Buffer{Type: ir.F16, Local: true}, Value: rounded})
	is(narrowed, false, loop.Store{Buf: &loop.Buffer{Type: ir.F16, Local: true}, Value: narrowed})
	// Bounds are rounded after, roundings within an operation's operands stay.
	is(te.Fn(ir.F32, "min", x, half(6)), false, loop.Store{Buf: buf, Value: te.Fn(ir.F16, "min", rounded, half(6))})
	is(te.Fn(ir.F32, "add", rounded, half(6)), false, loop.Store{Buf: buf, Value: te.Fn(ir.F16, "add", rounded, half(6))})
	// What narrows is held within the range, unless bounds do that.
	low := te.Fn(ir.F32, "max", x, half(1))
	is(x, true, loop.Store{Buf: buf, Value: narrowed})
	is(low, true, loop.Store{Buf: buf, Value: te.Fn(ir.F16, "max", narrowed, half(1))})
	is(te.Fn(ir.F32, "min", low, half(6)), false, loop.Store{Buf: buf, Value: te.Fn(ir.F16, "min", te.Fn(ir.F16, "max", narrowed, half(1)), half(6))})
}

// heldIf holds a value within the range of f16 as the scalar function narrow does.
func heldIf(v te.Expr, narrowed bool) te.Expr {
	if narrowed {
		return te.Fn(ir.F16, "narrow", v)
	}
	return v
}
