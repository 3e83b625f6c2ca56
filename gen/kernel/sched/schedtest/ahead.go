package schedtest

import (
	"encoding/binary"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Ahead: as GroupTiles, and what a step copies is fetched while the items compute the one before.
func Ahead() Example {
	x := GroupTiles()
	x.Name += " that fetch ahead"
	x.Schedule = strings.NewReplacer("  item a = ", "  ahead\n  item a = ", "  item d = ", "  ahead\n  item d = ").Replace(x.Schedule)
	return x
}

// Points: as Ahead, and the sum is over some of the rows of B, as a table says: those that pruned weights keep. Of what an item copies of one of them
// each is as far from the next as there are items.
func Points() Example {
	const rows = 40
	x := Ahead()
	x.Name += ", at the points that a table says"
	k := x.Work.Operands[1].Shape[0]
	x.Work.Operands[1].Shape[0] = sym.Const(rows)
	x.Work.Operands = append(x.Work.Operands, &ir.Value{Type: ir.I32, Shape: ir.Shape{k}, HasShape: true})
	picked := func(l te.Load, at sym.Expr) te.Expr {
		l.Index[0] = sym.Var("p")
		return te.Let{Var: "p", Value: te.Operand(2, ir.I32, at), Lo: sym.Const(0), Hi: sym.Const(rows - 1), Known: true, Body: l}
	}
	x.Work.Stages[1].Results[0] = picked(x.Work.Stages[1].Results[0].(te.Load), sym.Var("i0"))
	product := x.Reference[0].Values[0].(te.Call)
	product.Args[1] = picked(product.Args[1].(te.Load), sym.Var("r0"))
	x.Schedule = strings.NewReplacer("  region i1 = 32 from 32*gn\n", "  region i1 = 32 from 32*gn\n  split i1 = eo ei*16\n", "  item e = i1\n", "  item e = ei\n  serial w = eo\n").Replace(x.Schedule)
	x.Prepare = func(in []*ir.Tensor) {
		for i := range in[2].Len() {
			binary.LittleEndian.PutUint32(in[2].Data[4*i:], uint32(i*7%rows))
		}
	}
	return x
}
