package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// call writes the call of an opaque operator:
//
//	call TopK<f32, i64> whole {
//	  operand a0 f32[N, 4]
//	  operand _
//	  result y0 f32[N, K]
//	  result _ i64[N, K]
//	  scratch scratch_0 i64[3*N]
//	  args operand 0, result 0, computed 0, scratch 0, size N, dims [N, 4], numbers, flag true
//	  computes K 0..64 up to 4*N "rows"
//	  element 0 = K
//	  work 16*N
//	}
//
// "_" is an operand or a result that is absent.
func (p *printer) call(x Call) {
	p.line("call %s {", x.signature())
	p.depth++
	for i, t := range x.Call.Operands {
		p.line("operand %s%s", named(x.Operands, i), tensorText(t))
	}
	for i, t := range x.Call.Results {
		p.line("result %s%s", named(x.Results, i), tensorText(t))
	}
	for i, m := range x.Call.Scratch {
		p.line("scratch %s %s[%s]", named(x.Scratch, i), m.Type, m.Size)
	}
	if len(x.Args) > 0 {
		p.line("args %s", join(x.Args, argText))
	}
	for _, s := range x.Computes {
		p.line("computes %s %d..%d up to %s %s", s.Name, s.Lo, s.Hi, s.Max, quote(s.What))
	}
	for _, i := range slices.Sorted(maps.Keys(x.Elements)) {
		p.line("element %d = %s", i, x.Elements[i])
	}
	p.line("work %s", x.Work)
	p.depth--
	p.line("}")
}

func (x Call) signature() string {
	out := fmt.Sprintf("%s<%s>", x.Name, join(x.Types, ir.DType.String))
	if x.Whole {
		out += " whole"
	}
	return out
}

// named is the name of buffer i.
func named(bs []*Buffer, i int) string {
	if i >= len(bs) || bs[i] == nil {
		return "_"
	}
	return bs[i].Name
}

// tensorText is a type and a shape after a space, or nothing where the operator has no such operand.
func tensorText(t opaque.Tensor) string {
	if t.Type == ir.Invalid {
		return ""
	}
	return fmt.Sprintf(" %s[%s]", t.Type, join(t.Shape, sym.Expr.String))
}

func argText(a opaque.Arg) string {
	switch a.Kind {
	case opaque.Size:
		return "size " + a.Size.String()
	case opaque.Dims:
		return "dims [" + join(a.Dims, sym.Expr.String) + "]"
	case opaque.Numbers:
		return "numbers"
	case opaque.Flag:
		return fmt.Sprintf("flag %t", a.Flag)
	}
	return fmt.Sprintf("%s %d", pointerWords[a.Kind], a.N)
}

// pointerWords are the arguments that are one of several.
var pointerWords = [...]string{opaque.Operand: "operand", opaque.Result: "result", opaque.Scratch: "scratch", opaque.Computed: "computed"}

func join[T any](xs []T, text func(T) string) string {
	out := make([]string, len(xs))
	for i, x := range xs {
		out[i] = text(x)
	}
	return strings.Join(out, ", ")
}
