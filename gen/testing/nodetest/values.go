package nodetest

import (
	"bytes"
	"fmt"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

// ownRelease stands for a release of ONNX in labels of cases that are our own.
const ownRelease = "own"

// example is one node with operands and results: a case of what ONNX's releases hold no
// data of. All tests run it like theirs.
type example struct {
	name    string // unique; "test_" stands before it
	op      string
	opset   int
	attrs   ir.Attrs
	in, out []*ir.Tensor // nil: absent
}

// attrs are name, value, name, value... of the types that nodes hold.
func attrs(kv ...any) ir.Attrs {
	out := ir.Attrs{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}

func dims(ds ...int64) []int64 { return ds }

func tensors(ts ...*ir.Tensor) []*ir.Tensor { return ts }

// numbers is a tensor; floats are rounded to its type.
func numbers(t ir.DType, shape []int64, xs ...float64) *ir.Tensor {
	if n, err := ir.Len(shape); err != nil || n != int64(len(xs)) {
		panic(fmt.Sprintf("%d numbers for shape %v", len(xs), shape))
	}
	if t.IsFloat() {
		return edit.FloatTensor(t, xs, shape...)
	}
	whole := make([]int64, len(xs))
	for i, x := range xs {
		whole[i] = int64(x)
	}
	return edit.IntTensor(t, whole, shape...)
}

// each is the example for every type that is given: typed makes it of the type.
func each(ts []ir.DType, typed func(ir.DType) example) []example {
	var out []example
	for _, t := range ts {
		e := typed(t)
		e.name += "_" + t.String()
		out = append(out, e)
	}
	return out
}

// ownCase writes the example as a model.
func (e *example) ownCase() (*Case, error) {
	c := &Case{Name: "test_" + e.name, Release: ownRelease}
	row := ops.Lookup(e.op)
	if row == nil {
		return nil, fmt.Errorf("%s: the table has no operator %s", c.Name, e.op)
	}
	n := &ir.Node{Op: e.op, Version: row.Definition(e.opset), Name: e.name, Attrs: e.attrs}
	g := &ir.Graph{Name: e.name, Opset: e.opset, Nodes: []*ir.Node{n}}
	value := func(kind string, i int, t *ir.Tensor) *ir.Value {
		return &ir.Value{Name: fmt.Sprint(kind, i), Type: t.Type, HasShape: true, Shape: ir.Dims(t.Shape...)}
	}
	for i, t := range e.in {
		if t == nil {
			n.Inputs = append(n.Inputs, nil)
			continue
		}
		v := value("x", i, t)
		n.Inputs, g.Inputs, c.Inputs = append(n.Inputs, v), append(g.Inputs, v), append(c.Inputs, t)
	}
	for i, t := range e.out {
		if t == nil {
			n.Outputs = append(n.Outputs, nil)
			continue
		}
		v := value("y", i, t)
		v.Def = n
		n.Outputs, g.Outputs, c.Outputs = append(n.Outputs, v), append(g.Outputs, v), append(c.Outputs, t)
	}
	var model bytes.Buffer
	if err := onnx.Write(&model, g); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	c.Model = model.Bytes()
	return c, nil
}

// ownCases are the cases of all examples.
func ownCases() ([]*Case, error) {
	var out []*Case
	for _, family := range families {
		for _, e := range family() {
			c, err := e.ownCase()
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}
