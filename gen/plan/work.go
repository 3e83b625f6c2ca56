package plan

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
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

// Work counts what the call computes and moves.
func (s *Call) Work() Work {
	w := Work{FLOPs: sym.Const(0), Bytes: sym.Const(0)}
	for _, st := range s.Block.Stages() {
		w.FLOPs = sym.Add(w.FLOPs, ops.StageFLOPs(st))
	}
	if s.Block.Stage == nil {
		w.FLOPs = sym.Const(-1) // an opaque operator's
	}
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
	var ok bool
	if w.Products, ok = s.Kernel.Products(); !ok {
		w.Products = sym.Const(-1)
	}
	for _, e := range []*sym.Expr{&w.FLOPs, &w.Products, &w.Bytes} {
		if e.Overflow() {
			*e = sym.Const(-1)
		}
	}
	return w
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
