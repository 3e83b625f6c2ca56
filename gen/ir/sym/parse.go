package sym

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"rules_dnn/gen/base/limit"
)

// Parse reads an expression as String prints it, and more freely written ones:
// + - * // % over integers, variables, parentheses, min(a, b) and max(a, b).
// Divisions and remainders are kept as written, not simplified: facts that
// String's expression was simplified with are not known here.
func Parse(s string) (Expr, error) {
	e, rest, err := ParsePrefix(s)
	if err == nil && strings.TrimLeft(rest, " ") != "" {
		err = fmt.Errorf("unexpected %q after an expression", clip(rest))
	}
	if err != nil {
		return Expr{}, fmt.Errorf("expression %q: %w", clip(s), err)
	}
	return e, nil
}

// ParsePrefix reads the longest expression at the beginning of s and returns what follows it.
func ParsePrefix(s string) (Expr, string, error) {
	p := &parser{s: s}
	e, err := p.sum(0)
	if err != nil {
		return Expr{}, s, err
	}
	return e, p.s, nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

type parser struct{ s string }

// accept takes the token if it comes next.
func (p *parser) accept(tok string) bool {
	s := strings.TrimLeft(p.s, " ")
	if !strings.HasPrefix(s, tok) {
		return false
	}
	p.s = s[len(tok):]
	return true
}

func (p *parser) expect(tok string) error {
	if p.accept(tok) {
		return nil
	}
	return fmt.Errorf("%q is missing before %q", tok, clip(p.s))
}

func (p *parser) sum(depth int) (Expr, error) {
	if depth > limit.Parentheses {
		return Expr{}, fmt.Errorf("parentheses are nested deeper than %d", limit.Parentheses)
	}
	var parts []Expr
	sign := int64(1)
	if p.accept("-") {
		sign = -1
	}
	for {
		e, err := p.signed(sign, depth)
		if err != nil {
			return Expr{}, err
		}
		if parts = append(parts, e); len(parts) > limit.Terms {
			return Expr{}, fmt.Errorf("more than %d terms", limit.Terms)
		}
		switch {
		case p.accept("+"):
			sign = 1
		case p.accept("-"):
			sign = -1
		default:
			return Add(parts...), nil
		}
	}
}

// signed reads a product and applies the sign before it. The constant -2^63
// (an open end of Slice) is a number of its own: it has no negative.
func (p *parser) signed(sign int64, depth int) (Expr, error) {
	if sign > 0 {
		return p.product(depth)
	}
	t := strings.TrimLeft(p.s, " ")
	if after, ok := strings.CutPrefix(t, "9223372036854775808"); ok && strings.IndexAny(after, "0123456789") != 0 {
		p.s = after
		return Const(math.MinInt64), nil
	}
	e, err := p.product(depth)
	return Scale(e, -1), err
}

func (p *parser) product(depth int) (Expr, error) {
	e, err := p.factor(depth)
	for err == nil {
		var f Expr
		switch {
		case p.accept("//"):
			if f, err = p.factor(depth); err == nil {
				e, err = division(AtomDiv, e, f)
			}
		case p.accept("*"):
			if f, err = p.factor(depth); err != nil {
				break
			}
			if (len(e.terms)+1)*(len(f.terms)+1) > limit.Terms {
				return Expr{}, fmt.Errorf("a product has more than %d terms", limit.Terms)
			}
			e = Mul(e, f)
		case p.accept("%"):
			if f, err = p.factor(depth); err == nil {
				e, err = division(AtomMod, e, f)
			}
		default:
			return e, nil
		}
	}
	return Expr{}, err
}

func division(k AtomKind, a, b Expr) (Expr, error) {
	if c, ok := b.Const(); ok && c <= 0 {
		return Expr{}, fmt.Errorf("division by %d", c)
	}
	if a.bad || b.bad {
		return Expr{bad: true}, nil
	}
	return makeAtom(k, a, b), nil
}

func (p *parser) factor(depth int) (Expr, error) {
	p.s = strings.TrimLeft(p.s, " ")
	switch {
	case p.accept("("):
		e, err := p.sum(depth + 1)
		if err != nil {
			return Expr{}, err
		}
		return e, p.expect(")")
	case p.s != "" && p.s[0] >= '0' && p.s[0] <= '9':
		return p.number()
	}
	id := identifierPrefix(p.s)
	p.s = p.s[len(id):]
	switch id {
	case "":
		return Expr{}, fmt.Errorf("a number, a variable or a parenthesis is missing before %q", clip(p.s))
	case "overflow":
		return Expr{bad: true}, nil
	case "min":
		return p.extremum(AtomMin, depth)
	case "max":
		return p.extremum(AtomMax, depth)
	}
	return Var(id), nil
}

func (p *parser) number() (Expr, error) {
	n := 0
	for n < len(p.s) && p.s[n] >= '0' && p.s[n] <= '9' {
		n++
	}
	c, err := strconv.ParseInt(p.s[:n], 10, 64)
	if err != nil {
		return Expr{}, fmt.Errorf("number %s is not below 2^63", clip(p.s[:n]))
	}
	p.s = p.s[n:]
	return Const(c), nil
}

func (p *parser) extremum(k AtomKind, depth int) (Expr, error) {
	if err := p.expect("("); err != nil {
		return Expr{}, err
	}
	a, err := p.sum(depth + 1)
	if err != nil {
		return Expr{}, err
	}
	if err := p.expect(","); err != nil {
		return Expr{}, err
	}
	b, err := p.sum(depth + 1)
	if err != nil {
		return Expr{}, err
	}
	if a.bad || b.bad {
		return Expr{bad: true}, p.expect(")")
	}
	return makeAtom(k, a, b), p.expect(")")
}

func identByte(c byte, first bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || !first && c >= '0' && c <= '9'
}

func identifierPrefix(s string) string {
	n := 0
	for n < len(s) && identByte(s[n], n == 0) {
		n++
	}
	return s[:n]
}

// internal are the names of variables that stages and kernels make: axes (i0, r1), bound indices,
// loops of lowered code, counters of loops, buffers and scalars. A symbol of such a name would be taken for one.
var internal = regexp.MustCompile(`^(([abgijkpqrstuwxy]|acc|at|in|iter|new|set)[0-9][0-9a-z_]*|` +
	`(acc|c[glosv](_filter)?|ks([0-9]*_(first|count|k|channel|block|group|within))?|part|q|rp|rs|t[abcpqru]|x[lr]|w[cgijoprtxy]|w_(half|in|out|sum)|wd_[0-9]+|scratch|bad|bad_index|task|first_task|last_task)(_[0-9]+)?)(_end)?$`)

// reserved reports whether a name means something else than a symbol: in
// expressions, or as a variable of the compiler's own.
func reserved(name string) bool {
	return name == "min" || name == "max" || name == "overflow" || internal.MatchString(name)
}

// IsSymbol reports whether name can be a symbol's: Parse reads it as a variable.
func IsSymbol(name string) bool {
	return name != "" && identifierPrefix(name) == name && !reserved(name)
}

// Identifier is a symbol's name made of any text.
func Identifier(text string) string {
	b := []byte(text[:min(len(text), limit.Identifier)])
	for i := range b {
		if !identByte(b[i], false) {
			b[i] = '_'
		}
	}
	id := string(b)
	if id == "" || !identByte(id[0], true) || reserved(id) {
		id = "d_" + id
	}
	return id
}
