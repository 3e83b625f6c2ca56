package nodetest

import (
	_ "embed" // ONNX Runtime's results
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

//go:embed testdata/recurrent.json
var recurrentResults []byte

// recurrentCase is what testdata/recurrent.py writes of a case.
type recurrentCase struct {
	Name, Op string
	Has      []string
	Attrs    map[string]json.RawMessage
	Lens     []int32
	Scale    float64
	Outputs  []struct {
		Shape []int64
		Data  []float32
	}
}

const recurrentHidden = 3

// attrs are the node's attributes, of the types that the operator's row says.
func (c *recurrentCase) attrs(t *testing.T) ir.Attrs {
	out := ir.Attrs{"hidden_size": int64(recurrentHidden)}
	for _, a := range ops.Lookup(c.Op).Attrs {
		raw, ok := c.Attrs[a.Name]
		if !ok {
			continue
		}
		var err error
		switch a.Zero.(type) {
		case int64:
			out[a.Name], err = parsed[int64](raw)
		case float32:
			out[a.Name], err = parsed[float32](raw)
		case string:
			out[a.Name], err = parsed[string](raw)
		case []float32:
			out[a.Name], err = parsed[[]float32](raw)
		case []string:
			out[a.Name], err = parsed[[]string](raw)
		}
		require.NoError(t, err)
	}
	require.Len(t, out, len(c.Attrs)+1)
	return out
}

func parsed[T any](raw json.RawMessage) (x T, err error) {
	err = json.Unmarshal(raw, &x)
	return x, err
}

// node is the case's node, without operands.
func (c *recurrentCase) node(t *testing.T) *ir.Node {
	n := &ir.Node{Op: c.Op, Name: "n", Attrs: c.attrs(t)}
	for _, name := range []string{"y", "h", "c"}[:len(c.Outputs)] {
		n.Outputs = append(n.Outputs, &ir.Value{Name: name, Def: n})
	}
	return n
}

// operands are the waves of testdata/recurrent.py.
func (c *recurrentCase) operands(n *ir.Node) []*ir.Tensor {
	const steps, batch, input, hidden = 4, 3, 2, recurrentHidden
	d := int64(1)
	if n.Str("direction", "") == "bidirectional" {
		d = 2
	}
	rows := map[string]int64{"RNN": 1, "GRU": 3, "LSTM": 4}[c.Op] * hidden
	x, state := []int64{steps, batch, input}, []int64{d, batch, hidden}
	if n.Int("layout", 0) == 1 {
		x, state = []int64{batch, steps, input}, []int64{batch, d, hidden}
	}
	given := func(what string, v *ir.Tensor) *ir.Tensor {
		if !slices.Contains(c.Has, what) {
			return nil
		}
		return v
	}
	out := []*ir.Tensor{
		times(wave(0.7, x...), max(c.Scale, 1)), wave(1.3, d, rows, input), wave(2.1, d, rows, hidden), given("B", wave(0.9, d, 2*rows)),
		nil, given("h", wave(1.7, state...)), given("c", wave(0.4, state...)), given("P", wave(0.6, d, 3*hidden)),
	}
	if c.Lens != nil {
		out[4] = of(ir.I32, c.Lens, int64(len(c.Lens)))
	}
	for out[len(out)-1] == nil {
		out = out[:len(out)-1]
	}
	return out
}

func times(x *ir.Tensor, by float64) *ir.Tensor {
	xs, err := edit.Floats(x)
	if err != nil {
		panic(err)
	}
	for i := range xs {
		xs[i] *= by
	}
	return edit.FloatTensor(x.Type, xs, x.Shape...)
}

// compare holds results against ONNX Runtime's, which have seven digits.
func (c *recurrentCase) compare(t *testing.T, got []*ir.Tensor) {
	require.Len(t, got, len(c.Outputs))
	for i, want := range c.Outputs {
		require.Equal(t, want.Shape, got[i].Shape, "result %d", i)
		require.InDeltaSlice(t, want.Data, decoded[float32](t, got[i]), 2e-6, "result %d", i)
	}
}

func recurrentCases(t *testing.T) []*recurrentCase {
	var out []*recurrentCase
	require.NoError(t, json.Unmarshal(recurrentResults, &out))
	require.NotEmpty(t, out)
	return out
}

// TestRecurrent compares with ONNX Runtime what ONNX's node tests leave out: node by node
// in the interpreter, and as a graph whose numbers of steps and of sequences are symbols.
func TestRecurrent(t *testing.T) {
	for _, c := range recurrentCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			n := c.node(t)
			operands := c.operands(n)
			g, inputs := symbolicSequence(n, operands)
			got, err := interp.Interp{}.Node(n, operands)
			require.NoError(t, err)
			c.compare(t, got)

			require.NoError(t, simplify.Run(g))
			require.NoError(t, ir.Verify(g))
			for _, n := range g.Nodes {
				require.NotEqual(t, c.Op, n.Op)
			}
			got, err = interp.Graph(g, inputs)
			require.NoError(t, err)
			c.compare(t, got)
		})
	}
}

