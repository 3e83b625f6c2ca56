package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

func shapeOf(dims ...int64) ir.Shape {
	s := make(ir.Shape, len(dims))
	for i, d := range dims {
		s[i] = sym.Const(d)
	}
	return s
}

// random is a layout and a shape that it fits.
func random(r *rand.Rand) (Layout, []int64) {
	dims := make([]int64, 1+r.IntN(4))
	for i := range dims {
		dims[i] = int64(1 + r.IntN(9))
	}
	if r.IntN(4) == 0 {
		return RowMajor, dims
	}
	if r.IntN(3) == 0 {
		return Texels(r.IntN(len(dims))), dims
	}
	l := Layout{Axis: r.IntN(len(dims)), Block: int64(1 + r.IntN(8))}
	if i := r.IntN(len(dims)); i != l.Axis {
		l.Inner = Split{Axis: i, Block: int64(1 + r.IntN(5))}
	}
	return l, dims
}

// points calls f with each index within the extents.
func points(dims []int64, f func(at []int64)) {
	at := make([]int64, len(dims))
	for {
		f(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func consts(at []int64) []sym.Expr {
	out := make([]sym.Expr, len(at))
	for i, x := range at {
		out[i] = sym.Const(x)
	}
	return out
}

func ints(es []sym.Expr) []int64 {
	out := make([]int64, len(es))
	for i, e := range es {
		out[i], _ = e.Const()
	}
	return out
}

// storage is the flat number of an element: an image's rows of texels follow each other.
func storage(l Layout, s ir.Shape, p Position) sym.Expr {
	if l.Memory == Buffer {
		return p.Index
	}
	w, _ := l.Extent(s)
	return sym.Add(sym.Scale(sym.Add(sym.Mul(p.Y, w), p.X), TexelLanes), p.Index)
}

// TestRandom: Logical inverts Physical; each index has an offset of its own within the storage;
// what is left of the storage is the padding.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 120 {
		l, dims := random(r)
		s := shapeOf(dims...)
		require.True(t, l.Fits(s))
		size, ok := l.Elements(s).Const()
		require.True(t, ok)
		taken := make([]bool, size)
		count := int64(0)
		points(dims, func(at []int64) {
			phys := l.Physical(consts(at), nil)
			require.Len(t, phys, len(l.Dims(s)))
			for i, p := range phys {
				x, _ := p.Const()
				limit, _ := l.Dims(s)[i].Const()
				require.True(t, 0 <= x && x < limit, "case %d: %s of %v", n, l, dims)
			}
			back := l.Logical(phys)
			for i := range at {
				require.True(t, back[i].Is(at[i]), "case %d: %s of %v at %v", n, l, dims, at)
			}
			off, ok := storage(l, s, l.Find(s, consts(at), nil)).Const()
			require.True(t, ok)
			require.Equal(t, at, l.At(ints(l.Dims(s)), off), "case %d: %s of %v", n, l, dims)
			require.False(t, taken[off], "case %d: %s of %v: two elements at %d", n, l, dims, off)
			taken[off] = true
			count++
		})
		assert.Equal(t, l.Padded(s), count < size, "%s of %v", l, dims)
	}
}

// TestSymbolic: the expressions for symbols have the values of those for numbers.
func TestSymbolic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		l, dims := random(r)
		s, env := shapeOf(dims...), map[string]int64{}
		for i, d := range dims {
			if l.Block == 0 || i != l.Axis && (l.Inner.Block == 0 || i != l.Inner.Axis) {
				name := string(rune('A' + i))
				s[i], env[name] = sym.Var(name), d
			}
		}
		index := make([]sym.Expr, len(dims))
		facts := sym.Facts{}
		at := make([]int64, len(dims))
		for i, d := range dims {
			name := "x" + string(rune('0'+i))
			index[i], at[i] = sym.Var(name), r.Int64N(d)
			facts[name], env[name] = sym.Range{Lo: 0, Hi: d - 1}, at[i]
		}
		got, err := storage(l, s, l.Find(s, index, facts)).Eval(env)
		require.NoError(t, err)
		fixed := shapeOf(dims...)
		want, _ := storage(l, fixed, l.Find(fixed, consts(at), nil)).Const()
		assert.Equal(t, want, got, "%s of %v at %v", l, dims, at)
	}
}

