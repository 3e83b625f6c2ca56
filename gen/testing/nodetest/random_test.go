package nodetest

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

// noise has each operator that draws, with symbols, in types of all sizes, and in a loop.
const noise = `
  symbol N 1..64
  const @ratio f32[] = {0.25}
  const @on bool[] = {1}
  const @three i64[] = {3}
  const @zero i64[1] = {0}
  input %x f32[N, 3]
  input %p f32[N, 4]
  input %logits f32[N, 6]
  %normal f32[N, 3] = RandomNormalLike.1(%x) {mean = f32 1.5, scale = f32 0.7}
  %fixed f32[5, 3] = RandomUniform.1() {shape = [5, 3], low = f32 -2, high = f32 3, seed = f32 7}
  %double f64[N, 3] = RandomUniformLike.1(%x) {dtype = 11}
  %half f16[7] = RandomNormal.1() {shape = [7], dtype = 10}
  %tossed f32[N, 4] = Bernoulli.15(%p)
  %class i64[N, 9] = Multinomial.7(%logits) {sample_size = 9, dtype = 7}
  %kept f32[N, 3], %mask bool[N, 3] = Dropout.13(%x, @ratio, @on)
  %last ?[*], %steps ?[*] = Loop.16(@three, _, %x) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i i64[]
      input %go bool[]
      input %was f32[N, 3]
      %more f32[N, 3] = RandomNormalLike.1(%was)
      %now f32[N, 3] = Add.14(%was, %more)
      %again bool[] = Identity.16(%go)
      output %again
      output %now
      output %more
    }
  }
  output %normal
  output %fixed
  output %double
  output %half
  output %tossed
  output %class
  output %kept
  output %mask
  output %last
  output %steps
`

// drawn imports noise with a seed.
func drawn(t *testing.T, seed onnx.Seed) *ir.Graph {
	t.Helper()
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, irtest.Parse(t, noise)))
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(model.Bytes()), Size: int64(model.Len())}, nil, onnx.Options{Supported: ops.Supported, Seed: seed})
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	return g
}

func drawnInputs(seed int64) map[string]*ir.Tensor {
	p := ir.NewTensor(ir.F32, 5, 4)
	for i := range p.Len() {
		copy(p.Data[4*i:], numbers(ir.F32, dims(1), float64(i%5)/4).Data)
	}
	return map[string]*ir.Tensor{"x": wave(0.7, 5, 3), "p": p, "logits": wave(1.3, 5, 6), "seed": numbers(ir.I64, dims(), float64(seed))}
}

// TestRandomNumbers: the same seed draws the same bits in the interpreter, in C++ for a processor, and beside an OpenCL device;
// another one draws others, but where the model names a seed itself.
func TestRandomNumbers(t *testing.T) {
	chip := hostChip(t)
	results := map[int64][]*ir.Tensor{}
	for _, fixed := range []bool{true, false} {
		for _, seed := range []int64{0, 12345} {
			g := drawn(t, onnx.Seed{Input: !fixed, Value: seed})
			require.NoError(t, simplify.Run(g))
			want, err := interp.Graph(g, drawnInputs(seed))
			require.NoError(t, err)
			if fixed {
				results[seed] = want
				continue
			}
			require.Equal(t, results[seed], want, "an input is as good as an option")
		}
	}
	a, b := results[0], results[12345]
	for i, v := range a {
		if i == 1 {
			require.Equal(t, v, b[i])
		} else {
			require.NotEqual(t, v.Data, b[i].Data, "output %d", i)
		}
	}
	steps := a[9].Data // each iteration has its own
	require.NotEqual(t, steps[:60], steps[60:120])
	require.NotEqual(t, steps[60:120], steps[120:180])
	for i := 0; i < 20; i += 5 { // never what has the probability 0, always what has 1
		require.Zero(t, float32At(a[4], i))
		require.Equal(t, float32(1), float32At(a[4], i+4))
	}

	facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices/opencl_buffers.json"))
	require.NoError(t, err)
	device, err := target.Parse(facts)
	require.NoError(t, err)
	drawnCompiled(t, &cpptest.Host, chip, nil, results)
	drawnCompiled(t, cpptest.OnDevice(device), chip, device, results)
}

// drawnCompiled runs programs for seeds and compares bits.
func drawnCompiled(t *testing.T, m *cpptest.Machine, chip, device *target.Target, results map[int64][]*ir.Tensor) {
	t.Helper()
	var list []cpptest.Case
	var of [][]*ir.Tensor
	for seed, want := range results {
		st := &pipeline.State{Graph: drawn(t, onnx.Seed{Input: true}), Target: chip, Device: device}
		_, err := pipeline.Run(pipeline.GraphPasses, st, pipeline.Options{})
		require.NoError(t, err)
		_, err = pipeline.Run(pipeline.CompilePasses, st, pipeline.Options{})
		require.NoError(t, err)
		c := cpptest.Case{Name: "noise", Program: st.Program, Dims: map[string]int64{"N": 5}}
		for _, v := range st.Graph.Inputs {
			c.Inputs = append(c.Inputs, drawnInputs(seed)[v.Name])
		}
		list, of = append(list, c), append(of, want)
	}
	for i, r := range m.Run(t, repository, list, chip.Copts...) {
		require.Zero(t, r.Status)
		for k, want := range of[i] {
			if k == 5 || k == 6 { // sums of the probabilities of classes, and what is kept, are floats of the network
				require.NoError(t, Compare(r.Outputs[k], want))
				continue
			}
			require.Equal(t, want.Data, r.Outputs[k].Data, "output %d", k)
		}
	}
}

func float32At(t *ir.Tensor, i int) float32 {
	return math.Float32frombits(uint32(t.Data[4*i]) | uint32(t.Data[4*i+1])<<8 | uint32(t.Data[4*i+2])<<16 | uint32(t.Data[4*i+3])<<24)
}
