package ops

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// vec32 is a constant vector of floats.
func vec32(xs ...float32) *ir.Value {
	return ir.ConstValue("", fillFloats(ir.NewTensor(ir.F32, int64(len(xs))), xs))
}

// resized is a Resize by constant scales, or by sizes where there are no scales.
func resized(at ir.Attrs, x *ir.Value, scales []float32, sizes ...*ir.Value) *ir.Node {
	if scales != nil {
		return node("Resize", at, x, nil, vec32(scales...))
	}
	return node("Resize", at, x, nil, nil, sizes[0])
}

func resizeExamples() []example {
	x := func() *ir.Value { return f32("N", 8, 10, 12) }
	return []example{
		{resized(nil, x(), []float32{1, 1, 2, 2}), "[N 8 20 24]", OneToMany, fixed},
		{node("Upsample", nil, x(), vec32(1, 1, 2, 2)), "[N 8 20 24]", OneToMany, fixed},
	}
}

func TestScaleFraction(t *testing.T) {
	for _, c := range []struct {
		v          float32
		num, denom int64
	}{
		{1, 1, 1}, {2, 2, 1}, {0.5, 1, 2}, {0.6, 3, 5}, {0.7, 7, 10}, {1.0 / 3, 1, 3}, {2.0 / 3, 2, 3}, {1.7, 17, 10},
		{640.0 / 427, 640, 427}, {4096, 4096, 1}, {1.0 / 4096, 1, 4096},
	} {
		f, err := scaleFraction(c.v)
		require.NoError(t, err)
		require.Equal(t, frac{sym.Const(c.num), sym.Const(c.denom)}, f, c.v)
	}
	for _, v := range []float32{0, -1, 1e-5, 5000, float32(math.NaN()), float32(math.Inf(1))} {
		_, err := scaleFraction(v)
		require.ErrorContains(t, err, "supported are numbers from")
	}
}

// TestScaledSizes: a size is what ONNX's shape inference computes in float32, except
// where that rounds a product up to the next whole number or down from it.
func TestScaledSizes(t *testing.T) {
	for q := int64(1); q <= 32; q++ {
		for p := int64(1); p <= 4*q; p++ {
			s := float32(p) / float32(q)
			f, err := scaleFraction(s)
			require.NoError(t, err)
			for n := int64(1); n <= 2048; n = n*5/4 + 1 {
				exact := frac{sym.Scale(f.num, n), f.den}.floor(nil)
				float := int64(math.Floor(float64(float32(n) * s)))
				require.Truef(t, exact.Is(float) || n*p%q == 0, "%d * %v: exactly %s, in floats %d", n, s, exact, float)
				require.True(t, exact.Is(n*p/q))
			}
		}
	}
}

