// Package fold computes at build time what does not depend on inputs.
//
// Nodes whose operands are all constants run in the interpreter; integer results
// whose elements shape inference knows become constants although their operands
// are none (Shape of a static tensor). Nodes that would make the model much larger
// (Expand, ConstantOfShape) or that take long for their size stay (package limit). Those that give as many elements
// as a constant has, of a wider type, are folded: weights that DequantizeLinear makes are to be constants for kernels.
// Shapes must be inferred before.
package fold

import (
	"errors"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// What a folded constant is does not depend on the build host: whatever is computed to be not a number
// becomes the same one.

// Run folds and reports whether it changed the graph. A folded output of the graph
// becomes the Identity of a constant, so that a node computes every output.
func Run(g *ir.Graph) (bool, error) { return RunBut(g, nil) }

// RunBut folds but for the nodes that a function names; nil names none.
func RunBut(g *ir.Graph, keep func(*ir.Node) bool) (bool, error) {
	f := &folder{graph: g, facts: shape.Facts(g), namer: edit.NewNamer(g), outputs: map[*ir.Value]bool{}, keep: keep}
	for _, v := range g.Outputs {
		f.outputs[v] = true
	}
	return f.run()
}

// run folds f.graph.
func (f *folder) run() (bool, error) {
	g := f.graph
	changed := false
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		known := f.operands(n)
		folded, err := f.node(n)
		if err != nil {
			return false, err
		}
		changed = changed || folded || known
		if folded && !hasResults(n) {
			n.Inputs = nil // of which this was perhaps the last reader: weights that are computed in steps are not kept for each of these until the end
			nodes = append(nodes, f.copies...)
		} else {
			nodes = append(append(nodes, n), f.copies...)
		}
		f.copies = nil
	}
	g.Nodes = nodes
	return changed, nil
}

type folder struct {
	graph   *ir.Graph
	facts   sym.Facts
	namer   *ir.Names
	outputs map[*ir.Value]bool
	copies  []*ir.Node // Identities that the current node needs
	// values are the constants that folded outputs are copies of.
	values map[*ir.Value]*ir.Value
	keep   func(*ir.Node) bool
	region bool // graph is a region, which may never run; its outputs may be constants
}

func hasResults(n *ir.Node) bool {
	for _, v := range n.Outputs {
		if v != nil {
			return true
		}
	}
	return false
}

// operands makes those of n that are folded outputs constants, which may fold n too.
func (f *folder) operands(n *ir.Node) bool {
	if f.isCopy(n) {
		f.value(n)
	}
	changed := false
	for i, v := range n.Inputs {
		if c := f.values[v]; c != nil {
			n.Inputs[i], changed = c, true
		}
	}
	return changed
}

// value notes the constant of which n makes an output.
func (f *folder) value(n *ir.Node) {
	if f.values == nil {
		f.values = map[*ir.Value]*ir.Value{}
	}
	f.values[n.Outputs[0]] = n.Inputs[0]
}

// node folds the results of n that it can.
func (f *folder) node(n *ir.Node) (bool, error) {
	if len(n.Regions) > 0 {
		return f.regions(n)
	}
	if f.isCopy(n) || ops.IsComposition(n) || ops.OfSequences(n) || n.Op == ops.Unpack {
		return false, nil
	}
	if allConst(n) && f.keep != nil && f.keep(n) {
		return false, nil
	}
	if allConst(n) {
		folded, err := f.evaluate(n)
		if f.region {
			return folded, nil // an error is one of the run, if the region runs at all
		}
		return folded, err
	}
	folded := false
	for i, v := range n.Outputs {
		if t := knownElems(v); t != nil && n.Op != ops.Bind { // which checks the number that the user says
			f.settle(n, i, t)
			folded = true
		}
	}
	return folded, nil
}

// regions folds within a node's regions.
func (f *folder) regions(n *ir.Node) (bool, error) {
	changed := false
	for _, r := range n.Regions {
		inner := &folder{graph: r, facts: f.facts, namer: f.namer, keep: f.keep, region: true}
		folded, err := inner.run()
		if err != nil {
			return false, err
		}
		changed = changed || folded
	}
	return changed, nil
}

