package layout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	. "rules_dnn/gen/kernel/layout"
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
		{"0 1~16", []int64{3, 20}, 3 * 36},
		{"0 1~2 1*16", []int64{3, 20}, 3 * 4 * 16},
		{"1 0~1 1*4 1*2 0*3", []int64{4, 17}, 3 * 3 * 4 * 2 * 3},
		{"0 1*4 1", []int64{3, 20}, 60},
		{"1*2 0 1*4 1", []int64{3, 21}, 3 * 24},
		{"0 1 2*5 3*3 2 3~1", []int64{2, 3, 10, 9}, 2 * 3 * 10 * 12},
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
			inside, extents := 0, p.Extents(c.dims)
			for offset := range size {
				at := p.At(extents, offset)
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

func TestPartsRefused(t *testing.T) {
	for _, text := range []string{"", "x", "0*0", "0*-1", "-1", "0 1*9999999999", "0~0", "0 1~-1", "0 1*4~2", "0 1~2*4", "0 1/4"} {
		_, err := ParseParts(text)
		assert.Error(t, err, "%q", text)
	}
	for text, want := range map[string]string{
		"0":                 "axis 1 has only parts with a size; want one without, which is the rest",
		"0 1 2":             "part of axis 2; the value has 2 axes",
		"0 1 0":             "axis 0 has two parts without a size; want at most one, which is the rest",
		"0*4 1":             "axis 0 has only parts with a size; want one without, which is the rest",
		"0 1 1*1024 1*4096": "the parts of axis 1 have 4194304 points; want at most 1048576",
	} {
		p, err := ParseParts(text)
		require.NoError(t, err)
		assert.EqualError(t, p.Check(2), want)
	}
}

// TestPartsChecked: parts that no text gives are refused, too.
func TestPartsChecked(t *testing.T) {
	assert.EqualError(t, Parts{{Axis: 0}, {Axis: 0, Size: 4, Pad: 1}}.Check(1), "axis 0 is padded in an inner part; want padding in its outermost part")
	assert.ErrorContains(t, Parts{{Axis: 0, Pad: -1}}.Check(1), "has 0 points, and -1 more")
	assert.ErrorContains(t, make(Parts, 40).Check(1), "40 parts; want 32 at most")
}
