package loop

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// InSubGroups is a kernel whose items share rows, where so many neighbouring items are a sub-group: what items share within one they have in variables of
// their own, and read from each other (Near), so that they need not wait. Where fewer items than all make something of a row, each item makes it anew: the
// same, of the same values, in the same order. nil: nothing is gained, or groups are no whole sub-groups.
func (k *Kernel) InSubGroups(n int64) *Kernel {
	r := &rowsOfItems{k: k, homes: map[*Buffer]*home{}}
	if n < 2 || !r.take() || r.rows*r.parts%n != 0 || r.parts%n != 0 && n%r.parts != 0 {
		return nil
	}
	for _, b := range k.Shared {
		if h := r.home(b, n); h != nil {
			r.homes[b] = h
		}
	}
	if len(r.homes) == 0 {
		return nil
	}
	return r.kernel()
}

// rowsOfItems is a kernel of nests one after the other, each over rows and some items of a row.
type rowsOfItems struct {
	k           *Kernel
	rows, parts int64
	before      []Stmt
	nests       []rowNest
	homes       map[*Buffer]*home
}

// rowNest is a nest over rows and so many items of each, the first of them.
type rowNest struct {
	body       []Stmt
	row, share string // "": one item of a row
	inner      int64
}

// home is where what a nest makes of each row lies: with each of its items.
type home struct {
	own  *Buffer
	nest int
	at   sym.Expr // in memory that items share, by the nest's variables
}

// take finds the nests; false where a kernel is made of other statements.
func (r *rowsOfItems) take() bool {
	for _, s := range r.k.Body {
		x, is := s.(For)
		switch s.(type) {
		case Index, Bind:
			if len(r.nests) > 0 {
				return false
			}
			r.before = append(r.before, s)
			continue
		}
		if !is || !x.Items || !r.nest(itemsOf(x)) {
			return false
		}
	}
	for _, n := range r.nests {
		if r.parts%n.inner != 0 {
			return false
		}
	}
	return r.parts > 1
}

func (r *rowsOfItems) nest(n nestOfItems) bool {
	out := rowNest{body: n.body, row: n.vars[0], inner: 1}
	if len(n.vars) > 2 || len(r.nests) > 0 && n.extents[0] != r.rows || Any(n.body, func(s Stmt) bool { _, is := s.(Tile); return is }) {
		return false
	}
	if len(n.vars) == 2 {
		out.share, out.inner = n.vars[1], n.extents[1]
	}
	r.rows, r.parts = n.extents[0], max(r.parts, out.inner)
	r.nests = append(r.nests, out)
	return true
}

// home is that of a buffer which the items of a row share; nil where they go on sharing it.
func (r *rowsOfItems) home(b *Buffer, n int64) *home {
	h := &home{nest: -1}
	for i, nest := range r.nests {
		for _, s := range nest.body {
			if x, is := s.(Store); is && x.Buf == b {
				if h.nest >= 0 {
					return nil
				}
				h.nest, h.at = i, x.Index
			}
		}
	}
	if h.nest < 0 || b.Type != ir.F32 || n%r.nests[h.nest].inner != 0 {
		return nil
	}
	maker, stores := r.nests[h.nest], 0
	Walk(r.k.Body, func(s Stmt) bool {
		if x, is := s.(Store); is && x.Buf == b {
			stores++
		}
		return true
	})
	if step, ok := sym.Coefficient(h.at, maker.share, r.k.Facts); maker.share != "" && (!ok || !step.Is(1)) || stores != 1 {
		return nil
	}
	for i, nest := range r.nests {
		if !r.reads(nest.body, true, func(m Mem, sure bool) bool {
			if m.Buf != b {
				return true
			}
			lane := r.lane(h, nest, m.Index)
			lo, hi := lane.Bounds(r.k.Facts)
			return i > h.nest && !lane.Uses(nest.row) && lo >= 0 && hi < maker.inner && (sure || maker.inner == 1)
		}) {
			return nil
		}
	}
	h.own = &Buffer{Name: b.Name, Type: b.Type, Write: true, Size: sym.Const(r.rows * r.parts), Local: true}
	return h
}

