package fuse

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// producerLegal: the producer has no reduction, and no element of it would be computed twice, but for elements that are only moved.
func producerLegal(f *fuser, p pair) bool {
	if f.viewed(p.first) || f.viewed(p.second) || p.first.Stage.Combine != nil || len(p.first.Placed) > 0 || len(p.second.Placed) > 0 {
		return false
	}
	if f.narrows(p.first) {
		return false // it is appended, and the second block then, too, if it can be
	}
	if f.o.Moves && f.normalises(p.first) && p.second.Moves() {
		return false // a row-wise reduction fusion of it computes rows once
	}
	if !f.o.Moves || !p.first.Moves() {
		return readsOnce(p.second, p.n)
	}
	n, _ := loads(p)
	return n == 1
}

// weightsLegal: the producer unpacks a constant that is not to be in memory as floats, and a product reads it. Kernels of many rows unpack what these
// share once.
func weightsLegal(f *fuser, p pair) bool {
	if !slices.Equal(p.first.Ops, []string{ops.Unpack}) || f.viewed(p.second) || p.second.Stage.Combine == nil || len(p.second.Placed) > 0 {
		return false
	}
	n, guards := loads(p)
	return n == 1 && !guards
}

// normalises reports whether a block reads what another one reduces.
func (f *fuser) normalises(b *block.Block) bool {
	return !b.Moves() && slices.ContainsFunc(b.Operands, func(v *ir.Value) bool {
		d := f.def[v]
		return d != nil && d.Stage != nil && d.Stage.Combine != nil && !contracts(d)
	})
}

// consumerLegal: the consumer has no reduction, and reads the producer element by element.
func consumerLegal(f *fuser, p pair) bool {
	return !f.viewed(p.first) && p.second.Stage.Combine == nil && len(p.second.Placed) == 0 && readsIdentity(p.second, p.n, p.first.Stage)
}

// readsOnce reports whether composing a producer into operand n leaves each of its elements
// computed at most once: every axis of c with more than one point occurs in the load's indices.
func readsOnce(c *block.Block, n int) bool {
	loads := 0
	once := true
	block.Loads(c.Stage, func(l te.Load) {
		if l.Source.N != n {
			return
		}
		loads++
		used := map[string]bool{}
		for _, e := range l.Index {
			e.Vars(used)
			once = once && !overlaps(e, c.Stage)
		}
		for _, a := range append(append([]te.Axis{}, c.Stage.Axes...), c.Stage.Reduce...) {
			if !used[a.Var] && !a.Extent.Is(1) {
				once = false
			}
		}
	})
	return once && loads == 1
}

// overlaps reports whether an index meets a place twice, as windows do whose stride is less than
// their extent: of two variables, the one that steps wider must step over the other.
func overlaps(e sym.Expr, s *te.Stage) bool {
	reach := sym.Const(0)
	for _, a := range append(append([]te.Axis{}, s.Reduce...), s.Axes...) {
		k, ok := sym.Coefficient(e, a.Var, nil)
		if !ok || k.Is(0) || a.Extent.Is(1) {
			continue
		}
		if !sym.AtMost(sym.Add(reach, sym.Const(1)), 1, nil) && !sym.AtLeast(sym.Sub(k, reach), 1, nil) {
			return true
		}
		reach = sym.Add(reach, sym.Mul(k, sym.Sub(a.Extent, sym.Const(1))))
	}
	return false
}

// readsIdentity reports whether c reads operand n only at its own axes, and those are p's.
func readsIdentity(c *block.Block, n int, p *te.Stage) bool {
	if len(c.Stage.Axes) != len(p.Axes) {
		return false
	}
	for i, a := range c.Stage.Axes {
		if !a.Extent.Equal(p.Axes[i].Extent) {
			return false
		}
	}
	same := true
	block.Loads(c.Stage, func(l te.Load) {
		if l.Source.N != n {
			return
		}
		same = same && len(l.Guard) == 0
		for i, e := range l.Index {
			same = same && (e.Equal(sym.Var(c.Stage.Axes[i].Var)) || p.Axes[i].Extent.Is(1))
		}
	})
	return same
}

// join starts the composed block: operands of both, c's operand n left out. Neither block names an origin or an
// operand twice.
func join(p, c *block.Block, n int) (m *block.Block, fromP, fromC []int) {
	m = &block.Block{Results: c.Results, Origins: slices.Clone(p.Origins), Ops: slices.Clone(p.Ops), Operands: slices.Clone(p.Operands), Models: block.JoinModels(p, c)}
	for i, o := range c.Origins {
		if !slices.Contains(p.Origins, o) { // one node may have several stages
			m.Origins, m.Ops = append(m.Origins, o), append(m.Ops, c.Ops[i])
		}
	}
	for i := range p.Operands {
		fromP = append(fromP, i)
	}
	for i, v := range c.Operands {
		at := slices.Index(p.Operands, v)
		switch {
		case i == n:
			at = -1
		case at < 0:
			at = len(m.Operands)
			m.Operands = append(m.Operands, v)
		}
		fromC = append(fromC, at)
	}
	return m, fromP, fromC
}

func renumber(s *te.Stage, to []int) *te.Stage {
	return s.MapExprs(func(e te.Expr) te.Expr {
		if l, ok := e.(te.Load); ok && !l.Source.Stage {
			l.Source.N = to[l.Source.N]
			return l
		}
		return e
	})
}