// symbolicSequence is the graph of a recurrent node whose weights are constants, and whose
// numbers of steps and sequences are symbols.
func symbolicSequence(n *ir.Node, operands []*ir.Tensor) (*ir.Graph, map[string]*ir.Tensor) {
	g := &ir.Graph{Name: "g", Opset: 22, Nodes: []*ir.Node{n}, Outputs: n.Outputs}
	inputs := map[string]*ir.Tensor{}
	time, batch := 0, 1
	if n.Int("layout", 0) == 1 {
		time, batch = 1, 0
	}
	for _, name := range []string{"T", "B"} {
		g.Symbols = append(g.Symbols, ir.Symbol{Name: name, Lo: 1, Hi: sym.MaxDim})
	}
	batchOf := map[string]int{"X": batch, "sequence_lens": 0, "initial_h": batch, "initial_c": batch}
	for i, x := range operands {
		name := ops.Lookup(n.Op).Inputs[i].Name
		axis, dynamic := batchOf[name]
		switch {
		case x == nil:
			n.Inputs = append(n.Inputs, nil)
			continue
		case !dynamic:
			n.Inputs = append(n.Inputs, ir.ConstValue(name, x))
			continue
		}
		v := &ir.Value{Name: name, Type: x.Type, HasShape: true, Shape: ir.Dims(x.Shape...)}
		v.Shape[axis] = sym.Var("B")
		if name == "X" {
			v.Shape[time] = sym.Var("T")
		}
		n.Inputs, g.Inputs, inputs[name] = append(n.Inputs, v), append(g.Inputs, v), x
	}
	return g, inputs
}

// TestRecurrentParts: each result alone is what it is beside the others, the hidden size
// follows from the weights, and other types round no more than their operands and results.
func TestRecurrentParts(t *testing.T) {
	for _, c := range recurrentCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			n := &ir.Node{Op: c.Op, Name: "n", Attrs: c.attrs(t)}
			delete(n.Attrs, "hidden_size")
			operands := c.operands(n)
			n.Inputs = make([]*ir.Value, len(operands))
			for k, want := range c.Outputs {
				n.Outputs = make([]*ir.Value, k+1)
				n.Outputs[k] = &ir.Value{Name: "y"}
				got, err := interp.Interp{}.Node(n, operands)
				require.NoError(t, err)
				require.InDeltaSlice(t, want.Data, decoded[float32](t, got[k]), 2e-6)
				for typ, tolerance := range map[ir.DType]float64{ir.F16: 4e-3, ir.BF16: 3e-2, ir.F64: 2e-6} {
					got, err := interp.Interp{}.Node(n, retype(t, operands, typ))
					require.NoError(t, err)
					require.Equal(t, typ, got[k].Type)
					ys, err := edit.Floats(got[k])
					require.NoError(t, err)
					require.InDeltaSlice(t, want.Data, ys, tolerance, typ)
				}
			}
		})
	}
}

// retype rounds floats to another type.
func retype(t *testing.T, xs []*ir.Tensor, typ ir.DType) []*ir.Tensor {
	out := slices.Clone(xs)
	for i, x := range out {
		if x != nil && x.Type.IsFloat() {
			values, err := edit.Floats(x)
			require.NoError(t, err)
			out[i] = edit.FloatTensor(typ, values, x.Shape...)
		}
	}
	return out
}
