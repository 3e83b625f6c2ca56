package layout

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// TestParts: each element has a place of its own, At is the inverse of Offset, and the text parses back.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		parts string
		dims  []int64
		size  int64
	}{
		{"0 1 2 3", []int64{2, 3, 4, 5}, 120},
		{"0 2 3 1", []int64{2, 3, 4, 5}, 120},
		{"0 1 2 3 1*16", []int64{2, 20, 3, 3}, 2 * 2 * 9 * 16},
		{"0 1 1*16", []int64{3, 20}, 96},
		{"0 1 0*32 1*4", []int64{33, 5}, 2 * 2 * 128},
		{"1 0 1*8 0*3 1*2", []int64{4, 17}, 2 * 2 * 8 * 3 * 2},
		{"scalar", nil, 1},
	} {
		t.Run(c.parts, func(t *testing.T) {
			p, err := ParseParts(c.parts)
			require.NoError(t, err)
			assert.Equal(t, c.parts, p.String())
			require.NoError(t, p.Check(len(c.dims)))
			s := ir.Dims(c.dims...)
			size, ok := p.Elements(s).Const()
			require.True(t, ok)
			assert.Equal(t, c.size, size)
			inside := 0
			for offset := range size {
				at := p.At(c.dims, offset)
				index, there := make([]sym.Expr, len(at)), true
				for i, x := range at {
					index[i], there = sym.Const(x), there && x < c.dims[i]
				}
				if !there {
					continue
				}
				inside++
				assert.True(t, p.Offset(s, index, nil).Is(offset), "%v at %d", at, offset)
			}
			n, _ := ir.Len(c.dims)
			assert.EqualValues(t, n, inside)
		})
	}
}

// TestPartsOf: a layout and its parts are one storage.
func TestPartsOf(t *testing.T) {
	s := ir.Dims(2, 20, 7)
	index := []sym.Expr{sym.Var("a"), sym.Var("b"), sym.Var("c")}
	f := sym.Facts{"a": {Lo: 0, Hi: 1}, "b": {Lo: 0, Hi: 19}, "c": {Lo: 0, Hi: 6}}
	for _, l := range []Layout{RowMajor, {Axis: 1, Block: 16}, {Axis: 1, Block: 8, Inner: Split{Axis: 2, Block: 4}}} {
		p := PartsOf(l, 3)
		assert.Equal(t, l.Offset(s, index, f).String(), p.Offset(s, index, f).String(), "%s", l)
		assert.Equal(t, l.Elements(s).String(), p.Elements(s).String())
	}
}

func TestPartsRefused(t *testing.T) {
	for _, text := range []string{"", "x", "0*0", "0*-1", "-1", "0 1*9999999999"} {
		_, err := ParseParts(text)
		assert.Error(t, err, "%q", text)
	}
	for text, want := range map[string]string{
		"0":       "axis 1 has no part",
		"0 1 2":   "part of axis 2; the value has 2 axes",
		"0 1 0":   "the outermost part of axis 0 is not its first",
		"0*4 1 0": "axis 0 begins with a part of 4; its first part is the rest",
	} {
		p, err := ParseParts(text)
		require.NoError(t, err)
		assert.EqualError(t, p.Check(2), want)
	}
}
