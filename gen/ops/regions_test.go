package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func regionExamples() []example {
	rois := attrs("sampling_ratio", 2, "output_height", 3, "output_width", 4)
	return []example{
		{node("CenterCropPad", nil, f32("N", 8, 10), vec(4, 8, 12)), "[4 8 12]", OneToOne, fixed},
		{node("Col2Im", nil, f32("N", 5, 5), vec(5, 5), vec(1, 5)), "[N 1 5 5]", ManyToMany, dependent},
		{node("AffineGrid", nil, f32("N", 2, 3), vec(4, 3, 5, 6)), "[4 5 6 2]", OneToMany, variable},
		{node("MaxUnpool", attrs("kernel_shape", ints(2, 2), "strides", ints(2, 2)), f32(2, 3, 4, 5), i64(2, 3, 4, 5), vec(2, 3, 9, 10)), "[2 3 9 10]", ManyToMany, dependent},
		{node("DeformConv", nil, f32("N", 4, 8, 8), weight(6, 4, 3, 3), f32("N", 18, 6, 6)), "[N 6 6 6]", ManyToMany, dependent},
		{node("RoiAlign", rois, f32("N", 8, 16, 16), f32("R", 4), i64("R")), "[R 8 3 4]", ManyToMany, dependent},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3, 4)), f32("N", 8, 16, 16), f32("R", 5)), "[R 8 3 4]", ManyToMany, dependent},
	}
}

// TestRegionShapes has symbols and the attributes that decide shapes.
func TestRegionShapes(t *testing.T) {
	for _, c := range []struct {
		n            *ir.Node
		want, checks string
	}{
		{node("CenterCropPad", attrs("axes", ints(-1)), f32("N", "H"), vec(4)), "[N 4]", ""},
		{node("Col2Im", attrs("strides", ints(2, 2), "pads", ints(1, 1, 1, 1)), f32("N", 12, 16), vec(6, 6), vec(2, 2)), "[N 3 6 6]", ""},
		{node("DeformConv", attrs("group", 2, "offset_group", 2, "strides", ints(2, 2), "pads", ints(1, 1, 1, 1)),
			f32("N", 4, "H", 9), weight(6, 2, 3, 3), f32("N", 36, "P", 5), weight(6), f32("N", 18, "P", 5)),
			"[N 6 ((H + 1) // (2)) 5]", "H + 2 >= 3, P == ((H + 1) // (2)), P == ((H + 1) // (2))"},
		{node("AffineGrid", attrs("align_corners", 1), f32("N", 3, 4), vec(2, 3, 4, 5, 1)), "[2 4 5 1 3]", "N == 2"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, fmt.Sprint(m.Stages[m.Outputs[0].N].Shape()))
		require.Equal(t, c.checks, checksText(m))
	}
}

