package layout_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	. "rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/layout/layouttest"
)

// random is a layout and a shape that it fits.
func random(r *rand.Rand) (Layout, []int64) {
	dims := make([]int64, 1+r.IntN(5))
	for i := range dims {
		dims[i] = int64(1 + r.IntN(5))
	}
	switch r.IntN(8) {
	case 0:
		return RowMajor, dims
	case 1, 2:
		return Texels(r.IntN(len(dims))), dims
	}
	return layouttest.Layout(r, len(dims)), dims
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

// storage is the flat number of an element: an image's rows of texels follow each other.
func storage(l Layout, s ir.Shape, p Position) sym.Expr {
	if l.Memory == Buffer {
		return p.Index
	}
	w, _ := l.Extent(s)
	return sym.Add(sym.Scale(sym.Add(sym.Mul(p.Y, w), p.X), TexelLanes), p.Index)
}

// TestRandom: Logical inverts Physical, and At inverts where an element lies; each index has an offset of its own within the storage;
// what is left of the storage is the padding, beyond the axes that are said to be padded. The layout's text and its parts are it again.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		l, dims := random(r)
		s := ir.Dims(dims...)
		require.True(t, l.Fits(s), "%s of %v", l, dims)
		read, err := Parse(l.String())
		require.NoError(t, err)
		require.Equal(t, l, read)
		p := PartsOf(l, len(dims))
		again, err := ParseParts(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		if l.Memory == Buffer {
			same, err := p.Layout(len(dims))
			require.NoError(t, err)
			require.True(t, same == l, "%s of %v: %s is %s", l, dims, p, same)
		}
		extents := p.Extents(dims)
		require.Equal(t, consts(extents), PartsOf(l, len(s)).Dims(s))
		size, ok := l.Elements(s).Const()
		require.True(t, ok)
		taken := make([]bool, size)
		count := int64(0)
		points(dims, func(at []int64) {
			phys := p.Physical(consts(at), nil)
			for i, e := range phys {
				x, _ := e.Const()
				require.True(t, 0 <= x && x < extents[i], "case %d: %s of %v", n, l, dims)
			}
			require.Equal(t, consts(at), p.Logical(phys, len(dims)), "case %d: %s of %v at %v", n, l, dims, at)
			off, ok := storage(l, s, l.Find(s, consts(at), nil)).Const()
			require.True(t, ok)
			require.Equal(t, at, p.At(extents, off), "case %d: %s of %v", n, l, dims)
			require.False(t, taken[off], "case %d: %s of %v: two elements at %d", n, l, dims, off)
			taken[off] = true
			count++
		})
		assert.Equal(t, l.Padded(s), count < size, "%s of %v", l, dims)
		for off, element := range taken {
			for axis, x := range p.At(extents, int64(off)) {
				element = element || x >= dims[axis] && p.Pads(s, axis) && x < p.Reach(axis, dims[axis])
			}
			require.True(t, element, "%s of %v: nothing lies at %d, and no axis is padded there", l, dims, off)
		}
	}
}

