package exact

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestReproducible: nothing is concluded from a function that compiled code does not compute bit for bit, in what is quantized or in the block before.
func TestReproducible(t *testing.T) {
	x, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.05, 100}
	one := x.dequantized(x.element(0))
	f32 := func(fn string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, fn, args...) }
	half := te.Fn(ir.F32, "cast", te.Fn(ir.F16, "cast", one))
	wide := te.Fn(ir.F32, "cast", te.Fn(ir.F64, "add", te.Fn(ir.F64, "cast", one), te.Float(ir.F64, 1)))
	for name, c := range map[string]struct {
		e    te.Expr
		want bool
	}{
		"exp": {f32("exp", one), false}, "tanh": {f32("tanh", one), false}, "erf": {f32("erf", one), false}, "log": {f32("log", one), false},
		"pow": {f32("pow", one, te.Float(ir.F32, 3)), false}, "fma": {f32("fma", one, one, one), false}, "half": {half, false}, "wide": {wide, false},
		"an exp within": {add(f32("max", f32("exp", one), te.Float(ir.F32, 0)), one), false},
		"abs":           {f32("abs", one), true}, "min": {f32("min", one, te.Float(ir.F32, 1)), true}, "neg": {f32("neg", one), true}, "round": {f32("round", one), true},
		"select": {f32("select", te.Fn(ir.Bool, "lt", one, te.Float(ir.F32, 0)), te.Float(ir.F32, 0), one), true},
	} {
		_, ok := (&space{}).abstract(c.e)
		assert.Equal(t, c.want, ok, name)
		axes := []te.Axis{{Var: "i0", Extent: sym.Const(8)}}
		b := &block.Block{Stage: &te.Stage{Axes: axes, Results: []te.Expr{c.e}}}
		assert.Equal(t, c.want, floatsOf(b, nil) != nil, name)
		q, ok := quantizationOf(y.quantized(c.e))
		require.True(t, ok, name)
		if !c.want {
			assert.Nil(t, q.replaced(known{}), name)
		}
	}
}

// TestNegatedProducts: compilers contract the negative of a product, too, and are kept from it where it matters.
func TestNegatedProducts(t *testing.T) {
	a, b, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.0374, 131}, tensor{ir.U8, 0.05, 100}
	neg := func(e te.Expr) te.Expr { return te.Fn(ir.F32, "neg", e) }
	f := func(x, z float32) float32 { return float32(-x) - float32(-z) }
	e := te.Fn(ir.F32, "sub", neg(a.dequantized(a.element(0))), neg(neg(neg(b.dequantized(b.element(1))))))
	assert.Len(t, contractions(e), 3)
	assert.Len(t, contractions(roundedProducts(e)), 1)
	q, _ := quantizationOf(y.quantized(e))
	assert.Positive(t, contracted(t, q, a, b, y, f))
	by := q
	by.x = q.replaced(known{})
	require.NotNil(t, by.x)
	assert.Zero(t, contracted(t, by, a, b, y, f))

	one := func(x float32) te.Expr { return te.Float(ir.F32, float64(x)) }
	const p, r = 1 + 0x1p-12, 1 + 0x1p-11
	v := &evaluation{points: &points{n: 1}, contracted: []int{1}}
	assert.Equal(t, []float32{-0x1p-24}, v.expr(add(neg(mul(one(p), one(p))), one(r))).F32, "the product is not rounded")
}

// chain is a sum of n terms of two tensors of bytes.
func chain(x tensor, n int) te.Expr {
	e := x.dequantized(x.element(0))
	for i := range n - 1 {
		e = add(e, x.dequantized(x.element((i+1)%2)))
	}
	return e
}

// TestWork: the longer an expression, the sooner it is given up: what is evaluated, in operations on numbers, is bounded.
func TestWork(t *testing.T) {
	x, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.05, 100}
	for _, n := range []int{2, 4, 8, 12} {
		q, _ := quantizationOf(y.quantized(chain(x, n)))
		s := &space{}
		e, ok := s.abstract(q.x)
		require.True(t, ok)
		b := &budget{left: mostWork}
		q.equal(e, s.all(), b)
		t.Logf("%d: %d", n, mostWork-b.left)
		assert.Positive(t, mostWork-b.left, "%d terms are evaluated", n)
		assert.Greater(t, b.left, -mostOnce, "%d terms", n)
	}
	long, _ := quantizationOf(y.quantized(chain(x, 10000)))
	m := &memory{}
	assert.Nil(t, long.replaced(known{memory: m}))
	assert.Empty(t, m.found, "10000 terms are not evaluated")
}

// TestSpent: without a budget nothing is found, and products are not contracted.
func TestSpent(t *testing.T) {
	x, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.05, 100}
	q, _ := quantizationOf(y.quantized(chain(x, 2)))
	s := &space{}
	e, _ := s.abstract(q.x)
	assert.Nil(t, q.equal(e, s.all(), &budget{}))
	by := q.equal(e, s.all(), &budget{left: work(e, s.count())})
	assert.Equal(t, roundedProducts(e), by)
}

// TestMemory: what is the same but for its operands is searched once; another zero point, scale or type is another.
func TestMemory(t *testing.T) {
	x, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.05, 100}
	k := known{memory: &memory{}}
	sum := func(a, b int) te.Expr { return add(x.dequantized(x.element(a)), x.dequantized(x.element(b))) }
	first, _ := quantizationOf(y.quantized(sum(0, 1)))
	second, _ := quantizationOf(y.quantized(sum(3, 2)))
	want := second.replaced(known{})
	require.NotNil(t, want)
	require.NotNil(t, first.replaced(k))
	assert.Equal(t, want, second.replaced(k))
	assert.Len(t, k.found, 1)
	for i, to := range []tensor{{ir.U8, 0.05, 101}, {ir.U8, 0.06, 100}, {ir.I8, 0.05, 100}} {
		q, _ := quantizationOf(to.quantized(sum(0, 1)))
		assert.Equal(t, q.replaced(known{}), q.replaced(k))
		assert.Len(t, k.found, i+2)
	}
}

// TestLeaves: what makes an integer of 8 bits may divide; that is no division of what is quantized of it.
func TestLeaves(t *testing.T) {
	x, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.05, 100}
	inner := y.quantized(x.dequantized(x.element(0)))
	rounded := te.Fn(ir.F32, "round", mul(te.Fn(ir.F32, "cast", inner), te.Float(ir.F32, 0.3)))
	q, ok := quantizationOf(te.Fn(ir.U8, "cast", rounded))
	require.True(t, ok)
	require.Equal(t, 1, divisions(q.x))
	m := &memory{}
	assert.Nil(t, q.replaced(known{memory: m}))
	assert.Empty(t, m.found)
}
