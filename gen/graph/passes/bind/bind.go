// Package bind makes symbols of numbers that only a run knows: the elements of a small integer tensor
// that an operator's structure depends on. They are computed by a node "bind" before the
// operator, and then are as any dimension is.
package bind

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// rule is how a structural operand's numbers become symbols.
type rule struct {
	// negative numbers are allowed.
	negative bool
	// prepare makes numbers that symbols may be of those in use; like is what bounds them.
	prepare func(b *binder, n *ir.Node, v *ir.Value) (numbers, like *ir.Value)
}

// low is what the numbers are at least.
func (r rule) low() int64 {
	if r.negative {
		return -sym.MaxDim
	}
	return 0
}

// rules by operator and operand. Axes are not among them: which of a result's dimensions is which, or the
// rank of it, cannot wait for the run.
var rules = map[string]map[int]rule{
	ops.Attend:        {7: {}},
	ops.Lengths:       {1: {}},
	ops.Ramp:          {2: {}},
	"AffineGrid":      {1: {}},
	"CenterCropPad":   {1: {}},
	"Col2Im":          {1: {}, 2: {}},
	"ConstantOfShape": {0: {}},
	"DFT":             {1: {}},
	"Expand":          {1: {}},
	"HammingWindow":   {0: {}},
	"HannWindow":      {0: {}},
	"BlackmanWindow":  {0: {}},
	"MaxUnpool":       {2: {}},
	"OneHot":          {1: {}},
	"Pad":             {1: {negative: true}},
	"Range":           {1: {negative: true}},
	"Reshape":         {1: {prepare: reshaped}},
	"Resize":          {3: {}},
	"Slice":           {1: {prepare: sliced}, 2: {prepare: sliced}},
	"Split":           {1: {}},
	"Tile":            {1: {}},
	"TopK":            {1: {}},
	"Trilu":           {1: {negative: true, prepare: diagonal}},
}

// Run binds what the nodes need whose structure is not known, and reports whether it changed the graph.
// Shapes are inferred as far as they are known.
//
// Numbers are bound where they come from: one that several nodes need, by way of others that only move
// it, is one symbol. Numbers that have to be prepared are bound where nothing else is left to bind.
func Run(g *ir.Graph, unknown *shape.UnknownError) (bool, error) {
	waiting := map[*ir.Node]bool{}
	for _, c := range unknown.Causes {
		if c.Node != nil {
			waiting[c.Node] = true
		}
	}
	facts := shape.Facts(g)
	for _, step := range []func(*binder) bool{(*binder).sources, (*binder).prepared} {
		changed := false
		var visit func(r *ir.Graph)
		visit = func(r *ir.Graph) {
			b := &binder{graph: r, waiting: waiting, names: edit.NewNamer(g), origins: shape.OriginsIn(facts)}
			changed = step(b) || changed
			edit.EachRegion(r, visit)
		}
		if visit(g); changed {
			return true, nil
		}
	}
	return false, nil
}

// binder changes one graph.
type binder struct {
	graph   *ir.Graph
	waiting map[*ir.Node]bool
	names   *ir.Names
	origins *shape.Origins
	nodes   []*ir.Node // so far
	at      *ir.Node   // for which nodes are made
}

// prepared binds numbers that nodes are made for.
func (b *binder) prepared() bool {
	changed := false
	for _, n := range b.graph.Nodes {
		if b.waiting[n] {
			b.at = n
			changed = b.counted(n) || b.gathered(n) || b.resized(n) || b.whole(n) || b.prepare(n) || changed
		}
		b.nodes = append(b.nodes, n)
	}
	b.graph.Nodes = b.nodes
	return changed
}

// prepare gives a node symbols for numbers that others are made of.
func (b *binder) prepare(n *ir.Node) bool {
	changed := false
	for i, v := range n.Own() {
		r := rules[n.Op][i]
		if r.prepare == nil || v == nil || !bindable(v) {
			continue
		}
		of, like := r.prepare(b, n, v)
		if of == nil {
			continue
		}
		dims, _ := v.Static()
		count, _ := ir.Len(dims) // bindable has seen that it is small
		n.Inputs[i] = b.symbols(numbers{of: of, count: count, like: like, axis: -1, low: r.low()})
		changed = true
	}
	return changed
}

// diagonal is a Trilu's k as a number that a symbol may be: all that lie beyond the dimensions mean all of a matrix, or nothing.
func diagonal(b *binder, _ *ir.Node, v *ir.Value) (numbers, like *ir.Value) {
	number := func(x int64) *ir.Value { return ir.ConstValue("", edit.IntTensor(v.Type, []int64{x})) }
	return b.add("Min", 13, nil, b.add("Max", 13, nil, v, number(-sym.MaxDim)), number(sym.MaxDim)), nil
}

