package plan

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
)

// Work is what a call amounts to, for reports. A number that is not known is negative.
type Work struct {
	// FLOPs are those of the network's expressions. Padding counts as if it were computed.
	FLOPs sym.Expr
	// Products are those that micro-kernels add up; 0 for kernels without any.
	Products sym.Expr
	// Bytes are of operands and results, each once, without what layouts add; of an operand not
	// more than as many elements as are loaded, which a Gather has fewer of.
	Bytes sym.Expr
}

// Work counts what a call computes and moves.
func (p *Program) Work(s *Call) Work {
	w := Work{FLOPs: s.FLOPs(), Products: p.productsOf(s.Kernel), Bytes: sym.Const(0)}
	loads, seen := s.loads(), map[*ir.Value]bool{}
	for _, v := range slices.Concat(s.Over, s.Args) {
		if seen[v] {
			continue
		}
		seen[v] = true
		n := elements(v)
		if most, ok := loads[v]; ok {
			n = sym.Min(n, most, s.Kernel.Facts)
		}
		w.Bytes = sym.Add(w.Bytes, sym.Scale(n, int64(v.Type.Size())))
	}
	for _, e := range []*sym.Expr{&w.Products, &w.Bytes} {
		if e.Overflow() {
			*e = sym.Const(-1)
		}
	}
	return w
}

// FLOPs are the call's: negative where they are not known, as an opaque operator's.
func (s *Call) FLOPs() sym.Expr {
	n := sym.Const(0)
	for _, st := range s.Block.Stages() {
		n = sym.Add(n, ops.StageFLOPs(st))
	}
	if s.Block.Stage == nil || n.Overflow() {
		return sym.Const(-1)
	}
	return n
}

// productsOf counts a kernel's once: calls share kernels, and each call is in the manifest and in the header.
func (p *Program) productsOf(k *loop.Kernel) sym.Expr {
	n, counted := p.products[k]
	if counted {
		return n
	}
	n, known := k.Products()
	if !known {
		n = sym.Const(-1)
	}
	if p.products == nil {
		p.products = map[*loop.Kernel]sym.Expr{}
	}
	p.products[k] = n
	return n
}

// loads are how many elements of each operand the block's stages load, where that is known.
func (s *Call) loads() map[*ir.Value]sym.Expr {
	out := map[*ir.Value]sym.Expr{}
	for _, st := range s.Block.Stages() {
		if st.Update != nil {
			return nil
		}
		at := func(n sym.Expr, es []te.Expr) {
			for _, e := range es {
				te.Walk(e, func(x te.Expr) {
					if l, ok := x.(te.Load); ok && !l.Source.Stage {
						v := s.Block.Operands[l.Source.N]
						out[v] = sym.Add(out[v], n)
					}
				})
			}
		}
		outer := points(st.Axes)
		at(outer, st.Results)
		at(sym.Mul(outer, points(st.Reduce)), st.Values)
	}
	return out
}

func points(axes []te.Axis) sym.Expr {
	n := sym.Const(1)
	for _, a := range axes {
		n = sym.Mul(n, a.Extent)
	}
	return n
}

func elements(v *ir.Value) sym.Expr {
	n := sym.Const(1)
	for _, d := range v.Shape {
		n = sym.Mul(n, d)
	}
	return n
}
