package islands

import (
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// entries are the numbers that 8 bits have.
const entries = 256

// leastWork is how many operations a function takes for each element, from which on a table is faster.
const leastWork = 16

// table makes a function of one tensor of 8 bits, which is quantized again, a table of its values. What it computes of the tensor may be quantized on the
// way, any number of times, and by tables that were made before: of x * sigmoid(x), where both are quantized, too, one table is left. Where
// the table says that every number stays what it is, the tensor itself is the result.
func table(p *pass, n *ir.Node) []*ir.Node {
	to := quantizer(n)
	if to == nil || !to.isBytes() {
		return nil
	}
	f := functionOf(p, n)
	if f == nil {
		return nil
	}
	values := f.values(n)
	switch {
	case values == nil:
		return nil
	case f.q.Type == values.Type && isIdentity(values):
		return p.stands(n, f.q)
	case f.work < leastWork && !f.tables:
		return nil
	}
	b := p.replace(n)
	at := f.q
	if at.Type == ir.I8 { // entries are in the order of the bytes
		at = b.add("Cast", 13, ir.U8, at.Shape, ir.Attrs{"to": int64(2)}, at)
	}
	at = b.add("Cast", 13, ir.I32, at.Shape, ir.Attrs{"to": int64(6)}, at)
	b.add("Gather", 13, to.typ, n.Outputs[0].Shape, ir.Attrs{"axis": int64(0)}, b.constant("table", values), at)
	return b.done()
}

// isIdentity reports whether the entry of each byte is the byte.
func isIdentity(values *ir.Tensor) bool {
	for i, x := range values.Data {
		if int(x) != i {
			return false
		}
	}
	return true
}

// function is nodes that compute each element of a result of one element of a quantized tensor.
type function struct {
	*pass
	q     *ir.Value
	nodes []*ir.Node // in their order
	work  int
	depth int
	// through: what computes quantized operands is a part of the function, where it can be; as long as tries are left.
	through bool
	tries   *int
	// tables: there is one among the nodes.
	tables bool
}

// functionOf is the function that a node is the result of, of a tensor as far from the node as there is one; nil where it is none.
func functionOf(p *pass, n *ir.Node) *function {
	for _, through := range []bool{true, false} {
		tries := 4 * mostNodes
		f := &function{pass: p, through: through, tries: &tries}
		if f.take(n) && f.q != nil {
			return f
		}
	}
	return nil
}

// mostNodes is how many a function has at most.
const mostNodes = 32

// take adds a node and what computes its operands; false where they are no such function.
func (f *function) take(n *ir.Node) bool {
	if slices.ContainsFunc(f.nodes, func(x *ir.Node) bool { return x.Outputs[0] == n.Outputs[0] }) {
		return true
	}
	f.depth++
	defer func() { f.depth-- }()
	if f.depth > mostNodes || len(f.nodes) >= mostNodes || result(n) == nil || !n.Outputs[0].HasShape || ops.IsComposition(n) {
		return false
	}
	numbered := numbers(n)
	for i, v := range n.Inputs {
		switch {
		case v == nil || v.Const != nil && v.Const.Len() == 1:
			continue
		case v.Const != nil || v.Def == nil || !v.HasShape:
			return false
		case numbered[i] != v:
			continue
		case !sameShape(v.Shape, n.Outputs[0].Shape):
			return false
		}
		if q, a := dequantized(v); a != nil {
			if !a.isBytes() || !a.sole() || !f.operand(q) {
				return false
			}
			f.add(v.Def)
			continue
		}
		if !f.take(v.Def) {
			return false
		}
	}
	own := *n
	own.Inputs = numbered
	n = &own
	m, err := ops.Build(n, f.facts)
	if err != nil || m.Call != nil || len(m.Checks) > 0 || ops.NodeMapping(n, m) != ops.OneToOne || slices.ContainsFunc(m.Stages, joins) {
		return false
	}
	f.nodes, f.work = append(f.nodes, n), f.work+work(m)
	return true
}

// numbers are a node's operands, of which those are constants that are made of one quantized number.
func numbers(n *ir.Node) []*ir.Value {
	out := slices.Clone(n.Inputs)
	for i, v := range n.Inputs {
		if v == nil || v.Def == nil || !Keeps(v.Def) || v.Def.Inputs[0].Const.Len() != 1 || slices.ContainsFunc(v.Def.Inputs, func(x *ir.Value) bool { return x != nil && x.Const == nil }) {
			continue
		}
		operands := make([]*ir.Tensor, len(v.Def.Inputs))
		for k, x := range v.Def.Inputs {
			if x != nil {
				operands[k] = x.Const
			}
		}
		if x, err := (interp.Interp{}).Node(v.Def, operands); err == nil {
			out[i] = ir.ConstValue(v.Name, x[0])
		}
	}
	return out
}

// add appends a node that takes no part in the work.
func (f *function) add(nodes ...*ir.Node) {
	for _, n := range nodes {
		if !slices.Contains(f.nodes, n) {
			f.nodes = append(f.nodes, n)
		}
	}
}

// operand takes a quantized tensor: what computes it, or else the tensor itself, of which there is one.
func (f *function) operand(q *ir.Value) bool {
	if f.q == q {
		return true
	}
	if *f.tries--; f.through && q.Def != nil && *f.tries > 0 {
		deeper := *f
		deeper.nodes = slices.Clone(f.nodes)
		if deeper.computed(q.Def) {
			*f = deeper
			return true
		}
	}
	if f.q != nil {
		return false
	}
	f.q = q
	return true
}

// computed takes what computes a quantized tensor: a quantization of floats, or a table.
func (f *function) computed(n *ir.Node) bool {
	if of, nodes := lookup(n); of != nil {
		f.tables = true
		if !f.operand(of) {
			return false
		}
		f.add(nodes...)
		return true
	}
	to := quantizer(n)
	return to != nil && to.isBytes() && f.take(n)
}

// lookup is the tensor whose bytes a node reads a constant table by, and the nodes that do; nil where it does not.
func lookup(n *ir.Node) (*ir.Value, []*ir.Node) {
	if n.Op != "Gather" || n.Int("axis", 0) != 0 || n.Inputs[0] == nil || n.Inputs[0].Const == nil || n.Inputs[0].Const.Len() != entries || len(n.Inputs[0].Shape) != 1 {
		return nil, nil
	}
	nodes := []*ir.Node{n}
	v := n.Inputs[1]
	cast := func(to, from ir.DType) {
		if v != nil && v.Type == to && v.Def != nil && v.Def.Op == "Cast" && v.Def.Inputs[0].Type == from {
			nodes, v = append(nodes, v.Def), v.Def.Inputs[0]
		}
	}
	cast(ir.I32, ir.U8)
	cast(ir.U8, ir.I8)
	if len(nodes) == 1 || !v.HasShape {
		return nil, nil
	}
	slices.Reverse(nodes)
	return v, nodes
}

// joins reports whether a stage computes of several points, of which a tensor may have one: the table's would be joined, too.
func joins(s *te.Stage) bool { return s.Combine != nil || s.Update != nil }

func sameShape(a, b ir.Shape) bool {
	return slices.EqualFunc(a, b, func(x, y sym.Expr) bool { return x.Equal(y) })
}

// work is how many operations a node takes for each element.
func work(m *ops.Meaning) int {
	out := 0
	for _, s := range m.Stages {
		for _, e := range s.Exprs() {
			te.Walk(e, func(e te.Expr) {
				if c, ok := e.(te.Call); ok {
					if r := scalar.Lookup(c.Fn); r != nil {
						out += r.FLOPs
					}
				}
			})
		}
	}
	return out
}

// values are those of the function for each number that its operand may be; nil where they cannot be computed.
func (f *function) values(n *ir.Node) *ir.Tensor {
	numbers := ir.NewTensor(f.q.Type, entries)
	for i := range numbers.Data {
		numbers.Data[i] = byte(i)
	}
	known := map[*ir.Value]*ir.Tensor{f.q: numbers}
	for _, x := range f.nodes {
		operands := make([]*ir.Tensor, len(x.Inputs))
		for i, v := range x.Inputs {
			switch {
			case v == nil:
			case v.Const != nil:
				operands[i] = v.Const
			default:
				operands[i] = known[v]
			}
		}
		out, err := interp.Interp{}.Node(x, operands)
		if err != nil || out[0].Len() != entries {
			return nil
		}
		known[x.Outputs[0]] = out[0]
	}
	t := *known[n.Outputs[0]]
	t.Shape = []int64{entries}
	return &t
}
