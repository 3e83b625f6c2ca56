package wildtest

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// declare says of some results, and of inputs of regions, what types and shapes they have, as models do and mostly wrongly: in
// symbols that no input has, too. Like extreme it comes last, and only where bytes are left.
func (b *builder) declare() {
	if b.Empty() || b.N(3) != 2 {
		return
	}
	if b.N(2) == 1 {
		b.g.Symbols = append(b.g.Symbols, ir.Symbol{Name: fmt.Sprintf("D%d", len(b.g.Symbols)), Lo: Among(b.Source, []int64{1, 0, 3}), Hi: Among(b.Source, []int64{sym.MaxDim, 8, 3})})
	}
	list := results(b.g)
	if len(list) == 0 {
		return
	}
	for n := 1 + b.N(5); n > 0 && !b.Empty(); n-- {
		v := Among(b.Source, list)
		if b.N(4) == 3 {
			v.Type = Among(b.Source, types)
		}
		v.Shape, v.HasShape = ir.Shape{}, true
		for range Among(b.Source, []int{2, 1, 3, 4, 0, 1}) {
			v.Shape = append(v.Shape, b.declared())
		}
	}
}

// declared is a dimension: a symbol, a small number, or now and then an expression.
func (b *builder) declared() sym.Expr {
	if len(b.g.Symbols) == 0 || b.N(3) == 0 {
		return sym.Const(Among(b.Source, extents[:8]))
	}
	name := func() sym.Expr { return sym.Var(Among(b.Source, b.g.Symbols).Name) }
	switch b.N(6) {
	case 4:
		return sym.Add(sym.Scale(name(), 2), sym.Const(int64(b.N(3))))
	case 5:
		return sym.Mul(name(), name())
	}
	return name()
}

// results are the results of a graph's nodes, and what its regions have of inputs and results.
func results(g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if v != nil {
				out = append(out, v)
			}
		}
		for _, r := range n.Regions {
			out = append(append(out, r.Inputs...), results(r)...)
		}
	}
	return out
}
