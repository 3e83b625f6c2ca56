package loop

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// Parse reads a kernel's text form (see Kernel.String). It checks the form alone: Verify checks what it says. A call of an opaque
// operator gets its function and its constants, which the text does not hold, from the one of calls that has the same text; without
// one it can be printed and looked at, and an interpreter that runs it fails.
func Parse(text string, calls ...*opaque.Call) (*Kernel, error) {
	if len(text) > limit.KernelText {
		return nil, fmt.Errorf("kernel's text: want at most %d bytes, found %d", limit.KernelText, len(text))
	}
	p := &parser{
		Lexer: lex.New(text), k: &Kernel{Facts: sym.Facts{}}, vars: newScope[ir.DType](), buffers: newScope[*Buffer](),
		micros: map[string]*MicroKernel{}, calls: map[string]*opaque.Call{},
	}
	for _, c := range calls {
		p.calls[opaqueText(c)] = c
	}
	if err := p.kernel(); err != nil {
		return nil, fmt.Errorf("kernel's text: %w", err)
	}
	return p.k, nil
}

type parser struct {
	lex.Lexer
	k       *Kernel
	vars    *scope[ir.DType] // types of variables
	buffers *scope[*Buffer]
	micros  map[string]*MicroKernel
	calls   map[string]*opaque.Call // by text
	depth   int
}

func (p *parser) kernel() error {
	if err := p.Expect("kernel"); err != nil {
		return err
	}
	var err error
	if p.k.Anchor, err = p.Quoted(); err != nil {
		return err
	}
	if err := p.Expect("{"); err != nil {
		return err
	}
	if err := p.EndLine(); err != nil {
		return err
	}
	for {
		more, err := p.head()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := p.EndLine(); err != nil {
			return err
		}
	}
	if p.k.Body, err = p.statements(); err != nil {
		return err
	}
	if p.Rest() != "" {
		return p.Errorf("want nothing more after the kernel, found %s", p.Found())
	}
	return nil
}

// head reads a line before the statements; false where there is none.
func (p *parser) head() (more bool, err error) {
	k := p.k
	switch {
	case p.Accept("symbol"):
		err = appended(&k.Syms, p.word)
	case p.Accept("facts"):
		err = p.facts()
	case p.Accept("operand"):
		err = appended(&k.Buffers, func() (*Buffer, error) { return p.declaration(false, false) })
	case p.Accept("result"):
		err = appended(&k.Buffers, func() (*Buffer, error) { return p.declaration(true, false) })
	case p.Accept("scratch"):
		err = appended(&k.Scratch, func() (*Buffer, error) { return p.declaration(true, false) })
	case p.Accept("shared"):
		err = appended(&k.Shared, func() (*Buffer, error) { return p.declaration(true, false) })
	case p.Accept("sets"):
		err = appended(&k.Sets, p.word)
	case p.Accept("micro"):
		err = p.micro()
	case p.Accept("grid"):
		err = appended(&k.Grid, p.axis)
	default:
		return false, nil
	}
	return true, err
}

func appended[T any](list *[]T, read func() (T, error)) error {
	x, err := read()
	*list = append(*list, x)
	return err
}

// word reads a name.
func (p *parser) word() (string, error) {
	before := p.Pos
	w := p.Run(lex.IsWord)
	if w == "" || w[0] >= '0' && w[0] <= '9' {
		if w != "" {
			p.Pos = before
		}
		return "", p.Errorf("want a name, found %s", p.Found())
	}
	return w, nil
}

// axis reads "i < 8".
func (p *parser) axis() (a te.Axis, err error) {
	if a.Var, err = p.word(); err != nil {
		return a, err
	}
	if err = p.Expect("<"); err != nil {
		return a, err
	}
	a.Extent, err = p.Expr()
	return a, err
}

// facts reads "N 1..64, i0 0..7".
func (p *parser) facts() error {
	for {
		n, err := p.word()
		if err != nil {
			return err
		}
		if _, twice := p.k.Facts[n]; twice {
			return p.Errorf("the range of %q is given twice", n)
		}
		r := sym.Range{}
		if r.Lo, r.Hi, err = p.span(); err != nil {
			return err
		}
		p.k.Facts[n] = r
		if !p.Accept(",") {
			return nil
		}
	}
}

// span reads "1..64".
func (p *parser) span() (lo, hi int64, err error) {
	if lo, err = p.Int(); err != nil {
		return 0, 0, err
	}
	if err = p.Expect(".."); err != nil {
		return 0, 0, err
	}
	hi, err = p.Int()
	return lo, hi, err
}

func (p *parser) dtype() (ir.DType, error) {
	t, err := ir.ParseDType(p.Run(lex.IsWord))
	if err != nil {
		return t, p.Errorf("%w before %s", err, p.Found())
	}
	return t, nil
}

// declaration reads a buffer and puts it in scope.
func (p *parser) declaration(write, local bool) (b *Buffer, err error) {
	b = &Buffer{Write: write, Local: local}
	if b.Name, err = p.word(); err != nil {
		return nil, err
	}
	if b.Type, err = p.dtype(); err != nil {
		return nil, err
	}
	if b.Size, err = p.bracketed(); err != nil {
		return nil, err
	}
	if write && p.Accept("readonly") {
		b.Write = false
	}
	if local {
		b.Local = !p.Accept("shared")
	} else {
		b.Local = p.Accept("local")
	}
	b.Packed = p.Accept("packed")
	b.Holds, b.Const = p.Accept("holds"), p.Accept("const")
	if p.Accept("image") {
		extents, err := lex.ListOf(&p.Lexer, "[", "]", p.Expr)
		if err != nil {
			return nil, err
		}
		if len(extents) != 2 {
			return nil, p.Errorf("want an image's [width, height], found %d extents", len(extents))
		}
		b.Image = &Image{extents[0], extents[1]}
	}
	p.buffers.declare(b.Name, b)
	return b, nil
}

// bracketed reads "[3*N]".
func (p *parser) bracketed() (sym.Expr, error) {
	if err := p.Expect("["); err != nil {
		return sym.Expr{}, err
	}
	e, err := p.Expr()
	if err != nil {
		return sym.Expr{}, err
	}
	return e, p.Expect("]")
}