// whole makes an integer of the depth of a OneHot, which may be a float, or of another size.
func (b *binder) whole(n *ir.Node) bool {
	v := n.Input(1)
	if n.Op != "OneHot" || v == nil || v.Const != nil || v.Elems != nil || v.Type == ir.Invalid || v.Type == ir.I64 || v.Type == ir.I32 {
		return false
	}
	n.Inputs[1] = b.long(v)
	return true
}

// bindable reports whether a value is a few integers of which some are not known.
func bindable(v *ir.Value) bool {
	dims, ok := v.Static()
	n, err := ir.Len(dims)
	return v.Const == nil && v.Elems == nil && ok && err == nil && n <= ops.BindMost && (v.Type == ir.I64 || v.Type == ir.I32)
}

// numbers are to become symbols: all of so many. Like bounds them where it is not nil: how many elements it
// has, or its dimension axis.
type numbers struct {
	of    *ir.Value
	count int64
	like  *ir.Value
	axis  int // -1: none
	low   int64
	high  int64 // 0: that of any dimension
}

// symbols is the result of a node that binds numbers: one that does so already, if there is one.
func (b *binder) symbols(x numbers) *ir.Value {
	in := []*ir.Value{x.of}
	if x.like != nil {
		in = append(in, x.like)
	}
	for _, n := range b.nodes {
		if n.Op == ops.Bind && n.Outputs[0] != nil && slices.Equal(n.Inputs, in) {
			return n.Outputs[0]
		}
	}
	elements := make([]int64, x.count)
	for i := range elements {
		elements[i] = int64(i)
	}
	at := bounds(elements, slices.Repeat([]int64{x.low}, int(x.count)))
	if x.axis >= 0 {
		at["axis"] = int64(x.axis)
	}
	if x.high != 0 {
		at["hi"] = x.high
	}
	out := b.add(ops.Bind, 1, at, in...)
	out.Name = b.names.Name(x.of.Name + ".symbols")
	out.Def.MadeFor(b.at)
	return out
}

// bounds are a bind's attributes.
func bounds(elements, lows []int64) ir.Attrs {
	return ir.Attrs{"elements": elements, "lows": lows, "hi": int64(sym.MaxDim)}
}

// add makes a node in the current one's name, of a definition that does not depend on the model's opset.
func (b *binder) add(op string, version int, at ir.Attrs, in ...*ir.Value) *ir.Value {
	if at == nil {
		at = ir.Attrs{}
	}
	v := &ir.Value{Name: b.names.Name(fmt.Sprintf("%s.%s", b.at.Outputs0(), op))}
	n := &ir.Node{Op: op, Version: version, Name: b.at.Name, Inputs: in, Outputs: []*ir.Value{v}, Attrs: at, Origins: b.at.Origins}
	v.Def = n.MadeFor(b.at)
	b.nodes = append(b.nodes, v.Def)
	return v
}

// ints is a constant of v's type.
func ints(v *ir.Value, xs ...int64) *ir.Value {
	return ir.ConstValue("", edit.IntTensor(v.Type, xs, int64(len(xs))))
}

// reshaped is a Reshape's shape without its special numbers: 0 for a dimension that is copied, -1
// for one that follows from the others.
func reshaped(b *binder, n *ir.Node, v *ir.Value) (numbers, like *ir.Value) {
	x := n.Input(0)
	if x == nil || !x.HasShape || len(v.Shape) != 1 {
		return nil, nil
	}
	to, _ := v.Shape[0].Const()
	zero, minus, one := ints(v, 0), ints(v, -1), ints(v, 1)
	if n.Int("allowzero", 0) == 0 {
		copied := b.add("Shape", 15, ir.Attrs{"end": min(to, int64(len(x.Shape)))}, x)
		if more := to - int64(len(x.Shape)); more > 0 { // no dimension to copy: a mistake, which the sizes tell
			copied = b.add("Concat", 13, ir.Attrs{"axis": int64(0)}, copied, ints(v, make([]int64, more)...))
		}
		v = b.add("Where", 16, nil, b.add("Equal", 13, nil, v, zero), copied, v)
	}
	open := b.add("Equal", 13, nil, v, minus)
	others := b.add("ReduceProd", 18, ir.Attrs{"keepdims": int64(1)}, b.add("Where", 16, nil, open, one, v))
	total := b.add("Size", 13, nil, x)
	rest := b.add("Div", 14, nil, total, b.add("Max", 13, nil, others, one))
	return b.add("Where", 16, nil, open, rest, v), x
}
