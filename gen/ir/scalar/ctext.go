package scalar

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
)

// text is a row's C++ by the kind of its result: $0, $1, $2 are the arguments
// and $T is the result's type. Texts of f32 also serve GNU vectors of floats
// (runtime/dnn_math.h), as do those of bool with vectors of masks.
type text struct{ f32, f64, integer, boolean string }

// operator is a binary operator on floats. Integers use a function that wraps,
// since signed overflow is undefined in C++ and division may trap.
func operator(op, integer string) text {
	s := "($0 " + op + " $1)"
	return text{f32: s, f64: s, integer: "dnn_math::" + integer + "<$T>($0, $1)"}
}

// function is calls by the kind of the result; "" where a kind is not taken.
func function(f32, f64, integer string) text {
	t := text{f32: "dnn_math::" + f32 + "($*)", f64: f64 + "($*)"}
	if integer != "" {
		t.integer = "dnn_math::" + integer + "<$T>($*)"
	}
	return t
}

var ctypes = map[ir.DType]string{
	ir.Bool: "bool", ir.I8: "int8_t", ir.I16: "int16_t", ir.I32: "int32_t", ir.I64: "int64_t",
	ir.U8: "uint8_t", ir.U16: "uint16_t", ir.U32: "uint32_t", ir.U64: "uint64_t",
	ir.F16: "float", ir.BF16: "float", ir.F32: "float", ir.F64: "double",
}

// CType is the C++ type that expressions of element type t have. f16 and bf16
// are computed as float: loads and stores convert.
func CType(t ir.DType) string { return ctypes[t] }

// C is a C++ expression, in parentheses or a call, that applies the function.
// t is the result's type; args are expressions of the types that Check accepts,
// a float's with the suffix f. Arguments may be printed twice: they should be names
// or literals. It panics on a type that Check refuses.
func (r *Row) C(t ir.DType, args []string) string {
	if r.Result == Narrowed {
		return narrowText(t, args[0])
	}
	s := r.text.of(t)
	if s == "" || len(args) != r.Arity {
		panic(fmt.Sprintf("scalar function %q has no text for %d arguments and a result of type %s", r.Name, len(args), t))
	}
	if r.Result == Target && half(t) {
		s = "dnn_math::round_" + t.String() + "($0)"
	}
	if t.IsInteger() && t.Size() < 4 && s[0] == '(' && r.Result != Choice {
		s = "($T)" + s // operators give int
	}
	return fill(s, CType(t), args)
}

// Checked is a row that divides integers, with texts that set the int `bad` to 1 where the divisor is 0.
func (r *Row) Checked() *Row {
	name, args, _ := strings.Cut(r.text.integer, "<")
	out := *r
	out.text.integer = name + "_checked<" + strings.TrimSuffix(args, ")") + ", &bad)"
	return &out
}

// fill writes arguments and the result's type into a text.
func fill(s, t string, args []string) string {
	pairs := []string{"$*", strings.Join(args, ", "), "$T", t}
	for i, a := range args {
		pairs = append(pairs, fmt.Sprintf("$%d", i), a)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func (x text) of(t ir.DType) string {
	switch {
	case t == ir.Bool:
		return x.boolean
	case t == ir.F64:
		return x.f64
	case t.IsFloat():
		return x.f32
	case t.IsInteger():
		return x.integer
	}
	return ""
}
