// Package precision stores a network of f32 in 16 bits: values and weights are f16, or bf16, in memory. What is computed with them is computed in f32,
// and each node's result is rounded once, as in a model whose own floats are of the type; inputs and outputs keep their types.
//
// What 16 bits cannot hold stays f32: results of operators that make numbers much larger or smaller than their operands, or of more digits (ops.RangeOf), constants
// beyond the range, and what is computed of these, up to the next operator whose results are of moderate size again: a sum with weights, a
// normalisation, a function with bounds. So do integers, what is made of them, and control flow. Shapes must have been inferred.
//
// f16 ends at 65504. Values that are known to leave that range stay f32, too, and so does what reads them, contractions included: on samples (reach.go), by bounds
// that follow from what computes them (span.go), and squares of numbers of unknown size. Elsewhere no finite number becomes infinite: results end at the range's
// ends (ir.Node.Saturates).
package precision

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Report is what became of a network.
type Report struct {
	// Nodes is how many give results in 16 bits.
	Nodes int
	// Kept are the nodes whose results of f32 stay so, and inputs that no node narrows.
	Kept []Kept
	// Far are those of them, and inputs, whose numbers are known to leave the range of 16 bits, as samples or bounds show.
	Far []Kept
}

// Kept is a node that gives f32, and the reason.
type Kept struct{ Node, Why string }

// ErrNothing: the network has no values of f32 to store, and none of the type.
var ErrNothing = errors.New("no node of the network computes f32 that could be stored in 16 bits; leave the precision out")

// Run changes the graph, whose values of f32 are stored in the type. Samples, if there are some, show which values leave the range of f16.
func Run(g *ir.Graph, to ir.DType, inputs []samples.Input) (*Report, error) {
	if err := check(g); err != nil {
		return nil, err
	}
	h := &halves{g: g, to: to, facts: shape.Facts(g), names: edit.NewNamer(g), half: map[*ir.Value]*ir.Value{}, made: map[*ir.Value]bool{}, kept: map[*ir.Value]string{}, ranges: map[rangeKey]string{},
		reach: map[*ir.Value]float64{}, spans: map[*ir.Value]span{}, far: map[*ir.Value]string{}, report: &Report{}}
	if err := h.observe(inputs); err != nil {
		return nil, err
	}
	if err := h.measure(); err != nil {
		return nil, err
	}
	for _, v := range g.Inputs {
		h.made[v] = true
	}
	h.keepSummands()
	h.leave()
	for _, n := range g.Nodes {
		if err := h.node(n); err != nil {
			return nil, err
		}
	}
	for _, v := range g.Outputs {
		h.whole(v)
	}
	g.Nodes = h.nodes
	if h.report.Nodes == 0 && !h.has() {
		return nil, ErrNothing
	}
	return h.report, nil
}

// check refuses networks of which 16 bits are not what is asked for.
func check(g *ir.Graph) error {
	for _, n := range g.Nodes {
		if ops.IsQuantized(n.Op) {
			return n.Errorf("the network is quantized, but a precision of 16 bits is for float networks; " +
				"leave the precision out, or use the network from before quantization")
		}
	}
	return nil
}

// has reports whether the network has values of the type already. Its kernels may then add products
// in pairs or in f16.
func (h *halves) has() bool {
	return slices.ContainsFunc(h.g.Nodes, func(n *ir.Node) bool {
		return slices.ContainsFunc(n.Inputs, func(v *ir.Value) bool { return v != nil && v.Type == h.to })
	})
}

// halves is the work on a graph.
type halves struct {
	g     *ir.Graph
	to    ir.DType
	facts sym.Facts
	names *ir.Names
	nodes []*ir.Node
	// half are values in 16 bits, by those of f32 for which they stand.
	half map[*ir.Value]*ir.Value
	// made are values that there are in f32: inputs, and results that stay so, or were widened.
	made map[*ir.Value]bool
	// kept are results that stay f32, by the reason; constants too.
	kept   map[*ir.Value]string
	ranges map[rangeKey]string // of constants
	// reach are the greatest magnitudes that samples show, spans the bounds of what is computed, and far the values of f32 that 16 bits would
	// not hold, by the reason.
	reach  map[*ir.Value]float64
	spans  map[*ir.Value]span
	far    map[*ir.Value]string
	report *Report
}

// node adds a node that computes in 16 bits, or as it is.
func (h *halves) node(n *ir.Node) error {
	why, settled, err := h.staysWide(n)
	if err != nil {
		return err
	}
	if why == "" {
		if why, err = h.narrow(n); why == "" || err != nil {
			return err
		}
	}
	h.keep(n, why, settled)
	return nil
}

