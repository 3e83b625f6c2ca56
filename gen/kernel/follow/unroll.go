package follow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// unrolled writes out the iterations of loop i, the innermost one. What several of them need is computed once.
func (f *follower) unrolled(c *stage, i int) ([]loop.Stmt, error) {
	p := c.span(i)
	n, _ := p.Extent.Const()
	axis := p.Axes[0].Var
	s := &shared{f: f, c: c, numbers: map[string]int{}, same: map[any]int{}}
	for k := range n {
		at := map[string]sym.Expr{axis: sym.Add(p.First, sym.Const(k))}
		for _, r := range c.te.Results {
			s.roots = append(s.roots, s.number(iteration(r, axis, at, c.facts)))
			s.terms[s.roots[len(s.roots)-1]].uses++
		}
	}
	var values []te.Expr
	for _, root := range s.roots {
		values = append(values, s.value(root))
	}
	name, claims := c.sched.Loops[i].Var, c.claims
	var all []loop.Mem // lines that are claimed
	for part, v := range c.out {
		c.claims = nil
		store := f.put(c, v, nil).(loop.Store)
		for k := range n {
			at := map[string]sym.Expr{name: sym.Const(k)}
			s.body = append(s.body, loop.Store{Buf: store.Buf, Index: store.Index.Subst(at, f.facts), Value: values[int(k)*len(c.out)+part]})
			for _, m := range c.claims {
				all = append(all, loop.Mem{Buf: m.Buf, Index: m.Index.Subst(at, f.facts)})
			}
		}
	}
	c.claims = append(claims, all...)
	return f.inRange(c, s.body), nil
}

// iteration is an expression at a point of an axis: of a choice between points, that one's.
func iteration(e te.Expr, axis string, at map[string]sym.Expr, facts sym.Facts) te.Expr {
	if x, ok := e.(te.Select); ok {
		cond := make([]te.Within, len(x.Cond))
		for i, w := range x.Cond {
			cond[i] = te.Within{E: w.E.Subst(at, facts), Lo: w.Lo.Subst(at, facts), Hi: w.Hi.Subst(at, facts)}
		}
		never := slices.ContainsFunc(cond, func(w te.Within) bool {
			return sym.AtLeast(sym.Sub(w.Lo, w.E), 1, facts) || sym.AtLeast(sym.Sub(w.E, w.Hi), 0, facts)
		})
		switch {
		case never:
			return iteration(x.Else, axis, at, facts)
		case len(uncertain(cond, facts)) == 0:
			return iteration(x.Then, axis, at, facts)
		}
	}
	used := false
	te.Walk(e, func(e te.Expr) {
		te.EachIndex(e, func(i sym.Expr) { used = used || i.Uses(axis) })
	})
	if !used {
		return e
	}
	return te.SubstIndices(e, at, facts)
}

// shared numbers the terms of expressions, equal ones alike.
type shared struct {
	f       *follower
	c       *stage
	numbers map[string]int
	same    map[any]int // by where a call has its operands, or a load its index: copies of one expression share them
	terms   []term
	roots   []int
	body    []loop.Stmt
}

// term is a call of other terms, or anything else.
type term struct {
	expr  te.Expr
	args  []int
	uses  int
	value te.Expr // once it is computed
}

func (s *shared) number(e te.Expr) int {
	var where any
	switch x := e.(type) {
	case te.Call:
		if len(x.Args) > 0 {
			where = &x.Args[0]
		}
	case te.Load:
		if len(x.Index) > 0 {
			where = &x.Index[0]
		}
	}
	if where == nil {
		return s.numbered(e)
	}
	n, ok := s.same[where]
	if !ok {
		n = s.numbered(e)
		s.same[where] = n
	}
	return n
}

// numbered is the number of an expression that is met for the first time, though maybe not its like.
func (s *shared) numbered(e te.Expr) int {
	var t term
	key := ""
	if call, ok := e.(te.Call); ok {
		text := append(append([]byte(call.Fn), ' '), call.Type.String()...)
		for _, a := range call.Args {
			t.args = append(t.args, s.number(a))
			text = strconv.AppendInt(append(text, ' '), int64(t.args[len(t.args)-1]), 10)
		}
		key = string(text)
	} else {
		key = text(e)
	}
	if n, ok := s.numbers[key]; ok {
		return n
	}
	for _, a := range t.args {
		s.terms[a].uses++
	}
	t.expr = e
	s.terms = append(s.terms, t)
	s.numbers[key] = len(s.terms) - 1
	return len(s.terms) - 1
}

// text tells an expression apart from others.
func text(e te.Expr) string {
	l, ok := e.(te.Load)
	if !ok || len(l.Guard) > 0 {
		return te.Text(e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s", l.Source, l.Type)
	for _, i := range l.Index {
		b.WriteByte(' ')
		b.WriteString(i.String())
	}
	return b.String()
}

// value is a term's, by a variable where it has several uses.
func (s *shared) value(n int) te.Expr {
	if s.terms[n].value != nil {
		return s.terms[n].value
	}
	t := s.terms[n]
	v := t.expr
	if call, ok := v.(te.Call); ok {
		call.Args = nil
		for _, a := range t.args {
			call.Args = append(call.Args, s.value(a))
		}
		v = call
	} else if l, ok := v.(te.Load); ok {
		v = s.f.element(s.c, l)
	} else {
		var hoisted []loop.Stmt
		hoisted, v = loop.HoistLets(s.f.flatten(s.c, v))
		s.body = append(s.body, hoisted...)
	}
	if _, isConst := v.(te.Const); t.uses > 1 && !isConst {
		name := fmt.Sprintf("u%d", s.f.shared)
		s.f.shared++
		s.body = append(s.body, loop.Def{Name: name, Init: v})
		v = loop.Ref{Name: name, Type: t.expr.DType()}
	}
	s.terms[n].value = v
	return v
}