// isCopy reports whether n is what a folded output becomes.
func (f *folder) isCopy(n *ir.Node) bool {
	return n.Op == "Identity" && len(n.Outputs) == 1 && f.outputs[n.Outputs[0]] && allConst(n)
}

func allConst(n *ir.Node) bool {
	for _, v := range n.Inputs {
		if v != nil && v.Const == nil {
			return false
		}
	}
	return true
}

// knownElems is a constant of the value's elements if all of them are numbers.
func knownElems(v *ir.Value) *ir.Tensor {
	if v == nil || v.Elems == nil {
		return nil
	}
	dims, ok := v.Static()
	if !ok {
		return nil
	}
	xs := make([]int64, len(v.Elems))
	for i, e := range v.Elems {
		if xs[i], ok = e.Const(); !ok {
			return nil
		}
	}
	return edit.IntTensor(v.Type, xs, dims...)
}

// evaluate runs a node of constants.
func (f *folder) evaluate(n *ir.Node) (bool, error) {
	m, err := ops.Build(n, f.facts)
	var unknown *ops.UnknownError
	switch {
	case errors.As(err, &unknown):
		return false, nil
	case err != nil:
		return false, err
	case !worthwhile(n, m):
		return false, nil
	}
	operands := make([]*ir.Tensor, len(n.Inputs))
	points := int64(limit.FoldPoints)
	for i, v := range n.Inputs {
		if v != nil {
			operands[i] = v.Const
			points += min(v.Const.Len(), limit.FoldMost) * limit.FoldFactor
		}
	}
	in := interp.Interp{MaxBytes: limit.FoldMost, MaxPoints: points}
	results, err := results(n, m, in, operands)
	var limited *interp.LimitError
	if errors.As(err, &limited) {
		return false, nil
	}
	if err != nil {
		return false, n.Errorf("folding constants: %w", err)
	}
	for i, v := range n.Outputs {
		if v != nil {
			if m.Call == nil && m.Outputs[i].Stage && computes(m.Stages) {
				edit.SettleNaNs(results[i])
			}
			f.settle(n, i, results[i])
		}
	}
	return true, nil
}

// results runs a node.
func results(n *ir.Node, m *ops.Meaning, in interp.Interp, operands []*ir.Tensor) ([]*ir.Tensor, error) {
	if m.Call == nil {
		return in.Eval(m.Stages, m.Outputs[:len(n.Outputs)], operands, nil)
	}
	out, _, err := m.Call.Run(nil, operands)
	return out, err
}

// worthwhile reports whether the results are small enough.
func worthwhile(n *ir.Node, m *ops.Meaning) bool {
	operands, elements := int64(0), int64(0)
	for _, v := range n.Inputs {
		if v != nil {
			operands += v.Const.Len() * int64(v.Const.Type.Size())
			elements = max(elements, v.Const.Len())
		}
	}
	most := min(max(limit.FoldBytes, operands), limit.FoldMost)
	if m.Call != nil {
		return m.Call.MostBytes() <= most
	}
	for i, v := range n.Outputs {
		if src := m.Outputs[i]; v != nil && src.Stage {
			s := m.Stages[src.N]
			dims, ok := s.Shape().Static()
			size, err := ir.Len(dims)
			bytes := int64(s.Results[src.Part].DType().Size())
			if !ok || err != nil || size > limit.FoldMost/bytes || size > max(most/bytes, elements) {
				return false
			}
		}
	}
	return true
}

// settle makes result i a constant.
func (f *folder) settle(n *ir.Node, i int, t *ir.Tensor) {
	v := n.Outputs[i]
	n.Outputs[i] = nil
	if !f.outputs[v] {
		*v = *ir.ConstValue(v.Name, t)
		return
	}
	c := ir.ConstValue(f.namer.Name(v.Name+".value"), t)
	same := &ir.Node{
		Op: "Identity", Version: edit.Version("Identity", f.graph), Name: n.Name,
		Inputs: []*ir.Value{c}, Outputs: []*ir.Value{v}, Origins: n.Origins,
	}
	v.Def, v.Type, v.Shape, v.HasShape, v.Elems = same, t.Type, c.Shape, true, nil
	f.copies = append(f.copies, same)
	f.value(same)
}
