package interp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// window is a convolution's shape.
type window struct {
	images, channels, filters, size, taps, stride, pad int64
}

func (w window) out() int64 { return (w.size+2*w.pad-w.taps)/w.stride + 1 }

func loops(letter string, extents ...int64) []te.Axis {
	var out []te.Axis
	for i, n := range extents {
		out = append(out, te.Axis{Var: fmt.Sprint(letter, i), Extent: sym.Const(n)})
	}
	return out
}

// padded loads operand n where two of its indices are inside.
func padded(n int, size int64, index ...sym.Expr) te.Load {
	l := te.Operand(n, ir.F32, index...)
	for _, e := range index[2:] {
		l.Guard = append(l.Guard, te.Within{E: e, Lo: sym.Const(0), Hi: sym.Const(size)})
	}
	l.Default = te.Number(ir.F32, 0)
	return l
}

func productOf(axes, reduce []te.Axis, a, b te.Expr) *te.Stage {
	return &te.Stage{Name: "product", Axes: axes, Reduce: reduce, Combine: te.Sum(ir.F32),
		Values: []te.Expr{te.Fn(ir.F32, "mul", a, b)}, Results: []te.Expr{te.Acc{Type: ir.F32}}}
}

func place(out, tap string, stride, pad int64) sym.Expr {
	return sym.Add(sym.Add(sym.Scale(sym.Var(out), stride), sym.Var(tap)), sym.Const(-pad))
}

// forward is the convolution of operand 0 by operand 1.
func (w window) forward() *te.Stage {
	v := sym.Var
	return productOf(loops("i", w.images, w.filters, w.out(), w.out()), loops("r", w.channels, w.taps, w.taps),
		padded(0, w.size, v("i0"), v("r0"), place("i2", "r1", w.stride, w.pad), place("i3", "r2", w.stride, w.pad)),
		te.Operand(1, ir.F32, v("i1"), v("r0"), v("r1"), v("r2")))
}

// data is the gradient by operand 0 of stride 1: of the adjoint, operand 2.
func (w window) data() *te.Stage {
	v := sym.Var
	back := func(i, r string) sym.Expr { return sym.Add(sym.Sub(v(i), v(r)), sym.Const(w.pad)) }
	return productOf(loops("i", w.images, w.channels, w.size, w.size), loops("r", w.taps, w.taps, w.filters),
		padded(2, w.out(), v("i0"), v("r2"), back("i2", "r0"), back("i3", "r1")),
		te.Operand(1, ir.F32, v("r2"), v("i1"), v("r0"), v("r1")))
}

// weights is the gradient by operand 1.
func (w window) weights() *te.Stage {
	v := sym.Var
	return productOf(loops("i", w.filters, w.channels, w.taps, w.taps), loops("r", w.images, w.out(), w.out()),
		te.Operand(2, ir.F32, v("r0"), v("i0"), v("r1"), v("r2")),
		padded(0, w.size, v("r0"), v("i1"), place("r1", "i2", w.stride, w.pad), place("r2", "i3", w.stride, w.pad)))
}

// stripsOf is the strips of a stage, nil where it is none.
func stripsOf(t *testing.T, s *te.Stage, operands []*ir.Tensor) *strips {
	run := &run{operands: operands}
	shape, err := run.extents(s.Axes)
	require.NoError(t, err)
	extents, err := run.extents(s.Reduce)
	require.NoError(t, err)
	mul, init, ok := sumOfProducts(s)
	require.True(t, ok)
	c, err := run.newStrips(s, shape, extents, []*ir.Tensor{ir.NewTensor(ir.F32, shape...)}, mul, init)
	require.NoError(t, err)
	return c
}

// normal is numbers, of which a share are zeros.
func normal(t *testing.T, r *rand.Rand, zeros float64, shape ...int64) *ir.Tensor {
	x := ir.NewTensor(ir.F32, shape...)
	b, err := bufferOf(x)
	require.NoError(t, err)
	for i := range b.F32 {
		if r.Float64() >= zeros {
			b.F32[i] = float32(r.NormFloat64())
		}
	}
	return x
}

// TestStrips: convolutions and their gradients are strips, and have the bits of the loops that they stand for, with any number of workers.
func TestStrips(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fill := func(shape ...int64) *ir.Tensor { return normal(t, r, 0, shape...) }
	wide, transpose := stripWide, transposeWide
	defer func() { stripWide, transposeWide = wide, transpose }()
	for _, w := range []window{
		{2, 8, 5, 8, 3, 1, 1}, {2, 3, 8, 9, 3, 1, 1}, {2, 5, 9, 7, 3, 1, 0}, {2, 8, 3, 10, 3, 2, 1}, {2, 3, 8, 9, 5, 2, 2}, {2, 4, 8, 8, 1, 1, 0}, {2, 9, 5, 8, 1, 2, 0},
	} {
		stages := map[string]*te.Stage{"forward": w.forward(), "weights": w.weights()}
		if w.stride == 1 {
			stages["data"] = w.data()
		}
		operands := []*ir.Tensor{fill(w.images, w.channels, w.size, w.size), fill(w.filters, w.channels, w.taps, w.taps),
			fill(w.images, w.filters, w.out(), w.out())}
		for name, s := range stages {
			what := fmt.Sprintf("%s of %+v", name, w)
			c := stripsOf(t, s, operands)
			require.NotNil(t, c, what)
			want := naiveEval(t, []*te.Stage{s}, operands, nil)[0][0]
			for _, vectors := range []bool{false, true} {
				stripWide, transposeWide = nil, nil
				if vectors {
					stripWide, transposeWide = wide, transpose
				}
				for _, workers := range []int{1, 3} {
					got, err := Interp{Workers: workers}.Eval([]*te.Stage{s}, []te.Source{{Stage: true}}, operands, nil)
					require.NoError(t, err)
					assert.Equal(t, want.Data, got[0].Data, "%s, %d workers, vectors %v", what, workers, vectors)
				}
			}
		}
	}
}
