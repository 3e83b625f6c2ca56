package loop

import "rules_dnn/gen/ir/sym"

// MaxItems is the most work-items of a group.
const MaxItems = 1 << 12

// nestOfItems is loops over items that stand right in one another.
type nestOfItems struct {
	vars    []string
	extents []int64
	body    []Stmt
}

// itemsOf is the nest that begins with a loop over items.
func itemsOf(x For) nestOfItems {
	n := nestOfItems{}
	for {
		extent, _ := x.Extent.Const()
		n.vars, n.extents, n.body = append(n.vars, x.Var), append(n.extents, extent), x.Body
		inner, ok := For{}, false
		if len(x.Body) == 1 {
			inner, ok = x.Body[0].(For)
		}
		if !ok || !inner.Items {
			return n
		}
		x = inner
	}
}

// items is how many work-items run the nest.
func (n nestOfItems) items() int64 {
	count := int64(1)
	for _, e := range n.extents {
		count *= e
	}
	return count
}

// Items is how many work-items a task's group has: as many as its largest nest of loops over items; 1 where there is none.
func (k *Kernel) Items() int64 {
	most := int64(1)
	Walk(k.Body, func(s Stmt) bool {
		x, ok := s.(For)
		if ok && x.Items {
			most = max(most, itemsOf(x).items())
		}
		return !ok || !x.Items
	})
	return most
}

// SharedBytes is the memory that the items of a task's group share.
func (k *Kernel) SharedBytes() int64 {
	bytes := int64(0)
	for _, b := range k.Shared {
		n, _ := b.Size.Const() // or Verify refuses it
		bytes += n * int64(b.Type.Size())
	}
	return bytes
}

// hasItems reports whether statements have loops over items.
func hasItems(body []Stmt) bool {
	return Any(body, func(s Stmt) bool {
		x, ok := s.(For)
		return ok && x.Items
	})
}

// groups checks loops over items, what stands around them, and that no other kernel has shared memory.
func (v *verifier) groups() {
	if !hasItems(v.k.Body) {
		v.alone(v.k.Body)
		v.noItems(v.k.Body)
		if len(v.k.Shared) > 0 {
			v.fail("%q is shared by work-items, but no loop is over work-items", v.k.Shared[0].Name)
		}
		return
	}
	for _, b := range v.k.Shared {
		if _, known := b.Size.Const(); !known || b.Image != nil {
			v.fail("%q, shared by work-items, has %s elements; want a constant number, and not an image", b.Name, b.Size)
		}
	}
	if len(v.k.Scratch) > 0 {
		v.fail("%q is a worker's memory, which work-groups do not have", v.k.Scratch[0].Name)
	}
	v.uniform(v.k.Body)
}

// noItems checks that statements which no items run exchange nothing.
func (v *verifier) noItems(body []Stmt) {
	if Exchanges(body) {
		v.fail("an exchange between work-items outside a loop over work-items")
	}
}

// uniform checks what all items of a group do alike: it stores nothing.
func (v *verifier) uniform(body []Stmt) {
	for _, s := range body {
		switch x := s.(type) {
		case For:
			switch {
			case x.Items:
				v.nest(x)
			case x.Lanes > 0 && hasItems(x.Body):
				v.fail("the vectorized loop %q contains loops over work-items", x.Var)
			default:
				v.uniform(x.Body)
			}
		case If:
			v.uniform(x.Then)
			v.uniform(x.Else)
		case Index, Bind, Alloc:
			v.noItems([]Stmt{s})
		default:
			v.fail("a statement of type %T outside the loops over work-items; each work-item would run it", s)
		}
	}
}

// nest checks loops over items that stand right in one another.
func (v *verifier) nest(x For) {
	n := itemsOf(x)
	for at := x; ; {
		if e, known := at.Extent.Const(); !known || e < 1 || at.Lanes > 0 {
			v.fail("loop %q over work-items has %s iterations; want a constant number, and no vectors", at.Var, at.Extent)
			return
		}
		inner, ok := For{}, false
		if len(at.Body) == 1 {
			inner, ok = at.Body[0].(For)
		}
		if !ok || !inner.Items {
			break
		}
		at = inner
	}
	if n.items() > MaxItems {
		v.fail("loops over %d work-items; want at most %d", n.items(), MaxItems)
	}
	if hasItems(n.body) {
		v.fail("loops over work-items must be nested directly in each other")
	}
	v.together(n)
	v.exchanges(n)
}

// ItemVar is the variable that kernels of work-items (ByItems) see as the item's number in its group.
const ItemVar = "item"

// bind gives the nest's variables their values for an item.
func (n nestOfItems) bind() []Stmt {
	var out []Stmt
	rest := sym.Var(ItemVar)
	for i := len(n.vars) - 1; i >= 0; i-- {
		value := rest
		if i > 0 {
			value, rest = sym.Mod(rest, sym.Const(n.extents[i]), nil), sym.FloorDiv(rest, sym.Const(n.extents[i]), nil)
		}
		out = append(out, Index{Var: n.vars[i], Value: value})
	}
	return out
}
