package loop

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// ByItems is a kernel of groups as each work-item runs it: in place of loops over items their variables are made of the item's
// number, arrays around the loops are an item's own part of them, and items wait for each other where one reads, or
// overwrites, what another has stored. The items of a nest that has fewer than the group are its first ones.
func (k *Kernel) ByItems() (*Kernel, error) {
	g := &grouping{k: k, items: k.Items(), parts: map[*Buffer]part{}, own: map[*Buffer]*Buffer{}}
	if err := g.arrays(k.Body); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Anchor, err)
	}
	out := *k
	out.Facts = maps.Clone(k.Facts)
	out.Facts[ItemVar] = sym.Range{Lo: 0, Hi: g.items - 1}
	w := &waiting{shared: k.Shared}
	out.Body = g.stmts(w.insert(k.Body))
	return &out, nil
}

// grouping turns loops over items into what one item does.
type grouping struct {
	k     *Kernel
	items int64
	parts map[*Buffer]part
	own   map[*Buffer]*Buffer // arrays of one item
}

// part is where in an array the elements of an item lie: its number in loops of some extents moves it by so many elements each.
type part struct {
	extents, steps []int64
}

// arrays finds the parts of arrays around loops over items.
func (g *grouping) arrays(body []Stmt) error {
	outside := map[*Buffer]bool{}
	var err error
	Walk(body, func(s Stmt) bool {
		switch x := s.(type) {
		case Alloc:
			outside[x.Buf] = true
		case For:
			if x.Items {
				n := itemsOf(x)
				Accesses(n.body, func(b *Buffer, at sym.Expr) {
					if outside[b] && err == nil {
						err = g.access(n, b, at)
					}
				})
				return false
			}
		}
		return true
	})
	return err
}

// access notes a place in an array, which must be in the same part for the same item everywhere.
func (g *grouping) access(n nestOfItems, b *Buffer, at sym.Expr) error {
	p := part{extents: n.extents}
	rest := at
	for _, v := range n.vars {
		step, ok := sym.Coefficient(at, v, g.k.Facts)
		c, known := step.Const()
		if !ok || !known {
			return fmt.Errorf("array %q is read at %s; want an index that splits it into a part for each item", b.Name, at)
		}
		p.steps = append(p.steps, c)
		rest = rest.Subst(map[string]sym.Expr{v: sym.Const(0)}, g.k.Facts)
	}
	old, known := g.parts[b]
	if known && (!slices.Equal(old.extents, p.extents) || !slices.Equal(old.steps, p.steps)) {
		return fmt.Errorf("array %q is split differently by loops over %v items and over %v, so an item would read elements of another", b.Name, old.extents, p.extents)
	}
	g.parts[b] = p
	_, most := rest.Bounds(g.k.Facts)
	if own := g.own[b]; own == nil {
		x := *b
		x.Size = sym.Const(most + 1)
		g.own[b] = &x
	} else if n, _ := own.Size.Const(); most >= n {
		own.Size = sym.Const(most + 1)
	}
	return nil
}

// stmts are the statements of an item.
func (g *grouping) stmts(body []Stmt) []Stmt {
	var out []Stmt
	for _, s := range body {
		switch x := s.(type) {
		case For:
			if x.Items {
				out = append(out, g.item(itemsOf(x)))
				continue
			}
			x.Body = g.stmts(x.Body)
			out = append(out, x)
		case If:
			x.Then, x.Else = g.stmts(x.Then), g.stmts(x.Else)
			out = append(out, x)
		case Alloc:
			if own := g.own[x.Buf]; own != nil {
				x.Buf = own
			}
			out = append(out, x)
		default:
			out = append(out, s)
		}
	}
	return out
}

// item is what an item does of a nest.
func (g *grouping) item(n nestOfItems) Stmt {
	cond := []te.Within{{E: sym.Var(ItemVar), Lo: sym.Const(0), Hi: sym.Const(n.items())}}
	return If{Cond: cond, Then: append(n.bind(), mapPlaces(n.body, func(b *Buffer, at sym.Expr) (*Buffer, sym.Expr) {
		own := g.own[b]
		if own == nil {
			return b, at
		}
		first := map[string]sym.Expr{}
		for _, v := range n.vars {
			first[v] = sym.Const(0)
		}
		return own, at.Subst(first, g.k.Facts)
	})...)}
}

// waiting puts barriers between loops over items: before one that reads or overwrites what others have stored since the
// last, or overwrites what others may still read.
type waiting struct{ shared []*Buffer }

// uses are the shared buffers that statements read and write.
type touched struct{ read, written map[*Buffer]bool }

func (u touched) add(v touched) {
	maps.Copy(u.read, v.read)
	maps.Copy(u.written, v.written)
}

func untouched() touched { return touched{map[*Buffer]bool{}, map[*Buffer]bool{}} }

// insert is the statements of a kernel with barriers.
func (w *waiting) insert(body []Stmt) []Stmt {
	out, _ := w.list(body, untouched())
	return out
}

// list is statements with barriers after some uses since the last one, and the uses since then at their end.
func (w *waiting) list(body []Stmt, since touched) ([]Stmt, touched) {
	var out []Stmt
	for _, s := range body {
		switch x := s.(type) {
		case For:
			if x.Items {
				here := w.of(x)
				if since.meets(here) {
					out, since = append(out, Barrier{}), untouched()
				}
				since = since.with(here)
				break
			}
			if all := w.all(x.Body); len(all.written) == 0 { // its iterations need not wait for each other
				if since.meets(all) {
					out, since = append(out, Barrier{}), untouched()
				}
				since = since.with(all)
				break
			}
			// The first iteration follows what is before the loop, the others the one before.
			_, end := w.list(x.Body, since)
			since = since.with(end)
			x.Body, end = w.list(x.Body, since)
			since, s = since.with(end), x
		case If:
			var then, otherwise touched
			x.Then, then = w.list(x.Then, since)
			x.Else, otherwise = w.list(x.Else, since)
			since, s = then.with(otherwise), x
		}
		out = append(out, s)
	}
	return out, since
}

func (u touched) with(v touched) touched {
	out := untouched()
	out.add(u)
	out.add(v)
	return out
}

// meets reports whether items that do the one and then the other must wait in between.
func (u touched) meets(then touched) bool {
	for b := range then.written {
		if u.read[b] || u.written[b] {
			return true
		}
	}
	for b := range then.read {
		if u.written[b] {
			return true
		}
	}
	return false
}

// all is what all nests of some statements use.
func (w *waiting) all(body []Stmt) touched {
	out := untouched()
	Walk(body, func(s Stmt) bool {
		x, is := s.(For)
		if is && x.Items {
			out.add(w.of(x))
		}
		return !is || !x.Items
	})
	return out
}

// of is what a nest uses.
func (w *waiting) of(x For) touched {
	out := untouched()
	Accesses(x.Body, func(b *Buffer, _ sym.Expr) {
		if slices.Contains(w.shared, b) {
			out.read[b] = true
		}
	})
	stored := func(b *Buffer) { // what lies elsewhere is an item's own
		if slices.Contains(w.shared, b) {
			out.written[b] = true
		}
	}
	Walk(x.Body, func(s Stmt) bool {
		switch y := s.(type) {
		case Store:
			stored(y.Buf)
		case Tile:
			stored(y.Acc)
		}
		return true
	})
	return out
}