func TestFits(t *testing.T) {
	n := sym.Var("N")
	for _, c := range []struct {
		l    Layout
		s    ir.Shape
		want bool
	}{
		{RowMajor, ir.Shape{n}, true},
		{RowMajor, ir.Shape{}, true},
		{Layout{Axis: 1, Block: 8}, ir.Shape{n, sym.Const(3)}, true},
		{Layout{Axis: 0, Block: 8}, ir.Shape{n, sym.Const(3)}, false},
		{Layout{Axis: 2, Block: 8}, ir.Shape{n, sym.Const(3)}, false},
		{Layout{Axis: 1, Block: 8, Inner: Split{0, 4}}, ir.Shape{sym.Const(2), sym.Const(3)}, true},
		{Layout{Axis: 1, Block: 8, Inner: Split{0, 4}}, ir.Shape{n, sym.Const(3)}, false},
		{Layout{Axis: 1, Block: 8, Inner: Split{1, 4}}, ir.Shape{n, sym.Const(3)}, false},
		{Texels(1), ir.Shape{n, sym.Const(3)}, true},
		{Layout{Axis: 1, Block: 8, Memory: Image}, ir.Shape{n, sym.Const(3)}, false},
	} {
		assert.Equal(t, c.want, c.l.Fits(c.s), "%s of %v", c.l, c.s)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "row-major", RowMajor.String())
	assert.Equal(t, "axis1/16", Layout{Axis: 1, Block: 16}.String())
	blocked := Layout{Axis: 1, Block: 16}
	s := ir.Shape{sym.Var("N"), sym.Const(20), sym.Const(7)}
	assert.Equal(t, []sym.Expr{sym.Var("N"), sym.Const(2), sym.Const(7), sym.Const(16)}, blocked.Dims(s))
	assert.Equal(t, "224*N", blocked.Elements(s).String())
	assert.True(t, blocked.Padded(s))
}

// TestColumns: GCD2's layouts of a matrix (figure 4.2) keep 32 rows of 4 columns together, 64 of 2
// or 128 of 1: the offset of each element is the figure's.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		l                Layout
		dims             []int64
		name             string
		row, column, off int64
	}{
		{Layout{Axis: 0, Block: 32, Inner: Split{1, 4}}, []int64{64, 8}, "axis0/32+axis1/4", 1, 2, 6},
		{Layout{Axis: 0, Block: 32, Inner: Split{1, 4}}, []int64{64, 8}, "axis0/32+axis1/4", 0, 4, 128},
		{Layout{Axis: 0, Block: 32, Inner: Split{1, 4}}, []int64{64, 8}, "axis0/32+axis1/4", 33, 5, 256 + 128 + 4 + 1},
		{Layout{Axis: 0, Block: 64, Inner: Split{1, 2}}, []int64{128, 4}, "axis0/64+axis1/2", 1, 2, 128 + 2},
		{Layout{Axis: 0, Block: 128}, []int64{256, 4}, "axis0/128", 1, 2, 256 + 1},
	} {
		assert.Equal(t, c.name, c.l.String())
		off := c.l.Offset(shapeOf(c.dims...), consts([]int64{c.row, c.column}), nil)
		assert.True(t, off.Is(c.off), "%s: row %d, column %d lie at %s, not %d", c.l, c.row, c.column, off, c.off)
	}
}

// TestImages: x, y and lane of images of several ranks.
func TestImages(t *testing.T) {
	n, h, w := sym.Var("N"), sym.Var("H"), sym.Var("W")
	for _, c := range []struct {
		axis          int
		s             ir.Shape
		width, height string
		order         []int
	}{
		{0, ir.Shape{sym.Const(9)}, "3", "1", []int{0, 1}},
		{1, ir.Shape{n, sym.Const(8)}, "2", "N", []int{0, 1, 2}},
		{0, ir.Shape{sym.Const(8), n}, "2*N", "1", []int{0, 1, 2}},
		{1, ir.Shape{n, sym.Const(20), h, w}, "5*W", "H*N", []int{0, 2, 1, 3, 4}},
		{2, ir.Shape{n, h, sym.Const(64)}, "16", "H*N", []int{0, 1, 2, 3}},
	} {
		l := Texels(c.axis)
		width, height := l.Extent(c.s)
		assert.Equal(t, []string{c.width, c.height}, []string{width.String(), height.String()}, "%s of %v", l, c.s)
		assert.Equal(t, c.order, l.Order(len(c.s)))
		assert.Equal(t, l.Elements(c.s).String(), sym.Scale(sym.Mul(width, height), TexelLanes).String())
	}
	assert.Equal(t, "image of axis1/4", Texels(1).String())
	assert.Equal(t, []int{0, 1, 2}, Layout{Axis: 0, Block: 8}.Order(2))
	assert.Equal(t, []int{0, 1}, RowMajor.Order(2))
}