// keep leaves a node as it is; settled: its results may be stored in 16 bits.
func (h *halves) keep(n *ir.Node, why string, settled bool) {
	gives := false
	for i, v := range n.Inputs {
		if v == nil || v.Type != ir.F32 || v.Const != nil {
			continue
		}
		// A conversion reads what there is.
		if half := h.half[v]; half != nil && !h.made[v] && n.Op == "Cast" {
			n.Inputs[i] = half
			continue
		}
		h.whole(v)
	}
	for _, v := range n.Outputs {
		if v != nil && v.Type == ir.F32 {
			h.made[v], gives = true, true
			if !settled {
				h.kept[v] = why
			}
		}
	}
	h.nodes = append(h.nodes, n)
	if gives {
		h.report.Kept = append(h.report.Kept, Kept{n.Label(), why})
	}
}

// narrow lets a node compute with operands of 16 bits, and its results saturate: f16 ends long before f32 does, and bf16 does not. It returns
// the reason if the node's definition does not allow that.
func (h *halves) narrow(n *ir.Node) (why string, err error) {
	share := ops.Sharers(n, h.to)
	before, outputs := append([]*ir.Value{}, n.Inputs...), append([]*ir.Value{}, n.Outputs...)
	trial := *n
	trial.Inputs = append([]*ir.Value{}, n.Inputs...)
	for _, i := range share {
		if v := n.Inputs[i]; v.Type == ir.F32 {
			trial.Inputs[i] = &ir.Value{Name: v.Name, Type: h.to, Shape: v.Shape, HasShape: v.HasShape, Elems: v.Elems}
		}
	}
	trial.Saturates = h.to == ir.F16
	m, err := ops.Build(&trial, h.facts)
	if len(share) == 0 || err != nil { // as it is, it was built before
		return fmt.Sprintf("its definition has no %s", h.to), nil
	}
	if why := ops.KeepsSums(m, h.to); why != "" {
		return why, nil
	}
	n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs) // which may be another node's, too
	for _, i := range share {
		if v := before[i]; v.Type == ir.F32 {
			if n.Inputs[i], err = h.narrowed(v); err != nil {
				return "", n.Errorf("%w", err)
			}
		}
	}
	for i, v := range n.Inputs {
		if v != nil && v == before[i] && v.Type == ir.F32 && v.Const == nil {
			h.whole(v)
		}
	}
	for i, v := range outputs {
		switch {
		case v == nil || v.Type != ir.F32:
		case typeOf(&trial, m, i) == h.to:
			n.Outputs[i] = &ir.Value{Name: h.name(v), Type: h.to, Shape: v.Shape, HasShape: v.HasShape, Def: n}
			h.half[v] = n.Outputs[i]
		default:
			h.made[v], h.kept[v] = true, "the operator computes it in f32"
		}
	}
	n.Saturates = trial.Saturates
	h.nodes = append(h.nodes, n)
	h.report.Nodes++
	return "", nil
}

// typeOf is the type of a result.
func typeOf(n *ir.Node, m *ops.Meaning, i int) ir.DType {
	if m.Call != nil {
		return m.Call.Results[i].Type
	}
	if src := m.Outputs[i]; src.Stage {
		return m.Stages[src.N].Results[src.Part].DType()
	}
	return n.Inputs[m.Outputs[i].N].Type
}

// narrowed is a value in 16 bits.
func (h *halves) narrowed(v *ir.Value) (*ir.Value, error) {
	if x := h.half[v]; x != nil {
		return x, nil
	}
	name := h.name(v)
	if v.Const != nil {
		h.half[v] = narrowConstant(name, v, h.to)
		return h.half[v], nil
	}
	if !h.made[v] {
		return nil, fmt.Errorf("no earlier node computes the operand %s", ir.Show(v.Name))
	}
	x := &ir.Value{Name: name, Type: h.to, Shape: v.Shape, HasShape: v.HasShape}
	h.cast(v, x)
	h.half[v] = x
	return x, nil
}

// whole makes sure that there is a value in f32.
func (h *halves) whole(v *ir.Value) {
	if x := h.half[v]; x != nil && v.Const == nil && !h.made[v] {
		h.cast(x, v)
		h.made[v] = true
	}
}

// name is a new one for a value in 16 bits.
func (h *halves) name(v *ir.Value) string { return h.names.Name(v.Name + "." + h.to.String()) }

// numbers are the types' in ONNX.
var numbers = map[ir.DType]int64{ir.F32: 1, ir.F16: 10, ir.BF16: 16}

// cast adds the conversion of a value, of which no finite number becomes infinite.
func (h *halves) cast(from, to *ir.Value) {
	n := &ir.Node{Op: "Cast", Version: edit.Version("Cast", h.g), Inputs: []*ir.Value{from}, Outputs: []*ir.Value{to}, Attrs: ir.Attrs{"to": numbers[to.Type]}}
	if to.Type == h.to && (from.Def == nil || !ops.IsBounded(from.Def.Op)) {
		n.Op, n.Version = ops.Narrow, 1
	}
	if from.Def != nil {
		n.Name, n.Origins = from.Def.Name, from.Def.Origins
	}
	to.Def = n
	h.nodes = append(h.nodes, n)
}
