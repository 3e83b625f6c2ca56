package loop

import (
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// element reads a place in a buffer: "x[i]", or "x[lane; x, y]" with a texel.
func (p *parser) element() (*Buffer, sym.Expr, *Texel, error) {
	name, err := p.word()
	if err != nil {
		return nil, sym.Expr{}, nil, err
	}
	return p.elementOf(name)
}

func (p *parser) elementOf(name string) (b *Buffer, at sym.Expr, t *Texel, err error) {
	if b, err = p.buffer(name); err != nil {
		return nil, at, nil, err
	}
	if err = p.Expect("["); err != nil {
		return nil, at, nil, err
	}
	if at, err = p.Expr(); err != nil {
		return nil, at, nil, err
	}
	if p.Accept(";") {
		t = &Texel{}
		if t.X, err = p.Expr(); err != nil {
			return nil, at, nil, err
		}
		if err = p.Expect(","); err != nil {
			return nil, at, nil, err
		}
		if t.Y, err = p.Expr(); err != nil {
			return nil, at, nil, err
		}
	}
	return b, at, t, p.Expect("]")
}

// scalar reads an expression.
func (p *parser) scalar() (e te.Expr, err error) {
	err = p.deeper(func() error {
		e, err = p.expression()
		return err
	})
	return e, err
}

func (p *parser) expression() (te.Expr, error) {
	if p.Accept("(") {
		return p.choice()
	}
	word, err := p.word()
	if err != nil {
		return nil, p.Errorf("want a scalar expression, found %s", p.Found())
	}
	if strings.HasPrefix(p.Rest(), "[") {
		return p.load(word)
	}
	if word == "near" && p.Accept("(") {
		return p.near()
	}
	t, err := ir.ParseDType(word)
	switch {
	case err != nil:
		return p.variable(word)
	case p.Accept(":"):
		if r := p.Rest(); r != "" && (r[0] >= 'a' && r[0] <= 'z') { // a number begins with a digit or a sign
			typ, err := p.dtype()
			return Ref{word, typ}, err
		}
		return p.literal(t)
	case p.Accept("("):
		x, err := p.Expr()
		if err != nil {
			return nil, err
		}
		return te.Index{Type: t, E: x}, p.Expect(")")
	}
	fn, err := p.word()
	if err != nil {
		return nil, p.Errorf("want a scalar function of type %s, found %s", t, p.Found())
	}
	args, err := lex.ListOf(&p.Lexer, "(", ")", p.scalar)
	return te.Call{Fn: fn, Type: t, Args: args}, err
}

func (p *parser) load(name string) (te.Expr, error) {
	b, at, t, err := p.elementOf(name)
	if err != nil {
		return nil, err
	}
	x := Mem{Buf: b, Index: at}
	if t != nil {
		x.Texel = *t
	}
	return x, nil
}

// near reads "array[own], width, lane)".
func (p *parser) near() (te.Expr, error) {
	name, err := p.word()
	if err != nil {
		return nil, p.Errorf("want an array, found %s", p.Found())
	}
	var x Near
	if x.Buf, x.Index, _, err = p.elementOf(name); err != nil {
		return nil, err
	}
	if err = p.Expect(","); err != nil {
		return nil, err
	}
	if x.Width, err = p.Int(); err != nil {
		return nil, err
	}
	if err = p.Expect(","); err != nil {
		return nil, err
	}
	if x.Lane, err = p.Expr(); err != nil {
		return nil, err
	}
	return x, p.Expect(")")
}

// choice reads "a if lo <= e < hi else b)".
func (p *parser) choice() (te.Expr, error) {
	var x te.Select
	var err error
	if x.Then, err = p.scalar(); err != nil {
		return nil, err
	}
	if err = p.Expect("if"); err != nil {
		return nil, err
	}
	if x.Cond, err = p.conditions(); err != nil {
		return nil, err
	}
	if err = p.Expect("else"); err != nil {
		return nil, err
	}
	if x.Else, err = p.scalar(); err != nil {
		return nil, err
	}
	return x, p.Expect(")")
}

// literal reads a constant's number.
func (p *parser) literal(t ir.DType) (te.Expr, error) {
	p.Rest()
	before := p.Pos
	text := p.Number()
	bits, err := literalBits(t, text)
	if err != nil {
		p.Pos = before
		return nil, p.Errorf("want a number of type %s, found %s", t, p.Found())
	}
	return te.Const{Type: t, Bits: bits}, nil
}

func literalBits(t ir.DType, text string) (uint64, error) {
	if hex, ok := strings.CutPrefix(text, "0x"); ok && t.IsFloat() {
		return strconv.ParseUint(hex, 16, 64)
	}
	switch t.Kind() {
	case ir.KindInt:
		x, err := strconv.ParseInt(text, 10, 64)
		return uint64(x), err
	case ir.KindFloat:
		x, err := strconv.ParseFloat(text, 64)
		return math.Float64bits(x), err
	}
	return strconv.ParseUint(text, 10, 64)
}
