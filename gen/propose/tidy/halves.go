package tidy

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Halves rewrites values that are stored in f16 so that they are computed in f16, too. It does so
// if all operands are f16 or constants, and if vectors of f16 have each function. Variables and
// local arrays of f32 become f16 as well, unless they add up elements. Each function then rounds to
// f16, and numbers beyond the range of f16 become infinite.
func Halves(body []loop.Stmt) []loop.Stmt {
	h := &halver{held: map[string]bool{}, values: map[any][]te.Expr{}, arrays: map[*loop.Buffer]*loop.Buffer{}}
	loop.Walk(body, func(s loop.Stmt) bool {
		switch x := s.(type) {
		case loop.Set:
			h.values[x.Name] = append(h.values[x.Name], x.Value)
		case loop.Store:
			h.values[x.Buf] = append(h.values[x.Buf], x.Value)
		case loop.Def:
			h.values[x.Name] = append(h.values[x.Name], x.Init)
			before, again := h.held[x.Name]
			h.held[x.Name] = x.Init.DType() == ir.F32 && (before || !again)
		case loop.Alloc:
			switch x.Buf.Type {
			case ir.F16:
				x.Buf.Packed = true
			case ir.F32:
				b := *x.Buf
				b.Type, b.Packed = ir.F16, true
				h.arrays[x.Buf] = &b
			}
		}
		return true
	})
	for h.drops(body) {
	}
	return loop.Map(body, h.statement)
}

// halver has the variables that can hold f16 in place of f32, the replacements of local arrays, and
// all values of each variable, by name, and of each buffer.
type halver struct {
	held   map[string]bool
	arrays map[*loop.Buffer]*loop.Buffer
	values map[any][]te.Expr
}

// statement returns a statement in f16 if that is possible.
func (h *halver) statement(s loop.Stmt) loop.Stmt {
	switch x := s.(type) {
	case loop.Alloc:
		if b := h.arrays[x.Buf]; b != nil {
			x.Buf = b
		}
		return x
	case loop.Store:
		if e, ok := h.stored(x); ok {
			x.Value = e
		}
		if b := h.arrays[x.Buf]; b != nil {
			x.Buf = b
		}
		return x
	case loop.Def:
		if h.held[x.Name] {
			x.Init, _ = h.halved(x.Init, true)
		}
		return x
	case loop.Set:
		if h.held[x.Name] {
			x.Value, _ = h.halved(x.Value, true)
		}
		return x
	}
	return s
}

// drops removes variables and arrays that cannot hold f16, because they are assigned floats or
// floats are computed from them. It reports whether it removed any.
func (h *halver) drops(body []loop.Stmt) bool {
	before := len(h.held) + len(h.arrays)
	loop.Walk(body, func(s loop.Stmt) bool {
		switch x := s.(type) {
		case loop.Def:
			h.keep(x.Name, x.Init)
		case loop.Set:
			if h.sums(x.Value, func(e te.Expr) bool { r, ok := e.(loop.Ref); return ok && r.Name == x.Name }) {
				delete(h.held, x.Name)
			}
			h.keep(x.Name, x.Value)
		case loop.Store:
			if h.sums(x.Value, func(e te.Expr) bool { m, ok := e.(loop.Mem); return ok && m.Buf == x.Buf }) {
				delete(h.arrays, x.Buf)
			}
			if _, ok := h.stored(x); !ok {
				delete(h.arrays, x.Buf)
				h.leave(x.Value)
			}
		case loop.Tile:
			for _, b := range []*loop.Buffer{x.Acc, x.X, x.W} {
				delete(h.arrays, b)
			}
		case loop.Call, loop.Claim:
			clear(h.arrays)
		default:
			loop.Values(s, h.leave)
		}
		return true
	})
	return len(h.held)+len(h.arrays) < before
}

// keep removes a variable if its value is not f16. If so, it removes what the value reads, too.
func (h *halver) keep(name string, v te.Expr) {
	if v.DType() != ir.F32 {
		h.leave(v)
		return
	}
	if _, ok := h.halved(v, true); !ok || !h.held[name] {
		delete(h.held, name)
		h.leave(v)
	}
}

// leave removes all variables and arrays that a value of floats reads.
func (h *halver) leave(v te.Expr) {
	te.Walk(v, func(e te.Expr) {
		switch x := e.(type) {
		case loop.Ref:
			delete(h.held, x.Name)
		case loop.Mem:
			delete(h.arrays, x.Buf)
		}
	})
}

