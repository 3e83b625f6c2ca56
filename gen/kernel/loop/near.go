package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Near is an exchange within a sub-group: an element that another item has, of an array around loops over items of which each item has the one of its number.
// Of Width neighbours, of which the first one's number is a multiple of Width, it is that of number Lane. All items read at once, and none waits.
type Near struct {
	Buf *Buffer
	// Index is the place of the item's own element.
	Index sym.Expr
	Width int64
	Lane  sym.Expr
}

// DType is the type of the value.
func (x Near) DType() ir.DType { return x.Buf.Type }

// Place is that of the element in the array, where all items' lie in one memory.
func (x Near) Place() sym.Expr {
	return sym.Add(sym.Sub(x.Index, sym.Mod(x.Index, sym.Const(x.Width), nil)), x.Lane)
}

// nears calls f for the exchanges of a statement itself, and tells of each whether it is within a choice of values.
func nears(s Stmt, f func(x Near, chosen bool)) {
	Values(s, func(e te.Expr) {
		chosen := 0
		te.Walk(e, func(e te.Expr) {
			if c, is := e.(te.Select); is {
				te.Walk(c, func(e te.Expr) {
					if x, is := e.(Near); is {
						chosen++
						f(x, true)
					}
				})
			}
		})
		te.Walk(e, func(e te.Expr) {
			if x, is := e.(Near); is && chosen == 0 {
				f(x, false)
			}
		})
	})
}

// Exchanges reports whether statements have exchanges.
func Exchanges(body []Stmt) bool { return nearsOf(body) > 0 }

// nearsOf is how many exchanges statements have.
func nearsOf(body []Stmt) int {
	n := 0
	Walk(body, func(s Stmt) bool {
		nears(s, func(Near, bool) { n++ })
		return true
	})
	return n
}

// exchanges checks those of a nest of loops over items: all items come to them, at the places of what they have of arrays around, which none stores meanwhile.
func (v *verifier) exchanges(n nestOfItems) {
	number := sym.Const(0)
	for i, name := range n.vars {
		number = sym.Add(sym.Scale(number, n.extents[i]), sym.Var(name))
	}
	stored := map[*Buffer]bool{}
	Walk(n.body, func(s Stmt) bool {
		switch x := s.(type) {
		case Store:
			stored[x.Buf] = true
		case Alloc:
			stored[x.Buf] = true
		}
		return true
	})
	v.exchangesOf(n.body, true, func(x Near) {
		size, _ := x.Buf.Size.Const()
		lo, hi := x.Lane.Bounds(v.k.Facts)
		switch {
		case !x.Buf.Local || size != n.items() || !x.Index.Equal(number):
			v.fail("items exchange %q at %s: want an array of %d, one for each item, at %s", x.Buf.Name, x.Index, n.items(), number)
		case stored[x.Buf]:
			v.fail("items exchange %q in the loop that stores or declares it", x.Buf.Name)
		case x.Width < 1 || n.items()%x.Width != 0 || lo < 0 || hi >= x.Width:
			v.fail("items exchange %q with neighbour %s (%d to %d) of %d among %d items; want a neighbour within the width, and a width that divides the items", x.Buf.Name, x.Lane, lo, hi, x.Width, n.items())
		}
	})
}

// exchangesOf calls f for each exchange that all items come to, and fails where they may not.
func (v *verifier) exchangesOf(body []Stmt, all bool, f func(Near)) {
	for _, s := range body {
		nears(s, func(x Near, chosen bool) {
			if chosen || !all {
				v.fail("items exchange %q in a branch or loop that not all of them run", x.Buf.Name)
			}
			f(x)
		})
		switch x := s.(type) {
		case For:
			_, known := x.Extent.Const()
			v.exchangesOf(x.Body, all && known, f)
		case If:
			v.exchangesOf(x.Then, false, f)
			v.exchangesOf(x.Else, false, f)
		}
	}
}
