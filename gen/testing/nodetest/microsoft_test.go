package nodetest

import (
	"bytes"
	_ "embed" // ONNX Runtime's results
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

//go:embed testdata/microsoft.json
var microsoftResults []byte

// microsoftTensor is a tensor as testdata/microsoft.py writes it.
type microsoftTensor struct {
	Type  string
	Shape []int64
	Data  []float64
}

func (x *microsoftTensor) tensor(t *testing.T) *ir.Tensor {
	if x == nil {
		return nil
	}
	for _, typ := range []ir.DType{ir.F16, ir.F32, ir.U8, ir.I8, ir.I32, ir.I64, ir.Bool} {
		if typ.String() == x.Type {
			return numbers(typ, x.Shape, x.Data...)
		}
	}
	require.Fail(t, "unknown type", x.Type)
	return nil
}

type microsoftCase struct {
	Name, Op string
	Attrs    map[string]json.RawMessage
	Inputs   []*microsoftTensor
	Outputs  []*microsoftTensor
	Free     []int     // numbers of operands that are no constants; nil for the first
	Bounded  []int     // of those that are none where the case is compiled, by bounds of what they decide
	Rows     [][]int64 // of each batch of the first outputs, how many rows are specified
}

// specified are the outputs with 0 in rows that may hold anything, as those of queries that are padding.
func (c *microsoftCase) specified(t *testing.T, ys []*ir.Tensor) []*ir.Tensor {
	var out []*ir.Tensor
	for i, y := range ys {
		if i >= len(c.Rows) {
			out = append(out, y)
			continue
		}
		y = &ir.Tensor{Type: y.Type, Shape: y.Shape, Data: slices.Clone(y.Data)}
		last := len(y.Shape) - 1
		rows, row := y.Shape[last-1], int(y.Shape[last])*y.Type.Size()
		require.Len(t, c.Rows[i], int(y.Shape[0]))
		for at := 0; at*row < len(y.Data); at++ {
			batch := int64(at*row) * y.Shape[0] / int64(len(y.Data))
			if int64(at)%rows >= c.Rows[i][batch] {
				clear(y.Data[at*row : (at+1)*row])
			}
		}
		out = append(out, y)
	}
	return out
}

// example is the case as a node; all operands but the first are constants if they are to be.
func (c *microsoftCase) example(t *testing.T) *example {
	e := &example{name: c.Name, op: ops.Microsoft + c.Op, opset: 21, attrs: ir.Attrs{}}
	for _, a := range ops.Lookup(e.op).Attrs {
		raw, ok := c.Attrs[a.Name]
		if !ok {
			continue
		}
		var err error
		switch a.Zero.(type) {
		case int64:
			e.attrs[a.Name], err = parsed[int64](raw)
		case float32:
			e.attrs[a.Name], err = parsed[float32](raw)
		case string:
			e.attrs[a.Name], err = parsed[string](raw)
		case []float32:
			e.attrs[a.Name], err = parsed[[]float32](raw)
		case []int64:
			e.attrs[a.Name], err = parsed[[]int64](raw)
		}
		require.NoError(t, err)
	}
	require.Len(t, e.attrs, len(c.Attrs))
	for _, x := range c.Inputs {
		e.in = append(e.in, x.tensor(t))
	}
	for _, y := range c.Outputs {
		e.out = append(e.out, y.tensor(t))
	}
	return e
}

// TestMicrosoft compares with ONNX Runtime its own operators, read from a model: as they are, in integers, and compiled. It rounds some in
// another order than its documentation says: integers are at most one step away, and few are.
func TestMicrosoft(t *testing.T) {
	var cases []*microsoftCase
	require.NoError(t, json.Unmarshal(microsoftResults, &cases))
	ran := map[string]bool{}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			own, err := c.example(t).ownCase()
			require.NoError(t, err)
			ran[ops.Microsoft+c.Op] = true
			own.Outputs = c.specified(t, own.Outputs)
			read := func(more ...int) (*ir.Graph, map[string]*ir.Tensor) {
				file := &ir.File{R: bytes.NewReader(own.Model), Size: int64(len(own.Model))}
				g, err := onnx.Read(file, nil, onnx.Options{Supported: ops.Supported})
				require.NoError(t, err)
				return constants(g, own.Inputs, c.free(more...))
			}
			g, inputs := read()
			require.NoError(t, simplify.Run(g))
			got, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			near8(t, own.Outputs, c.specified(t, got))

			g, inputs = read()
			require.NoError(t, simplify.RunBut(g, islands.Keeps))
			islands.Run(g)
			require.NoError(t, simplify.Run(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			want = c.specified(t, want)
			near8(t, own.Outputs, want)

			chip, err := modeltest.Chip("x86_64_v4_vnni")
			require.NoError(t, err)
			var p *plan.Program
			require.NoError(t, bounding(own, func(bounds map[string]sym.Range) error {
				g, inputs = read(c.Bounded...)
				g.Bounded = bounds
				p, err = modeltest.CompileFor(g, chip, nil)
				return err
			}))
			got, err = run.Program(p, modeltest.InputsOf(p, inputs))
			require.NoError(t, err)
			if want[0].Type.IsFloat() {
				near8(t, want, c.specified(t, got))
			} else {
				assert.Equal(t, want[0].Data, got[0].Data)
			}
		})
	}
	for _, r := range ops.Table() {
		if strings.HasPrefix(r.Name, ops.Microsoft) {
			assert.True(t, ran[r.Name], "no case of %s", r.Name)
		}
	}
}