// TestSymbolic: the expressions for symbols have the values of those for numbers.
func TestSymbolic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		l, dims := random(r)
		s, env := ir.Dims(dims...), map[string]int64{}
		for i, d := range dims {
			if l.Along(i) == 1 && l.Memory == Buffer {
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
		fixed := ir.Dims(dims...)
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
		{Blocked(1, 8), ir.Shape{n, sym.Const(3)}, true},
		{Blocked(0, 8), ir.Shape{n, sym.Const(3)}, false},
		{Blocked(2, 8), ir.Shape{n, sym.Const(3)}, false},
		{Blocked(-1, 8), ir.Shape{n, sym.Const(3)}, false},
		{Of(Part{Axis: 1, Size: 8}, Part{Axis: 0, Size: 4}), ir.Dims(2, 3), true},
		{Of(Part{Axis: 1, Size: 8}, Part{Axis: 0, Size: 4}), ir.Shape{n, sym.Const(3)}, false},
		{Of(Part{Axis: 1, Size: 8}, Part{Axis: 1, Size: 4}), ir.Dims(2, 64), true},
		{Of(Part{Axis: 0}), ir.Shape{n, n}, true}, // columns
		{Of(Part{Axis: 1}), ir.Shape{n, n, n}, true},
		{Of(Part{Axis: 1}), ir.Shape{n, n}, false}, // row-major by another name
		{Of(Part{Axis: 0}, Part{Axis: 1}), ir.Shape{n, n}, false},
		{Of(Part{Axis: 1, Pad: 16}), ir.Shape{n, n}, true},
		{Of(Part{Axis: 0}, Part{Axis: 0}), ir.Shape{n, n}, false},
		{Of(Part{Axis: 0, Size: 2}, Part{Axis: 0}), ir.Dims(4, 4), true},
		{Of(Part{Axis: 0, Size: 2}, Part{Axis: 0}), ir.Shape{n, n}, false},
		{Of(Part{Axis: 1, Size: 2, Pad: 1}), ir.Dims(4, 4), false},
		{Of(Part{Axis: 1, Size: 1 << 12}, Part{Axis: 1, Size: 1 << 12}), ir.Dims(4, 4), false},
		{Texels(1), ir.Shape{n, sym.Const(3)}, true},
		{Texels(2), ir.Shape{n, sym.Const(3)}, false},
	} {
		assert.Equal(t, c.want, c.l.Fits(c.s), "%s of %v", c.l, c.s)
	}
	image := Blocked(1, 8)
	image.Memory = Image
	assert.False(t, image.Fits(ir.Dims(2, 3)), "a texel has 4 lanes")
}

// TestNames: what a layout is called, of values of any rank.
func TestNames(t *testing.T) {
	for name, l := range map[string]Layout{
		"row-major":                     RowMajor,
		"row-major on device":           RowMajor.In(Device),
		"axis1/16":                      Blocked(1, 16),
		"axis0/32+axis1/4":              Of(Part{Axis: 0, Size: 32}, Part{Axis: 1, Size: 4}),
		"axis1":                         Of(Part{Axis: 1}),
		"axis1~16":                      Of(Part{Axis: 1, Pad: 16}),
		"axis2+axis0~1+axis2/8":         Of(Part{Axis: 2}, Part{Axis: 0, Pad: 1}, Part{Axis: 2, Size: 8}),
		"image of axis1/4":              Texels(1),
		"image of axis1/4 on device":    Texels(1).In(Device),
		"axis0/32+axis1/4 on device":    Of(Part{Axis: 0, Size: 32}, Part{Axis: 1, Size: 4}).In(Device),
		"axis1/8+axis1/4":               Of(Part{Axis: 1, Size: 8}, Part{Axis: 1, Size: 4}),
		"axis2+axis0~1+axis2/8+axis1/3": Of(Part{Axis: 2}, Part{Axis: 0, Pad: 1}, Part{Axis: 2, Size: 8}, Part{Axis: 1, Size: 3}),
	} {
		assert.Equal(t, name, l.String())
		read, err := Parse(name)
		require.NoError(t, err)
		assert.True(t, l == read, name)
		assert.Equal(t, name == "row-major" || name == "row-major on device" || name == "axis1", l.Orders(), name)
	}
	blocked := Blocked(1, 16)
	s := ir.Shape{sym.Var("N"), sym.Const(20), sym.Const(7)}
	assert.Equal(t, []sym.Expr{sym.Var("N"), sym.Const(2), sym.Const(7), sym.Const(16)}, PartsOf(blocked, len(s)).Dims(s))
	assert.Equal(t, "224*N", blocked.Elements(s).String())
	assert.True(t, blocked.Padded(s))
}

