package ckernel

import (
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/cexpr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// exprs prints scalar expressions under the facts of one kernel.
type exprs struct {
	d     Dialect
	facts sym.Facts
	// name binds a text to a fresh local constant and returns its name. The texts of scalar
	// functions may repeat their arguments, so these are names wherever possible.
	name func(t ir.DType, text string) string
	// conds are the texts of conditions, by their bounds: one may stand in a kernel thousands of times.
	conds map[string]string
	// lanes are those of vectors along the variable lane, where a loop runs in them; else 0.
	lanes int64
	lane  string
	whole bool // the extent is a multiple of lanes, and so is the variable
	// bytes are variables that are vectors of bytes there, by which tables are read.
	bytes map[string]bool
}

func (p exprs) broadcast(t ir.DType, text string) string {
	if p.lanes == 0 {
		return text
	}
	return p.d.Broadcast(t, text, p.lanes)
}

func (p exprs) index(e sym.Expr) string { return cexpr.Under(e, Variable, p.facts) }

func (p exprs) cond(ws []te.Within) string {
	var parts []string
	for _, w := range ws {
		if text := p.within(w); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "true"
	}
	return strings.Join(parts, " && ")
}

// within is a condition as far as it is not certain.
func (p exprs) within(w te.Within) string {
	key := w.E.String() + " within " + w.Lo.String() + " to " + w.Hi.String()
	text, ok := p.conds[key]
	if ok {
		return text
	}
	var parts []string
	if !sym.AtLeast(sym.Sub(w.E, w.Lo), 0, p.facts) {
		parts = append(parts, p.index(w.E)+" >= "+p.index(w.Lo))
	}
	if !sym.AtLeast(sym.Sub(w.Hi, w.E), 1, p.facts) {
		parts = append(parts, p.index(w.E)+" < "+p.index(w.Hi))
	}
	text = strings.Join(parts, " && ")
	p.conds[key] = text
	return text
}

func (p exprs) value(e te.Expr) (string, error) {
	switch x := e.(type) {
	case te.Const:
		return p.broadcast(x.Type, p.d.Literal(x)), nil
	case te.Index:
		return p.number(x)
	case loop.Ref:
		return x.Name, nil
	case loop.Mem:
		if at, ok := x.Index.AsVar(); ok && p.bytes[at] {
			return p.table(x.Buf, at)
		}
		a := p.access(x.Buf, x.Index, x.Texel)
		if a.Lanes > 0 {
			return p.d.Load(a), nil
		}
		return p.broadcast(x.DType(), p.d.Load(a)), nil
	case loop.Near:
		if d, ok := p.d.(Neighbours); ok && p.lanes == 0 {
			return d.Near(x, p.d.Load(p.access(x.Buf, x.Index, loop.Texel{})), p.index(x.Lane)), nil
		}
	case te.Select:
		return p.choice(x)
	case te.Call:
		if p.lanes > 0 && loop.Uniform(x, p.lane) {
			return p.uniform(x)
		}
		return p.call(x)
	}
	return "", fmt.Errorf("no %s for expression %T", p.d.Name(), e)
}

// number is an index as a value: in vectors, one that is the same for all lanes or counts along them.
func (p exprs) number(x te.Index) (string, error) {
	first := "(" + p.d.Type(x.Type, 0) + ")" + p.index(x.E)
	if p.lanes == 0 || !x.E.Uses(p.lane) {
		return p.broadcast(x.Type, first), nil
	}
	step := sym.Step(x.E, p.lane, p.facts)
	c, isConst := step.Const()
	d, ok := p.d.(Counter)
	if !ok || !isConst {
		return "", fmt.Errorf("no %s for a vector of %s", p.d.Name(), x.E)
	}
	return d.Counted(x.Type, first, c, p.lanes), nil
}

// access is of as many elements as a vector has lanes, if the index moves along them.
func (p exprs) access(b *loop.Buffer, index sym.Expr, at loop.Texel) Access {
	a := Access{Buf: b, Index: p.index(index), At: index}
	if p.lanes > 0 && index.Uses(p.lane) {
		step := sym.Step(index, p.lane, p.facts)
		a.Lanes = p.lanes
		a.Stride, _ = step.Const()
		if p.whole {
			a.Whole, a.First = true, index.Subst(map[string]sym.Expr{p.lane: sym.Scale(sym.Var(p.lane), p.lanes)}, nil)
		}
	}
	if b.Image != nil {
		a.X, a.Y = p.index(at.X), p.index(at.Y)
	}
	return a
}

// table reads a table at the bytes of a vector.
func (p exprs) table(b *loop.Buffer, at string) (string, error) {
	d, ok := p.d.(Tabler)
	if !ok {
		return "", fmt.Errorf("no %s for a table in a vectorized loop", p.d.Name())
	}
	return d.Table(b, at, p.lanes), nil
}

// choice prints the arms in place: what stands under the condition may not be read elsewhere. Each
// other arm may be the next choice, of thousands.
func (p exprs) choice(x te.Select) (string, error) {
	p.name = func(_ ir.DType, text string) string { return text }
	var b strings.Builder
	for depth := 1; ; depth++ {
		then, err := p.value(x.Then)
		if err != nil {
			return "", err
		}
		b.WriteString("(" + p.cond(x.Cond) + " ? " + then + " : ")
		if next, ok := x.Else.(te.Select); ok {
			x = next
			continue
		}
		other, err := p.value(x.Else)
		if err != nil {
			return "", err
		}
		return b.String() + other + strings.Repeat(")", depth), nil
	}
}

// uniform prints a call that is the same for all lanes: of scalars, in place.
func (p exprs) uniform(x te.Call) (string, error) {
	scalar := p
	scalar.lanes, scalar.name = 0, func(_ ir.DType, text string) string { return text }
	text, err := scalar.call(x)
	return p.broadcast(x.DType(), text), err
}

func (p exprs) call(x te.Call) (string, error) {
	if scalar.Lookup(x.Fn) == nil {
		return "", fmt.Errorf("no scalar function %q", x.Fn)
	}
	if known, is := certain(x); is {
		return p.broadcast(ir.Bool, strconv.FormatBool(known)), nil
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		s, err := p.value(a)
		if err != nil {
			return "", err
		}
		args[i] = s
		if !simple(a) {
			args[i] = p.name(a.DType(), s)
		}
	}
	return p.d.Call(x, args, p.lanes)
}

// certain reports whether a comparison of unsigned numbers with 0 always has one result: C++
// compilers warn of those.
func certain(x te.Call) (known, is bool) {
	zero := func(i int) bool {
		c, ok := x.Args[i].(te.Const)
		return ok && c.Bits == 0 && c.Type.Kind() == ir.KindUint
	}
	switch {
	case x.Fn == "lt" && zero(1), x.Fn == "gt" && zero(0):
		return false, true
	case x.Fn == "ge" && zero(1), x.Fn == "le" && zero(0):
		return true, true
	}
	return false, false
}

// simple reports whether a text may stand twice: names and literals.
func simple(e te.Expr) bool {
	switch e.(type) {
	case te.Const, loop.Ref:
		return true
	}
	return false
}
