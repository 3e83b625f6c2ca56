package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// images are x and y of 3 x 2 texels.
func images() (x, y *loop.Buffer) {
	image := func(name string, write bool) *loop.Buffer {
		return &loop.Buffer{Name: name, Type: ir.F32, Write: write, Size: num(24), Image: &loop.Image{Width: num(3), Height: num(2)}}
	}
	return image("x", false), image("y", true)
}

func runImages(x, y *loop.Buffer, body ...loop.Stmt) ([]float32, error) {
	k := &loop.Kernel{Buffers: []*loop.Buffer{x, y}, Body: body, Facts: sym.Facts{},
		Grid: []te.Axis{{Var: "p0", Extent: num(2)}, {Var: "p1", Extent: num(3)}}}
	c, err := Compile(k, nil)
	if err != nil {
		return nil, err
	}
	in, out := make([]float32, 24), aligned(96)
	for i := range in {
		in[i] = float32(i)
	}
	if err := c.Start(bytesOf(in...), out); err != nil {
		return nil, err
	}
	if err := c.Run(0, c.Tasks()); err != nil {
		return nil, err
	}
	return floats(out), c.Finish()
}

func TestImages(t *testing.T) {
	x, y := images()
	at := loop.Texel{X: sym.Var("p1"), Y: sym.Var("p0")}
	turned := loop.Texel{X: sym.Sub(num(2), sym.Var("p1")), Y: sym.Sub(num(1), sym.Var("p0"))}
	got, err := runImages(x, y, lanes("i", 4, 4, loop.Store{Buf: y, Index: i, Texel: at,
		Value: add(loop.Mem{Buf: x, Index: i, Texel: turned}, loop.Mem{Buf: x, Index: num(3), Texel: at})}))
	require.NoError(t, err)
	assert.Equal(t, []float32{20 + 3, 21 + 3, 22 + 3, 23 + 3}, got[:4])
	assert.Equal(t, []float32{16 + 7, 17 + 7}, got[4:6], "the next texel of the row")
	assert.Equal(t, []float32{8 + 15}, got[12:13], "the next row")
}

func TestImageChecks(t *testing.T) {
	x, y := images()
	at := loop.Texel{X: sym.Var("p1"), Y: sym.Var("p0")}
	for _, c := range []struct {
		name string
		stmt loop.Stmt
		want string
	}{
		{"one lane", loop.Store{Buf: y, Index: num(0), Texel: at, Value: lit(1)}, "a store to the image y that is not a whole texel"},
		{"serial lanes", loopOver("i", num(4), loop.Store{Buf: y, Index: i, Texel: at, Value: lit(1)}), "not a whole texel"},
		{"three lanes", lanes("i", 3, 3, loop.Store{Buf: y, Index: i, Texel: at, Value: lit(1)}), "not a whole texel"},
		{"lanes of two texels", lanes("i", 4, 4, loop.Store{Buf: y, Index: sym.Add(i, num(1)), Texel: at, Value: lit(1)}),
			"lane 4 of texel (0, 0) is outside of y, which is 3 x 2"},
		{"beyond the width", lanes("i", 4, 4, loop.Store{Buf: y, Index: i, Texel: at,
			Value: loop.Mem{Buf: x, Index: i, Texel: loop.Texel{X: num(3), Y: num(0)}}}), "lane 0 of texel (3, 0) is outside of x, which is 3 x 2"},
		{"twice", lanes("i", 4, 4, loop.Store{Buf: y, Index: i, Texel: loop.Texel{}, Value: lit(1)}), "element 0 of y is written by task 0 too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := runImages(x, y, c.stmt)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	x.Image.Height = num(3)
	_, err := runImages(x, y)
	assert.ErrorContains(t, err, "the image x of 3 x 3 texels has 24 elements")
}