// sums reports whether a value adds to an element, or computes anything else from it but a maximum
// or minimum, also through variables and arrays.
func (h *halver) sums(v te.Expr, there func(te.Expr) bool) bool {
	type visit struct {
		place    any
		computed bool
	}
	seen := map[visit]bool{}
	var from func(e te.Expr, computed bool) bool
	held := func(at visit) bool {
		if seen[at] {
			return false
		}
		seen[at] = true
		return slices.ContainsFunc(h.values[at.place], func(e te.Expr) bool { return from(e, at.computed) })
	}
	from = func(e te.Expr, computed bool) bool {
		if computed && there(e) {
			return true
		}
		switch x := e.(type) {
		case loop.Ref:
			return held(visit{x.Name, computed})
		case loop.Mem:
			return held(visit{x.Buf, computed})
		case te.Select:
			return from(x.Then, computed) || from(x.Else, computed)
		case te.Call:
			computed = computed || x.Fn != "max" && x.Fn != "min"
			return slices.ContainsFunc(x.Args, func(e te.Expr) bool { return from(e, computed) })
		}
		return false
	}
	return from(v, false)
}

// stored returns the value of a store, computed in f16. It returns false if that is not possible.
func (h *halver) stored(x loop.Store) (te.Expr, bool) {
	switch {
	case h.arrays[x.Buf] != nil:
		return h.halved(x.Value, true)
	case x.Buf.Type != ir.F16 || x.Buf.Widened() || x.Buf.Image != nil:
		return nil, false
	}
	return h.halves(x.Value)
}

// halves returns an expression of f16, computed in f16. It returns false if that is not possible.
func (h *halver) halves(e te.Expr) (te.Expr, bool) {
	switch x := e.(type) {
	case te.Const, loop.Mem, loop.Ref:
		return e, true
	case te.Select:
		return choice(x, h.halves)
	case te.Call:
		if row := scalar.Lookup(x.Fn); row.Result == scalar.Narrowed || row.Result == scalar.Target {
			if x.Args[0].DType() != ir.F32 {
				return nil, false
			}
			return h.halved(x.Args[0], true)
		}
		return call(x, h.halves)
	}
	return nil, false
}

// halved returns an expression of f32, computed in f16. It returns false if that is not possible.
// If whole is true, the expression is stored as it is.
func (h *halver) halved(e te.Expr, whole bool) (te.Expr, bool) {
	switch x := e.(type) {
	case te.Const:
		return constant(x)
	case loop.Ref:
		return loop.Ref{Name: x.Name, Type: ir.F16}, h.held[x.Name]
	case loop.Mem:
		b := h.arrays[x.Buf]
		if b != nil {
			x.Buf = b
		}
		return x, b != nil
	case te.Select:
		return choice(x, func(e te.Expr) (te.Expr, bool) { return h.halved(e, whole) })
	case te.Call:
		if x.Fn == "cast" {
			if x.Args[0].DType() != ir.F16 {
				return nil, false
			}
			return h.halves(x.Args[0])
		}
		if (x.Fn == "mul" || x.Fn == "product") && !whole && !bounded(x) {
			return nil, false
		}
		return call(x, func(e te.Expr) (te.Expr, bool) {
			if c, ok := e.(te.Const); ok && (x.Fn == "min" || x.Fn == "max") {
				e = bound(c)
			}
			return h.halved(e, false)
		})
	}
	return nil, false
}

// mostFactor bounds one factor of a product within an expression. Such a product leaves the range
// of f16 only if the other factor is over 4094. Transforms of sums in Winograd's F(4,3) need 13.5.
const mostFactor = 16

// bounded reports whether a factor is a small constant or between small bounds.
func bounded(x te.Call) bool {
	for _, a := range x.Args {
		if te.EndsWithin(a, mostFactor) {
			return true
		}
	}
	return false
}

// bound returns a bound of numbers in f16: an infinity if it is beyond their range.
func bound(x te.Const) te.Expr {
	if v := math.Float64frombits(x.Bits); math.Abs(v) > scalar.Greatest(ir.F16) {
		return te.Float(x.Type, math.Inf(int(math.Copysign(1, v))))
	}
	return x
}

// constant returns a number in f16. It returns false if f16 has few or none of its digits.
func constant(x te.Const) (te.Expr, bool) {
	v := math.Float64frombits(x.Bits)
	switch size := math.Abs(v); {
	case v == 0 || math.IsInf(v, 0):
	case size < 0x1p-14 || size > scalar.Greatest(ir.F16) || v != v:
		return nil, false
	}
	return te.Float(ir.F16, ir.F16Float(ir.F16Bits(v))), true
}

// choice applies a function to both arms of a choice.
func choice(x te.Select, of func(te.Expr) (te.Expr, bool)) (te.Expr, bool) {
	then, ok := of(x.Then)
	if !ok {
		return nil, false
	}
	otherwise, ok := of(x.Else)
	return te.Select{Cond: x.Cond, Then: then, Else: otherwise}, ok
}

// call returns a call in f16. It returns false if an argument or the function has no f16.
func call(x te.Call, of func(te.Expr) (te.Expr, bool)) (te.Expr, bool) {
	args := make([]te.Expr, len(x.Args))
	for i, a := range x.Args {
		if a.DType() != x.Type {
			return nil, false
		}
		var ok bool
		if args[i], ok = of(a); !ok {
			return nil, false
		}
	}
	out := te.Call{Fn: x.Fn, Type: ir.F16, Args: args}
	return out, loop.InHalves(out)
}
