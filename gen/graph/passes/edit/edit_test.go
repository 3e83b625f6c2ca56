package edit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func TestFloats(t *testing.T) {
	xs := []float64{0, 1, -2.5, 65504, math.Inf(1), 0.1}
	for typ, tenth := range map[ir.DType]float64{ir.F16: 0.0999755859375, ir.BF16: 0.10009765625, ir.F32: float64(float32(0.1)), ir.F64: 0.1} {
		tensor := FloatTensor(typ, xs, 2, 3)
		require.Equal(t, []int64{2, 3}, tensor.Shape)
		got, err := Floats(tensor)
		require.NoError(t, err)
		require.Equal(t, tenth, got[5], typ)
		if typ != ir.BF16 { // which lacks the bits of 65504
			require.Equal(t, xs[:5], got[:5], typ)
		}
	}
	_, err := Floats(IntTensor(ir.I32, []int64{1}, 1))
	require.ErrorContains(t, err, "found i32")
}

func TestSettleNaNs(t *testing.T) {
	for _, c := range []struct {
		typ  ir.DType
		from []byte // a number, infinity and two of those that are none
		want []byte
	}{
		{ir.F16, []byte{0, 0x3c, 0, 0xfc, 1, 0xfc, 0, 0x7f}, []byte{0, 0x3c, 0, 0xfc, 0, 0x7e, 0, 0x7e}},
		{ir.BF16, []byte{0x80, 0x3f, 0x80, 0xff, 0x81, 0xff, 0xff, 0x7f}, []byte{0x80, 0x3f, 0x80, 0xff, 0xc0, 0x7f, 0xc0, 0x7f}},
		{ir.F32, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xff, 0, 0, 0xc0, 0xff, 1, 0, 0x80, 0x7f}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xff, 0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f}},
		{ir.F64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0xff, 9, 0, 0, 0, 0, 0, 0xf0, 0xff}, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}},
		{ir.U32, []byte{0, 0, 0xc0, 0xff}, []byte{0, 0, 0xc0, 0xff}},
	} {
		tensor := ir.NewTensor(c.typ, int64(len(c.from)/c.typ.Size()))
		copy(tensor.Data, c.from)
		SettleNaNs(tensor)
		require.Equal(t, c.want, tensor.Data, c.typ)
	}
}

func TestIntTensor(t *testing.T) {
	for _, typ := range []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64} {
		got, err := IntTensor(typ, []int64{-3, 100}, 2).Ints()
		require.NoError(t, err)
		require.Equal(t, []int64{-3, 100}, got)
	}
}

func TestNamer(t *testing.T) {
	inner := &ir.Value{Name: "inner"}
	g := &ir.Graph{Inputs: []*ir.Value{{Name: "x"}}, Nodes: []*ir.Node{{
		Outputs: []*ir.Value{nil, {Name: "y"}},
		Regions: []*ir.Graph{{Inputs: []*ir.Value{inner}}},
	}}}
	n := NewNamer(g)
	require.Equal(t, []string{"x.1", "x.2", "y.1", "inner.1", "z", "z.1"},
		[]string{n.Name("x"), n.Name("x"), n.Name("y"), n.Name("inner"), n.Name("z"), n.Name("z")})
}

func TestReplace(t *testing.T) {
	a, b, c := &ir.Value{Name: "a"}, &ir.Value{Name: "b"}, &ir.Value{Name: "c"}
	g := &ir.Graph{Outputs: []*ir.Value{b, c}, Nodes: []*ir.Node{{Inputs: []*ir.Value{c, nil, b}}}}
	Replace(g, map[*ir.Value]*ir.Value{c: b, b: a})
	require.Equal(t, []*ir.Value{a, nil, a}, g.Nodes[0].Inputs)
	require.Equal(t, []*ir.Value{a, a}, g.Outputs)
	require.Equal(t, 4, Uses(g)[a])
}
