package ops

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Expansion is what a composition is made of.
type Expansion struct {
	// Graph computes the node's results that are present, in their order, of its operands
	// that are present, in theirs.
	Graph *ir.Graph
	// Checks must hold for the dimensions of a run, or the node is malformed; those that
	// follow from the facts are left out.
	Checks []Check
}

// IsComposition reports whether a node stands for other nodes.
func IsComposition(n *ir.Node) bool {
	row := Lookup(n.Op)
	return row != nil && row.Form == Composition
}

// Expand checks a composition against its operator's row and gives the nodes that it stands
// for. Errors are those of Build.
func Expand(n *ir.Node, facts sym.Facts) (*Expansion, error) {
	c, err := newCtx(n, facts)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	b := (&composer{Ctx: c, names: map[string]int{}, operands: map[int]*ir.Value{}, table: Table()}).begin(nil)
	for i, v := range n.Inputs {
		if v != nil {
			b.operands[i] = b.input(fmt.Sprintf("operand%d_", i))
		}
	}
	if err := c.checkShapes(); err != nil {
		return nil, n.Errorf("%w", err)
	}
	results, err := c.Row.Compose(b)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	for i, v := range n.Outputs {
		if v != nil {
			b.graph.Outputs = append(b.graph.Outputs, results[i])
		}
	}
	return &Expansion{b.graph, c.checks}, nil
}

// composer writes the nodes of a composition, in the newest definitions. They bear the
// composition's name.
type composer struct {
	*Ctx
	graph *ir.Graph
	// operands are the graph's inputs for the node's operands that are present, by number.
	operands map[int]*ir.Value
	table    []*Row         // which rows cannot name themselves
	names    map[string]int // how many values have a name that begins so
	// A body's composer has the one around it, and an input for each value of that
	// one's graph that the body uses.
	outer    *composer
	own      map[*ir.Value]bool
	captured []*ir.Value
	inner    map[*ir.Value]*ir.Value
}

// begin is a composer of a new graph, the body of a node of the outer one's, if any.
func (b *composer) begin(outer *composer) *composer {
	newest := 0 // an opset in which every row's newest definition is in force
	for _, r := range b.table {
		newest = max(newest, r.newest())
	}
	return &composer{
		Ctx: b.Ctx, graph: &ir.Graph{Name: b.Node.Op, Opset: newest}, names: b.names, table: b.table, operands: b.operands,
		outer: outer, own: map[*ir.Value]bool{}, inner: map[*ir.Value]*ir.Value{},
	}
}

// wants reports whether the composition has result i.
func (b *composer) wants(i int) bool {
	return i < len(b.Node.Outputs) && b.Node.Outputs[i] != nil
}

// value makes a value with a name that says what it is.
func (b *composer) value(name string) *ir.Value {
	v := &ir.Value{Name: fmt.Sprintf("%s.%s%d", b.Node.Outputs0(), name, b.names[name])}
	b.names[name]++
	b.own[v] = true
	return v
}

func (b *composer) input(name string) *ir.Value {
	v := b.value(name)
	b.graph.Inputs = append(b.graph.Inputs, v)
	return v
}

// op adds a node and gives its result.
func (b *composer) op(op string, at ir.Attrs, in ...*ir.Value) *ir.Value {
	return b.ops(op, 1, at, in...)[0]
}

// ops adds a node of several results.
func (b *composer) ops(op string, results int, at ir.Attrs, in ...*ir.Value) []*ir.Value {
	if at == nil {
		at = ir.Attrs{}
	}
	n := &ir.Node{Op: op, Version: b.row(op).newest(), Name: b.Node.Name, Attrs: at, Origins: b.Node.Origins}
	for _, v := range in {
		n.Inputs = append(n.Inputs, b.here(v))
	}
	for range results {
		v := b.value(op)
		v.Def = n
		n.Outputs = append(n.Outputs, v)
	}
	n.MadeFor(b.Node)
	b.graph.Nodes = append(b.graph.Nodes, n)
	return n.Outputs
}

// row is an operator's, which may be one of the compiler's own.
func (b *composer) row(op string) *Row {
	if row := own[op]; row != nil {
		return row
	}
	i, known := find(b.table, op)
	if !known {
		panic("a composition has the operator " + op + ", which has no row")
	}
	return b.table[i]
}

// here is v, or the input of the body for it.
func (b *composer) here(v *ir.Value) *ir.Value {
	switch {
	case v == nil || v.Const != nil || b.own[v]:
		return v
	case b.inner[v] == nil:
		b.captured = append(b.captured, v)
		b.inner[v] = &ir.Value{Name: v.Name}
	}
	return b.inner[v]
}

// ints is a constant vector.
func (b *composer) ints(xs ...int64) *ir.Value {
	return b.constant(fill(ir.NewTensor(ir.I64, int64(len(xs))), xs))
}

