// Package cexpr prints integer expressions over symbols (sym.Expr) as C.
//
// The text computes in int64_t and uses the helpers of runtime/dnn_index.h
// (dnn_floordiv, dnn_floormod, dnn_min, dnn_max and their checked forms), which is
// plain C99 and C++17, so that every printer can use it.
package cexpr

import (
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/ir/sym"
)

// Expr prints e as a C expression of type int64_t, parenthesised so that it can be an
// operand anywhere. names gives the C text (a primary expression of type int64_t) of a
// variable. Nothing is assumed of the variables: divisions round down for negative operands too.
func Expr(e sym.Expr, names func(string) string) string {
	p := printer{names: names}
	return p.operand(e)
}

// Under is Expr with the ranges of variables known: divisions of what cannot be negative
// print as / and %. As in package sym, a variable without an entry lies in [0, sym.MaxDim].
func Under(e sym.Expr, names func(string) string, facts sym.Facts) string {
	p := printer{names: names, facts: facts, useFacts: true}
	return p.operand(e)
}

// Checked prints e so that the int named bad is set to 1 where a step leaves 64 bits
// or divides by what is not positive; the value is then of no use. It is for sizes
// that a caller's dims decide: a product of dims must not wrap into a small allocation.
func Checked(e sym.Expr, names func(string) string, bad string) string {
	p := printer{names: names, bad: bad}
	return p.operand(e)
}

type printer struct {
	names    func(string) string
	facts    sym.Facts
	useFacts bool
	bad      string // the flag of checked arithmetic; empty for plain arithmetic
}

// operand prints e as a primary expression: a literal, a name, a call or parentheses.
func (p *printer) operand(e sym.Expr) string {
	if e.Overflow() { // plan.Program.Verify refuses programs with such
		panic("an expression without a value is printed")
	}
	if c, ok := e.Const(); ok {
		return literal(c)
	}
	terms, c := e.Terms()
	if len(terms) == 1 && c == 0 && terms[0].Coef == 1 && len(terms[0].Atoms) == 1 {
		return p.atom(terms[0].Atoms[0])
	}
	if p.bad != "" {
		return p.checkedSum(terms, c)
	}
	return "(" + p.sum(terms, c) + ")"
}

// literal prints a constant; negative ones in parentheses. The least number has no
// literal of its own in C.
func literal(c int64) string {
	switch {
	case c == math.MinInt64:
		return "(-INT64_C(9223372036854775807) - 1)"
	case c < 0:
		return "(" + number(c) + ")"
	}
	return number(c)
}

// number prints c > math.MinInt64; what int may not hold says its type.
func number(c int64) string {
	s := strconv.FormatInt(c, 10)
	if c > math.MaxInt32 {
		return "INT64_C(" + s + ")"
	}
	if c < -math.MaxInt32 {
		return "-INT64_C(" + s[1:] + ")"
	}
	return s
}

func (p *printer) sum(terms []sym.Term, c int64) string {
	var b strings.Builder
	for i, t := range terms {
		text, negative := p.product(t)
		b.WriteString(sign(i == 0, negative))
		b.WriteString(text)
	}
	switch {
	case c > 0:
		b.WriteString(" + " + number(c))
	case c == math.MinInt64:
		b.WriteString(" + " + literal(c))
	case c < 0:
		b.WriteString(" - " + number(-c))
	}
	return b.String()
}

func sign(first, negative bool) string {
	switch {
	case first && negative:
		return "-"
	case first:
		return ""
	case negative:
		return " - "
	}
	return " + "
}

// product prints the absolute value of a term and reports whether it is to be subtracted.
func (p *printer) product(t sym.Term) (text string, negative bool) {
	var factors []string
	coef := t.Coef
	if negative = coef < 0 && coef != math.MinInt64; negative {
		coef = -coef
	}
	if coef != 1 {
		factors = append(factors, literal(coef))
	}
	for _, a := range t.Atoms {
		factors = append(factors, p.atom(a))
	}
	return strings.Join(factors, " * "), negative
}

func (p *printer) checkedSum(terms []sym.Term, c int64) string {
	acc := ""
	for _, t := range terms {
		text := literal(t.Coef)
		if t.Coef == 1 {
			text = ""
		}
		for _, a := range t.Atoms {
			text = p.fold("dnn_mul_checked", text, p.atom(a))
		}
		acc = p.fold("dnn_add_checked", acc, text)
	}
	if c != 0 {
		acc = p.fold("dnn_add_checked", acc, literal(c))
	}
	return acc
}

func (p *printer) fold(fn, acc, x string) string {
	if acc == "" {
		return x
	}
	return fn + "(" + acc + ", " + x + ", &" + p.bad + ")"
}

func (p *printer) atom(a *sym.Atom) string {
	if a.Kind == sym.AtomVar {
		return p.names(a.Name)
	}
	x, y := p.operand(a.A), p.operand(a.B)
	switch a.Kind {
	case sym.AtomMin:
		return "dnn_min(" + x + ", " + y + ")"
	case sym.AtomMax:
		return "dnn_max(" + x + ", " + y + ")"
	}
	fn, op := "dnn_floordiv", "/"
	if a.Kind == sym.AtomMod {
		fn, op = "dnn_floormod", "%"
	}
	switch {
	case p.bad != "":
		return fn + "_checked(" + x + ", " + y + ", &" + p.bad + ")"
	case p.useFacts && sym.AtLeast(a.A, 0, p.facts) && sym.AtLeast(a.B, 1, p.facts):
		return "(" + x + " " + op + " " + y + ")"
	}
	return fn + "(" + x + ", " + y + ")"
}