// lane is which of a row's items has what a nest reads.
func (r *rowsOfItems) lane(h *home, reader rowNest, at sym.Expr) sym.Expr {
	first := map[string]sym.Expr{r.nests[h.nest].row: sym.Var(reader.row)}
	if share := r.nests[h.nest].share; share != "" {
		first[share] = sym.Const(0)
	}
	return sym.Sub(at, h.at.Subst(first, r.k.Facts))
}

// reads reports whether f holds for all loads of statements, and tells it whether all items come to each.
func (r *rowsOfItems) reads(body []Stmt, sure bool, f func(m Mem, sure bool) bool) bool {
	ok := true
	all := func(e te.Expr, sure bool) {
		te.Walk(e, func(e te.Expr) {
			if m, is := e.(Mem); is {
				ok = ok && f(m, sure)
			}
		})
	}
	for _, s := range body {
		Values(s, func(e te.Expr) {
			all(e, sure)
			te.Walk(e, func(e te.Expr) {
				if _, is := e.(te.Select); is {
					all(e, false)
				}
			})
		})
		switch x := s.(type) {
		case For:
			_, known := x.Extent.Const()
			ok = ok && r.reads(x.Body, sure && known, f)
		case If:
			ok = ok && r.reads(x.Then, false, f) && r.reads(x.Else, false, f)
		}
	}
	return ok
}

// kernel is the one whose nests all items run.
func (r *rowsOfItems) kernel() *Kernel {
	out := *r.k
	out.Facts = maps.Clone(r.k.Facts)
	out.Body, out.Shared = slices.Clone(r.before), nil
	for _, b := range r.k.Shared {
		if h := r.homes[b]; h != nil {
			out.Body = append(out.Body, Alloc{Buf: h.own})
		} else {
			out.Shared = append(out.Shared, b)
		}
	}
	for _, n := range r.nests {
		out.Body = append(out.Body, r.all(n, out.Facts))
	}
	return &out
}

// all is a nest that all items run: of the items of a row as many make the same as there are more than the nest has.
func (r *rowsOfItems) all(n rowNest, facts sym.Facts) Stmt {
	item, body := n.share, []Stmt(nil)
	if n.inner < r.parts || item == "" {
		item = n.row + "_all"
		facts[item] = sym.Range{Lo: 0, Hi: r.parts - 1}
		if n.share != "" {
			body = append(body, Index{Var: n.share, Value: sym.Mod(sym.Var(item), sym.Const(n.inner), facts)})
		}
	}
	own := sym.Add(sym.Scale(sym.Var(n.row), r.parts), sym.Var(item))
	body = append(body, Map(r.exchanged(n, own), func(s Stmt) Stmt {
		x, is := s.(Store)
		switch {
		case is && r.homes[x.Buf] != nil:
			x.Buf, x.Index = r.homes[x.Buf].own, own
			return x
		case is && n.inner < r.parts: // one of those that make it
			return If{Cond: []te.Within{{E: sym.Var(item), Lo: sym.Const(0), Hi: sym.Const(n.inner)}}, Then: []Stmt{x}}
		}
		return s
	})...)
	return For{Var: n.row, Extent: sym.Const(r.rows), Items: true, Body: []Stmt{For{Var: item, Extent: sym.Const(r.parts), Items: true, Body: body}}}
}

// exchanged is a nest's statements with exchanges in place of loads of what items have.
func (r *rowsOfItems) exchanged(n rowNest, own sym.Expr) []Stmt {
	expr := func(e te.Expr) te.Expr {
		return te.Map(e, func(e te.Expr) te.Expr {
			m, is := e.(Mem)
			h := r.homes[m.Buf]
			switch {
			case !is || h == nil:
				return e
			case r.nests[h.nest].inner == 1:
				return Mem{Buf: h.own, Index: own}
			}
			return Near{Buf: h.own, Index: own, Width: r.nests[h.nest].inner, Lane: r.lane(h, n, m.Index)}
		})
	}
	return Map(n.body, func(s Stmt) Stmt { return mapValues(s, expr) })
}