// TestHalfProducts: the sums of MatMulIntegerToFloat are beyond f16, and the product of its scales may be below it; the result is neither.
// ONNX Runtime's processors have no kernel of f16.
func TestHalfProducts(t *testing.T) {
	for _, c := range []struct {
		name              string
		scale, bias, want float64 // of f16
	}{
		{"sums", 0x1.47cp-7, 0, 13.0078125},
		{"scales", 0x1.a38p-14, 0, 0x1.55p-10},
		{"bias", 0x1.47cp-7, -13, 0x1.5ap-7},
	} {
		t.Run(c.name, func(t *testing.T) {
			half := func(x float64, shape ...int64) *microsoftTensor {
				return &microsoftTensor{Type: "f16", Shape: shape, Data: []float64{x}}
			}
			integers := func(shape []int64, xs ...float64) *microsoftTensor {
				return &microsoftTensor{Type: "u8", Shape: shape, Data: xs}
			}
			x := &microsoftCase{Name: c.name, Op: "MatMulIntegerToFloat", Outputs: []*microsoftTensor{half(c.want, 1, 1)}, Inputs: []*microsoftTensor{
				integers([]int64{1, 2}, 255, 255), integers([]int64{2, 1}, 255, 255), half(c.scale), half(c.scale, 1), integers(nil, 0), integers(nil, 0), half(c.bias, 1),
			}}
			x.exact(t)
		})
	}
}

// TestEmptySoftmax: the definitions before opset 13 flatten, and give what is empty its shape again.
func TestEmptySoftmax(t *testing.T) {
	for _, shape := range [][]int64{{2, 3, 0}, {0, 3}, {2, 0, 3}} {
		empty := &microsoftTensor{Type: "u8", Shape: shape}
		scale, zero := &microsoftTensor{Type: "f32", Data: []float64{1. / 256}}, &microsoftTensor{Type: "u8", Data: []float64{0}}
		x := &microsoftCase{Name: "empty", Op: "QLinearSoftmax", Outputs: []*microsoftTensor{empty}, Inputs: []*microsoftTensor{empty, scale, zero, scale, zero},
			Attrs: map[string]json.RawMessage{"axis": json.RawMessage("1"), "opset": json.RawMessage("11")}}
		x.exact(t)
	}
}

// exact holds what the case computes to each bit of its output.
func (c *microsoftCase) exact(t *testing.T) {
	t.Helper()
	own, err := c.example(t).ownCase()
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(own.Model), Size: int64(len(own.Model))}, nil, onnx.Options{Supported: ops.Supported})
	require.NoError(t, err)
	g, inputs := constants(g, own.Inputs, c.free())
	require.NoError(t, simplify.Run(g))
	got, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	require.Equal(t, own.Outputs[0], got[0])
}

// free are the numbers, among the operands that are present, of those that are no constants.
func (c *microsoftCase) free(more ...int) []int {
	free := c.Free
	if free == nil {
		free = []int{0}
	}
	var out []int
	for _, i := range slices.Concat(free, more) {
		absent := 0
		for _, x := range c.Inputs[:i] {
			if x == nil {
				absent++
			}
		}
		out = append(out, i-absent)
	}
	return out
}

// constants makes constants of inputs that are not free, as they are in networks, and gives what the free ones are.
func constants(g *ir.Graph, inputs []*ir.Tensor, free []int) (*ir.Graph, map[string]*ir.Tensor) {
	all, values := g.Inputs, map[string]*ir.Tensor{}
	g.Inputs = nil
	for i, v := range all {
		if slices.Contains(free, i) {
			g.Inputs, values[v.Name] = append(g.Inputs, v), inputs[i]
		} else {
			v.Const = inputs[i]
		}
	}
	return g, values
}

// near8 holds integers to one step, which few are away, and floats to ONNX's tolerances.
func near8(t *testing.T, wants, gots []*ir.Tensor) {
	t.Helper()
	require.Len(t, gots, len(wants))
	for i, want := range wants {
		near8One(t, want, gots[i])
	}
}

func near8One(t *testing.T, want, got *ir.Tensor) {
	t.Helper()
	if want.Type.IsFloat() {
		require.NoError(t, Compare(got, want))
		return
	}
	require.Equal(t, want.Type, got.Type)
	require.Equal(t, want.Shape, got.Shape)
	xs, err := want.Ints()
	require.NoError(t, err)
	ys, err := got.Ints()
	require.NoError(t, err)
	off := 0
	for i := range xs {
		if d := max(xs[i]-ys[i], ys[i]-xs[i]); d > 0 {
			require.Equal(t, int64(1), d, "element %d is %d, want %d", i, ys[i], xs[i])
			off++
		}
	}
	require.LessOrEqual(t, off, 1+len(xs)/50, "elements that are a step away, of %d", len(xs))
}
