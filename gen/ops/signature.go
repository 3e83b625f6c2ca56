package ops

import (
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// A shape signature (Param.Shape) says which shapes an operand may have: alternatives, separated by "|", of dimensions, separated by
// spaces. A dimension is a number, "_" for any, or an expression without spaces over names. A name stands for one dimension wherever it
// occurs in a row: the first operand that has it decides. Names may also be those that Row.Sizes computes. "?" behind a dimension lets
// it be 1, too; "..." at the beginning stands for any number of dimensions; "scalar" is rank 0. Of a variadic operand there is a
// signature for each operand of a group, separated by ";".

// oneNumber is the signature of a number that is one for a whole tensor, as its scale.
const oneNumber = "scalar | 1"

// shaped is the operand with a signature.
func (p Param) shaped(signature string) Param {
	p.Shape = signature
	return p
}

// checkShapes holds the shapes of all operands to their signatures.
func (c *Ctx) checkShapes() error {
	b := &binding{Ctx: c, names: map[string]sym.Expr{}}
	if c.Row.Sizes != nil {
		if err := c.Row.Sizes(b); err != nil {
			return err
		}
	}
	ps := c.params()
	for i := range c.Node.Inputs {
		p := ps[min(i, len(ps)-1)]
		if p.Shape == "" || !c.Has(i) {
			continue
		}
		signature := p.Shape
		if p.Variadic {
			group := strings.Split(signature, ";")
			signature = group[(i-len(ps)+1)%len(group)]
		}
		if err := b.operand(i, p.Name, signature); err != nil {
			return err
		}
	}
	for _, later := range b.later {
		if err := later(); err != nil {
			return err
		}
	}
	return nil
}

// binding is a check of a node's operands: what names of signatures stand for, and what waits for names of later operands.
type binding struct {
	*Ctx
	names map[string]sym.Expr
	later []func() error
}

// is gives a name the meaning of a number.
func (b *binding) is(name string, n int64) { b.names[name] = sym.Const(n) }

// operand requires one alternative of an operand's signature: the most likely one, or the first of
// several that are as likely.
func (b *binding) operand(i int, name, signature string) error {
	s, err := b.Shape(i)
	if err != nil {
		return err
	}
	var want, best []string
	var bestTail ir.Shape
	least := excluded
	for _, alternative := range strings.Split(signature, "|") {
		words := strings.Fields(alternative)
		want = append(want, b.wanted(words))
		dims, tail := dimsOf(words, s)
		if dims == nil {
			continue
		}
		if f := b.fit(tail, dims); f < least {
			best, bestTail, least = dims, tail, f
		}
	}
	if least == excluded {
		return fmt.Errorf("operand %d (%s) has shape %s; want %s", i, name, s, strings.Join(want, " or "))
	}
	for k, d := range best {
		what := fmt.Sprintf("dimension %d of operand %d (%s), whose shape is %s", len(s)-len(bestTail)+k, i, name, s)
		if err := b.dimension(bestTail[k], d, what); err != nil {
			return err
		}
	}
	return nil
}

// fit is how well a shape fits an alternative.
type fit int

const (
	fits   fit = iota // equal, whatever the symbols are
	mayFit            // equal for some values of symbols
	fixes             // equal only if a symbol is the number in the signature
	excluded
)

// fit returns how well dimensions fit those of an alternative, of the same rank.
func (b *binding) fit(s ir.Shape, dims []string) fit {
	if b.excludes(s, dims) {
		return excluded
	}
	worst := fits
	for k, d := range dims {
		e, known, orOne := b.meaning(d)
		_, err := strconv.Atoi(d)
		switch {
		case d == "_" || known && s[k].Equal(e) || orOne && s[k].Is(1):
		case err == nil:
			worst = max(worst, fixes)
		default:
			worst = max(worst, mayFit)
		}
	}
	return worst
}

// dimsOf are the dimensions of an alternative and those of a shape that they stand for; nil if the ranks differ.
func dimsOf(dims []string, s ir.Shape) ([]string, ir.Shape) {
	if len(dims) == 1 && dims[0] == "scalar" {
		dims = []string{}
	}
	if len(dims) > 0 && dims[0] == "..." {
		if dims = dims[1:]; len(s) < len(dims) {
			return nil, nil
		}
		return dims, s[len(s)-len(dims):]
	}
	if len(s) != len(dims) {
		return nil, nil
	}
	return dims, s
}

// meaning is what a signature's dimension stands for, if that is known, and whether it may be 1.
func (b *binding) meaning(d string) (e sym.Expr, known, orOne bool) {
	d, orOne = strings.CutSuffix(d, "?")
	if e, known = b.names[d]; known || d == "_" {
		return e, known, orOne
	}
	e, err := sym.Parse(d)
	if err != nil {
		panic("ops: a signature of " + b.Row.Name + " has the dimension " + d)
	}
	used := map[string]bool{}
	e.Vars(used)
	for n := range used {
		if _, ok := b.names[n]; !ok {
			return e, false, orOne
		}
	}
	return e.Subst(b.names, b.Facts), true, orOne
}

// excludes reports whether a shape certainly differs from an alternative.
func (b *binding) excludes(s ir.Shape, dims []string) bool {
	for k, d := range dims {
		e, known, orOne := b.meaning(d)
		if known && b.fails(Check{Kind: SameDim, A: s[k], B: e}) && (!orOne || b.isNot(s[k], 1)) {
			return true
		}
	}
	return false
}

// dimension binds a name that is new, requires what is known, and leaves expressions of other names for later.
func (b *binding) dimension(found sym.Expr, d, what string) error {
	e, known, orOne := b.meaning(d)
	plain := strings.TrimSuffix(d, "?")
	switch {
	case d == "_" || orOne && found.Is(1):
		return nil
	case known && orOne && !b.isNot(found, 1):
		return b.require(Broadcastable, e, found, "%s", what)
	case known:
		return b.require(SameDim, found, e, "%s", what)
	case sym.IsSymbol(plain):
		b.names[plain] = found
		return nil
	}
	b.later = append(b.later, func() error {
		if e, known, _ := b.meaning(d); known {
			return b.require(SameDim, found, e, "%s", what)
		}
		return nil // what it depends on belongs to an operand that is absent
	})
	return nil
}

// wanted is an alternative for people: numbers where they are known, else names.
func (b *binding) wanted(dims []string) string {
	out := make([]string, len(dims))
	for i, d := range dims {
		out[i] = d
		if e, known, orOne := b.meaning(strings.Replace(strings.Replace(d, "scalar", "_", 1), "...", "_", 1)); known {
			if out[i] = e.String(); orOne {
				out[i] += " or 1"
			}
		}
	}
	if len(dims) == 1 && dims[0] == "scalar" {
		return "a scalar"
	}
	return "[" + strings.Join(out, ", ") + "]"
}
