package pipeline

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/target/chips/chipstest"
)

// TestTransforms: a device computes a convolution by Winograd's algorithm, in three kernels, where its facts name transforms and estimates say that it
// gains: of many images. Of few, launches and what lies between kernels take longer than products that are left out.
func TestTransforms(t *testing.T) {
	text := func(images int, side int64) string {
		return fmt.Sprintf("graph \"g\" opset 17 {\n  const @w f32[64, 64, 3, 3] = {%s}\n  input %%x f32[%d, 64, %d, %d]\n"+
			"  %%c ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1]}\n  %%y ?[*] = Relu.14(%%c)\n  output %%y\n}\n", ones(64*64*9), images, side, side)
	}
	for _, c := range []struct {
		name    string
		images  int
		facts   []int64 // the device's
		forced  int64
		disable []string
		want    []string // kernels
	}{
		{"many images", 16, []int64{2, 4}, 0, nil, []string{"choices", "group tiles", "choices"}},
		{"one image", 1, []int64{2, 4}, 0, nil, []string{"group tiles"}},
		{"one image, whatever estimates say", 1, nil, 2, nil, []string{"choices", "group tiles", "choices"}},
		{"facts that name none", 16, nil, 0, nil, []string{"group tiles"}},
		{"without", 16, []int64{2, 4}, 0, []string{"winograd"}, []string{"group tiles"}},
		{"without what items share", 16, []int64{2, 4}, 0, []string{"shared"}, []string{"contraction", "generic"}},
		{"without contractions", 16, []int64{2, 4}, 0, []string{"contractions"}, []string{"generic"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parse(t, text(c.images, 56))
			s.Target, s.Winograd = chipstest.Target(t, "opencl_nvidia"), c.forced
			s.Target.OpenCL.Winograd = c.facts
			through(t, s, c.disable...)
			var got []string
			for _, x := range s.Program.Calls() {
				got = append(got, x.Kernel.Anchor)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestTransformsOfResnet50: by the facts of an NVIDIA H100 estimates choose F(4,3) for resnet50's 3x3 convolutions of 16 images, and none for those of one.
func TestTransformsOfResnet50(t *testing.T) {
	for _, c := range [][2]int{{64, 56}, {128, 28}, {256, 14}} {
		for images, want := range map[int]int{1: 0, 16: 1} {
			s := parse(t, fmt.Sprintf("graph \"g\" opset 17 {\n  const @w f32[%d, %d, 3, 3] = {%s}\n  input %%x f32[%d, %d, %d, %d]\n  %%y ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1]}\n  output %%y\n}\n",
				c[0], c[0], ones(c[0]*c[0]*9), images, c[0], c[1], c[1]))
			s.Target = chipstest.Target(t, "opencl_nvidia")
			s.Target.OpenCL.Winograd = []int64{2, 4}
			through(t, s)
			got := 0
			for _, x := range s.Program.Calls() {
				if x.Block.Operands[0].Name == "w.winograd4" {
					got++
				}
			}
			assert.Equal(t, want, got, "%d channels, %d images", c[0], images)
			assert.Equal(t, want == 1, len(s.Program.Calls()) == 3, "%d channels, %d images", c[0], images)
		}
	}
}

// TestTransformsBeside: of a processor and a device beside it, the device's facts say so.
func TestTransformsBeside(t *testing.T) {
	s := parse(t, fmt.Sprintf("graph \"g\" opset 17 {\n  const @w f32[64, 64, 3, 3] = {%s}\n  input %%x f32[16, 64, 56, 56]\n  %%y ?[*] = Conv.11(%%x, @w)\n  output %%y\n}\n", ones(64*64*9)))
	s.Device = chipstest.Target(t, "opencl_nvidia")
	s.Device.OpenCL.Winograd = []int64{4}
	through(t, s)
	assert.Len(t, s.Program.Launches(), 3)
}
