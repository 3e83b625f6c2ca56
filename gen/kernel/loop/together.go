package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Instructions that the items of a sub-group apply together (instr.Row.Down): an item has rows of X and columns of W of its own, and finds those of the others
// by what it knows of its own.

// together reports whether a micro-kernel suits such an instruction, which takes in two rows of an item and a group of the sum for each item that is across.
func (m *MicroKernel) together() bool {
	return m.Rows%2 == 0 && len(m.K) == 1 && m.K[0].Extent%m.Instr.Across == 0 && m.Broadcast() && m.Kept == nil && m.Run == 0 && m.Stored == ir.Invalid
}

// alone checks that no item applies such an instruction by itself: these stand in loops over items of which the innermost two are those down and across, X
// is the same for those across and W for those down, and all items come to them.
func (v *verifier) alone(body []Stmt) {
	Tiles(body, func(t Tile) {
		if t.Micro != nil && t.Micro.Instr != nil && t.Micro.Instr.Down > 0 {
			v.fail("items apply instruction %s together; want loops over %d by %d items directly around it", t.Micro.Instr.Name, t.Micro.Instr.Down, t.Micro.Instr.Across)
		}
	})
}

// together checks such instructions in a nest of loops over items.
func (v *verifier) together(n nestOfItems) {
	Tiles(n.body, func(t Tile) {
		if t.Micro == nil || t.Micro.Instr == nil || t.Micro.Instr.Down == 0 {
			return
		}
		row, last := t.Micro.Instr, len(n.vars)-1
		if last < 1 || n.extents[last] != row.Across || n.extents[last-1] != row.Down {
			v.alone(n.body)
			return
		}
		across, down := n.vars[last], n.vars[last-1]
		if t.XAt.Uses(across) || t.At.Uses(down) {
			v.fail("items apply instruction %s together: X at %s must be the same for all items of %q, and W at %s for all items of %q", row.Name, t.XAt, across, t.At, down)
		}
	})
	v.alike(n.body, n.vars)
}

// alike checks that what stands around such instructions is the same for all items.
func (v *verifier) alike(body []Stmt, items []string) {
	uses := func(e sym.Expr) bool {
		for _, name := range items {
			if e.Uses(name) {
				return true
			}
		}
		return false
	}
	for _, s := range body {
		if x, is := s.(Index); is && uses(x.Value) {
			items = append(items[:len(items):len(items)], x.Var)
		}
		if !appliesTogether(s) {
			continue
		}
		own := false
		switch x := s.(type) {
		case For:
			own = uses(x.Extent)
			v.alike(x.Body, items)
		case If:
			for _, w := range x.Cond {
				own = own || uses(w.E) || uses(w.Lo) || uses(w.Hi)
			}
			v.alike(x.Then, items)
			v.alike(x.Else, items)
		}
		if own {
			v.fail("items apply an instruction together within a statement of type %T that depends on the item", s)
		}
	}
}

// appliesTogether reports whether a statement has such an instruction.
func appliesTogether(s Stmt) bool {
	found := false
	Tiles([]Stmt{s}, func(t Tile) { found = found || t.Micro != nil && t.Micro.Instr != nil && t.Micro.Instr.Down > 0 })
	return found
}
