package interp

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/ops/opaque"
)

// Graph runs a graph with the default limits.
func Graph(g *ir.Graph, inputs map[string]*ir.Tensor) ([]*ir.Tensor, error) {
	return Interp{}.Graph(g, inputs)
}

// Graph runs a graph, node after node, on inputs by name, and gives its outputs.
// The inputs' shapes bind the symbols. Every node is built for the shapes and
// operands at hand, so that dynamic models run like static ones; an intermediate
// is given up after its last use.
func (in Interp) Graph(g *ir.Graph, inputs map[string]*ir.Tensor) ([]*ir.Tensor, error) {
	env := map[string]int64{}
	x := &execution{interp: in, env: env, tensors: map[*ir.Value]*ir.Tensor{}, uses: map[*ir.Value]int{}}
	for _, v := range g.Inputs {
		t := inputs[v.Name]
		if t == nil {
			return nil, fmt.Errorf("input %q is missing", v.Name)
		}
		if err := bindShape(v, t, env); err != nil {
			return nil, err
		}
		x.tensors[v] = t
	}
	if err := checkInputs(g, env); err != nil {
		return nil, err
	}
	return x.run(g)
}

// run runs a graph whose inputs are set.
func (x *execution) run(g *ir.Graph) ([]*ir.Tensor, error) {
	x.countUses(g)
	for _, n := range g.Nodes {
		if err := x.node(n); err != nil {
			return nil, err
		}
	}
	out := make([]*ir.Tensor, len(g.Outputs))
	for i, v := range g.Outputs {
		if out[i] = x.tensor(v); out[i] == nil {
			return nil, fmt.Errorf("output %q is not computed", v.Name)
		}
	}
	return out, nil
}

// bindShape checks an input and learns the symbols that are a dimension of it.
func bindShape(v *ir.Value, t *ir.Tensor, env map[string]int64) error {
	if t.Type != v.Type {
		return fmt.Errorf("input %q has type %s; the model wants %s", v.Name, t.Type, v.Type)
	}
	if !v.HasShape {
		return nil
	}
	if len(t.Shape) != len(v.Shape) {
		return fmt.Errorf("input %q has shape %v; the model wants rank %d, %s", v.Name, t.Shape, len(v.Shape), dims(v.Shape))
	}
	for i, e := range v.Shape {
		name, ok := e.AsVar()
		if !ok {
			continue
		}
		if old, bound := env[name]; bound && old != t.Shape[i] {
			return fmt.Errorf("input %q has shape %v, where %s is %d; another input made it %d", v.Name, t.Shape, name, t.Shape[i], old)
		}
		env[name] = t.Shape[i]
	}
	for i, e := range v.Shape {
		if want, err := e.Eval(env); err == nil && want != t.Shape[i] {
			return fmt.Errorf("input %q has shape %v; the model wants %s", v.Name, t.Shape, dims(v.Shape))
		}
	}
	return nil
}

func dims(s ir.Shape) string {
	out := "["
	for i, e := range s {
		if i > 0 {
			out += ", "
		}
		out += e.String()
	}
	return out + "]"
}

// checkInputs checks the symbols against what the graph says of them.
func checkInputs(g *ir.Graph, env map[string]int64) error {
	for _, s := range g.Symbols {
		if x, ok := env[s.Name]; ok && (x < s.Lo || x > s.Hi) {
			return fmt.Errorf("symbol %s is %d; the model takes %d to %d", s.Name, x, s.Lo, s.Hi)
		}
	}
	return nil
}

// execution is one run of a graph.
type execution struct {
	interp  Interp
	env     map[string]int64 // the symbols' values
	tensors map[*ir.Value]*ir.Tensor
	uses    map[*ir.Value]int // how many operands and outputs still read a value
}

func (x *execution) countUses(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			x.uses[v]++
		}
	}
	for _, v := range g.Outputs {
		x.uses[v]++
	}
}

func (x *execution) tensor(v *ir.Value) *ir.Tensor {
	if v.Const != nil {
		return v.Const
	}
	return x.tensors[v]
}

