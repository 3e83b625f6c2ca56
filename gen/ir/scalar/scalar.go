// Package scalar is the table of scalar functions: what a te.Call means on
// elements. The interpreter evaluates rows over vectors in Go, and the printers
// print each row's C++ text; both follow from the one row.
//
// Float32 functions are the project's own polynomials, the same sequence of
// operations here and in runtime/dnn_math.h. Go rounds every product
// explicitly, or the compiler would fuse some on some build hosts and builds
// would differ in their last bits. C++ compilers may contract products into
// fma; a row's ULP bound covers both evaluations. Float64 functions are
// correctly rounded here, but for the rarest cases, and __builtin_* in C++.
package scalar

import (
	"fmt"
	"sort"
	"strings"

	"rules_dnn/gen/ir"
)

// Kinds is a set of kinds of element types.
type Kinds uint8

// Kinds of element types, as a set.
const (
	Bools Kinds = 1 << iota
	Ints
	Uints
	Floats

	Integers = Ints | Uints
	Numbers  = Integers | Floats
	Anything = Numbers | Bools
)

// Has reports whether the kind of t is in the set.
func (k Kinds) Has(t ir.DType) bool {
	switch t.Kind() {
	case ir.KindBool:
		return k&Bools != 0
	case ir.KindInt:
		return k&Ints != 0
	case ir.KindUint:
		return k&Uints != 0
	case ir.KindFloat:
		return k&Floats != 0
	}
	return false
}

// String lists the kinds: "signed integer, float".
func (k Kinds) String() string {
	var out []string
	for i, name := range [...]string{"bool", "signed integer", "unsigned integer", "float"} {
		if k&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// Rule tells how a row's result type follows from its arguments' types.
type Rule uint8

// Rules of result types.
const (
	Same        Rule = iota // one type for all arguments and the result
	Predicate               // arguments of one type, a bool result
	Choice                  // select: a bool, then two arguments of the result's type
	Target                  // cast: the result type is the Call's own
	Reinterpret             // bits: the result type is the Call's own, of the argument's size
	Quantized               // quantize: an f32 and a zero point of the result's type, an integer of 8 or 16 bits
	Narrowed                // narrow: an f32; the result type is the Call's own, a float of 16 bits
)

// Row is a scalar function.
type Row struct {
	Name  string
	Arity int
	// Kinds are the kinds of argument types taken (of select: of its last two).
	Kinds  Kinds
	Result Rule
	// ULP bounds the error of the float32 function in units in the last place,
	// with or without contraction of products; 0: correctly rounded.
	ULP float64
	// Exact reports that a result of f16 or bf16 arguments is a number of their type: it is one of them, or has no more bits.
	Exact bool
	// FLOPs is what one application counts for in reports and cost models.
	FLOPs int

	// lanes are the kinds of arguments whose C++ serves vectors, too. Floats are those of 64 bits: texts of f32 all do.
	lanes Kinds

	text text   // C++
	a64  string // see A64
	// HalfULP bounds the error of the function of vectors of f16 (see Halves) in units of f16, or 0 if
	// it is one instruction.
	HalfULP float64
	float   impl  // evaluators over float32 (f16 and bf16 too), float64
	whole   whole // evaluators over integers and bool
}

var byName = func() map[string]*Row {
	m := make(map[string]*Row, len(table))
	for i := range table {
		m[table[i].Name] = &table[i]
	}
	return m
}()

// Lookup is the row of a function, or nil.
func Lookup(name string) *Row { return byName[name] }

// Table is all rows, sorted by name.
func Table() []*Row {
	out := make([]*Row, 0, len(table))
	for i := range table {
		out = append(out, &table[i])
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Check reports whether the function takes these arguments and gives result.
func Check(name string, result ir.DType, args []ir.DType) error {
	row := Lookup(name)
	if row == nil {
		return fmt.Errorf("no scalar function %q", name)
	}
	if row.converts() {
		return row.checkArgs(args, result)
	}
	got, err := ResultType(name, args)
	if err == nil && got != result {
		err = fmt.Errorf("scalar function %q of %s returns %s, not %s", name, list(args), got, result)
	}
	return err
}

// converts reports whether the result type is the Call's own.
func (r *Row) converts() bool { return r.Result == Reinterpret || r.Rounds() }

// Rounds reports whether the function converts to the Call's own type, so that what it gives of 16 bits is rounded.
func (r *Row) Rounds() bool { return r.Result == Target || r.Result == Narrowed }

// ResultType is the type that the function gives for arguments of these types.
// The type of a cast is the Call's own and follows from nothing.
func ResultType(name string, args []ir.DType) (ir.DType, error) {
	row := Lookup(name)
	if row == nil {
		return ir.Invalid, fmt.Errorf("no scalar function %q", name)
	}
	if row.converts() {
		return ir.Invalid, fmt.Errorf("the result type of %q does not follow from its argument's", name)
	}
	if err := row.checkArgs(args, ir.Invalid); err != nil {
		return ir.Invalid, err
	}
	if row.Result == Predicate {
		return ir.Bool, nil
	}
	return args[len(args)-1], nil
}

func (r *Row) checkArgs(args []ir.DType, target ir.DType) error {
	if len(args) != r.Arity {
		return fmt.Errorf("scalar function %q takes %d arguments, not %d", r.Name, r.Arity, len(args))
	}
	rest := args
	switch r.Result {
	case Quantized:
		return r.checkQuantized(args)
	case Narrowed:
		return r.checkNarrowed(args, target)
	}
	if r.Result == Choice {
		if args[0] != ir.Bool {
			return fmt.Errorf("scalar function %q wants bool first, found %s", r.Name, args[0])
		}
		rest = args[1:]
	}
	for _, t := range rest {
		if t != rest[0] {
			return fmt.Errorf("scalar function %q wants arguments of one type, found %s", r.Name, list(args))
		}
	}
	if !r.Kinds.Has(rest[0]) {
		return fmt.Errorf("scalar function %q takes %s, not %s", r.Name, r.Kinds, rest[0])
	}
	if r.converts() && !r.Kinds.Has(target) {
		return fmt.Errorf("scalar function %q cannot return %s", r.Name, target)
	}
	if r.Result == Reinterpret && (target.Size() != rest[0].Size() || half(target) || half(rest[0])) {
		return fmt.Errorf("scalar function %q wants types of one size, f16 and bf16 apart, found %s and %s", r.Name, rest[0], target)
	}
	return nil
}

// half tells the types that are computed as f32.
func half(t ir.DType) bool { return t == ir.F16 || t == ir.BF16 }

func list(types []ir.DType) string {
	var out []string
	for _, t := range types {
		out = append(out, t.String())
	}
	return "(" + strings.Join(out, ", ") + ")"
}