func TestRegionErrors(t *testing.T) {
	deform := func(at ir.Attrs, offset *ir.Value) *ir.Node {
		return node("DeformConv", at, f32(1, 4, 8, 8), weight(6, 4, 3, 3), offset)
	}
	unpool := func(at ir.Attrs, in ...*ir.Value) *ir.Node { return node("MaxUnpool", at, in...) }
	align := func(at ir.Attrs) *ir.Node { return node("RoiAlign", at, f32(1, 8, 16, 16), f32("R", 4), i64("R")) }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("CenterCropPad", nil, f32(2, 3), vec(4)), "operand 1 (shape) has 1 elements for 2 axes"},
		{node("CenterCropPad", attrs("axes", ints(2)), f32(2, 3), vec(4)), "attribute axes is 2; the rank is 2"},
		{node("CenterCropPad", nil, f32(2, 3), vec(4, -1)), "element 1 of operand 1: found -1 and 0"},
		{node("Col2Im", nil, f32(1, 5), vec(5, 5), vec(1, 5)), "operand 0 has rank 2; want rank 3"},
		{node("Col2Im", nil, f32(1, 5, 5), vec(5, 5), vec(5)), "operands 1 (image_shape) and 2 (block_shape) have 2 and 1 elements"},
		{node("Col2Im", nil, f32(1, 6, 5), vec(5, 5), vec(1, 5)), "dimension 1 must be a multiple of the block's elements: found 5 and 6"},
		{node("Col2Im", nil, f32(1, 5, 6), vec(5, 5), vec(1, 5)), "dimension 2 must be the number of blocks: found 6 and 5"},
		{node("Col2Im", attrs("strides", ints(0, 1)), f32(1, 5, 5), vec(5, 5), vec(1, 5)), "attribute strides is [0 1]"},
		{node("AffineGrid", nil, f32(1, 2, 3), vec(1, 3, 5)), "operand 1 (size) has 3 elements; want 4"},
		{node("AffineGrid", nil, f32(1, 2, 3), vec(1, 3, 5, 5, 5)), "dimension 1 of operand 0: found 2 and 3"},
		{node("AffineGrid", nil, f32(2, 2, 3), vec(1, 3, 5, 5)), "dimension 0 of operand 0: found 2 and 1"},
		{unpool(nil, f32(1, 1, 2, 2), i64(1, 1, 2, 2)), `attribute "kernel_shape" is absent`},
		{unpool(attrs("kernel_shape", ints(2, 2)), f32(1, 1, 2, 2), i64(1, 1, 2, 3)), "dimension 3 of operand 1: found 3 and 2"},
		{unpool(attrs("kernel_shape", ints(2, 2)), f32(1, 1, 2, 2), i64(1, 1, 2, 2), vec(1, 1, 2, 3)), "element 2 of operand 2 (output_shape): found 2 and 3"},
		{unpool(attrs("kernel_shape", ints(2, 2)), f32(1, 1, 2, 2), i64(1, 1, 2, 2), vec(1, 1, 3)), "operand 2 (output_shape) has 3 elements; the rank is 4"},
		{unpool(attrs("kernel_shape", ints(2, 2), "pads", ints(9, 9, 9, 9)), f32(1, 1, 2, 2), i64(1, 1, 2, 2)), "dimension 2 of the result: found -15 and 1"},
		{deform(nil, f32(1, 18, 5, 6)), "dimension 2 of operand 2: found 5 and 6"},
		{deform(nil, f32(1, 9, 6, 6)), "dimension 1 of operand 2: found 9 and 18"},
		{deform(attrs("offset_group", 3), f32(1, 54, 6, 6)), "channels of X must be a multiple of attribute offset_group: found 3 and 4"},
		{deform(attrs("group", 2), f32(1, 18, 6, 6)), "channels of X must be group times channels of W: found 4 and 8"},
		{align(attrs("sampling_ratio", -1)), "attribute sampling_ratio is -1; want 1 to 1048576, or 0 for a number of points by the size of each region"},
		{align(attrs("sampling_ratio", 1<<40)), "attribute sampling_ratio is 1099511627776; want 1 to 1048576"},
		{align(attrs("sampling_ratio", 2, "output_width", 0)), "attribute output_width is 0; want at least 1"},
		{align(attrs("sampling_ratio", 2, "mode", "sum")), `attribute mode is "sum"; supported are ["avg" "max"]`},
		{node("RoiAlign", attrs("sampling_ratio", 2), f32(1, 8, 16, 16), f32("R", 5), i64("R")), "dimension 1 of operand 1: found 5 and 4"},
		{node("RoiAlign", attrs("sampling_ratio", 2), f32(0, 8, 16, 16), f32(2, 4), i64(2)), "axis 0 of operand 0 must have an element for the indices: found 0 and 1"},
		{node("RoiAlign", attrs("sampling_ratio", 2), f32(1, 8, 16, 0), f32(2, 4), i64(2)), "axis 3 of operand 0 must have an element for the indices: found 0 and 1"},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3, 4)), f32(1, 8, 16, 16), f32("R", 4)), "dimension 1 of operand 1: found 4 and 5"},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3, 4)), f32(1, 8, 16), f32("R", 5)), "operands have ranks 3 and 2; want ranks 4 and 2"},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3)), f32(1, 8, 16, 16), f32("R", 5)), "attribute pooled_shape is [3]; the operand has 2 spatial axes"},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3, 0)), f32(1, 8, 16, 16), f32("R", 5)), "attribute pooled_shape is [3 0]; every number must be at least 1"},
		{node("MaxRoiPool", attrs("pooled_shape", ints(3, 4)), f32(0, 8, 16, 16), f32(2, 5)), "axis 0 of operand 0 must have an element for the indices: found 0 and 1"},
	} {
		_, err := Build(c.n, nil)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `node `+c.n.Op+` "n": `)
	}
}
