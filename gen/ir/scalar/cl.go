package scalar

import (
	_ "embed" // the functions
	"fmt"
	"regexp"
	"sort"
	"strings"

	"rules_dnn/gen/ir"
)

// clTypes are OpenCL C's names of element types; f16 and bf16 are computed as float.
var clTypes = map[ir.DType]string{
	ir.Bool: "bool", ir.I8: "char", ir.I16: "short", ir.I32: "int", ir.I64: "long",
	ir.U8: "uchar", ir.U16: "ushort", ir.U32: "uint", ir.U64: "ulong",
	ir.F16: "float", ir.BF16: "float", ir.F32: "float", ir.F64: "double",
}

// CLType is the OpenCL C type that expressions of element type t have, in vectors of so many lanes; 0
// stands for a scalar.
func CLType(t ir.DType, lanes int64) string {
	if lanes == 0 {
		return clTypes[t]
	}
	return fmt.Sprintf("%s%d", clTypes[t], lanes)
}

var (
	cppCall     = regexp.MustCompile(`dnn_math::(\w+?)(<\$T>)?\(`)
	builtinCall = regexp.MustCompile(`__builtin_(\w+)\(`)
)

// CL is an OpenCL C expression that applies the function to arguments of the types `from`; see C, whose
// texts it writes without templates: what they call stands in CLFunctions. lanes is not 0 in vectors.
func (r *Row) CL(t ir.DType, from []ir.DType, lanes int64, args []string) string {
	switch r.Result {
	case Target:
		return clCast(t, from[0], args[0])
	case Narrowed:
		return "dnn_round_" + t.String() + "(" + HeldCL(t, args[0]) + ")"
	case Reinterpret:
		return "as_" + clTypes[t] + "(" + args[0] + ")"
	case Quantized:
		return fmt.Sprintf("dnn_saturate_%s(dnn_round_float(%s) + (float)(%s))", clTypes[t], args[0], args[1])
	}
	s := r.text.of(t)
	if s == "" || len(args) != r.Arity || len(from) != r.Arity {
		panic(fmt.Sprintf("scalar function %q has no text for %d arguments and a result of type %s", r.Name, len(args), t))
	}
	s = cppCall.ReplaceAllString(s, "dnn_${1}_"+CLType(from[len(from)-1], lanes)+"(")
	s = builtinCall.ReplaceAllString(s, "$1(")
	if t.IsInteger() && t.Size() < 4 && s[0] == '(' && r.Result != Choice {
		s = "($T)" + s // operators give int
	}
	return fill(s, clTypes[t], args)
}

// clCast converts as dnn_math::cast and dnn_math::round_f16 do.
func clCast(to, from ir.DType, x string) string {
	t := clTypes[to]
	switch {
	case to == ir.Bool:
		return "(" + x + " != 0)"
	case half(to):
		if !half(from) && from != ir.F32 && from != ir.Bool {
			x = "dnn_odd_" + clTypes[from] + "(" + x + ")"
		}
		return "dnn_round_" + to.String() + "((float)(" + x + "))"
	case from == ir.F64 && to.IsInteger():
		return "dnn_saturate_wide_" + t + "(" + x + ")"
	case from.IsFloat() && to.IsInteger():
		return "dnn_saturate_" + t + "(" + x + ")"
	}
	return "(" + t + ")(" + x + ")"
}

//go:embed math.cl
var mathCL string

// clFunction is one of the file's: its text, and its name, without _T where it exists for several types.
type clFunction struct {
	name, text string
	generic    bool
}

var clHead = regexp.MustCompile(`(?m)^static \w+ (dnn_\w+)\(`)

// clTable are the file's functions in order: each calls only earlier ones.
var clTable = func() []clFunction {
	var out []clFunction
	for _, part := range strings.Split(mathCL, "\n\n") {
		m := clHead.FindStringSubmatch(part)
		if m == nil {
			continue // a heading
		}
		name, generic := strings.CutSuffix(m[1], "_T")
		out = append(out, clFunction{name, strings.TrimSpace(part), generic})
	}
	return out
}()

var clName = regexp.MustCompile(`\bdnn_\w+`)

// CLFunctions are the functions that a text in OpenCL C calls, and those that they call.
func CLFunctions(text string) string {
	types := make([]map[string]bool, len(clTable)) // of each function, those it is wanted for
	var want func(text string)
	want = func(text string) {
		for _, name := range clName.FindAllString(text, -1) {
			i, t := clFind(name)
			if i < 0 || types[i][t] {
				continue
			}
			if types[i] == nil {
				types[i] = map[string]bool{}
			}
			types[i][t] = true
			want(clTable[i].of(t))
		}
	}
	want(text)
	var out strings.Builder
	for i, f := range clTable {
		var names []string
		for t := range types[i] {
			names = append(names, t)
		}
		sort.Strings(names)
		for _, t := range names {
			out.WriteString(f.of(t) + "\n\n")
		}
	}
	return out.String()
}

// clFind is the function of a name and the type it is wanted for; -1 where the name is no function's.
func clFind(name string) (int, string) {
	for i, f := range clTable {
		if !f.generic && f.name == name {
			return i, ""
		}
	}
	for i, f := range clTable {
		if t, ok := strings.CutPrefix(name, f.name+"_"); ok && f.generic && clIsType(t) {
			return i, t
		}
	}
	return -1, ""
}

var clNumber = regexp.MustCompile(`[0-9]+$`)

func clIsType(t string) bool {
	t = clNumber.ReplaceAllString(t, "")
	for _, name := range clTypes {
		if t == name {
			return true
		}
	}
	return false
}

var clPlaceholder = regexp.MustCompile(`\b(?:T|U|N|vloadN|vstoreN)\b|_[TU]\b`)

// of is the function for a type.
func (f clFunction) of(t string) string {
	if !f.generic {
		return f.text
	}
	n := clNumber.FindString(t)
	values := map[string]string{"T": t, "U": "uint" + n, "N": n, "vloadN": "vload" + n, "vstoreN": "vstore" + n, "_T": "_" + t, "_U": "_uint" + n}
	return clPlaceholder.ReplaceAllStringFunc(f.text, func(s string) string { return values[s] })
}
