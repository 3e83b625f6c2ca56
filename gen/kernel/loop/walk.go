package loop

import (
	"slices"
	"strconv"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// ExprIndices calls f for every index expression inside a scalar expression.
func ExprIndices(e te.Expr, f func(sym.Expr)) {
	te.Walk(e, func(x te.Expr) {
		switch y := x.(type) {
		case Mem:
			f(y.Index)
			y.Texel.indices(y.Buf, f)
		case Near:
			f(y.Index)
			f(y.Lane)
		case te.Index:
			f(y.E)
		case te.Let:
			f(y.Lo)
			f(y.Hi)
		case te.Select:
			withinIndices(y.Cond, f)
		}
	})
}

func (t Texel) indices(b *Buffer, f func(sym.Expr)) {
	if b.Image != nil {
		f(t.X)
		f(t.Y)
	}
}

func withinIndices(ws []te.Within, f func(sym.Expr)) {
	for _, w := range ws {
		f(w.E)
		f(w.Lo)
		f(w.Hi)
	}
}

// Exprs calls f for every index expression of the statements.
func Exprs(body []Stmt, f func(sym.Expr)) {
	Walk(body, func(s Stmt) bool {
		switch x := s.(type) {
		case For:
			f(x.Extent)
		case Index:
			f(x.Value)
		case Bind:
			ExprIndices(x.Value, f)
			f(x.Lo)
			f(x.Hi)
		case Def:
			ExprIndices(x.Init, f)
		case Set:
			ExprIndices(x.Value, f)
		case Store:
			f(x.Index)
			x.Texel.indices(x.Buf, f)
			ExprIndices(x.Value, f)
		case Claim:
			f(x.Index)
		case If:
			withinIndices(x.Cond, f)
		case Tile:
			f(x.XAt)
			f(x.At)
			f(x.AccAt)
			f(x.FetchAt)
			f(x.IndexAt)
			f(x.EndsAt)
			if x.Finish != nil {
				for _, p := range x.Finish.Pointers {
					f(p.At)
				}
			}
		case Call:
			for _, a := range x.Args {
				f(a.Size)
				for _, d := range a.Dims {
					f(d)
				}
			}
		}
		return true
	})
}

// Integers are the variables that the statements give integers themselves.
func Integers(body []Stmt) []string {
	var out []string
	Walk(body, func(s Stmt) bool {
		switch x := s.(type) {
		case Index:
			out = append(out, x.Var)
		case Bind:
			out = append(out, x.Var)
		}
		return true
	})
	return out
}

// Accesses calls f for every place in a buffer that the statements read or write.
func Accesses(body []Stmt, f func(b *Buffer, at sym.Expr)) {
	expr := func(e te.Expr) {
		te.Walk(e, func(x te.Expr) {
			switch y := x.(type) {
			case Mem:
				f(y.Buf, y.Index)
				y.Texel.indices(y.Buf, func(at sym.Expr) { f(y.Buf, at) })
			case Near:
				f(y.Buf, y.Index)
			}
		})
	}
	Walk(body, func(s Stmt) bool {
		switch x := s.(type) {
		case Store:
			f(x.Buf, x.Index)
			x.Texel.indices(x.Buf, func(at sym.Expr) { f(x.Buf, at) })
		case Tile:
			f(x.X, x.XAt)
			f(x.W, x.At)
			f(x.Acc, x.AccAt)
			if x.Index != nil {
				f(x.Index, x.IndexAt)
				f(x.Ends, x.EndsAt)
			}
		}
		Values(s, expr)
		return true
	})
}

// Names calls f for every name that a kernel gives to something of its own: its buffers, and the
// variables of its statements.
func Names(k *Kernel, f func(string)) {
	f(TaskVar)
	f(FirstVar)
	for _, b := range slices.Concat(k.Buffers, k.Scratch, k.Shared) {
		f(b.Name)
	}
	for i := range k.Sets {
		f(k.SetName(i))
	}
	Walk(k.Statements(), func(s Stmt) bool {
		switch x := s.(type) {
		case For:
			f(x.Var)
		case Index:
			f(x.Var)
		case Bind:
			f(x.Var)
		case Def:
			f(x.Name)
		case Alloc:
			f(x.Buf.Name)
		}
		return true
	})
}

// SetName is the name of the parameter that says where symbol i of Sets goes.
func (k *Kernel) SetName(i int) string { return "set" + strconv.Itoa(i) }

// Values calls f for every scalar expression of one statement itself.
func Values(s Stmt, f func(te.Expr)) {
	switch x := s.(type) {
	case Bind:
		f(x.Value)
	case Def:
		f(x.Init)
	case Set:
		f(x.Value)
	case Store:
		f(x.Value)
	}
}

// mapValues is a statement with f of each of its own scalar expressions.
func mapValues(s Stmt, f func(te.Expr) te.Expr) Stmt {
	switch x := s.(type) {
	case Bind:
		x.Value = f(x.Value)
		return x
	case Def:
		x.Init = f(x.Init)
		return x
	case Set:
		x.Value = f(x.Value)
		return x
	case Store:
		x.Value = f(x.Value)
		return x
	}
	return s
}

// Refuses reports whether a kernel may refuse what it reads: whether a statement binds a loaded integer that may be out of bounds,
// divides by one or calls an opaque operator. The kernel then reports integers that are out of bounds,
// divisors that are 0, and elements that the operator does not allow.
func Refuses(body []Stmt) bool {
	return Any(body, func(s Stmt) bool {
		switch x := s.(type) {
		case Bind:
			if !x.Known {
				return true
			}
		case Call:
			return true
		}
		divides := false
		Values(s, func(e te.Expr) {
			te.Walk(e, func(e te.Expr) {
				c, ok := e.(te.Call)
				divides = divides || ok && c.Divides()
			})
		})
		return divides
	})
}

// Tiles calls f for every micro-kernel call of the statements.
func Tiles(body []Stmt, f func(Tile)) {
	Walk(body, func(s Stmt) bool {
		if x, ok := s.(Tile); ok {
			f(x)
		}
		return true
	})
}