// TestResizeIndices: coordinates are exact, and clamped only where they may leave the
// operand.
func TestResizeIndices(t *testing.T) {
	at := func(coords, nearest string) ir.Attrs {
		return attrs("coordinate_transformation_mode", coords, "nearest_mode", nearest)
	}
	old := node("Resize", nil, f32("H"), vec32(0.6))
	old.Version = 10
	grown := node("Upsample", nil, f32("H"), vec32(2))
	grown.Version = 9
	for _, c := range []struct {
		n           *ir.Node
		shape, want string
	}{
		{resized(at("asymmetric", "floor"), f32("H"), []float32{2}), "[2*H]", "((i0) // (2))"},
		{resized(at("half_pixel", "round_prefer_floor"), f32("H"), []float32{2}), "[2*H]", "((i0) // (2))"},
		{resized(at("half_pixel", "floor"), f32("H"), []float32{2}), "[2*H]", "max(((i0 + 1) // (2)) - 1, 0)"},
		{resized(at("asymmetric", "ceil"), f32("H"), []float32{2}), "[2*H]", "min(((i0 + 1) // (2)), H - 1)"},
		{resized(at("asymmetric", "floor"), f32("H"), nil, vec(5)), "[5]", "min(((H*i0) // (5)), H - 1)"},
		{resized(at("align_corners", "floor"), f32("H"), nil, vec(5)), "[5]", "((H*i0 - i0) // (4))"},
		{resized(at("half_pixel", "floor"), f32("H"), []float32{1}), "[H]", "i0"},
		{old, "[((3*H) // (5))]", "((5*i0 + 2) // (3))"},
		{grown, "[2*H]", "((i0) // (2))"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		s := m.Stages[len(m.Stages)-1]
		require.Equal(t, c.shape, fmt.Sprint(s.Shape()))
		require.Equal(t, c.want, s.Results[0].(te.Load).Index[0].String(), "%v", c.n.Attrs)
	}
}

// TestResizeSizes: the ratio that is kept may depend on symbols.
func TestResizeSizes(t *testing.T) {
	policy := func(p string) ir.Attrs { return attrs("keep_aspect_ratio_policy", p, "axes", ints(-1, 1)) }
	m, err := Build(resized(policy("not_larger"), f32("N", 10, 20), nil, vec(30, 30)), nil)
	require.NoError(t, err)
	require.Equal(t, "[N 15 30]", fmt.Sprint(m.Stages[0].Shape()))
	m, err = Build(resized(policy("not_smaller"), f32("N", 10, 20), nil, vec(30, 30)), nil)
	require.NoError(t, err)
	require.Equal(t, "[N 30 60]", fmt.Sprint(m.Stages[0].Shape()))
	_, err = Build(resized(policy("not_smaller"), f32("N", "H", "W"), nil, vec(30, 30)), nil)
	var unknown *UnknownError
	require.True(t, errors.As(err, &unknown), "%v", err)
	m, err = Build(resized(policy("not_smaller"), f32("N", "H", "W"), nil, vec(30, 30)), sym.Facts{"H": {Lo: 1, Hi: 9}, "W": {Lo: 10, Hi: 20}})
	require.NoError(t, err)
	require.Equal(t, "[N 30 ((H + 60*W) // (2*H))]", fmt.Sprint(m.Stages[0].Shape()))
}

// TestResizeMappings: elements are read for several of the result; what is filtered is
// a sum.
func TestResizeMappings(t *testing.T) {
	for _, c := range []struct {
		at    ir.Attrs
		scale float32
		want  MappingType
	}{
		{attrs("mode", "linear"), 2, OneToMany},
		{attrs("mode", "cubic"), 2, OneToMany},
		{attrs("mode", "linear"), 1, OneToOne},
		{attrs("mode", "cubic", "antialias", 1), 0.5, ManyToMany},
	} {
		n := resized(c.at, f32("N", 10, 12), []float32{1, c.scale, c.scale})
		m, err := Build(n, nil)
		require.NoError(t, err)
		require.Equal(t, c.want.String(), NodeMapping(n, m).String(), "%v", c.at)
	}
}

// TestResizeStages: no stage reads more than eight elements for one.
func TestResizeStages(t *testing.T) {
	all := []float32{2, 2, 2, 2}
	for _, c := range []struct {
		at     ir.Attrs
		stages int
	}{
		{attrs("mode", "nearest"), 1},
		{attrs("mode", "linear"), 2},
		{attrs("mode", "cubic"), 4},
		{attrs("mode", "linear", "antialias", 1), 2}, // nothing shrinks
	} {
		m, err := Build(resized(c.at, f32("N", 3, 4, 5), all), nil)
		require.NoError(t, err)
		require.Len(t, m.Stages, c.stages, "%v", c.at)
	}
	m, err := Build(resized(attrs("mode", "linear", "antialias", 1), f32("N", 3, 4, 5), []float32{1, 1, 0.5, 0.5}), nil)
	require.NoError(t, err)
	require.Len(t, m.Stages, 6) // for each axis weights, their sums, and the contraction
}

func TestResizeErrors(t *testing.T) {
	x := func() *ir.Value { return f32(1, 3, 8, 8) }
	four := []float32{1, 1, 2, 2}
	old := func(version int, n *ir.Node) *ir.Node { n.Version = version; return n }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("Resize", nil, x()), "operands 2 (scales) and 3 (sizes): want exactly one of them"},
		{node("Resize", nil, x(), nil, vec32(four...), vec(1, 3, 9, 9)), "want exactly one of them"},
		{resized(nil, x(), []float32{2, 2}), "scales has 2 elements for 4 axes"},
		{resized(attrs("axes", ints(2, 2)), x(), []float32{2, 2}), "attribute axes names axis 2 twice"},
		{resized(nil, x(), nil, vec(3, 8)), "operand 3 (sizes) has 2 elements for 4 axes"},
		{resized(nil, x(), nil, vec(1, 3, -8, 8)), "element 2 of operand 3: found -8 and 0"},
		{resized(nil, x(), []float32{1, 1, 0, 2}), "a scale is 0; supported are numbers from"},
		{resized(nil, f32(1, 0), nil, vec(1, 2)), "the new size of dimension 1, which is empty: found 2 and 0"},
		{resized(attrs("mode", "lanczos"), x(), four), `attribute mode is "lanczos"; supported are ["nearest" "linear" "cubic"]`},
		{resized(attrs("nearest_mode", "up"), x(), four), `attribute nearest_mode is "up"`},
		{resized(attrs("antialias", 1), x(), four), `attribute antialias is 1 with mode "nearest"`},
		{resized(attrs("coordinate_transformation_mode", "tf_half_pixel_for_nn"), x(), four), "attribute coordinate_transformation_mode"},
		{resized(attrs("coordinate_transformation_mode", "tf_crop_and_resize"), x(), four), "operand 1 (roi) is absent"},
		{node("Resize", attrs("coordinate_transformation_mode", "tf_crop_and_resize"), x(), f32(4), vec32(four...)), "extent of operand 1: found 4 and 8"},
		{resized(attrs("keep_aspect_ratio_policy", "crop"), x(), nil, vec(1, 3, 8, 8)), `attribute keep_aspect_ratio_policy is "crop"`},
		{old(10, node("Resize", attrs("mode", "cubic"), x(), vec32(four...))), `attribute mode is "cubic"; supported are ["nearest" "linear"]`},
		{old(7, node("Upsample", attrs("scales", []float32{1}), x())), "scales has 1 elements for 4 axes"},
	} {
		_, err := Build(c.n, nil)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `node `+c.n.Op+` "n": `)
	}
}