// integer is a constant scalar.
func (b *composer) integer(x int64) *ir.Value {
	return b.constant(fill(ir.NewTensor(ir.I64), []int64{x}))
}

// float is a constant scalar of type f32 or f64.
func (b *composer) float(t ir.DType, x float64) *ir.Value {
	if t == ir.F32 {
		return b.constant(fillFloats(ir.NewTensor(t), []float32{float32(x)}))
	}
	return b.constant(fill(ir.NewTensor(t), []int64{int64(math.Float64bits(x))}))
}

func (b *composer) constant(t *ir.Tensor) *ir.Value {
	return ir.ConstValue(b.value("const").Name, t)
}

// The shorthands for nodes that compositions are made of most.

func (b *composer) add(x, y *ir.Value) *ir.Value { return b.op("Add", nil, x, y) }
func (b *composer) sub(x, y *ir.Value) *ir.Value { return b.op("Sub", nil, x, y) }
func (b *composer) mul(x, y *ir.Value) *ir.Value { return b.op("Mul", nil, x, y) }

func (b *composer) unsqueeze(v *ir.Value, axes ...int64) *ir.Value {
	return b.op("Unsqueeze", nil, v, b.ints(axes...))
}

func (b *composer) squeeze(v *ir.Value, axes ...int64) *ir.Value {
	return b.op("Squeeze", nil, v, b.ints(axes...))
}

// split cuts an axis into equal parts.
func (b *composer) split(v *ir.Value, axis int64, parts int) []*ir.Value {
	if parts == 1 {
		return []*ir.Value{v}
	}
	return b.ops("Split", parts, ir.Attrs{"axis": axis, "num_outputs": int64(parts)}, v)
}

// join is the inverse of split.
func (b *composer) join(axis int64, vs ...*ir.Value) *ir.Value {
	if len(vs) == 1 {
		return vs[0]
	}
	return b.op("Concat", ir.Attrs{"axis": axis}, vs...)
}

// cast converts from a type, if it is another one.
func (b *composer) cast(v *ir.Value, from, to ir.DType) *ir.Value {
	if from == to {
		return v
	}
	return b.op("Cast", ir.Attrs{"to": dataType(to)}, v)
}

// dim is dimension k of v, as a vector of one element.
func (b *composer) dim(v *ir.Value, k int64) *ir.Value {
	return b.op("Shape", ir.Attrs{"start": k, "end": k + 1}, v)
}

// zeros is a tensor of type t.
func (b *composer) zeros(t ir.DType, dims ...*ir.Value) *ir.Value {
	return b.op("ConstantOfShape", ir.Attrs{"value": ir.NewTensor(t, 1)}, b.join(0, dims...))
}

// scanning is a Scan that is being written; its composer writes the body.
type scanning struct {
	*composer
	states, scanned []*ir.Value // of the graph around it
	axis            int64
	backward        bool
}

// scan begins a Scan along an axis of all that it reads and writes. States are to be
// asked for before slices.
func (b *composer) scan(axis int64, backward bool) *scanning {
	return &scanning{composer: b.begin(b), axis: axis, backward: backward}
}

// state is the body's input for a value that it hands on.
func (s *scanning) state(first *ir.Value) *ir.Value {
	s.states = append(s.states, first)
	return s.input("state")
}

// slice is the body's input for a part of v.
func (s *scanning) slice(v *ir.Value) *ir.Value {
	s.scanned = append(s.scanned, v)
	return s.input("slice")
}

// stack says of what type and shape the values that will be stacked are, so that a Scan that
// never runs has results.
func (s *scanning) stack(v *ir.Value, t ir.DType, shape ...sym.Expr) *ir.Value {
	v.Type, v.Shape, v.HasShape = t, shape, true
	return v
}

// end finishes the body, which gives the next states, and what is stacked of each run. The
// results are the last states and the stacks.
func (s *scanning) end(states, stacked []*ir.Value) []*ir.Value {
	for _, v := range slices.Concat(states, stacked) {
		s.graph.Outputs = append(s.graph.Outputs, s.here(v))
	}
	for _, v := range s.captured {
		s.graph.Inputs = append(s.graph.Inputs, s.inner[v])
	}
	direction := int64(0)
	if s.backward {
		direction = 1
	}
	in, out := len(s.scanned), len(stacked)
	results := s.outer.ops("Scan", len(states)+out, ir.Attrs{
		"num_scan_inputs": int64(in), "body": ir.RegionRef(0),
		"scan_input_axes": slices.Repeat([]int64{s.axis}, in), "scan_input_directions": slices.Repeat([]int64{direction}, in),
		"scan_output_axes": slices.Repeat([]int64{s.axis}, out), "scan_output_directions": slices.Repeat([]int64{direction}, out),
	}, slices.Concat(s.states, s.scanned, s.captured)...)
	n := results[0].Def
	n.Captures, n.Regions = len(s.captured), []*ir.Graph{s.graph}
	return results
}
