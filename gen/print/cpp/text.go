// Package cpp prints kernels and the host program as C++17.
//
// Kernels are leaf functions over plain pointers and include no header of the
// C++ library. Vectors are GNU vector types, so one text serves every
// instruction set; the compiler's flags choose among them.
package cpp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/print/cexpr"
	"rules_dnn/gen/print/ctext"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// writer collects indented lines.
type writer struct {
	b      strings.Builder
	indent int
}

func (w *writer) line(format string, args ...any) {
	if format == "" {
		w.b.WriteByte('\n')
		return
	}
	w.b.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) block(head string, body func()) {
	w.line("%s {", head)
	w.indent++
	body()
	w.indent--
	w.line("}")
}

// storage is the C++ type of elements in memory.
func storage(t ir.DType) string {
	return map[ir.DType]string{
		ir.Bool: "bool", ir.I8: "int8_t", ir.I16: "int16_t", ir.I32: "int32_t", ir.I64: "int64_t",
		ir.U8: "uint8_t", ir.U16: "uint16_t", ir.U32: "uint32_t", ir.U64: "uint64_t",
		ir.F16: "uint16_t", ir.BF16: "uint16_t", ir.F32: "float", ir.F64: "double",
	}[t]
}

// local is the C++ type of a variable: the half types are computed in float.
func local(t ir.DType) string {
	if t == ir.F16 || t == ir.BF16 {
		return "float"
	}
	return storage(t)
}

// variable is the C++ name of a symbol or of a variable of the kernel's own: a symbol may be a
// keyword ("int") or a name that C++ reserves ("a__b").
func variable(s string) string {
	if ctext.IsIdent(s) {
		return s
	}
	return "sym_" + s
}

// exprs prints scalar expressions under the facts of one kernel.
type exprs struct {
	facts sym.Facts
	// name binds a text to a fresh local constant and returns its name. The texts of scalar
	// functions may repeat their arguments, so these are names wherever possible.
	name func(t ir.DType, text string) string
	// vector is the type of vectors along the variable lane, where a loop runs in them.
	vector, lane string
}

// typeName is the type of variables: vectors within a vector loop.
func (p exprs) typeName(t ir.DType) string {
	if p.vector != "" {
		return p.vector
	}
	return local(t)
}

func (p exprs) broadcast(text string) string {
	if p.vector == "" {
		return text
	}
	return "dnn_math::broadcast<" + p.vector + ">(" + text + ")"
}

func (p exprs) index(e sym.Expr) string { return cexpr.Under(e, variable, p.facts) }

func (p exprs) cond(ws []te.Within) string {
	var parts []string
	for _, w := range ws {
		if !sym.AtLeast(sym.Sub(w.E, w.Lo), 0, p.facts) {
			parts = append(parts, p.index(w.E)+" >= "+p.index(w.Lo))
		}
		if !sym.AtLeast(sym.Sub(w.Hi, w.E), 1, p.facts) {
			parts = append(parts, p.index(w.E)+" < "+p.index(w.Hi))
		}
	}
	if len(parts) == 0 {
		return "true"
	}
	return strings.Join(parts, " && ")
}

func (p exprs) value(e te.Expr) (string, error) {
	switch x := e.(type) {
	case te.Const:
		return p.broadcast(literal(x)), nil
	case te.Index:
		return "(" + local(x.Type) + ")" + p.index(x.E), nil
	case loop.Ref:
		return x.Name, nil
	case loop.Mem:
		return p.load(x), nil
	case te.Select:
		return p.choice(x)
	case te.Call:
		return p.call(x)
	}
	return "", fmt.Errorf("no C++ for expression %T", e)
}

func (p exprs) load(m loop.Mem) string {
	if p.vector != "" && m.Index.Uses(p.lane) {
		return fmt.Sprintf("dnn_load<%s>(%s + %s)", p.vector, m.Buf.Name, p.index(m.Index))
	}
	at := fmt.Sprintf("%s[%s]", m.Buf.Name, strip(p.index(m.Index)))
	if conv := fromHalf[m.Buf.Type]; conv != "" && !m.Buf.Local {
		return conv + "(" + at + ")"
	}
	return p.broadcast(at)
}

