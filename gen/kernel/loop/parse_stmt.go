package loop

import (
	"strings"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// deeper calls f one level down.
func (p *parser) deeper(f func() error) error {
	if p.depth++; p.depth > limit.KernelDepth {
		return p.Errorf("statements and expressions are nested deeper than %d", limit.KernelDepth)
	}
	err := f()
	p.depth--
	return err
}

// statements reads statements and the brace after them.
func (p *parser) statements() (out []Stmt, err error) {
	err = p.deeper(func() error {
		for !p.Accept("}") {
			s, err := p.statement()
			if err != nil {
				return err
			}
			if err := p.EndLine(); err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// block reads the statements of a block in their own scope.
func (p *parser) block() ([]Stmt, error) {
	if err := p.Expect("{"); err != nil {
		return nil, err
	}
	if err := p.EndLine(); err != nil {
		return nil, err
	}
	p.vars.enter()
	p.buffers.enter()
	out, err := p.statements()
	p.vars.leave()
	p.buffers.leave()
	return out, err
}

func (p *parser) statement() (Stmt, error) {
	word, err := p.word()
	if err != nil {
		return nil, p.Errorf("want a statement or \"}\", found %s", p.Found())
	}
	switch {
	case strings.HasPrefix(p.Rest(), "["):
		return p.store(word)
	case p.Accept("="):
		v, err := p.scalar()
		return Set{word, v}, err
	}
	switch word {
	case "for":
		return p.loop()
	case "index":
		return p.index()
	case "bind":
		return p.bind()
	case "var":
		return p.def()
	case "array":
		b, err := p.declaration(true, true)
		return Alloc{b}, err
	case "claim", "fetch":
		b, at, t, err := p.element()
		if err == nil && t != nil {
			err = p.Errorf("a %s without a texel", word)
		}
		return Claim{b, at, word == "fetch"}, err
	case "if":
		return p.branch()
	case "tile":
		return p.tile()
	case "barrier":
		return Barrier{}, nil
	case "call":
		return p.call()
	}
	return nil, p.Errorf("want a statement, found %q before %s", word, p.Found())
}

func (p *parser) loop() (Stmt, error) {
	a, err := p.axis()
	x := For{Var: a.Var, Extent: a.Extent}
	if err == nil && p.Accept("lanes") {
		x.Lanes, err = p.Int()
		x.Halves = err == nil && p.Accept("halves")
	}
	if err == nil && p.Accept("stride") {
		x.Stride, err = p.Int()
	}
	if err != nil {
		return nil, err
	}
	x.Items = p.Accept("items")
	x.Body, err = p.block()
	return x, err
}

// named reads a name and "=".
func (p *parser) named() (string, error) {
	n, err := p.word()
	if err != nil {
		return "", err
	}
	return n, p.Expect("=")
}

func (p *parser) index() (x Index, err error) {
	if x.Var, err = p.named(); err != nil {
		return x, err
	}
	x.Value, err = p.Expr()
	return x, err
}

func (p *parser) bind() (x Bind, err error) {
	if x.Var, err = p.named(); err != nil {
		return x, err
	}
	if x.Value, err = p.scalar(); err != nil {
		return x, err
	}
	if err = p.Expect("in"); err != nil {
		return x, err
	}
	if x.Lo, err = p.Expr(); err != nil {
		return x, err
	}
	if err = p.Expect(".."); err != nil {
		return x, err
	}
	x.Hi, err = p.Expr()
	x.Known = err == nil && p.Accept("known")
	return x, err
}

func (p *parser) def() (x Def, err error) {
	if x.Name, err = p.named(); err != nil {
		return x, err
	}
	if x.Init, err = p.scalar(); err != nil {
		return x, err
	}
	p.vars.declare(x.Name, typeOf(x.Init))
	return x, nil
}

func (p *parser) store(name string) (x Store, err error) {
	var t *Texel
	if x.Buf, x.Index, t, err = p.elementOf(name); err != nil {
		return x, err
	}
	if t != nil {
		x.Texel = *t
	}
	if err = p.Expect("="); err != nil {
		return x, err
	}
	x.Value, err = p.scalar()
	return x, err
}

func (p *parser) branch() (x If, err error) {
	if x.Cond, err = p.conditions(); err != nil {
		return x, err
	}
	if x.Then, err = p.block(); err == nil && p.Accept("else") {
		x.Else, err = p.block()
	}
	return x, err
}

// conditions reads "0 <= i < N and 1 <= j < 2".
func (p *parser) conditions() (out []te.Within, err error) {
	if p.Accept("()") {
		return nil, nil
	}
	for {
		var w te.Within
		if w.Lo, err = p.Expr(); err != nil {
			return nil, err
		}
		if err = p.Expect("<="); err != nil {
			return nil, err
		}
		if w.E, err = p.Expr(); err != nil {
			return nil, err
		}
		if err = p.Expect("<"); err != nil {
			return nil, err
		}
		if w.Hi, err = p.Expr(); err != nil {
			return nil, err
		}
		if out = append(out, w); !p.Accept("and") {
			return out, nil
		}
	}
}

func (p *parser) tile() (x Tile, err error) {
	name := p.Run(lex.IsWord)
	if x.Micro = p.micros[name]; x.Micro == nil {
		return x, p.Errorf("no micro-kernel %q is defined before its use", name)
	}
	flat := func(b **Buffer, at *sym.Expr, next string) {
		if err != nil {
			return
		}
		var t *Texel
		if *b, *at, t, err = p.element(); err == nil && t != nil {
			err = p.Errorf("a tile without texels")
		}
		if err == nil && next != "" {
			err = p.Expect(next)
		}
	}
	flat(&x.Acc, &x.AccAt, "=")
	flat(&x.X, &x.XAt, "*")
	flat(&x.W, &x.At, "")
	if err == nil && p.Accept("fetch") {
		x.FetchAt, err = p.Expr()
	}
	if err == nil && p.Accept("of") {
		flat(&x.Index, &x.IndexAt, "until")
		flat(&x.Ends, &x.EndsAt, "")
	}
	return x, err
}

// buffer is what a name means here.
func (p *parser) buffer(name string) (*Buffer, error) {
	b, ok := p.buffers.find(name)
	if !ok {
		return nil, p.Errorf("buffer %q is not declared before its use", name)
	}
	return b, nil
}

// variable reads what follows a variable's name.
func (p *parser) variable(name string) (te.Expr, error) {
	t, ok := p.vars.find(name)
	if p.Accept(":") {
		var err error
		if t, err = p.dtype(); err != nil {
			return nil, err
		}
	} else if !ok || t == ir.Invalid {
		return nil, p.Errorf("variable %q is not declared before its use: want its type after \":\"", name)
	}
	return Ref{name, t}, nil
}
