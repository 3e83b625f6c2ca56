package hvx

import (
	"math"
	"regexp"
	"strings"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

var (
	clWord    = regexp.MustCompile(`\b(?:u?(?:char|short|int|long)|INFINITY|NAN)\b`)
	clAs      = regexp.MustCompile(`\bas_(\w+)\(`)
	clSuffix  = regexp.MustCompile(`\b(0x[0-9a-fA-F]+|[0-9]+)UL\b`)
	clBuiltin = regexp.MustCompile(`\b(copysign|fabs|isinf)\(`)
	clDouble  = regexp.MustCompile(`\b(fmod|rint|pow|exp|expm1|log|log1p|erf|floor|ceil|trunc|a?(?:sin|cos|tan)h?)\(`)
	clMin     = regexp.MustCompile(`\bmin\((\w+), (\w+)\)`)
	clMax     = regexp.MustCompile(`\bmax\((\w+), (\w+)\)`)
	clOwn     = regexp.MustCompile(`\b(sqrt|clz|ldexp|mul_hi|convert_float_rtz)\(`)
)

// words are what is called otherwise in C on Hexagon, whose long has 32 bits.
var words = map[string]string{
	"char": "int8_t", "uchar": "uint8_t", "short": "int16_t", "ushort": "uint16_t", "int": "int32_t", "uint": "uint32_t",
	"long": "int64_t", "ulong": "uint64_t", "INFINITY": "__builtin_inff()", "NAN": `__builtin_nanf("")`,
}

// inC is OpenCL C on scalars as C: scalar functions are written in OpenCL C (package scalar), whose names of
// types and of functions C does not have.
func inC(text string) string {
	text = clAs.ReplaceAllString(text, "dnn_as($1, ")
	text = clSuffix.ReplaceAllString(text, "${1}ULL")
	text = clBuiltin.ReplaceAllString(text, "__builtin_$1(")
	text = clMin.ReplaceAllString(text, "($1 < $2 ? $1 : $2)")
	text = clMax.ReplaceAllString(text, "($1 > $2 ? $1 : $2)")
	text = clDouble.ReplaceAllString(text, "dnn_f64_$1(")
	text = clOwn.ReplaceAllString(text, "dnn_c_$1(")
	return clWord.ReplaceAllStringFunc(text, func(w string) string { return words[w] })
}

// ownFunction are the functions that the header defines: clang for Hexagon makes instructions of
// "x > y ? x : y" that give y where x is NaN, and there is no fma without a C library.
var ownFunction = regexp.MustCompile(`^static (?:float|double) dnn_(?:max|min|clamp|product)_(?:float|double)\(`)

// functions are the type of indices, and the scalar functions that the kernels call.
func functions(ks []*loop.Kernel, bodies string) string {
	index := "int32_t"
	for _, k := range ks {
		if wide(k) {
			index = "int64_t"
		}
	}
	text := "typedef " + index + " dnn_index;\n\n"
	for _, f := range strings.SplitAfter(scalar.CLFunctions(bodies), "\n\n") {
		if !ownFunction.MatchString(f) {
			text += inC(f)
		}
	}
	return text
}

// wide reports whether a step of a kernel's index expressions may leave 32 bits.
func wide(k *loop.Kernel) bool {
	facts := sym.Facts{}
	for v, r := range k.Facts {
		facts[v] = r
	}
	_, tasks := k.Tasks().Bounds(k.Facts)
	facts[loop.TaskVar] = sym.Range{Lo: 0, Hi: max(tasks, 1)}
	found := false
	loop.Exprs(k.Statements(), func(e sym.Expr) { found = found || leaves(e, facts) })
	return found
}

// leaves reports whether the sum of the magnitudes of an expression's terms, or a part of one, may
// leave 32 bits.
func leaves(e sym.Expr, f sym.Facts) bool {
	terms, c := e.Terms()
	total := math.Abs(float64(c))
	for _, t := range terms {
		product := math.Abs(float64(t.Coef))
		for _, a := range t.Atoms {
			lo, hi := sym.FromAtom(a).Bounds(f)
			product *= max(math.Abs(float64(lo)), math.Abs(float64(hi)))
			if a.Kind != sym.AtomVar && (leaves(a.A, f) || leaves(a.B, f)) {
				return true
			}
		}
		total += product
	}
	return total > math.MaxInt32
}
