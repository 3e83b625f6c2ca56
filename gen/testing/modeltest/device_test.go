package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestDevice runs two networks with control flow on the machine's OpenCL device and the processor, the blocks divided in every way: conditions
// are read back, launches stand in branches and loops, the part of a loop's result that an iteration gives begins at any element, and an
// index that is out of bounds is refused wherever it is read. Each runs often enough for the driver's command buffers to replay what it launches.
func TestDevice(t *testing.T) {
	graphs := maps.Clone(controls)
	graphs["indices"] = `
		input %x f32[4, 8]
		input %i i64[3]
		%y ?[*] = Gather.13(%x, %i) "pick"
		%z ?[*] = Exp.13(%y) "exp"
		output %z`
	for _, name := range Devices {
		t.Run(name, func(t *testing.T) {
			device, err := Chip(name)
			require.NoError(t, err)
			var cases []cpptest.Case
			var wants [][]*ir.Tensor
			for _, graph := range slices.Sorted(maps.Keys(graphs)) {
				for _, split := range Splits[1:] {
					for _, scale := range []float32{1. / 64, -1. / 64} {
						inputs := map[string]*ir.Tensor{"x": rising(scale, 4, 8), "i": indices(scale)}
						g := irtest.Parse(t, graphs[graph])
						want, refused := interp.Graph(irtest.Parse(t, graphs[graph]), inputs)
						require.Equal(t, graph == "indices" && scale < 0, refused != nil, "%v", refused)
						p, err := CompileSplit(g, Config{Chip: "x86_64"}, name, split, 5)
						require.NoError(t, err)
						label := fmt.Sprintf("%s, %s, %v", graph, split, scale)
						cases = append(cases, cpptest.Case{Name: label, Program: p, Inputs: InputsOf(p, inputs)})
						wants = append(wants, want)
					}
				}
			}
			for i, r := range cpptest.OnDevice(device).Run(t, "../../..", cases, "-O1", "-DDRIVER_RUNS=12") {
				if wants[i] == nil {
					assert.EqualValues(t, 13, r.Status, cases[i].Name)
					continue
				}
				if !assert.Zero(t, r.Status, cases[i].Name) {
					continue
				}
				for k, w := range wants[i] {
					assert.NoError(t, compare(r.Outputs[k], w), "%s: output %d", cases[i].Name, k)
				}
			}
		})
	}
}

// indices are of four rows, or beyond them where the scale is negative.
func indices(scale float32) *ir.Tensor {
	t := ir.NewTensor(ir.I64, 3)
	t.Data[0], t.Data[8] = 3, 1
	if scale < 0 {
		t.Data[16] = 4
	}
	return t
}
