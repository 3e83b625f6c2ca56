package ops

import (
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// FLOPs counts the floating-point operations of a node from its expressions: those of
// each scalar function (a column of its row) at each point of the loops. Padding
// counts as if it were computed.
func FLOPs(m *Meaning) sym.Expr {
	total := sym.Const(0)
	for _, s := range m.Stages {
		total = sym.Add(total, StageFLOPs(s))
	}
	return total
}

// StageFLOPs is FLOPs of one stage.
func StageFLOPs(s *te.Stage) sym.Expr {
	outer := points(s.Axes)
	total := sym.Scale(outer, flops(s.Results))
	if s.Combine != nil {
		each := flops(s.Values) + flops(s.Combine.Join)
		total = sym.Add(total, sym.Scale(sym.Mul(outer, points(s.Reduce)), each))
	}
	return total
}

// MACs counts multiply-accumulates: the points of contractions.
func MACs(m *Meaning) sym.Expr {
	total := sym.Const(0)
	for _, s := range m.Stages {
		if s.Combine != nil && s.Combine.Name == "sum" && isProduct(s.Values[0]) {
			total = sym.Add(total, sym.Mul(points(s.Axes), points(s.Reduce)))
		}
	}
	return total
}

func isProduct(e te.Expr) bool {
	c, ok := e.(te.Call)
	return ok && c.Fn == "mul"
}

func points(as []te.Axis) sym.Expr {
	n := sym.Const(1)
	for _, a := range as {
		n = sym.Mul(n, a.Extent)
	}
	return n
}

// flops is the floating-point operations in expressions evaluated once.
func flops(es []te.Expr) int64 {
	n := int64(0)
	for _, e := range es {
		te.Walk(e, func(x te.Expr) {
			c, ok := x.(te.Call)
			if !ok || len(c.Args) == 0 || !c.Args[len(c.Args)-1].DType().IsFloat() {
				return
			}
			if row := scalar.Lookup(c.Fn); row != nil {
				n += int64(row.FLOPs)
			}
		})
	}
	return n
}
