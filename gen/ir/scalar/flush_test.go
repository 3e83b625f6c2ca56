package scalar

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// A run takes denormal numbers for zeros unless it is told to keep them (runtime/dnn_cpu.h). The tests
// here run every function so: what a function computes on its way must not be lost. Denormal operands
// give what they do as numbers, or what zeros give; denormal results are compared no further.

const (
	normal32 = 0x1p-126
	normal64 = 0x1p-1022
)

// denormal reports whether x is no zero, but less than any normal number of type t.
func denormal(t ir.DType, x float64) bool {
	least := float64(normal32)
	if t == ir.F64 {
		least = normal64
	}
	return x != 0 && math.Abs(x) < least
}

// floats are operands of type t: of all magnitudes, of few digits, denormal, and around the least normal number and the greatest.
func floats(t ir.DType) []float64 {
	var out []float64
	if t == ir.F64 {
		out = doubles()
	} else {
		for _, x := range samples(3000017) {
			out = append(out, float64(x))
		}
	}
	least, digits, normal, bits := -126, 0x1p-23, float64(normal32), 23
	if t == ir.F64 {
		least, digits, normal, bits = -1022, 0x1p-52, normal64, 52
	}
	for k := 1; k <= bits; k += 1 + k/4 {
		x := math.Ldexp(normal, -k)
		out = append(out, x, -x, 3*x/2, -5*x/4, normal-x, x-normal)
	}
	for e := least; e <= 1-least; e += 1 + (e-least)/8 {
		x := math.Ldexp(1, e)
		out = append(out, x, -x, 3*x/2, -5*x/4, x+x*digits, -x-x*digits, x+5*x*digits)
	}
	for _, x := range []float64{5, 5.5, 7, 2.5, 3, 11, 1e-10, 0.1} {
		out = append(out, x, -x)
	}
	for i, x := range out {
		out[i] = Value(t, x)
	}
	return out[:len(out)&^7]
}

// zeroed is a vector with zeros in place of denormal numbers.
func zeroed(t ir.DType, v *Vec) *Vec {
	out := NewVec(t, v.Len())
	for i := range v.Len() {
		switch t {
		case ir.F64:
			if out.F64[i] = v.F64[i]; denormal(t, v.F64[i]) {
				out.F64[i] = math.Copysign(0, v.F64[i])
			}
		default:
			if out.F32[i] = v.F32[i]; denormal(t, float64(v.F32[i])) {
				out.F32[i] = float32(math.Copysign(0, float64(v.F32[i])))
			}
		}
	}
	return out
}

// vector holds numbers as elements of a float type.
func vector(t ir.DType, xs []float64) *Vec {
	v := NewVec(t, len(xs))
	for i, x := range xs {
		if t == ir.F64 {
			v.F64[i] = x
		} else {
			v.F32[i] = float32(x)
		}
	}
	return v
}

// rotated are the elements of v from place n on, and then those before.
func rotated[T any](v []T, n int) []T {
	n %= len(v)
	return append(append([]T{}, v[n:]...), v[:n]...)
}

// operands are vectors of floats in which each element meets many others.
func operands(row *Row, t ir.DType, turn int) []*Vec {
	xs := floats(t)
	args := make([]*Vec, row.Arity)
	for k := range args {
		args[k] = vector(t, rotated(xs, k*(1+7919*turn)))
	}
	return args
}

// results are the types that a row gives of floats of type t.
func (r *Row) results(t ir.DType) []ir.DType {
	switch r.Result {
	case Predicate:
		return []ir.DType{ir.Bool}
	case Target:
		return append([]ir.DType{ir.Bool, ir.F16, ir.BF16, ir.F32, ir.F64}, wholeTypes...)
	case Reinterpret:
		if t == ir.F64 {
			return []ir.DType{ir.I64, ir.U64}
		}
		return []ir.DType{ir.I32, ir.U32}
	}
	return []ir.DType{t}
}

// flushed is one function in a program, and what it must give.
type flushed struct {
	name   string
	row    *Row
	t      ir.DType // of the operands
	result ir.DType // as C++ holds it
	args   []*Vec
	want   [2]*Vec // of the operands, and of zeros in place of denormal ones
}

// newFlushed is a row on operands of type t with results of type `to`. A choice is by the sign of its first operand.
func newFlushed(t *testing.T, row *Row, of, to ir.DType, args []*Vec) *flushed {
	f := &flushed{name: fmt.Sprintf("%s of %s to %s", row.Name, of, to), row: row, t: of, result: to, args: args}
	zeros := make([]*Vec, len(args))
	for k, a := range args {
		zeros[k] = zeroed(of, a)
	}
	f.want = [2]*Vec{wanted(t, row, of, to, args), wanted(t, row, of, to, zeros)}
	if half(to) {
		f.result = ir.F32 // which holds them
	}
	return f
}

func wanted(t *testing.T, row *Row, of, to ir.DType, args []*Vec) *Vec {
	types, in, out := make([]ir.DType, len(args)), append([]*Vec{}, args...), NewVec(to, args[0].Len())
	for k := range types {
		types[k] = of
	}
	if row.Result == Choice {
		types[0], in[0] = ir.Bool, NewVec(ir.Bool, args[0].Len())
		Lookup("gt").evaluate(t, ir.Bool, of, in[0], []*Vec{args[0], NewVec(of, args[0].Len())})
	}
	eval, err := Bind(row.Name, to, types)
	require.NoError(t, err)
	eval(out, in)
	return out
}

