// Package fuse composes blocks into larger ones (DNNFusion, dissertation chapter 3).
//
// A producer without a reduction is composed into what its consumer loads; a
// consumer without a reduction that reads its producer element by element is
// composed into what the producer stores. Either way the value between them is
// never in memory.
package fuse

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Run fuses to a fixed point and leaves g verified.
func Run(g *block.Graph) error {
	for fuseOnce(g) {
	}
	return g.Verify()
}

func fuseOnce(g *block.Graph) bool {
	users := g.Users()
	def := map[*ir.Value]*block.Block{}
	for _, b := range g.Blocks {
		for _, r := range b.Results {
			def[r] = b
		}
	}
	for ci, c := range g.Blocks {
		for n, v := range c.Operands {
			p := def[v]
			if p == nil || len(p.Results) != 1 || len(users[v]) != 1 || g.IsOutput(v) {
				continue
			}
			m := compose(g, p, c, n)
			if m == nil {
				continue
			}
			g.Blocks[ci] = m
			g.Blocks = remove(g.Blocks, p)
			return true
		}
	}
	return false
}

func remove(bs []*block.Block, x *block.Block) []*block.Block {
	out := bs[:0]
	for _, b := range bs {
		if b != x {
			out = append(out, b)
		}
	}
	return out
}

// compose joins p into c, which reads p's only result as operand n; nil where
// that is not legal or does not pay.
func compose(g *block.Graph, p, c *block.Block, n int) *block.Block {
	switch {
	case p.Stage.Combine == nil && readsOnce(c, n):
		return inlineProducer(g.Facts, p, c, n)
	case p.Stage.Combine != nil && c.Stage.Combine == nil && readsIdentity(c, n, p.Stage):
		return appendConsumer(g.Facts, p, c, n)
	}
	return nil
}

// readsOnce tells whether composing a producer into operand n leaves each of its elements
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
		}
		for _, a := range append(append([]te.Axis{}, c.Stage.Axes...), c.Stage.Reduce...) {
			if !used[a.Var] && !a.Extent.Is(1) {
				once = false
			}
		}
	})
	return once && loads == 1
}

// readsIdentity tells whether c reads operand n only at its own axes, and those are p's.
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

// join starts the composed block: operands of both, c's operand n left out.
func join(p, c *block.Block, n int) (m *block.Block, fromP, fromC []int) {
	m = &block.Block{Results: c.Results}
	m.Origins = append(append(m.Origins, p.Origins...), c.Origins...)
	m.Ops = append(append(m.Ops, p.Ops...), c.Ops...)
	add := func(v *ir.Value) int {
		for i, o := range m.Operands {
			if o == v {
				return i
			}
		}
		m.Operands = append(m.Operands, v)
		return len(m.Operands) - 1
	}
	for _, v := range p.Operands {
		fromP = append(fromP, add(v))
	}
	for i, v := range c.Operands {
		if i == n {
			fromC = append(fromC, -1)
			continue
		}
		fromC = append(fromC, add(v))
	}
	return m, fromP, fromC
}

func renumber(s *te.Stage, to []int) *te.Stage {
	return block.MapExprs(s, func(e te.Expr) te.Expr {
		if l, ok := e.(te.Load); ok {
			l.Source.N = to[l.Source.N]
			return l
		}
		return e
	})
}

func inlineProducer(f sym.Facts, p, c *block.Block, n int) *block.Block {
	m, fromP, fromC := join(p, c, n)
	ps, cs := renumber(freshLets(p.Stage, len(m.Origins)), fromP), renumber(c.Stage, fromC)
	facts := stageFacts(cs, f)
	m.Stage = block.MapExprs(cs, func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok || l.Source.N != -1 {
			return e
		}
		at := map[string]sym.Expr{}
		for i, a := range ps.Axes {
			at[a.Var] = l.Index[i]
		}
		return guarded(l, te.SubstIndices(ps.Results[0], at, facts))
	})
	return m
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

func appendConsumer(f sym.Facts, p, c *block.Block, n int) *block.Block {
	m, fromP, fromC := join(p, c, n)
	ps, cs := renumber(freshLets(p.Stage, len(m.Origins)), fromP), renumber(c.Stage, fromC)
	at := map[string]sym.Expr{}
	for i, a := range cs.Axes {
		at[a.Var] = sym.Var(ps.Axes[i].Var)
	}
	facts := stageFacts(ps, f)
	results := make([]te.Expr, len(cs.Results))
	for k, r := range cs.Results {
		results[k] = te.Map(te.SubstIndices(r, at, facts), func(e te.Expr) te.Expr {
			if l, ok := e.(te.Load); ok && l.Source.N == -1 {
				return ps.Results[0]
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

// freshLets renames the bound variables of a stage, so that composing two cannot capture.
func freshLets(s *te.Stage, salt int) *te.Stage {
	return block.MapExprs(s, func(e te.Expr) te.Expr {
		l, ok := e.(te.Let)
		if !ok {
			return e
		}
		fresh := fmt.Sprintf("%s_%d", l.Var, salt)
		l.Body = te.SubstIndices(l.Body, map[string]sym.Expr{l.Var: sym.Var(fresh)}, nil)
		l.Var = fresh
		return l
	})
}
