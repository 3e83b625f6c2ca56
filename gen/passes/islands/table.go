package islands

import (
	"slices"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// entries are the numbers that 8 bits have.
const entries = 256

// leastWork is how many operations a function takes for each element, from which on a table is faster.
const leastWork = 16

// table makes a function of one tensor of 8 bits, which is quantized again, a table of its values.
func table(p *pass, n *ir.Node) []*ir.Node {
	to := quantizer(n)
	if to == nil || !to.isBytes() {
		return nil
	}
	f := function{pass: p}
	if !f.take(n) || f.q == nil || f.work < leastWork {
		return nil
	}
	values := f.values(n)
	if values == nil {
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

// function is nodes that compute each element of a result of one element of a quantized tensor.
type function struct {
	*pass
	q     *ir.Value
	nodes []*ir.Node // in their order
	work  int
	depth int
}

// mostNodes is how many a function has at most.
const mostNodes = 32

// take adds a node and what computes its operands; false where they are no such function.
func (f *function) take(n *ir.Node) bool {
	if slices.Contains(f.nodes, n) {
		return true
	}
	f.depth++
	defer func() { f.depth-- }()
	if f.depth > mostNodes || len(f.nodes) >= mostNodes || result(n) == nil || !n.Outputs[0].HasShape || ops.IsComposition(n) {
		return false
	}
	for _, v := range n.Inputs {
		switch {
		case v == nil || v.Const != nil && v.Const.Len() == 1:
			continue
		case v.Const != nil || v.Def == nil || !v.HasShape || !sameShape(v.Shape, n.Outputs[0].Shape):
			return false
		}
		if q, a := dequantized(v); a != nil {
			if !a.isBytes() || !a.sole() || f.q != nil && f.q != q {
				return false
			}
			f.q = q
			if !slices.Contains(f.nodes, v.Def) {
				f.nodes = append(f.nodes, v.Def)
			}
			continue
		}
		if !f.take(v.Def) {
			return false
		}
	}
	m, err := ops.Build(n, f.facts)
	if err != nil || m.Call != nil || len(m.Checks) > 0 || ops.NodeMapping(n, m) != ops.OneToOne || slices.ContainsFunc(m.Stages, joins) {
		return false
	}
	f.nodes, f.work = append(f.nodes, n), f.work+work(m)
	return true
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
