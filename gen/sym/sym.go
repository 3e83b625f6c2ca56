// Package sym is integer expressions over named variables: dimensions of
// tensors ("N", "(H+1)//2") and the indices with which stages read them.
//
// An expression is kept in a normal form, a constant plus a sum of coefficient *
// product of atoms, so that equal expressions of linear and quasi-affine kind
// are equal strings. Atoms are variables, floor divisions, remainders, minima and
// maxima. This is the form of SmartMem's index maps (sum of scale * ((x // a) % b))
// and of SoD2's symbolic dimensions.
package sym

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/limit"
)

// MaxDim is the upper bound of a dimension of which nothing is known.
const MaxDim = math.MaxInt32

// Expr is an immutable integer expression. The zero value is 0.
type Expr struct {
	c     int64
	terms []term // sorted by key, no zero coefficients
	bad   bool   // a coefficient overflowed 64 bits, or the text limit.Expression: no value is known
}

type term struct {
	coef  int64
	atoms []*Atom // sorted by key, at least one
	key   string
}

// AtomKind tells what an atom is.
type AtomKind uint8

// Kinds of atoms.
const (
	AtomVar AtomKind = iota
	AtomDiv          // floor(A / B)
	AtomMod          // A - B*floor(A/B)
	AtomMin
	AtomMax
)

// Atom is a factor that the normal form does not look into.
type Atom struct {
	Kind AtomKind
	Name string // of a variable
	A, B Expr
	key  string
}

// Const is a constant.
func Const(c int64) Expr { return Expr{c: c} }

// Var is a variable.
func Var(name string) Expr { return fromAtom(&Atom{Kind: AtomVar, Name: name, key: name}) }

func fromAtom(a *Atom) Expr {
	return Expr{terms: []term{{coef: 1, atoms: []*Atom{a}, key: a.key}}}
}

func makeAtom(k AtomKind, a, b Expr) Expr {
	op := [...]string{AtomDiv: "//", AtomMod: "%", AtomMin: "min", AtomMax: "max"}[k]
	if a.length()+b.length() > limit.Expression {
		return Expr{bad: true}
	}
	x, y := a.String(), b.String()
	if k == AtomMin || k == AtomMax {
		if y < x {
			a, b, x, y = b, a, y, x
		}
		return fromAtom(&Atom{Kind: k, A: a, B: b, key: op + "(" + x + ", " + y + ")"})
	}
	return fromAtom(&Atom{Kind: k, A: a, B: b, key: "((" + x + ") " + op + " (" + y + "))"})
}

// length is about that of the expression's text.
func (e Expr) length() int {
	n := 0
	for _, t := range e.terms {
		n += len(t.key)
	}
	return n
}

// Const is the value of a constant expression; of others it is 0, not the number that they add.
func (e Expr) Const() (int64, bool) {
	if len(e.terms) > 0 || e.bad {
		return 0, false
	}
	return e.c, true
}

// Is tells whether e is the constant c.
func (e Expr) Is(c int64) bool { v, ok := e.Const(); return ok && v == c }

// Overflow tells that nothing is known of the expression: its constants left 64 bits, or its text
// grew beyond limit.Expression.
func (e Expr) Overflow() bool { return e.bad }

// Equal tells whether the normal forms agree; unequal forms may still have equal values.
func (e Expr) Equal(o Expr) bool {
	return !e.bad && !o.bad && e.c == o.c && slices.EqualFunc(e.terms, o.terms, func(x, y term) bool { return x.coef == y.coef && x.key == y.key })
}

// Term is one summand of the normal form.
type Term struct {
	Coef  int64
	Atoms []*Atom
}

// Terms are the summands of the normal form, the constant apart.
func (e Expr) Terms() (terms []Term, constant int64) {
	for _, t := range e.terms {
		terms = append(terms, Term{t.coef, t.atoms})
	}
	return terms, e.c
}

// AsVar is the name of an expression that is one variable.
func (e Expr) AsVar() (string, bool) {
	if e.c != 0 || len(e.terms) != 1 || e.terms[0].coef != 1 || len(e.terms[0].atoms) != 1 || e.terms[0].atoms[0].Kind != AtomVar {
		return "", false
	}
	return e.terms[0].atoms[0].Name, true
}

// fewTerms is how many summands are merged one by one; more are sorted.
const fewTerms = 4

// Add is a + b + ...
func Add(xs ...Expr) Expr {
	var out Expr
	for _, x := range xs {
		out.bad = out.bad || x.bad
		out.c = addInt(out.c, x.c, &out.bad)
	}
	if len(xs) <= fewTerms {
		for _, x := range xs {
			out.terms = merged(out.terms, x.terms, &out.bad)
		}
	} else {
		out.terms = collected(xs, &out.bad)
	}
	return out.tidy()
}

