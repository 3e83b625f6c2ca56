package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// tensor is a quantized operand: its type, scale and zero point.
type tensor struct {
	t     ir.DType
	scale float32
	zero  int64
}

// element is one of operand n.
func (x tensor) element(n int) te.Expr { return te.Operand(n, x.t, sym.Var("i0")) }

// dequantized is the float that an element stands for.
func (x tensor) dequantized(e te.Expr) te.Expr {
	d := te.Fn(ir.I32, "sub", te.Fn(ir.I32, "cast", e), te.Fn(ir.I32, "cast", te.Int(x.t, x.zero)))
	return te.Fn(ir.F32, "mul", te.Fn(ir.F32, "cast", d), te.Float(ir.F32, float64(x.scale)))
}

// quantized is an element of x made of a float.
func (x tensor) quantized(e te.Expr) te.Expr {
	q := te.Fn(ir.F32, "round", te.Fn(ir.F32, "div", e, te.Float(ir.F32, float64(x.scale))))
	return te.Fn(x.t, "cast", te.Fn(ir.F32, "add", q, te.Fn(ir.F32, "cast", te.Int(x.t, x.zero))))
}

func random(r *rand.Rand) tensor {
	x := tensor{ir.U8, float32(math.Exp(r.NormFloat64())) / 50, r.Int64N(256)}
	if r.IntN(2) == 0 {
		x.t, x.zero = ir.I8, x.zero-128
	}
	return x
}

func add(a, b te.Expr) te.Expr { return te.Fn(ir.F32, "add", a, b) }
func mul(a, b te.Expr) te.Expr { return te.Fn(ir.F32, "mul", a, b) }

// byNumbers is what an expression of two elements of 8 bits quantizes to, in Go's own arithmetic: f is of the floats that they stand for.
func byNumbers(a, b, y tensor, f func(x, z float32) float32, at func(p, q int64, want int64)) {
	one, two := numbers(a.t), numbers(b.t)
	to := numbers(y.t)
	for p := one.lo; p <= one.hi; p++ {
		for q := two.lo; q <= two.hi; q++ {
			x, z := float32(p-a.zero)*a.scale, float32(q-b.zero)*b.scale
			r := math.RoundToEven(float64(float32(f(x, z))/y.scale)) + float64(y.zero)
			at(p, q, int64(min(max(r, float64(to.lo)), float64(to.hi))))
		}
	}
}

// TestPairs: sums and products of two tensors do without a division, and all pairs of bytes give what ONNX says, contracted or not.
func TestPairs(t *testing.T) {
	r, found := rand.New(rand.NewPCG(1, 1)), 0
	const tries = 12
	for i := range tries {
		a, b, y := random(r), random(r), random(r)
		e, f := add(a.dequantized(a.element(0)), b.dequantized(b.element(1))), func(x, z float32) float32 { return float32(x) + float32(z) }
		if i%3 == 2 {
			e, f = mul(a.dequantized(a.element(0)), b.dequantized(b.element(1))), func(x, z float32) float32 { return float32(x * z) }
		}
		q, ok := quantizationOf(y.quantized(e))
		require.True(t, ok)
		got := q.replaced(known{})
		if got == nil {
			continue
		}
		found++
		assert.Zero(t, divisions(got))
		by := q
		by.x = got
		assert.Zero(t, contracted(t, by, a, b, y, f), "%d: %v, %v and %v", i, a, b, y)
	}
	assert.GreaterOrEqual(t, found, tries*9/10)
	t.Logf("%d of %d without division", found, tries)
}

// TestBetween: with scales of few digits many sums are just between two integers. Compilers that contract what ONNX says would make others of them, and are kept
// from it.
func TestBetween(t *testing.T) {
	a, b, y := tensor{ir.U8, 0.0217, 117}, tensor{ir.U8, 0.0374, 131}, tensor{ir.U8, 0.05, 100}
	f := func(x, z float32) float32 { return float32(x) + float32(z) }
	q, _ := quantizationOf(y.quantized(add(a.dequantized(a.element(0)), b.dequantized(b.element(1)))))
	assert.Positive(t, contracted(t, q, a, b, y, f))
	by := q
	by.x = q.replaced(known{})
	require.NotNil(t, by.x)
	assert.Zero(t, contracted(t, by, a, b, y, f))
}

