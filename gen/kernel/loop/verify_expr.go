package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// expr checks a scalar expression and gives its type.
func (v *verifier) expr(e te.Expr) ir.DType {
	switch x := e.(type) {
	case te.Const:
		v.known(x.Type)
	case te.Index:
		v.known(x.Type)
		v.index(x.E)
	case te.Call:
		args := make([]ir.DType, len(x.Args))
		for i, a := range x.Args {
			args[i] = v.expr(a)
		}
		if v.err == nil {
			if err := scalar.Check(x.Fn, x.Type, args); err != nil {
				v.fail("%w", err)
			}
		}
	case te.Select:
		v.within(x.Cond)
		v.unsure++ // only one of the two is computed
		defer func() { v.unsure-- }()
		if a, b := v.expr(x.Then), v.expr(x.Else); a != b {
			v.fail("a choice between %s and %s; want one type", a, b)
		}
	case Mem:
		v.memory(x.Buf, false)
		v.index(x.Index)
		v.texel(x.Texel, x.Buf)
		v.place(x.Buf, x.Index, x.Texel)
	case Near:
		v.memory(x.Buf, false)
		v.index(x.Index)
		v.index(x.Lane)
		if x.Width < 1 {
			v.fail("items exchange %q among %d", x.Buf.Name, x.Width)
		} else if v.err == nil {
			v.place(x.Buf, x.Index, Texel{})
		}
	case Ref:
		if is, ok := v.lookup(x.Name).(variable); !ok || is.t != x.Type {
			v.fail("%q is read as %s, but is a %T of type %v here", x.Name, x.Type, v.lookup(x.Name), is.t)
		}
	default: // tensor expressions' own, which lowering replaces
		v.fail("an expression of type %T", e)
		return ir.Invalid
	}
	if v.err != nil {
		return ir.Invalid
	}
	return e.DType()
}

// known checks the type of what has no other.
func (v *verifier) known(t ir.DType) {
	if t.Kind() == ir.KindNone {
		v.fail("a number of type %s", t)
	}
}