// merged are the terms of a sum of two expressions, sorted as theirs are; coefficients may be zero.
func merged(a, b []term, bad *bool) []term {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]term, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key == b[0].key:
			t := a[0]
			t.coef = addInt(t.coef, b[0].coef, bad)
			out, a, b = append(out, t), a[1:], b[1:]
		case a[0].key < b[0].key:
			out, a = append(out, a[0]), a[1:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// collected are the terms of a sum of many expressions.
func collected(xs []Expr, bad *bool) []term {
	var out []term
	m := map[string]int{}
	for _, x := range xs {
		for _, t := range x.terms {
			if i, ok := m[t.key]; ok {
				out[i].coef = addInt(out[i].coef, t.coef, bad)
				continue
			}
			m[t.key] = len(out)
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b term) int { return strings.Compare(a.key, b.key) })
	return out
}

// tidy drops terms of coefficient zero, and all of an expression of which nothing is known. The
// terms may be another expression's.
func (e Expr) tidy() Expr {
	zeros, length := 0, 0
	for _, t := range e.terms {
		if t.coef == 0 {
			zeros++
			continue
		}
		length += len(t.key)
		e.bad = e.bad || t.coef == math.MinInt64 // it has no negative to print or subtract
	}
	if e.bad || length > limit.Expression {
		return Expr{bad: true}
	}
	if zeros > 0 {
		keep := make([]term, 0, len(e.terms)-zeros)
		for _, t := range e.terms {
			if t.coef != 0 {
				keep = append(keep, t)
			}
		}
		e.terms = keep
	}
	return e
}

// Sub is a - b.
func Sub(a, b Expr) Expr { return Add(a, Scale(b, -1)) }

// Scale is k * a.
func Scale(a Expr, k int64) Expr {
	switch {
	case a.bad || 2*(len(a.terms)+1) > limit.Terms:
		return Expr{bad: true}
	case k == 0:
		return Expr{}
	case k == 1:
		return a
	}
	out := Expr{}
	out.c = mulInt(a.c, k, &out.bad)
	if len(a.terms) > 0 {
		out.terms = make([]term, len(a.terms))
	}
	for i, t := range a.terms {
		t.coef = mulInt(t.coef, k, &out.bad)
		out.terms[i] = t
	}
	if out.bad {
		return Expr{bad: true}
	}
	return out
}

// Mul is a * b.
func Mul(a, b Expr) Expr {
	switch {
	case a.bad || b.bad || (len(a.terms)+1)*(len(b.terms)+1) > limit.Terms:
		return Expr{bad: true}
	case len(a.terms) == 0:
		return Scale(b, a.c)
	case len(b.terms) == 0:
		return Scale(a, b.c)
	}
	bad := false
	full := func(e Expr) []term {
		if e.c == 0 {
			return e.terms
		}
		return append(slices.Clone(e.terms), term{coef: e.c})
	}
	var parts []Expr
	ys := full(b)
	for _, x := range full(a) {
		for _, y := range ys {
			coef := mulInt(x.coef, y.coef, &bad)
			if len(x.atoms)+len(y.atoms) == 0 {
				parts = append(parts, Const(coef))
				continue
			}
			parts = append(parts, Expr{terms: []term{product(x, y, coef)}})
		}
	}
	if bad {
		return Expr{bad: true}
	}
	return Add(parts...)
}

// product is the term of x's atoms and y's.
func product(x, y term, coef int64) term {
	switch {
	case len(y.atoms) == 0:
		return term{coef, x.atoms, x.key}
	case len(x.atoms) == 0:
		return term{coef, y.atoms, y.key}
	}
	atoms := append(slices.Clone(x.atoms), y.atoms...)
	slices.SortStableFunc(atoms, func(a, b *Atom) int { return strings.Compare(a.key, b.key) })
	keys := make([]string, len(atoms))
	for i, a := range atoms {
		keys[i] = a.key
	}
	return term{coef, atoms, strings.Join(keys, "*")}
}

func addInt(a, b int64, bad *bool) int64 {
	s := a + b
	if (a > 0 && b > 0 && s <= 0) || (a < 0 && b < 0 && s >= 0) {
		*bad = true
	}
	return s
}

func mulInt(a, b int64, bad *bool) int64 {
	hi, lo := bits.Mul64(absU(a), absU(b))
	if hi != 0 || lo > math.MaxInt64 {
		*bad = true
		return 0
	}
	if (a < 0) != (b < 0) {
		return -int64(lo)
	}
	return int64(lo)
}

func absU(a int64) uint64 {
	if a < 0 {
		return uint64(-(a + 1)) + 1
	}
	return uint64(a)
}

// String prints the normal form; Parse reads it back.
func (e Expr) String() string {
	if e.bad {
		return "overflow"
	}
	if len(e.terms) == 0 {
		return strconv.FormatInt(e.c, 10)
	}
	var b strings.Builder
	for i, t := range e.terms {
		coef := t.coef
		switch {
		case i > 0 && coef < 0:
			b.WriteString(" - ")
			coef = -coef
		case i > 0:
			b.WriteString(" + ")
		case coef == -1:
			b.WriteString("-")
			coef = 1
		}
		if coef != 1 {
			b.WriteString(strconv.FormatInt(coef, 10) + "*")
		}
		b.WriteString(t.key)
	}
	switch {
	case e.c > 0:
		b.WriteString(" + " + strconv.FormatInt(e.c, 10))
	case e.c < 0:
		b.WriteString(" - " + strconv.FormatUint(absU(e.c), 10))
	}
	return b.String()
}

// Vars adds the variables of e to set.
func (e Expr) Vars(set map[string]bool) {
	for _, t := range e.terms {
		for _, a := range t.atoms {
			if a.Kind == AtomVar {
				set[a.Name] = true
				continue
			}
			a.A.Vars(set)
			a.B.Vars(set)
		}
	}
}

// Uses tells whether e mentions the variable.
func (e Expr) Uses(name string) bool {
	for _, t := range e.terms {
		for _, a := range t.atoms {
			if a.Kind == AtomVar && a.Name == name || a.Kind != AtomVar && (a.A.Uses(name) || a.B.Uses(name)) {
				return true
			}
		}
	}
	return false
}

// FromAtom is the expression of one atom.
func FromAtom(a *Atom) Expr { return fromAtom(a) }
