package loop

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// InPlace is the kernel for a result that lies where an operand does, which is then no buffer of it: what
// it reads of the operand it reads from the result. False where an element of the operand might be read after the
// result's at the same place is written, by whichever task: each is written once, and what reads the operand's stands before in
// the same statements.
func (k *Kernel) InPlace(operand, result *Buffer) (*Kernel, bool) {
	if operand.Type != result.Type || operand.Image != nil || result.Image != nil || !operand.Size.Equal(result.Size) {
		return nil, false
	}
	p := &placing{operand, result}
	if n, ok := k.stores(result); !ok || !n.Equal(result.Size) || !p.allowed(k.Body) {
		return nil, false
	}
	to := *result
	to.Holds = true
	out := *k
	out.Buffers = slices.Clone(k.Buffers)
	out.Buffers[slices.Index(out.Buffers, result)] = &to
	out.Buffers = slices.DeleteFunc(out.Buffers, func(b *Buffer) bool { return b == operand })
	out.Body = mapBuffers(k.Body, map[*Buffer]*Buffer{operand: &to, result: &to})
	return &out, true
}

// placing is the question whether an operand's place may be a result's.
type placing struct{ operand, result *Buffer }

// allowed reports whether the statements read the operand only where they write the result at the same place afterwards.
func (p *placing) allowed(body []Stmt) bool {
	for i, s := range body {
		ok := true
		switch x := s.(type) {
		case Bind:
			ok = p.untouched(x.Value)
		case Def:
			ok = p.reads(x.Init, body[i:])
		case Set:
			ok = p.reads(x.Value, body[i:])
		case Store:
			ok = p.reads(x.Value, body[i:])
		case Tile:
			ok = !p.either(x.X) && !p.either(x.W) && !p.either(x.Acc) && !p.either(x.Index) && !p.either(x.Ends)
		case Call:
			ok = false
		}
		if !ok || slices.ContainsFunc(Inner(s), func(inner []Stmt) bool { return !p.allowed(inner) }) {
			return false
		}
	}
	return true
}

func (p *placing) either(b *Buffer) bool { return b == p.operand || b == p.result }

func (p *placing) untouched(e te.Expr) bool {
	ok := true
	te.Walk(e, func(x te.Expr) {
		m, isMem := x.(Mem)
		ok = ok && !(isMem && p.either(m.Buf))
	})
	return ok
}

// reads reports whether one of the statements, the first of which has the expression, stores where the expression reads.
func (p *placing) reads(e te.Expr, body []Stmt) bool {
	ok := true
	te.Walk(e, func(x te.Expr) {
		if m, isMem := x.(Mem); isMem && p.either(m.Buf) {
			ok = ok && m.Buf == p.operand && p.stored(m.Index, body)
		}
	})
	return ok
}

func (p *placing) stored(at sym.Expr, body []Stmt) bool {
	for i, s := range body {
		switch x := s.(type) {
		case Store:
			if x.Buf == p.result && x.Index.Equal(at) {
				return true
			}
		case Index:
			if i > 0 && at.Uses(x.Var) {
				return false // is another place from here on
			}
		case Bind:
			if i > 0 && at.Uses(x.Var) {
				return false
			}
		}
	}
	return false
}

// mapBuffers puts buffers in the place of others that statements read and write.
func mapBuffers(body []Stmt, to map[*Buffer]*Buffer) []Stmt {
	return mapPlaces(body, func(b *Buffer, at sym.Expr) (*Buffer, sym.Expr) {
		if other, ok := to[b]; ok {
			b = other
		}
		return b, at
	})
}

// mapPlaces puts other places for those that statements read and write.
func mapPlaces(body []Stmt, f func(*Buffer, sym.Expr) (*Buffer, sym.Expr)) []Stmt {
	expr := func(e te.Expr) te.Expr {
		return te.Map(e, func(x te.Expr) te.Expr {
			switch y := x.(type) {
			case Mem:
				y.Buf, y.Index = f(y.Buf, y.Index)
				return y
			case Near:
				y.Buf, y.Index = f(y.Buf, y.Index)
				return y
			}
			return x
		})
	}
	return Map(body, func(s Stmt) Stmt {
		switch x := mapValues(s, expr).(type) {
		case Claim:
			x.Buf, x.Index = f(x.Buf, x.Index)
			return x
		case Store:
			x.Buf, x.Index = f(x.Buf, x.Index)
			return x
		case Tile:
			x.X, x.XAt = f(x.X, x.XAt)
			x.W, x.At = f(x.W, x.At)
			x.Acc, x.AccAt = f(x.Acc, x.AccAt)
			if x.Index != nil {
				x.Index, x.IndexAt = f(x.Index, x.IndexAt)
				x.Ends, x.EndsAt = f(x.Ends, x.EndsAt)
			}
			return x
		default:
			return x
		}
	})
}