func TestRefused(t *testing.T) {
	for _, text := range []string{"", "row major", "axis", "axisx", "axis1/", "axis1/0", "axis1/-4", "axis1/9999999999", "axis-1/4", "1/4", "axis1*4", "axis1~0",
		"axis1/4~2", "axis1++axis2", "axis1/4 on moon", "axis1/4 on host", "image of axis1/8", "image of axis1/4+axis2/4", "image of row-major", "axis1/4 on device on device"} {
		_, err := Parse(text)
		assert.Error(t, err, "%q", text)
	}
}

// TestOneName: an order of axes has one layout, however its parts are listed.
func TestOneName(t *testing.T) {
	for parts, want := range map[string]string{
		"0 1 2 3":      "row-major",
		"0 1 2 3 1*16": "axis1/16",
		"0 2 3 1":      "axis1",
		"0 1 3 2":      "axis2",
		"3 0 1 2":      "axis0+axis1+axis2",
		"1 0 1*8 2 3":  "axis0+axis1/8+axis2+axis3",
		"0 1 2 3~16":   "axis3~16",
		"0~1 1 2 3":    "axis0~1+axis1+axis2+axis3",
	} {
		p, err := ParseParts(parts)
		require.NoError(t, err)
		l, err := p.Layout(4)
		require.NoError(t, err)
		assert.Equal(t, want, l.String())
		assert.Equal(t, parts, PartsOf(l, 4).String())
		assert.True(t, l.Fits(ir.Dims(2, 32, 3, 4)))
	}
	_, err := Parts{{Axis: 0}, {Axis: 0}}.Layout(1)
	assert.Error(t, err)
}

// TestColumns: GCD2's layouts of a matrix (figure 4.2) keep 32 rows of 4 columns together, 64 of 2
// or 128 of 1: the offset of each element is the figure's.
func TestColumns(t *testing.T) {
	columns := func(rows, columns int64) Layout {
		return Of(Part{Axis: 0, Size: rows}, Part{Axis: 1, Size: columns})
	}
	for _, c := range []struct {
		l                Layout
		dims             []int64
		name             string
		row, column, off int64
	}{
		{columns(32, 4), []int64{64, 8}, "axis0/32+axis1/4", 1, 2, 6},
		{columns(32, 4), []int64{64, 8}, "axis0/32+axis1/4", 0, 4, 128},
		{columns(32, 4), []int64{64, 8}, "axis0/32+axis1/4", 33, 5, 256 + 128 + 4 + 1},
		{columns(64, 2), []int64{128, 4}, "axis0/64+axis1/2", 1, 2, 128 + 2},
		{Blocked(0, 128), []int64{256, 4}, "axis0/128", 1, 2, 256 + 1},
	} {
		assert.Equal(t, c.name, c.l.String())
		off := c.l.Offset(ir.Dims(c.dims...), consts([]int64{c.row, c.column}), nil)
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
		order         string
	}{
		{0, ir.Shape{sym.Const(9)}, "3", "1", "0 0*4"},
		{1, ir.Shape{n, sym.Const(8)}, "2", "N", "0 1 1*4"},
		{0, ir.Shape{sym.Const(8), n}, "2*N", "1", "0 1 0*4"},
		{1, ir.Shape{n, sym.Const(20), h, w}, "5*W", "H*N", "0 2 1 3 1*4"},
		{2, ir.Shape{n, h, sym.Const(64)}, "16", "H*N", "0 1 2 2*4"},
	} {
		l := Texels(c.axis)
		width, height := l.Extent(c.s)
		assert.Equal(t, []string{c.width, c.height}, []string{width.String(), height.String()}, "%s of %v", l, c.s)
		assert.Equal(t, c.order, PartsOf(l, len(c.s)).String())
		assert.Equal(t, c.axis, l.Lane(len(c.s)))
		assert.Equal(t, l.Elements(c.s).String(), sym.Scale(sym.Mul(width, height), TexelLanes).String())
	}
}
