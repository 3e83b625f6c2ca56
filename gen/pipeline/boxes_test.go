package pipeline

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
)

// TestManyBoxes: of more boxes than NonMaxSuppression compares at a time the C++ function selects those of the Go
// function, which compares them one by one. Some are far apart and others overlap, touch, or have no area; coordinates
// may be infinite or no numbers at all.
func TestManyBoxes(t *testing.T) {
	const n = 1200
	for _, form := range []string{"0", "1"} {
		in := manyBoxes(n, form == "1")
		s := compile(t, `graph "g" opset 17 {
			const @most i64[] = {900}
			input %b f32[1, 1200, 4]
			input %s f32[1, 1, 1200]
			input %o f32[]
			%y ?[*] = NonMaxSuppression.11(%b, %s, @most, %o) {center_point_box = `+form+`}
			output %y
		}`)
		want, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"b": in[0], "s": in[1], "o": in[2]})
		require.NoError(t, err)
		require.Greater(t, want[0].Shape[0], int64(256), "enough are selected to compare several times")
		got := cpptest.Run(t, "../..", []cpptest.Case{{Name: "boxes", Program: s.Program, Inputs: in}}, "-O3")[0]
		require.Zero(t, got.Status)
		assert.Equal(t, want[0].Shape, got.Outputs[0].Shape)
		assert.Equal(t, want[0].Data, got.Outputs[0].Data)
	}
}

// manyBoxes are n boxes, their scores, and how much may overlap.
func manyBoxes(n int, centers bool) []*ir.Tensor {
	r := rand.New(rand.NewPCG(7, 8))
	odd := []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}
	var boxes, scores []float32
	for range n {
		y, x := float32(r.IntN(200)), float32(r.IntN(200))
		box := []float32{y, x, y + float32(r.IntN(5)), x - 2 + float32(r.IntN(5))}
		if centers {
			box[2], box[3] = box[2]-y, box[3]-x
		}
		if r.IntN(20) == 0 {
			box[r.IntN(4)] = odd[r.IntN(len(odd))]
		}
		boxes = append(boxes, box...)
		scores = append(scores, float32(r.IntN(100)))
	}
	return []*ir.Tensor{floats([]int64{1, int64(n), 4}, boxes...), floats([]int64{1, 1, int64(n)}, scores...), floats(nil, 0.3)}
}