// inlineProducer puts what the producer computes in the place of the consumer's loads of it. The producer's operands
// keep their numbers (see join), so what it computes is shared where it is read at its own axes: a chain
// takes time in its length, not in its square.
func inlineProducer(f *fuser, p pair) *block.Block {
	m, _, fromC := join(p.first, p.second, p.n)
	f.carry(p, m, fromC)
	ps, cs := f.freshLets(p.first), p.second.Stage
	var facts sym.Facts
	writable := true
	m.Stage = cs.MapExprs(func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok || l.Source.Stage {
			return e
		}
		if l.Source.N != p.n {
			l.Source.N = fromC[l.Source.N]
			return l
		}
		at := moved(l, ps)
		if len(at) == 0 && sameExtents(ps, cs) {
			return guarded(l, ps.Results[0])
		}
		if facts == nil {
			facts = stageFacts(cs, f.g.Facts)
		}
		body := te.SubstIndices(ps.Results[0], at, facts)
		writable = writable && written(body)
		return guarded(l, body)
	})
	if !writable {
		return nil
	}
	return m
}

// moved is where a load is of what a stage computes: of each of its axes the index, but those that are the axes' own variables.
func moved(l te.Load, s *te.Stage) map[string]sym.Expr {
	at := map[string]sym.Expr{}
	for i, a := range s.Axes {
		if v, same := l.Index[i].AsVar(); !same || v != a.Var {
			at[a.Var] = l.Index[i]
		}
	}
	return at
}

// sameExtents reports whether the axes of one name have one extent in both stages: then an index that is simplified in
// the one is in the other.
func sameExtents(a, b *te.Stage) bool {
	for i, x := range a.Axes {
		if i >= len(b.Axes) || x.Var != b.Axes[i].Var || !x.Extent.Equal(b.Axes[i].Extent) {
			return false
		}
	}
	return true
}

// guarded is body under the load's guard. Guards with one default join, so that Pad
// and the padding of a convolution stay one load.
func guarded(l te.Load, body te.Expr) te.Expr {
	if len(l.Guard) == 0 {
		return body
	}
	if b, ok := body.(te.Load); ok && (len(b.Guard) == 0 || sameConst(b.Default, l.Default)) {
		b.Guard = append(append([]te.Within{}, l.Guard...), b.Guard...)
		b.Default = l.Default
		return b
	}
	return te.Select{Cond: l.Guard, Then: body, Else: l.Default}
}

func sameConst(a, b te.Expr) bool {
	x, ok1 := a.(te.Const)
	y, ok2 := b.(te.Const)
	return ok1 && ok2 && x == y
}

func appendConsumer(f *fuser, p pair) *block.Block {
	m, fromP, fromC := join(p.first, p.second, p.n)
	m.Depth = p.first.Depth
	for _, s := range p.first.Placed {
		m.Placed = append(m.Placed, renumber(s, fromP))
	}
	ps, cs := renumber(f.freshLets(p.first), fromP), renumber(p.second.Stage, fromC)
	at := map[string]sym.Expr{}
	for i, a := range cs.Axes {
		at[a.Var] = sym.Var(ps.Axes[i].Var)
	}
	facts := stageFacts(ps, f.g.Facts)
	results := make([]te.Expr, len(cs.Results))
	for k, r := range cs.Results {
		there := te.SubstIndices(r, at, facts)
		if !written(there) {
			return nil
		}
		results[k] = te.Map(there, func(e te.Expr) te.Expr {
			if l, ok := e.(te.Load); ok && !l.Source.Stage && l.Source.N == -1 {
				return freshLet(ps.Results[0], f.fresh()) // a consumer may read the element in several places
			}
			return e
		})
	}
	s := *ps
	s.Results = results
	m.Stage = &s
	return m
}

// stageFacts adds the ranges of a stage's axes to the symbols'.
func stageFacts(s *te.Stage, f sym.Facts) sym.Facts {
	out := sym.Facts{}
	for k, v := range f {
		out[k] = v
	}
	for _, a := range append(append([]te.Axis{}, s.Axes...), s.Reduce...) {
		_, hi := a.Extent.Bounds(f)
		out[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
	return out
}

// freshLets is the dominant stage of a block with its bound variables renamed, so that composing two cannot capture.
func (f *fuser) freshLets(b *block.Block) *te.Stage {
	salt := f.fresh()
	if !f.known(b).lets {
		return b.Stage
	}
	return freshLets(b.Stage, salt)
}

// freshLets renames the bound variables of a stage.
func freshLets(s *te.Stage, salt int) *te.Stage {
	var facts sym.Facts
	s.MapExprs(func(e te.Expr) te.Expr {
		if _, ok := e.(te.Let); ok {
			facts = te.LetFacts(e, facts)
		}
		return e
	})
	return s.MapExprs(func(e te.Expr) te.Expr { return renamed(e, salt, facts) })
}

// freshLet renames the bound variables of an expression.
func freshLet(e te.Expr, salt int) te.Expr {
	facts := te.LetFacts(e, nil)
	return te.Map(e, func(e te.Expr) te.Expr { return renamed(e, salt, facts) })
}

// renamed gives a te.Let another variable. The facts are the ranges of all that are bound
// around and in it.
func renamed(e te.Expr, salt int, facts sym.Facts) te.Expr {
	l, ok := e.(te.Let)
	if !ok {
		return e
	}
	fresh := fmt.Sprintf("%s_%d", l.Var, salt)
	facts[fresh] = facts[l.Var]
	l.Body = te.SubstIndices(l.Body, map[string]sym.Expr{l.Var: sym.Var(fresh)}, facts)
	l.Var = fresh
	return l
}
