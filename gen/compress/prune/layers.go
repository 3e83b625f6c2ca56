package prune

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/bnfold"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/ops"
)

// Skipped is a weight tensor that is not pruned.
type Skipped struct {
	Name   string `json:"name"`   // the name of the weights
	Node   string `json:"node"`   // the node that reads them
	Op     string `json:"op"`     // the node's ONNX operator
	Reason string `json:"reason"` // the reason why the weights are not pruned
}

// Layers are the weight tensors that can be pruned, in the order in which the network uses them first, and those that cannot,
// those of regions (branches and bodies) among them. Multiply-adds are known where shapes have been inferred.
func Layers(g *ir.Graph) ([]*Layer, []Skipped) {
	f := &finder{readers: map[string][]reader{}, uses: edit.Uses(g), folds: map[*ir.Value]*ir.Node{}, done: map[string]bool{}, constant: map[*ir.Value]bool{}}
	f.read(g, false)
	for _, n := range g.Nodes {
		f.node(n, g)
	}
	for i, l := range f.list {
		l.Position = i
	}
	return f.list, f.skipped
}

// finder looks for weights.
type finder struct {
	readers map[string][]reader // of constants, by name
	uses    map[*ir.Value]int
	folds   map[*ir.Value]*ir.Node // the BatchNormalization of a value
	done    map[string]bool
	// constant are computed values, whether they are of constants alone.
	constant map[*ir.Value]bool
	list     []*Layer
	skipped  []Skipped
}

// reader is a node that reads a constant.
type reader struct {
	node    *ir.Node // nil: the graph gives it as an output
	operand int
	inside  bool // of a region
}

func (f *finder) read(g *ir.Graph, inside bool) {
	for _, n := range g.Nodes {
		if !inside && bnfold.Folds(n) {
			f.folds[n.Inputs[0]] = n
		}
		for i, v := range n.Inputs {
			if v != nil && v.Const != nil {
				f.readers[v.Name] = append(f.readers[v.Name], reader{n, i, inside})
			}
		}
	}
	for _, v := range g.Outputs {
		if v.Const != nil {
			f.readers[v.Name] = append(f.readers[v.Name], reader{inside: inside})
		}
	}
	edit.EachRegion(g, func(r *ir.Graph) { f.read(r, true) })
}

// node finds the weights of a node, and of those in its regions.
func (f *finder) node(n *ir.Node, g *ir.Graph) {
	if of := ops.WeightsOf(n); of != nil && f.fromConstants(n.Input(of.Operand)) {
		w := n.Input(of.Operand)
		if prunes(n) != nil {
			f.weights(n, w, g)
		} else {
			f.skip(n, w, "weights of this operator are not pruned; supported are %s", supported())
		}
	}
	for _, region := range n.Regions {
		for _, inner := range region.Nodes {
			f.node(inner, g)
		}
	}
}

// fromConstants reports whether a value is computed of constants alone.
func (f *finder) fromConstants(v *ir.Value) bool {
	if v == nil || v.Const != nil || v.Def == nil {
		return v != nil && v.Const != nil
	}
	if known, ok := f.constant[v]; ok {
		return known
	}
	other := func(x *ir.Value) bool { return x != nil && !f.fromConstants(x) }
	f.constant[v] = len(v.Def.Inputs) > 0 && !slices.ContainsFunc(v.Def.Inputs, other)
	return f.constant[v]
}

func (f *finder) skip(n *ir.Node, w *ir.Value, format string, args ...any) {
	if !f.done[w.Name] {
		f.done[w.Name] = true
		f.skipped = append(f.skipped, Skipped{w.Name, n.Name, n.Op, fmt.Sprintf(format, args...)})
	}
}

// weights adds a layer, or says why there is none.
func (f *finder) weights(n *ir.Node, w *ir.Value, g *ir.Graph) {
	if f.done[w.Name] {
		return
	}
	if w.Const == nil {
		f.skip(n, w, "its weights are the result of %s; want a constant of the model", w.Def.Label())
		return
	}
	axis, groups, err := filtersOf(n, w)
	if err != nil {
		f.skip(n, w, "%v", err)
		return
	}
	l := &Layer{Name: w.Name, Node: n.Name, Label: f.label(n), Op: n.Op, Shape: w.Const.Shape, FilterAxis: axis, Groups: groups, Weights: w.Const}
	for _, other := range f.readers[w.Name] {
		if reason := l.refuses(other); reason != "" {
			f.skip(n, w, "%s", reason)
			return
		}
		l.MACs += macs(other.node, g)
		if other.node != n {
			l.Also = append(l.Also, f.label(other.node))
		}
	}
	if reason := l.unsuitable(); reason != "" {
		f.skip(n, w, "%s", reason)
		return
	}
	f.done[w.Name] = true
	f.list = append(f.list, l)
}

// label is the node's once BatchNormalizations are folded into its weights, where it has no name: it is called by its result then, which is theirs.
func (f *finder) label(n *ir.Node) string {
	last := *n
	last.Outputs = slices.Clone(n.Outputs)
	if prunes(n).Bias == 0 || len(last.Outputs) == 0 {
		return n.Label()
	}
	for f.uses[last.Outputs[0]] == 1 && f.folds[last.Outputs[0]] != nil {
		last.Outputs[0] = f.folds[last.Outputs[0]].Outputs[0]
	}
	return last.Label()
}

// refuses says why weights cannot be pruned that a node reads, too.
func (l *Layer) refuses(x reader) string {
	if x.node == nil {
		return "its weights are an output of the network"
	}
	if x.inside {
		return "a branch or body reads its weights; supported are weights read only in the model's own graph"
	}
	if of := prunes(x.node); of == nil || of.Operand != x.operand {
		return fmt.Sprintf("%s also reads its weights", x.node.Label())
	}
	axis, groups, err := filtersOf(x.node, x.node.Inputs[x.operand])
	if err != nil || axis != l.FilterAxis || groups != l.Groups {
		return fmt.Sprintf("%s also reads its weights, with another shape or axis", x.node.Label())
	}
	return ""
}

// unsuitable says why weights cannot be pruned whoever reads them.
func (l *Layer) unsuitable() string {
	if !l.Weights.Type.IsFloat() {
		return fmt.Sprintf("its weights have type %s; want floats", l.Weights.Type)
	}
	if l.Weights.Len() == 0 {
		return "its weights have no elements"
	}
	if n := l.Taps(); n > fkw.MaxTaps {
		return fmt.Sprintf("its kernels have %d taps; want at most %d", n, fkw.MaxTaps)
	}
	return ""
}

// Taps is how many weights a kernel has.
func (l *Layer) Taps() int {
	n := int64(1)
	for _, d := range l.Shape[2:] {
		n *= d
	}
	return int(n)
}

// Floats are the weights, rounded to float32 where they are wider.
func (l *Layer) Floats() ([]float32, error) {
	wide, err := edit.Floats(l.Weights)
	if err != nil {
		return nil, l.errorf("%w", err)
	}
	out := make([]float32, len(wide))
	for i, x := range wide {
		out[i] = float32(x)
	}
	return out, nil
}

// macs are a node's multiply-adds where all symbols are 1 or the least that they may be; 0: not known.
func macs(n *ir.Node, g *ir.Graph) int64 {
	m, err := ops.Build(n, nil)
	if err != nil {
		return 0
	}
	env := map[string]int64{}
	for _, s := range g.Symbols {
		env[s.Name] = max(s.Lo, 1)
	}
	count := ops.MACs(m)
	if x, err := count.Eval(env); err == nil && !count.Overflow() {
		return x
	}
	return 0
}