func (r *Row) evaluate(t *testing.T, to, of ir.DType, dst *Vec, args []*Vec) {
	eval, err := Bind(r.Name, to, []ir.DType{of, of}[:len(args)])
	require.NoError(t, err)
	eval(dst, args)
}

// shown is the row with the text that it has for results of type `to`, whatever C++ holds these as.
func shown(row *Row, to ir.DType) *Row {
	args := []string{"$0", "$1", "$2"}[:row.Arity]
	if row.Result == Choice {
		args[0] = "($0 > 0)"
	}
	out, s := *row, row.C(to, args)
	out.text = text{s, s, s, s}
	return &out
}

// add adds the function in so many lanes to a program.
func (f *flushed) add(p *program, to ir.DType, lanes int) {
	var data []any
	for _, a := range f.args {
		data = append(data, raw(f.t, a))
	}
	p.add(shown(f.row, to), f.result, f.t, lanes, data...)
}

// check compares the results with what is wanted, and gives the rest.
func (f *flushed) check(t *testing.T, res []byte) []byte {
	size := f.result.Size()
	for i := range f.want[0].Len() {
		bits := binary.LittleEndian.Uint64(append(append([]byte{}, res[:size]...), make([]byte, 8-size)...))
		res = res[size:]
		if !f.right(i, bits, f.want[0]) && !f.right(i, bits, f.want[1]) {
			t.Fatalf("%s: %s: C++ gives %s, Go %s, or %s with zeros for denormal numbers",
				f.name, f.at(i), f.shown(bits), f.of(i, f.want[0]), f.of(i, f.want[1]))
		}
	}
	return res
}

// number is what the bits of a float result are.
func (f *flushed) number(bits uint64) float64 {
	if f.result == ir.F64 {
		return math.Float64frombits(bits)
	}
	return float64(math.Float32frombits(uint32(bits)))
}

func (f *flushed) shown(bits uint64) string {
	if f.result.IsFloat() {
		return fmt.Sprintf("%x", f.number(bits))
	}
	return fmt.Sprint(bits)
}

// of is element i of v, as text.
func (f *flushed) of(i int, v *Vec) string {
	switch ClassOf(f.result) {
	case ClassF32:
		return fmt.Sprintf("%x", v.F32[i])
	case ClassF64:
		return fmt.Sprintf("%x", v.F64[i])
	}
	return fmt.Sprint(v.I64[i])
}

// right reports whether the bits of result i are what is wanted.
func (f *flushed) right(i int, bits uint64, wanted *Vec) bool {
	got, want, slack := 0.0, 0.0, 0.0
	switch ClassOf(f.result) {
	case ClassF32:
		got, want = f.number(bits), float64(wanted.F32[i])
	case ClassF64: // by the compiler's own functions, and here by package scalar's
		got, want, slack = f.number(bits), wanted.F64[i], 1e-12
	default:
		return uint64(wanted.I64[i])&(^uint64(0)>>(64-8*f.result.Size())) == bits
	}
	same := got != got && want != want || got == want && math.Signbit(got) == math.Signbit(want)
	return same || math.Abs(got-want) <= slack*math.Abs(want) || f.denormal(i, got, want)
}

// denormal reports whether result i, or what is rounded to it, is a denormal number, or what stands for one.
func (f *flushed) denormal(i int, got, want float64) bool {
	x := func(k int) float64 {
		if f.t == ir.F64 {
			return f.args[k].F64[i]
		}
		return float64(f.args[k].F32[i])
	}
	switch {
	case want == 0 && denormal(f.result, got): // an operand, which stands for zero
		for k := range f.args {
			if denormal(f.t, x(k)) {
				return true
			}
		}
	case denormal(f.result, want):
		return got == 0 || denormal(f.result, got) || denormal(f.result, got/2)
	case f.row.Name == "mod" && denormal(f.t, x(0)) && got == x(1): // the sum of both
		return true
	case f.row.Name == "fma": // a product, where it is not contracted
		return denormal(f.t, x(0)*x(1))
	}
	return got == 0 && denormal(f.result, want/2) // the least normal number, rounded from a denormal one
}

func (f *flushed) at(i int) string {
	var out []string
	for _, a := range f.args {
		if f.t == ir.F64 {
			out = append(out, fmt.Sprintf("%x", a.F64[i]))
		} else {
			out = append(out, fmt.Sprintf("%x", a.F32[i]))
		}
	}
	return strings.Join(out, ", ")
}

// allFlushed adds every function on floats to a program, for each type and in vectors.
func allFlushed(t *testing.T, p *program) (all []*flushed) {
	for _, row := range Table() {
		for turn := range 3 {
			for _, of := range []ir.DType{ir.F32, ir.F64} {
				if !row.Kinds.Has(of) || row.Arity == 1 && turn > 0 {
					continue
				}
				args := operands(row, of, turn)
				for _, to := range row.results(of) {
					for _, lanes := range []int{1, 8} {
						if lanes == 1 || of == ir.F32 && row.Result == Same {
							f := newFlushed(t, row, of, to, args)
							f.add(p, to, lanes)
							all = append(all, f)
						}
					}
				}
			}
		}
	}
	return all
}

func TestNoFunctionReliesOnDenormals(t *testing.T) {
	p := program{flush: true}
	all := allFlushed(t, &p)
	check := func(t *testing.T, res []byte) {
		for _, f := range all {
			res = f.check(t, res)
		}
		require.Empty(t, res)
	}
	p.run(t, check, "-ffp-contract=off")
	p.runArm(t, check, "-ffp-contract=off")
}
