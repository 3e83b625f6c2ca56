package sel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestImages: activations between convolutions are images where the device has them.
func TestImages(t *testing.T) {
	text := filters("a", 32, 16, 3, 3) + filters("b", 32, 32, 3, 3) + `
  symbol N 1..8
  input %x f32[N, 16, 14, 14]
  %p f32[N, 32, 14, 14] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %q f32[N, 32, 14, 14] = Relu.14(%p)
  %y f32[N, 32, 14, 14] = Conv.11(%q, @b) {pads = [1, 1, 1, 1]}
  output %y
`
	images := []string{"Conv+Relu: generic, image of axis1/4", "Conv: generic, image of axis1/4", "Layout: generic, row-major"}
	for name, want := range map[string][]string{"opencl_images": images, "opencl_buffers": nil} {
		g := fused(t, text)
		c, err := Run(g, chipstest.Target(t, name), all)
		require.NoError(t, err)
		require.NoError(t, g.Verify())
		if want != nil {
			assert.Equal(t, want, steps(g, c))
		}
		for _, l := range c.Layouts {
			assert.True(t, want != nil || l.Memory == layout.Buffer, "%s has no images", name)
		}
		checkLayouts(t, g, c)
	}
}

// TestTexels: texels lie along what contractions sum over; a value is no image where it may be
// greater than the device can have one, or where texels would be half empty.
func TestTexels(t *testing.T) {
	text := filters("w", 24, 8) + `
  symbol N 1..8
  symbol M 1..99999
  input %tokens f32[N, 5, 24]
  input %many f32[M, 24]
  input %wide f32[8, 16, 99999]
  input %thin f32[8, 2, 9]
  input %ints i32[8, 16]
  %a f32[N, 5, 8] = MatMul.13(%tokens, @w)
  %b f32[M, 8] = MatMul.13(%many, @w)
  %c f32[8, 16, 99999] = Relu.14(%wide)
  %d f32[8, 2, 9] = Relu.14(%thin)
  %e i32[8, 16] = Neg.13(%ints)
  output %a
  output %b
  output %c
  output %d
  output %e
`
	g := fused(t, text)
	s := newSelector(g, chipstest.Target(t, "opencl_images"), all)
	require.NoError(t, s.enumerate())
	got := map[string]string{}
	for _, v := range append(g.Inputs, g.Outputs...) {
		ls := s.layouts(v)
		require.LessOrEqual(t, len(ls), 2, v.Name)
		got[v.Name] = ls[len(ls)-1].String()
	}
	assert.Equal(t, map[string]string{
		"tokens": "image of axis2/4", "a": "image of axis1/4",
		"many": "row-major", "b": "row-major", "wide": "row-major", "c": "row-major",
		"thin": "row-major", "d": "row-major", "ints": "row-major", "e": "row-major",
	}, got)
	s = newSelector(g, chipstest.Target(t, "opencl_images"), Options{})
	require.NoError(t, s.enumerate())
	assert.Equal(t, []layout.Layout{layout.RowMajor}, s.layouts(g.Inputs[0]), "layouts are switched off")
}

// TestImageUse: no value is an image where that is asked for, or all are that can be, and what buffers cost there is in no estimate.
func TestImageUse(t *testing.T) {
	text := filters("a", 16, 16, 1, 1) + `
  input %x f32[1, 16, 4, 4]
  %p f32[1, 16, 4, 4] = Conv.11(%x, @a)
  %q f32[1, 4, 4, 16] = Transpose.13(%p) {perm = [0, 2, 3, 1]}
  %y f32[1, 4, 4, 16] = Softmax.13(%q) {axis = 1}
  output %y
`
	for use, want := range map[ImageUse]func(images, buffers int){
		NoImages:   func(images, _ int) { assert.Zero(t, images) },
		OnlyImages: func(images, buffers int) { assert.Positive(t, images); assert.Zero(t, buffers, "but the interface") },
	} {
		g, o := fused(t, text), all
		o.Images = use
		c, err := Run(g, chipstest.Target(t, "opencl_images"), o)
		require.NoError(t, err)
		require.NoError(t, g.Verify())
		images, buffers := 0, 0
		for _, b := range g.Blocks {
			for _, v := range b.Results {
				switch {
				case g.IsOutput(v):
				case c.Layouts[v].Memory == layout.Image:
					images++
				default:
					buffers++
				}
			}
		}
		want(images, buffers)
		assert.Less(t, c.Solution.Cost, unwanted/2)
		checkLayouts(t, g, c)
	}
}
