package loop

import (
	"fmt"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// opaqueText is what the text says of an opaque call besides its buffers.
func opaqueText(c *opaque.Call) string {
	p := &printer{}
	p.call(Call{Call: c})
	return p.String()
}

// call reads the call of an opaque operator.
func (p *parser) call() (x Call, err error) {
	c := &opaque.Call{}
	x.Call = c
	if c.Name, err = p.word(); err != nil {
		return x, err
	}
	if c.Types, err = lex.ListOf(&p.Lexer, "<", ">", p.dtype); err != nil {
		return x, err
	}
	c.Whole = p.Accept("whole")
	if err = p.Expect("{"); err != nil {
		return x, err
	}
	for {
		if err = p.EndLine(); err != nil {
			return x, err
		}
		if p.Accept("}") {
			break
		}
		if err = p.callLine(&x); err != nil {
			return x, err
		}
	}
	if given := p.calls[opaqueText(c)]; given != nil {
		x.Call = given
		return x, nil
	}
	c.Run = func(map[string]int64, []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
		return nil, nil, fmt.Errorf("the call of %s comes from a text, which does not contain its function", c.Name)
	}
	return x, nil
}

func (p *parser) callLine(x *Call) (err error) {
	c := x.Call
	switch {
	case p.Accept("operand"):
		return p.tensor(&x.Operands, &c.Operands)
	case p.Accept("result"):
		return p.tensor(&x.Results, &c.Results)
	case p.Accept("scratch"):
		if err = appended(&x.Scratch, p.optional); err != nil {
			return err
		}
		var m opaque.Memory
		if m.Type, err = p.dtype(); err != nil {
			return err
		}
		m.Size, err = p.bracketed()
		c.Scratch = append(c.Scratch, m)
	case p.Accept("args"):
		for more := true; more && err == nil; more = p.Accept(",") {
			err = appended(&c.Args, p.arg)
		}
	case p.Accept("computes"):
		err = appended(&c.Computes, p.computes)
	case p.Accept("element"):
		err = p.known(c)
	case p.Accept("work"):
		c.Work, err = p.Expr()
	default:
		err = p.Errorf("want a line of a call or \"}\", found %s", p.Found())
	}
	return err
}

// optional reads a buffer's name, or "_".
func (p *parser) optional() (*Buffer, error) {
	if p.Accept("_") {
		return nil, nil
	}
	name, err := p.word()
	if err != nil {
		return nil, err
	}
	return p.buffer(name)
}

// tensor reads a buffer, its type and shape.
func (p *parser) tensor(bs *[]*Buffer, ts *[]opaque.Tensor) error {
	if err := appended(bs, p.optional); err != nil {
		return err
	}
	var t opaque.Tensor
	var err error
	if (*bs)[len(*bs)-1] != nil || p.EndLine() != nil {
		if t.Type, err = p.dtype(); err == nil {
			t.Shape, err = lex.ListOf(&p.Lexer, "[", "]", p.Expr)
		}
	}
	*ts = append(*ts, t)
	return err
}

func (p *parser) arg() (a opaque.Arg, err error) {
	for kind, word := range pointerWords {
		if word != "" && p.Accept(word) {
			n, err := p.Int()
			return opaque.Arg{Kind: opaque.Kind(kind), N: int(n)}, err
		}
	}
	switch {
	case p.Accept("size"):
		a.Kind = opaque.Size
		a.Size, err = p.Expr()
	case p.Accept("dims"):
		a.Kind = opaque.Dims
		a.Dims, err = lex.ListOf(&p.Lexer, "[", "]", p.Expr)
	case p.Accept("numbers"):
		a.Kind = opaque.Numbers
	case p.Accept("flag"):
		a.Kind = opaque.Flag
		if a.Flag, err = strconv.ParseBool(p.Run(lex.IsWord)); err != nil {
			err = p.Errorf("want true or false before %s", p.Found())
		}
	default:
		err = p.Errorf("want an argument of a call, found %s", p.Found())
	}
	return a, err
}

// computes reads `K 0..64 up to 4*N "rows"`.
func (p *parser) computes() (s opaque.Symbol, err error) {
	if s.Name, err = p.word(); err != nil {
		return s, err
	}
	if s.Lo, s.Hi, err = p.span(); err != nil {
		return s, err
	}
	if err = p.Expect("up to"); err != nil {
		return s, err
	}
	if s.Max, err = p.Expr(); err != nil {
		return s, err
	}
	s.What, err = p.Quoted()
	return s, err
}

// known reads "0 = K".
func (p *parser) known(c *opaque.Call) error {
	n, err := p.Int()
	if err != nil {
		return err
	}
	if _, twice := c.Elements[int(n)]; twice {
		return p.Errorf("element %d is given twice", n)
	}
	if err := p.Expect("="); err != nil {
		return err
	}
	e, err := p.Expr()
	if c.Elements == nil {
		c.Elements = map[int]sym.Expr{}
	}
	c.Elements[int(n)] = e
	return err
}
