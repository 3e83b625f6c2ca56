// Package hexagontest runs the example's quantized network on Qualcomm's DSP, under qemu-hexagon,
// as the rules build it.
package hexagontest

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/tools/check"
)

var (
	program = flag.String("program", "", "the program, with its emulator")
	model   = flag.String("model", "", "the network in integers (ONNX)")
	sheet   = flag.String("sheet", "", "pictures, one a row (PNG)")
	labels  = flag.String("labels", "", "what they show (JSON)")
)

// pictures is the number of classified pictures, in batches.
const (
	pictures = 32
	batch    = 8
)

// images returns pictures as the network's input.
func images(t *testing.T, first, count int) *ir.Tensor {
	f, err := os.Open(*sheet)
	require.NoError(t, err)
	defer f.Close()
	all, err := png.Decode(f)
	require.NoError(t, err)
	mean, deviation := [3]float64{0.4914, 0.4822, 0.4465}, [3]float64{0.2470, 0.2435, 0.2616}
	const side = 32
	x := ir.NewTensor(ir.F32, int64(count), 3, side, side)
	for n := range count {
		for i := range side * side {
			r, g, b, _ := all.At(i, first+n).RGBA()
			for c, v := range [3]uint32{r, g, b} {
				value := (float64(v>>8)/255 - mean[c]) / deviation[c]
				binary.LittleEndian.PutUint32(x.Data[4*((n*3+c)*side*side+i):], math.Float32bits(float32(value)))
			}
		}
	}
	return x
}

// TestClassify checks that the DSP's library returns the same bytes as the interpreter, which also
// computes in integers, and that most answers are right.
func TestClassify(t *testing.T) {
	if *program == "" {
		t.Skip("Bazel builds the program: bazel test //app/hexagontest:hexagontest_test")
	}
	f, err := os.Open(*model)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: f, Size: info.Size()}, nil, onnx.Options{Dims: map[string]onnx.Dim{"N": {Lo: 1, Hi: 64}}})
	require.NoError(t, err)
	_, err = pipeline.Run(pipeline.GraphPasses, &pipeline.State{Graph: g}, pipeline.Options{})
	require.NoError(t, err)
	text, err := os.ReadFile(*labels)
	require.NoError(t, err)
	var want []int
	require.NoError(t, json.Unmarshal(text, &want))
	e, err := check.StartEmulated(*program)
	require.NoError(t, err)
	right, packets := 0, int64(0)
	for first := 0; first < pictures; first += batch {
		inputs := map[string]*ir.Tensor{"image": images(t, first, batch)}
		reference, err := interp.Graph(g, inputs)
		require.NoError(t, err)
		got, err := e.Run(map[string]int64{"N": batch}, inputs)
		require.NoError(t, err)
		logits := got["logits"]
		require.Equal(t, reference[0].Data, logits.Data, "pictures from %d on", first)
		for n := range batch {
			if best(logits, n) == want[first+n] {
				right++
			}
		}
		for _, b := range e.Blocks {
			packets += b.Packets
		}
	}
	require.NoError(t, e.Close())
	t.Logf("%d of %d pictures are classified rightly; %d packets a picture", right, pictures, packets/pictures)
	assert.GreaterOrEqual(t, right, pictures*8/10)
	assert.Positive(t, packets)
}

// best returns the class of picture n with the largest logit.
func best(logits *ir.Tensor, n int) int {
	most, at := math.Inf(-1), 0
	classes := int(logits.Shape[1])
	for c := range classes {
		bits := binary.LittleEndian.Uint32(logits.Data[4*(n*classes+c):])
		if v := float64(math.Float32frombits(bits)); v > most {
			most, at = v, c
		}
	}
	return at
}