// strip drops one pair of parentheses around the whole text.
func strip(s string) string {
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return s
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(s)-1 {
			return s
		}
	}
	return s[1 : len(s)-1]
}

var fromHalf = map[ir.DType]string{ir.F16: "dnn_math::f16_to_f32", ir.BF16: "dnn_math::bf16_to_f32"}
var toHalf = map[ir.DType]string{ir.F16: "dnn_math::f32_to_f16", ir.BF16: "dnn_math::f32_to_bf16"}

// choice prints the arms in place: what stands under the condition may not be read elsewhere.
func (p exprs) choice(x te.Select) (string, error) {
	p.name = func(_ ir.DType, text string) string { return text }
	then, err := p.value(x.Then)
	if err != nil {
		return "", err
	}
	other, err := p.value(x.Else)
	if err != nil {
		return "", err
	}
	return "(" + p.cond(x.Cond) + " ? " + then + " : " + other + ")", nil
}

func (p exprs) call(x te.Call) (string, error) {
	row := scalar.Lookup(x.Fn)
	if row == nil {
		return "", fmt.Errorf("no scalar function %q", x.Fn)
	}
	if known, is := certain(x); is {
		return strconv.FormatBool(known), nil
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		s, err := p.value(a)
		if err != nil {
			return "", err
		}
		args[i] = s
		if !simple(a) {
			args[i] = p.name(a.DType(), s)
		}
	}
	text := row.C(x.Type, args)
	if fn := roundHalf[x.Type]; fn != "" && row.Result != scalar.Target {
		text = fn + "(" + text + ")" // each operation rounds to its type
	}
	return text, nil
}

// certain tells whether a comparison of unsigned numbers with 0 always has one result: C++
// compilers warn of those.
func certain(x te.Call) (known, is bool) {
	zero := func(i int) bool {
		c, ok := x.Args[i].(te.Const)
		return ok && c.Bits == 0 && c.Type.Kind() == ir.KindUint
	}
	switch {
	case x.Fn == "lt" && zero(1), x.Fn == "gt" && zero(0):
		return false, true
	case x.Fn == "ge" && zero(1), x.Fn == "le" && zero(0):
		return true, true
	}
	return false, false
}

var roundHalf = map[ir.DType]string{ir.F16: "dnn_math::round_f16", ir.BF16: "dnn_math::round_bf16"}

// simple tells texts that may stand twice: names and literals.
func simple(e te.Expr) bool {
	switch e.(type) {
	case te.Const, loop.Ref:
		return true
	}
	return false
}

// literal prints a constant so that its type is exact.
func literal(c te.Const) string {
	switch c.Type.Kind() {
	case ir.KindBool:
		return strconv.FormatBool(c.Bits != 0)
	case ir.KindUint:
		return fmt.Sprintf("(%s)%dU", local(c.Type), c.Bits)
	case ir.KindInt:
		v := int64(c.Bits)
		if v == math.MinInt64 {
			return "(-INT64_C(9223372036854775807) - 1)"
		}
		return fmt.Sprintf("(%s)INT64_C(%d)", local(c.Type), v)
	}
	return floatLiteral(c.Type, scalar.Value(c.Type, math.Float64frombits(c.Bits)))
}

func floatLiteral(t ir.DType, v float64) string {
	suffix, bits := "f", 32
	if t == ir.F64 {
		suffix, bits = "", 64
	}
	switch {
	case math.IsNaN(v):
		return "__builtin_nan" + suffix + `("")`
	case math.IsInf(v, 1):
		return "__builtin_inf" + suffix + "()"
	case math.IsInf(v, -1):
		return "(-__builtin_inf" + suffix + "())"
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	if math.Signbit(v) { // -0 as well
		return "(" + s + suffix + ")"
	}
	return s + suffix
}
