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
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/base/limit"
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
func Var(name string) Expr {
	if len(name) == 2 && name[0]-'a' < letters && name[1]-'0' < digits {
		return loops[name[0]-'a'][name[1]-'0']
	}
	return newVar(name)
}

func newVar(name string) Expr { return alone(Atom{Kind: AtomVar, Name: name, key: name}) }

const letters, digits = 26, 10

// loops are the variables called by a letter and a digit, as loops are: all stages of a network share them.
var loops = func() (out [letters][digits]Expr) {
	for i := range out {
		for j := range out[i] {
			out[i][j] = newVar(string([]byte{'a' + byte(i), '0' + byte(j)}))
		}
	}
	return out
}()

func fromAtom(a *Atom) Expr {
	m := &struct { // one piece of memory for both
		terms [1]term
		atoms [1]*Atom
	}{}
	m.atoms[0] = a
	m.terms[0] = term{coef: 1, atoms: m.atoms[:], key: a.key}
	return Expr{terms: m.terms[:]}
}

// alone is the expression of a new atom.
func alone(a Atom) Expr {
	m := &struct { // one piece of memory for all
		atom  Atom
		terms [1]term
		atoms [1]*Atom
	}{atom: a}
	m.atoms[0] = &m.atom
	m.terms[0] = term{coef: 1, atoms: m.atoms[:], key: a.key}
	return Expr{terms: m.terms[:]}
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
		return alone(Atom{Kind: k, A: a, B: b, key: op + "(" + x + ", " + y + ")"})
	}
	return alone(Atom{Kind: k, A: a, B: b, key: "((" + x + ") " + op + " (" + y + "))"})
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

// Is reports whether e is the constant c.
func (e Expr) Is(c int64) bool { v, ok := e.Const(); return ok && v == c }

// Overflow reports whether nothing is known of the expression: its constants left 64 bits, or its text
// grew beyond limit.Expression.
func (e Expr) Overflow() bool { return e.bad }

// Equal reports whether the normal forms agree; unequal forms may still have equal values.
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

// Uses reports whether e mentions the variable.
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
