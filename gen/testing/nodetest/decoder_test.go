package nodetest

import (
	"bytes"
	_ "embed" // a network and ONNX Runtime's results
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

//go:embed testdata/decoder.onnx
var decoderModel []byte

//go:embed testdata/decoder.json
var decoderAnswers []byte

// decoderStep is a run of testdata/decoder.onnx.
type decoderStep struct {
	Words, Mask [][]int64
	Anew        bool          // without a cache
	Logits      [][][]float64 // of each batch, of words that are no padding
}

// inputs are those of a step behind an earlier one, whose results are logits and the cache.
func (s *decoderStep) inputs(g *ir.Graph, last []*ir.Tensor) map[string]*ir.Tensor {
	out := map[string]*ir.Tensor{}
	for i, v := range g.Inputs {
		switch {
		case i == 0:
			out[v.Name] = matrix(s.Words)
		case i == 1:
			out[v.Name] = matrix(s.Mask)
		case s.Anew:
			heads, _ := v.Shape[1].Const()
			size, _ := v.Shape[3].Const()
			out[v.Name] = ir.NewTensor(ir.F32, int64(len(s.Words)), heads, 0, size)
		default:
			out[v.Name] = last[i-1]
		}
	}
	return out
}

func matrix(rows [][]int64) *ir.Tensor {
	var all []float64
	for _, row := range rows {
		for _, x := range row {
			all = append(all, float64(x))
		}
	}
	return numbers(ir.I64, []int64{int64(len(rows)), int64(len(rows[0]))}, all...)
}

// far is how far logits are from ONNX Runtime's at most.
func (s *decoderStep) far(t *testing.T, logits *ir.Tensor) float64 {
	xs := make([]float32, logits.Len())
	_, err := binary.Decode(logits.Data, binary.LittleEndian, xs)
	require.NoError(t, err)
	require.Equal(t, []int64{int64(len(s.Words)), int64(len(s.Words[0]))}, logits.Shape[:2])
	most, words := 0.0, int(logits.Shape[2])
	for b, rows := range s.Logits {
		for at, row := range rows {
			for k, want := range row {
				most = max(most, math.Abs(float64(xs[(b*len(s.Words[b])+at)*words+k])-want))
			}
		}
	}
	return most
}

// attentions counts kernels of attention; of the products, of which each reads a matrix of its own, no two are one kernel, which would have no register tiles.
func attentions(t *testing.T, p *plan.Program) int {
	n := 0
	for _, c := range p.Calls() {
		products := 0
		for _, op := range c.Block.Ops {
			if op == "MatMul" {
				products++
			}
		}
		require.LessOrEqual(t, products, 1, "products in one kernel, of %v", c.Block.Ops)
		if c.Kernel.Anchor == "attention" {
			n++
		}
	}
	return n
}

// TestDecoder compares a decoder of two layers, as exporters of language models leave them, with ONNX Runtime: prompts and steps behind them, each with the
// cache that the one before left, in the interpreter and compiled once for all lengths. It says how large the largest difference is.
func TestDecoder(t *testing.T) {
	var steps []*decoderStep
	require.NoError(t, json.Unmarshal(decoderAnswers, &steps))
	read := func() *ir.Graph {
		g, err := onnx.Read(&ir.File{R: bytes.NewReader(decoderModel), Size: int64(len(decoderModel))}, nil, onnx.Options{
			Supported: ops.Supported, Dims: map[string]onnx.Dim{"past_sequence_length": {Lo: 0, Hi: 100}},
		})
		require.NoError(t, err)
		return g
	}
	stages := read()
	require.NoError(t, simplify.Run(stages))
	compare := func(name string, do func(in map[string]*ir.Tensor) ([]*ir.Tensor, error)) {
		t.Run(name, func(t *testing.T) {
			var last []*ir.Tensor
			most := 0.0
			for i, s := range steps {
				var err error
				last, err = do(s.inputs(stages, last))
				require.NoError(t, err, "step %d", i)
				most = max(most, s.far(t, last[0]))
			}
			require.Less(t, most, 5e-6)
			t.Logf("logits differ by at most %.2g", most)
		})
	}
	compare("stages", func(in map[string]*ir.Tensor) ([]*ir.Tensor, error) { return interp.Graph(stages, in) })
	for _, name := range []string{"x86_64_v4_vnni", "arm64"} {
		chip, err := modeltest.Chip(name)
		require.NoError(t, err)
		p, err := modeltest.CompileFor(read(), chip, nil)
		require.NoError(t, err)
		require.Equal(t, 2, attentions(t, p), "kernels of attention")
		compare(name, func(in map[string]*ir.Tensor) ([]*ir.Tensor, error) { return run.Program(p, modeltest.InputsOf(p, in)) })
	}
}