// contracted counts the pairs that are not what they should be, in all ways of contraction.
func contracted(t *testing.T, q quantization, a, b, y tensor, f func(x, z float32) float32) int {
	s := &space{}
	x, ok := s.abstract(q.x)
	require.True(t, ok)
	p, one, two := s.all(), s.leaves[0].span, s.leaves[1].span
	wants, wrong := make([]int64, p.n), 0
	byNumbers(a, b, y, f, func(p, q, want int64) { wants[p-one.lo+(q-two.lo)*one.count()] = want })
	for _, w := range contractions(x) {
		v := &evaluation{points: p, contracted: w}
		for i, got := range q.quantized(v.expr(x)).I64 {
			if got != wants[i] {
				wrong++
			}
		}
	}
	return wrong
}

// TestSums: a mean's sum becomes its integer by one factor.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		a, y, n := random(r), random(r), 1+r.Int64N(64)
		value := te.Fn(ir.I32, "sub", te.Fn(ir.I32, "cast", a.element(0)), te.Fn(ir.I32, "cast", te.Int(a.t, a.zero)))
		sum := mul(te.Fn(ir.F32, "cast", te.Acc{Type: ir.I32}), te.Float(ir.F32, float64(a.scale)))
		mean := te.Fn(ir.F32, "div", sum, te.Float(ir.F32, float64(n)))
		s := &te.Stage{
			Axes: []te.Axis{{Var: "i0", Extent: sym.Const(4)}}, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(n)}},
			Combine: te.Sum(ir.I32), Values: []te.Expr{value}, Results: []te.Expr{y.quantized(mean)},
		}
		got := stage(s, nil, nil, nil)
		before, _ := quantizationOf(s.Results[0])
		after, ok := quantizationOf(got.Results[0])
		require.True(t, ok)
		assert.Zero(t, divisions(after.x))
		over := sumsOf(s, nil)[0]
		p := &points{leaves: (&space{leaves: []leaf{{expr: te.Acc{Type: ir.I32}, span: over}}}).all().leaves, n: int(over.count())}
		assert.LessOrEqual(t, over.lo, n*(numbers(a.t).lo-a.zero))
		assert.GreaterOrEqual(t, over.hi, n*(numbers(a.t).hi-a.zero))
		of := func(q quantization) []int64 {
			x, ok := (&space{known: known{sums: map[int]span{0: over}}}).abstract(q.x)
			require.True(t, ok)
			return q.quantized((&evaluation{points: p}).expr(x)).I64
		}
		assert.Equal(t, of(before), of(after))
	}
}

// TestKept: what is not of few integers stays as it is.
func TestKept(t *testing.T) {
	x, y := tensor{ir.U8, 0.02, 128}, tensor{ir.I8, 0.05, 3}
	wide := tensor{ir.U16, 0.001, 300}
	float := te.Operand(0, ir.F32, sym.Var("i0"))
	scale := te.Operand(2, ir.F32, sym.Var("i0"))
	for name, e := range map[string]te.Expr{
		"a float":                   float,
		"a float beside an integer": add(x.dequantized(x.element(1)), float),
		"pairs of 16 bits":          add(wide.dequantized(wide.element(0)), wide.dequantized(wide.element(1))),
		"three tensors":             add(add(x.dequantized(x.element(0)), x.dequantized(x.element(1))), x.dequantized(x.element(2))),
		"a scale of each channel":   mul(te.Fn(ir.F32, "cast", te.Fn(ir.I32, "cast", x.element(0))), scale),
	} {
		q, ok := quantizationOf(y.quantized(e))
		require.True(t, ok, name)
		assert.Nil(t, q.replaced(known{}), name)
	}
	for name, s := range map[string]float32{"a scale whose inverse is denormal": math.MaxFloat32, "a denormal scale": 0x1p-130} {
		x := tensor{ir.U8, s, 3}
		q, ok := quantizationOf(x.quantized(x.dequantized(x.element(0))))
		require.True(t, ok, name)
		assert.Nil(t, q.replaced(known{}), name)
	}
	q, _ := quantizationOf(wide.quantized(wide.dequantized(wide.element(0))))
	assert.NotNil(t, q.replaced(known{}), "16 bits of one tensor")
}