// node runs one node.
func (x *execution) node(n *ir.Node) error {
	operands := make([]*ir.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		if v == nil {
			continue
		}
		if operands[i] = x.tensor(v); operands[i] == nil {
			return n.Errorf("operand %d (%q) is not computed before", i, v.Name)
		}
	}
	results, err := x.interp.node(n, operands, x.env)
	if err != nil {
		return err
	}
	for _, v := range n.Inputs {
		if v == nil {
			continue
		}
		if x.uses[v]--; x.uses[v] == 0 {
			delete(x.tensors, v)
		}
	}
	for i, v := range n.Outputs {
		if v != nil && x.uses[v] > 0 {
			x.tensors[v] = results[i]
		}
	}
	return nil
}

// Node computes a node's results for operands, nil where absent. The node's own
// shapes are not used: it is built for those of the operands, whose elements are all
// known. Results that the node does not have are nil.
func (in Interp) Node(n *ir.Node, operands []*ir.Tensor) ([]*ir.Tensor, error) {
	return in.node(n, operands, nil)
}

// node is Node where the symbols of the graph have values.
func (in Interp) node(n *ir.Node, operands []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	if len(operands) != len(n.Inputs) {
		return nil, n.Errorf("%d operands for a node that has %d", len(operands), len(n.Inputs))
	}
	concrete := *n
	concrete.Inputs = make([]*ir.Value, len(n.Inputs))
	for i, t := range operands {
		if t == nil {
			continue
		}
		name := ""
		if n.Inputs[i] != nil {
			name = n.Inputs[i].Name
		}
		concrete.Inputs[i] = ir.ConstValue(name, t)
	}
	switch {
	case ops.IsControl(n):
		return in.control(&concrete, operands, env)
	case ops.IsComposition(n):
		return in.composition(&concrete, operands, env)
	}
	m, err := ops.Build(&concrete, nil)
	if err != nil {
		return nil, err
	}
	if m.Call != nil {
		return in.call(n, m.Call, operands)
	}
	var wanted []int
	var sources []te.Source
	for i, v := range n.Outputs {
		if v != nil {
			wanted, sources = append(wanted, i), append(sources, m.Outputs[i])
		}
	}
	got, err := in.Eval(m.Stages, sources, operands, nil)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	results := make([]*ir.Tensor, len(n.Outputs))
	for k, i := range wanted {
		results[i] = got[k]
	}
	return results, nil
}

// composition runs the nodes that a node stands for, whose operands have the shapes at hand.
func (in Interp) composition(n *ir.Node, operands []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	x, err := ops.Expand(n, nil)
	if err != nil {
		return nil, err
	}
	absent := func(t *ir.Tensor) bool { return t == nil }
	got, err := in.region(x.Graph, slices.DeleteFunc(slices.Clone(operands), absent), env)
	if err != nil {
		return nil, err
	}
	results := make([]*ir.Tensor, len(n.Outputs))
	for i, v := range n.Outputs {
		if v != nil {
			results[i], got = got[0], got[1:]
		}
	}
	return results, nil
}

// call runs an opaque operator. What size its results have is checked before it makes them, but for dimensions that it
// computes, which its operands bound.
func (in Interp) call(n *ir.Node, c *opaque.Call, operands []*ir.Tensor) ([]*ir.Tensor, error) {
	for _, r := range c.Results {
		shape, known := (&ir.Value{Shape: r.Shape, HasShape: true}).Static()
		if size, err := ir.Len(shape); known && (err != nil || size > in.mostBytes()/int64(max(r.Type.Size(), 1))) {
			return nil, n.Errorf("%w", in.tooLarge(r.Type, shape))
		}
	}
	results, _, err := c.Run(nil, operands)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	for _, t := range results {
		if int64(len(t.Data)) > in.mostBytes() {
			return nil, n.Errorf("%w", in.tooLarge(t.Type, t.Shape))
		}
	}
	return results[:len(n.Outputs)], nil
}
