package loop

import (
	"fmt"
	"math"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func (p *printer) stmts(body []Stmt) {
	for _, s := range body {
		p.stmt(s)
	}
}

// inner writes the statements of a block.
func (p *printer) inner(body []Stmt) {
	p.depth++
	p.vars.enter()
	p.stmts(body)
	p.vars.leave()
	p.depth--
}

func (p *printer) stmt(s Stmt) {
	switch x := s.(type) {
	case For:
		p.loop(x)
	case Index:
		p.line("index %s = %s", x.Var, x.Value)
	case Bind:
		p.assign("bind "+x.Var, x.Value, fmt.Sprintf(" in %s..%s%s", x.Lo, x.Hi, map[bool]string{true: " known"}[x.Known]))
	case Def:
		p.assign("var "+x.Name, x.Init, "")
		p.vars.declare(x.Name, typeOf(x.Init))
	case Set:
		p.assign(x.Name, x.Value, "")
	case Alloc:
		p.line("array %s", declaration(x.Buf, true, true))
	case Store:
		p.assign(element(x.Buf, x.Index, x.Texel), x.Value, "")
	case Claim:
		if x.Later {
			p.line("fetch %s", flat(x.Buf, x.Index))
		} else {
			p.line("claim %s", flat(x.Buf, x.Index))
		}
	case If:
		p.line("if %s {", conditions(x.Cond))
		p.inner(x.Then)
		if len(x.Else) > 0 {
			p.line("} else {")
			p.inner(x.Else)
		}
		p.line("}")
	case Tile:
		p.tile(x)
	case Barrier:
		p.line("barrier")
	case Call:
		p.call(x)
	default:
		p.line("<a statement of type %T>", s)
	}
}

func (p *printer) loop(x For) {
	p.begin()
	fmt.Fprintf(p, "for %s < %s", x.Var, x.Extent)
	if x.Lanes != 0 {
		fmt.Fprintf(p, " lanes %d", x.Lanes)
	}
	if x.Halves {
		p.WriteString(" halves")
	}
	if x.Stride != 0 {
		fmt.Fprintf(p, " stride %d", x.Stride)
	}
	if x.Items {
		p.WriteString(" items")
	}
	p.WriteString(" {\n")
	p.inner(x.Body)
	p.line("}")
}

func (p *printer) assign(to string, value te.Expr, rest string) {
	p.begin()
	p.WriteString(to + " = ")
	p.scalar(value)
	p.WriteString(rest + "\n")
}

func (p *printer) tile(x Tile) {
	fetch := ""
	if !x.FetchAt.Is(0) {
		fetch = " fetch " + x.FetchAt.String()
	}
	if x.Index != nil || x.Ends != nil {
		fetch += fmt.Sprintf(" of %s until %s", flat(x.Index, x.IndexAt), flat(x.Ends, x.EndsAt))
	}
	p.line("tile %s %s = %s * %s%s", p.micros[x.Micro.text()],
		flat(x.Acc, x.AccAt), flat(x.X, x.XAt), flat(x.W, x.At), fetch)
}

// flat is a place in a buffer whose elements lie one after the other.
func flat(b *Buffer, index sym.Expr) string {
	if b == nil {
		return "none"
	}
	return fmt.Sprintf("%s[%s]", b.Name, index)
}

// element is a place in a buffer, or in an image.
func element(b *Buffer, index sym.Expr, t Texel) string {
	if b == nil || b.Image == nil && t.X.Is(0) && t.Y.Is(0) {
		return flat(b, index)
	}
	return fmt.Sprintf("%s[%s; %s, %s]", b.Name, index, t.X, t.Y)
}

// scalar appends an expression: a deep one is not copied at each level.
func (p *printer) scalar(e te.Expr) {
	switch x := e.(type) {
	case nil:
		p.WriteString("none")
	case te.Const:
		p.WriteString(literal(x))
	case te.Index:
		fmt.Fprintf(p, "%s(%s)", x.Type, x.E)
	case te.Call:
		fmt.Fprintf(p, "%s %s(", x.Type, x.Fn)
		for i, a := range x.Args {
			if i > 0 {
				p.WriteString(", ")
			}
			p.scalar(a)
		}
		p.WriteString(")")
	case te.Select:
		p.WriteString("(")
		p.scalar(x.Then)
		fmt.Fprintf(p, " if %s else ", conditions(x.Cond))
		p.scalar(x.Else)
		p.WriteString(")")
	case Mem:
		p.WriteString(element(x.Buf, x.Index, x.Texel))
	case Near:
		fmt.Fprintf(p, "near(%s, %d, %s)", element(x.Buf, x.Index, Texel{}), x.Width, x.Lane)
	case Ref:
		p.WriteString(x.Name)
		_, other := ir.ParseDType(x.Name) // u8 may be a variable
		if t, ok := p.vars.find(x.Name); !ok || t != x.Type || other == nil {
			fmt.Fprintf(p, ":%s", x.Type)
		}
	default:
		fmt.Fprintf(p, "<an expression of type %T>", e)
	}
}

// typeOf is an expression's type, Invalid where it lacks what says so.
func typeOf(e te.Expr) ir.DType {
	switch x := e.(type) {
	case nil:
		return ir.Invalid
	case te.Select:
		return typeOf(x.Then)
	case te.Let:
		return typeOf(x.Body)
	case Mem:
		if x.Buf == nil {
			return ir.Invalid
		}
	case Near:
		if x.Buf == nil {
			return ir.Invalid
		}
	}
	return e.DType()
}

// literal is a constant with all of its bits: a NaN in hexadecimal, other floats by the shortest number that is read as they are.
func literal(x te.Const) string {
	number := strconv.FormatUint(x.Bits, 10)
	switch x.Type.Kind() {
	case ir.KindInt:
		number = strconv.FormatInt(int64(x.Bits), 10)
	case ir.KindFloat:
		number = strconv.FormatFloat(math.Float64frombits(x.Bits), 'g', -1, 64)
		if math.IsNaN(math.Float64frombits(x.Bits)) {
			number = fmt.Sprintf("0x%x", x.Bits)
		}
	}
	return x.Type.String() + ":" + number
}