// TestFloats: an operand that a block before makes of bytes is one of 256 floats.
func TestFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	shape := func(n int64) []te.Axis { return []te.Axis{{Var: "i0", Extent: sym.Const(n)}} }
	for range 4 {
		gate, x, y := random(r), random(r), random(r)
		value := func(name string, t ir.DType) *ir.Value {
			return &ir.Value{Name: name, Type: t, HasShape: true, Shape: ir.Dims(8)}
		}
		bytes, floats, z := value("bytes", gate.t), value("floats", ir.F32), value("z", x.t)
		first := &block.Block{Stage: &te.Stage{Axes: shape(8), Results: []te.Expr{gate.dequantized(gate.element(0))}}, Operands: []*ir.Value{bytes}, Results: []*ir.Value{floats}}
		e := mul(te.Operand(0, ir.F32, sym.Var("i0")), x.dequantized(x.element(1)))
		second := &block.Block{Stage: &te.Stage{Axes: shape(8), Results: []te.Expr{y.quantized(e)}}, Operands: []*ir.Value{floats, z}, Results: []*ir.Value{value("y", y.t)}}
		Run(&block.Graph{Blocks: []*block.Block{first, second}})
		q, ok := quantizationOf(second.Stage.Results[0])
		require.True(t, ok)
		assert.Zero(t, divisions(q.x))
		s := &space{known: known{floats: func(n int) []float32 { return floatsOf(first, nil) }}}
		by, ok := s.abstract(q.x)
		require.True(t, ok)
		p := s.all()
		got := q.quantized((&evaluation{points: p}).expr(by)).I64
		lo, hi := numbers(y.t).lo, numbers(y.t).hi
		for i, n := range got {
			f := float32(p.leaves[0].F32[i] * float32(float32(p.leaves[1].I64[i]-x.zero)*x.scale))
			want := math.RoundToEven(float64(f/y.scale)) + float64(y.zero)
			require.Equal(t, int64(min(max(want, float64(lo)), float64(hi))), n)
		}
	}
}

// TestFMA: rounded once, as exact arithmetic says.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	number := func() float32 { return float32(r.NormFloat64()) * float32(math.Ldexp(1, r.IntN(40)-20)) }
	inf := float32(math.Inf(1))
	for _, x := range [][3]float32{{1, 1, -inf}, {1, 1, inf}, {-inf, 1, 3}, {inf, 2, 3}, {inf, -2, -inf}, {inf, 1, inf}} {
		assert.Equal(t, float32(x[0]*x[1])+x[2], fma(x[0], x[1], x[2]), "%g", x)
	}
	for _, x := range [][3]float32{{inf, 1, -inf}, {inf, 0, 1}, {1, 1, float32(math.NaN())}} {
		assert.True(t, fma(x[0], x[1], x[2]) != fma(x[0], x[1], x[2]), "%g", x)
	}
	for range 100000 {
		a, b, c := number(), number(), number()
		if r.IntN(3) == 0 { // nearly cancelled
			c = -float32(float64(a)*float64(b)) + float32(r.IntN(3)-1)*float32(math.Ldexp(float64(a)*float64(b), -24))
		}
		exact := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		exact.SetPrec(2000).Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		require.Equal(t, want, fma(a, b, c), "%g * %g + %g", a, b, c)
	}
}
