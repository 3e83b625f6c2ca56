package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// nextPoint is the iteration of a loop whose copies are fetched while the items compute the one at hand.
const nextPoint = "g0a"

// fetchAhead has the items fetch what copies of a loop's next iteration need into arrays of their own while they compute the one at hand, where the
// schedule says so: loads take hundreds of cycles, and nothing waits for them before the copies are stored.
func (f *follower) fetchAhead(body []loop.Stmt) ([]loop.Stmt, error) {
	loops, copies := map[string]bool{}, map[*loop.Buffer]bool{}
	for _, c := range f.at {
		if c.sched.Ahead {
			loops[c.sched.At.Loop], copies[c.out[0].buf] = true, true
		}
	}
	switch {
	case len(loops) == 0:
		return body, nil
	case len(loops) > 1:
		return nil, fmt.Errorf("copies are fetched ahead in %d loops; want one loop", len(loops))
	}
	a := &ahead{follower: f, loops: loops, copies: copies, own: map[*loop.Buffer]*loop.Buffer{}}
	return a.body(body)
}

// ahead is the state of fetchAhead.
type ahead struct {
	*follower
	loops  map[string]bool
	copies map[*loop.Buffer]bool
	own    map[*loop.Buffer]*loop.Buffer // what items fetch of copies
}

// body is statements whose loops fetch ahead.
func (a *ahead) body(body []loop.Stmt) ([]loop.Stmt, error) {
	var out []loop.Stmt
	for _, s := range body {
		x, is := s.(loop.For)
		if !is || !a.loops[x.Var] {
			var err error
			s = loop.WithInner(s, func(inner []loop.Stmt) []loop.Stmt {
				if err != nil {
					return inner
				}
				inner, err = a.body(inner)
				return inner
			})
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		}
		all, err := a.loop(x)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return out, nil
}

// loop is one whose iterations begin with copies.
func (a *ahead) loop(x loop.For) ([]loop.Stmt, error) {
	n, known := x.Extent.Const()
	if !known {
		return nil, fmt.Errorf("copies are fetched ahead in the loop %q with %s iterations; want a constant number", x.Var, x.Extent)
	}
	a.facts[nextPoint] = sym.Range{Lo: 1, Hi: max(n-1, 1)}
	var first, stores, rest []loop.Stmt
	next := []loop.Stmt{loop.Index{Var: nextPoint, Value: sym.Add(sym.Var(x.Var), sym.Const(1))}}
	for _, s := range x.Body {
		f, is := s.(loop.For)
		to := a.copied(s)
		if !is || to == nil {
			rest = append(rest, s)
			continue
		}
		fetch, store, err := a.apart(f, to)
		if err != nil {
			return nil, err
		}
		first = append(first, withValue(fetch, x.Var, sym.Const(0), a.facts))
		next = append(next, withValue(fetch, x.Var, sym.Var(nextPoint), a.facts))
		stores = append(stores, store)
	}
	more := loop.If{Cond: []te.Within{{E: sym.Var(x.Var), Lo: sym.Const(0), Hi: sym.Const(n - 1)}}, Then: next}
	x.Body = append(append(stores, more), rest...)
	return append(first, x), nil
}

// copied is the copy that a statement stores, or nil.
func (a *ahead) copied(s loop.Stmt) *loop.Buffer {
	var to *loop.Buffer
	loop.Walk([]loop.Stmt{s}, func(s loop.Stmt) bool {
		if x, is := s.(loop.Store); is && a.copies[x.Buf] {
			to = x.Buf
		}
		return true
	})
	return to
}

// apart is the loops of a copy twice: those that fetch its elements into an array of each item, and those that store them.
func (a *ahead) apart(x loop.For, to *loop.Buffer) (fetch, store loop.Stmt, err error) {
	index, size := sym.Const(0), int64(1)
	var s loop.Stmt = x
	for {
		l, is := s.(loop.For)
		if !is {
			break
		}
		n, known := l.Extent.Const()
		last := len(l.Body) - 1
		if !known || last < 0 || slices.ContainsFunc(l.Body[:last], func(s loop.Stmt) bool { return !binds(s) }) {
			return nil, nil, fmt.Errorf("the copy %q is fetched ahead by loops of %s iterations with %d statements each; want a constant number, and one statement after bindings of integers", to.Name, l.Extent, len(l.Body))
		}
		index, size, s = sym.Add(sym.Scale(index, n), sym.Var(l.Var)), size*n, l.Body[last]
	}
	y, is := s.(loop.Store)
	if !is {
		return nil, nil, fmt.Errorf("the copy %q is fetched ahead by a statement of type %T", to.Name, s)
	}
	value, wide := fetched(y.Value)
	own := a.own[to]
	if own == nil {
		own = &loop.Buffer{Name: "ahead_" + to.Name, Type: value.DType(), Write: true, Local: true, Size: sym.Const(size)}
		a.own[to] = own
		a.allocs = append(a.allocs, loop.Alloc{Buf: own})
	}
	each := func(change func(loop.Store) loop.Store) loop.Stmt {
		return loop.Map([]loop.Stmt{x}, func(s loop.Stmt) loop.Stmt {
			if y, is := s.(loop.Store); is {
				return change(y)
			}
			return s
		})[0]
	}
	fetch = each(func(y loop.Store) loop.Store {
		y.Buf, y.Index, y.Value = own, index, value
		return y
	})
	store = each(func(y loop.Store) loop.Store {
		y.Value = wide(loop.Mem{Buf: own, Index: index})
		return y
	})
	return fetch, unbound(store), nil
}

// binds reports whether a statement binds an integer.
func binds(s loop.Stmt) bool {
	_, is := s.(loop.Bind)
	return is
}

// unbound is loops without the integers that they bind: what was fetched is all that they store.
func unbound(s loop.Stmt) loop.Stmt {
	return loop.WithInner(s, func(body []loop.Stmt) []loop.Stmt {
		var out []loop.Stmt
		for _, s := range body {
			if !binds(s) {
				out = append(out, unbound(s))
			}
		}
		return out
	})
}

// fetched is what is fetched of a value that is stored, and what that is made of it: a conversion of 16 bits waits for its load, and so is left for then.
func fetched(v te.Expr) (te.Expr, func(te.Expr) te.Expr) {
	if from, to := converted(v); slices.Contains(loop.Halves, from.DType()) && to != ir.Invalid {
		return from, func(e te.Expr) te.Expr { return te.Fn(to, "cast", e) }
	}
	return v, func(e te.Expr) te.Expr { return e }
}

// withValue is what copies fetch with a value in the place of a variable.
func withValue(s loop.Stmt, name string, value sym.Expr, facts sym.Facts) loop.Stmt {
	m := map[string]sym.Expr{name: value}
	return loop.Map([]loop.Stmt{s}, func(s loop.Stmt) loop.Stmt {
		switch x := s.(type) {
		case loop.Store:
			x.Value = loop.SubstIndices(x.Value, m, facts)
			return x
		case loop.Bind:
			x.Value = loop.SubstIndices(x.Value, m, facts)
			return x
		}
		return s
	})[0]
}
