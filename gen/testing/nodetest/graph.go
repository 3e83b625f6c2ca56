package nodetest

import (
	"bytes"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

// Skip reports why a case is none of the compiler's.
type Skip struct{ Reason string }

func (s *Skip) Error() string { return s.Reason }

// Graph imports the case's model. The error is a *Skip where an operator of the
// model has no row.
func (c *Case) Graph() (*ir.Graph, error) {
	undefined := ""
	supported := func(op string, _ int) error {
		if ops.Lookup(op) != nil {
			return nil
		}
		undefined = op
		return fmt.Errorf("not defined")
	}
	file := &ir.File{R: bytes.NewReader(c.Model), Size: int64(len(c.Model))}
	g, err := onnx.Read(file, nil, onnx.Options{Supported: supported})
	if undefined != "" {
		return nil, &Skip{"operator not defined: " + undefined}
	}
	if err != nil {
		return nil, err
	}
	if len(g.Inputs) != len(c.Inputs) || len(g.Outputs) != len(c.Outputs) {
		return nil, fmt.Errorf("the model has %d inputs and %d outputs, the case %d and %d",
			len(g.Inputs), len(g.Outputs), len(c.Inputs), len(c.Outputs))
	}
	for i, v := range g.Inputs {
		retag(v, c.Inputs[i])
		dims, ok := v.Static()
		if !ok || slices.Equal(dims, c.Inputs[i].Shape) {
			continue
		}
		if v.Name != "like" {
			return nil, fmt.Errorf("input %q has shape %v in the model, its vector %v", v.Name, dims, c.Inputs[i].Shape)
		}
		// Vectors of release 1.12 for the operand of CastLike that only gives a type have
		// another shape than their models declare.
		v.Shape = ir.Dims(c.Inputs[i].Shape...)
	}
	for i, v := range g.Outputs {
		retag(v, c.Outputs[i])
	}
	return g, nil
}

// retag makes bf16 what the releases before 1.19 store as u16, lacking a NumPy type.
func retag(v *ir.Value, t *ir.Tensor) {
	if v.Type == ir.BF16 && t.Type == ir.U16 {
		t.Type = ir.BF16
	}
}

// Bound counts how a case's inputs are given.
type Bound struct{ Structural, Runtime int }

// Bind makes inputs that are a structural operand of a node constants of the
// case's values, as a compiler must know them; the graph keeps the others, and
// they are returned by name.
func (c *Case) Bind(g *ir.Graph) (Bound, map[string]*ir.Tensor) {
	structural := map[*ir.Value]bool{}
	for _, n := range g.Nodes {
		for i, v := range n.Inputs {
			if v != nil && isStructural(n, i) {
				structural[v] = true
			}
		}
	}
	count := Bound{}
	runtime := map[string]*ir.Tensor{}
	keep := g.Inputs[:0:0]
	for i, v := range g.Inputs {
		if structural[v] {
			*v = *ir.ConstValue(v.Name, c.Inputs[i])
			count.Structural++
			continue
		}
		keep = append(keep, v)
		runtime[v.Name] = c.Inputs[i]
		count.Runtime++
	}
	g.Inputs = keep
	return count, runtime
}

// isStructural reports whether the table marks operand i of n.
func isStructural(n *ir.Node, i int) bool {
	row := ops.Lookup(n.Op)
	if row == nil { // one of the compiler's own, which the importer made
		return false
	}
	var params []ops.Param
	for _, p := range row.Inputs {
		if n.Version == 0 || (n.Version >= p.Since && (p.Until == 0 || n.Version <= p.Until)) {
			params = append(params, p)
		}
	}
	if i >= len(params) {
		if len(params) == 0 || !params[len(params)-1].Variadic {
			return false
		}
		i = len(params) - 1
	}
	return params[i].Structural
}
