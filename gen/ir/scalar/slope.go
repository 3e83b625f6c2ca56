package scalar

import (
	"fmt"
	"strconv"
	"strings"
)

// slopes are the partial derivatives of the functions of floats, one formula for each argument: a, b and c are the
// arguments and y is the result. At a kink they are the mean of the slopes beside it, so that smooth functions made of
// functions with kinks have theirs (Softplus is max(x, 0) + log1p(exp(-|x|))). A function that is flat wherever it has a slope has 0.
var slopes = map[string][]string{
	"add":     {"1", "1"},
	"sub":     {"1", "-1"},
	"mul":     {"b", "a"},
	"product": {"b", "a"},
	"div":     {"reciprocal(b)", "neg(div(y, b))"},
	// a - b*floor(a/b) and a - b*trunc(a/b)
	"mod":        {"1", "neg(floor(div(a, b)))"},
	"fmod":       {"1", "neg(trunc(div(a, b)))"},
	"fma":        {"b", "a", "1"},
	"neg":        {"-1"},
	"abs":        {"sign(a)"},
	"sign":       {"0"},
	"min":        {"select(lt(a, b), 1, select(eq(a, b), 0.5, 0))", "select(lt(b, a), 1, select(eq(a, b), 0.5, 0))"},
	"max":        {"select(gt(a, b), 1, select(eq(a, b), 0.5, 0))", "select(gt(b, a), 1, select(eq(a, b), 0.5, 0))"},
	"max_number": {"select(gt(a, b), 1, select(eq(a, b), 0.5, 0))", "select(gt(b, a), 1, select(eq(a, b), 0.5, 0))"},
	"reciprocal": {"neg(mul(y, y))"},

	"sqrt":  {"div(0.5, y)"},
	"rsqrt": {"mul(-0.5, div(y, a))"},
	// The logarithm of a negative base does not exist; its slope matters to no network that computes numbers.
	"pow":      {"select(eq(b, 0), 0, mul(b, pow(a, sub(b, 1))))", "select(gt(a, 0), mul(y, log(a)), 0)"},
	"exp":      {"y"},
	"expm1":    {"add(y, 1)"},
	"logistic": {"mul(y, sub(1, y))"},
	"log":      {"reciprocal(a)"},
	"log1p":    {"reciprocal(add(1, a))"},
	// 2/sqrt(pi) * exp(-a^2)
	"erf": {"mul(1.1283791670955126, exp(neg(mul(a, a))))"},

	"sin":   {"cos(a)"},
	"cos":   {"neg(sin(a))"},
	"tan":   {"add(1, mul(y, y))"},
	"asin":  {"rsqrt(sub(1, mul(a, a)))"},
	"acos":  {"neg(rsqrt(sub(1, mul(a, a))))"},
	"atan":  {"reciprocal(add(1, mul(a, a)))"},
	"sinh":  {"cosh(a)"},
	"cosh":  {"sinh(a)"},
	"tanh":  {"sub(1, mul(y, y))"},
	"asinh": {"rsqrt(add(mul(a, a), 1))"},
	"acosh": {"rsqrt(sub(mul(a, a), 1))"},
	"atanh": {"reciprocal(sub(1, mul(a, a)))"},

	"floor": {"0"},
	"ceil":  {"0"},
	"round": {"0"},
	"trunc": {"0"},

	// The condition of select has no slope; neither has a conversion one that its types do not decide.
	"select": {"0", "select(a, 1, 0)", "select(a, 0, 1)"},
	"cast":   {"1"},
}

// Formula is an expression of a slope.
type Formula struct {
	Fn   string // a row of the table; or "", for an argument, the result or a number
	Args []*Formula
	Arg  int     // the argument's number; Result is the function's result
	Num  float64 // the number, where Arg is Number
}

// What the leaf of a formula is, besides an argument's number.
const (
	Result = -1
	Number = -2
)

// Slopes are the partial derivatives of a function by its arguments. Comparisons and functions of bits have none.
func Slopes(name string) ([]*Formula, error) {
	texts, ok := slopes[name]
	if !ok {
		return nil, fmt.Errorf("scalar function %q has no derivative", name)
	}
	out := make([]*Formula, len(texts))
	for i, s := range texts {
		f, rest, err := parseFormula(s)
		if err != nil || rest != "" {
			return nil, fmt.Errorf("slope %q of scalar function %q: %v, at %q", s, name, err, rest)
		}
		out[i] = f
	}
	return out, nil
}

// Is reports whether the formula is the number.
func (f *Formula) Is(x float64) bool { return f.Fn == "" && f.Arg == Number && f.Num == x }

// parseFormula reads fn(formula, ...), an argument or a number, and gives what follows it.
func parseFormula(s string) (f *Formula, rest string, err error) {
	end := strings.IndexAny(s, "(,)")
	if end < 0 {
		end = len(s)
	}
	word := s[:end]
	if end == len(s) || s[end] != '(' {
		f, err := leaf(word)
		return f, s[end:], err
	}
	f = &Formula{Fn: word}
	for rest = s[end:]; rest != "" && rest[0] != ')'; {
		arg, after, err := parseFormula(strings.TrimPrefix(rest[1:], " "))
		if err != nil {
			return nil, after, err
		}
		f.Args, rest = append(f.Args, arg), after
	}
	if row := Lookup(word); rest == "" || row == nil || row.Arity != len(f.Args) {
		return nil, rest, fmt.Errorf("a malformed call of %q", word)
	}
	return f, rest[1:], nil
}

func leaf(word string) (*Formula, error) {
	switch word {
	case "a", "b", "c":
		return &Formula{Arg: int(word[0] - 'a')}, nil
	case "y":
		return &Formula{Arg: Result}, nil
	}
	x, err := strconv.ParseFloat(word, 64)
	return &Formula{Arg: Number, Num: x}, err
}
