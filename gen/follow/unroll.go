package follow

import (
	"fmt"
	"strings"

	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// unrolled writes out the iterations of loop i, the innermost one. What several of them need is computed once.
func (f *follower) unrolled(c *stage, i int) ([]loop.Stmt, error) {
	p := c.span(i)
	n, _ := p.Extent.Const()
	axis := p.Axes[0].Var
	was := c.logical[axis]
	defer func() { c.logical[axis] = was }()
	s := &shared{f: f, c: c, numbers: map[string]int{}}
	for k := range n {
		at := map[string]sym.Expr{axis: sym.Add(p.First, sym.Const(k))}
		for _, r := range c.te.Results {
			r = te.Map(te.SubstIndices(r, at, c.facts), func(e te.Expr) te.Expr {
				if x, ok := e.(te.Select); ok {
					return decided(x, c.facts)
				}
				return e
			})
			s.roots = append(s.roots, s.number(r))
			s.terms[s.roots[len(s.roots)-1]].uses++
		}
	}
	var values []te.Expr
	for _, root := range s.roots {
		values = append(values, s.value(root))
	}
	for k := range n {
		c.logical[axis] = sym.Add(p.First, sym.Const(k))
		for part, v := range c.out {
			s.body = append(s.body, f.put(c, v, values[int(k)*len(c.out)+part]))
		}
	}
	return f.inRange(c, s.body), nil
}

// decided is what a choice comes to whose conditions are certain.
func decided(x te.Select, facts sym.Facts) te.Expr {
	for _, w := range x.Cond {
		if sym.AtLeast(sym.Sub(w.Lo, w.E), 1, facts) || sym.AtLeast(sym.Sub(w.E, w.Hi), 0, facts) {
			return x.Else
		}
	}
	return choose(x.Cond, x.Then, x.Else, facts)
}

// shared numbers the terms of expressions, equal ones alike.
type shared struct {
	f       *follower
	c       *stage
	numbers map[string]int
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
	var t term
	key := ""
	if call, ok := e.(te.Call); ok {
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s", call.Fn, call.Type)
		for _, a := range call.Args {
			t.args = append(t.args, s.number(a))
			fmt.Fprintf(&text, " %d", t.args[len(t.args)-1])
		}
		key = text.String()
	} else {
		key = te.Text(e)
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
