package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TableEntries are the elements of a table that a byte is an index of.
const TableEntries = 256

// Byte is the byte that an index is made of, which is within its bounds whatever it is; nil where the index is made of something else.
func (x Bind) Byte() te.Expr {
	lo, low := x.Lo.Const()
	hi, high := x.Hi.Const()
	if !low || !high || lo > 0 || hi < TableEntries-1 {
		return nil
	}
	return byteOf(x.Value)
}

// byteOf is the number of 8 bits without a sign that an expression is, by casts to wider types, and a choice for negative numbers, which it never is.
func byteOf(e te.Expr) te.Expr {
	if e.DType() == ir.U8 {
		return e
	}
	c, ok := e.(te.Call)
	if !ok || !c.Type.IsInteger() || c.Type.Size() < 2 {
		return nil
	}
	switch c.Fn {
	case "cast":
		return byteOf(c.Args[0])
	case "select":
		negative, ok := c.Args[0].(te.Call)
		if !ok || negative.Fn != "lt" || !isLiteral(negative.Args[1], 0) {
			return nil
		}
		if byteOf(negative.Args[0]) != nil { // never
			return byteOf(c.Args[2])
		}
	}
	return nil
}

func isLiteral(e te.Expr, n int64) bool {
	c, ok := e.(te.Const)
	return ok && c.Type.IsInteger() && int64(c.Bits) == n
}

// IsTable reports whether a read is of a constant table of bytes at an index.
func (x Mem) IsTable(index string) bool {
	v, ok := x.Index.AsVar()
	n, known := x.Buf.Size.Const()
	return ok && v == index && x.Buf.Const && x.Buf.Image == nil && x.Buf.Type.IsInteger() && x.Buf.Type.Size() == 1 && known && n >= TableEntries
}

// tables are the variables of statements that are bytes by which tables are read, and nothing else is.
func tables(body []Stmt) map[string]bool {
	out := map[string]bool{}
	Walk(body, func(s Stmt) bool {
		if x, ok := s.(Bind); ok && x.Byte() != nil {
			out[x.Var] = true
		}
		return true
	})
	for name := range out {
		if places(body, name) != reads(body, name) {
			delete(out, name)
		}
	}
	return out
}

// places is how many indices use a variable.
func places(body []Stmt, name string) int {
	n := 0
	Exprs(body, func(e sym.Expr) {
		if e.Uses(name) {
			n++
		}
	})
	return n
}

// reads is how many reads of tables use a variable.
func reads(body []Stmt, name string) int {
	n := 0
	Walk(body, func(s Stmt) bool {
		Values(s, func(e te.Expr) {
			te.Walk(e, func(e te.Expr) {
				if m, ok := e.(Mem); ok && m.IsTable(name) {
					n++
				}
			})
		})
		return true
	})
	return n
}
