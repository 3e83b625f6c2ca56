package opencl

import (
	"math"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// fitsInt reports whether 32 bits hold all that a kernel's index expressions come to on the way: devices
// compute in them several times faster.
func fitsInt(k *loop.Kernel) bool {
	ok := true
	check := func(e sym.Expr) { ok = ok && greatest(e, k.Facts) <= math.MaxInt32 }
	loop.Exprs(k.Statements(), check)
	for _, a := range k.Grid {
		check(a.Extent)
	}
	for _, b := range append(append([]*loop.Buffer{}, k.Buffers...), k.Scratch...) {
		check(b.Size)
	}
	check(k.Tasks())
	return ok
}

// greatest bounds the magnitude of an expression and of its parts.
func greatest(e sym.Expr, f sym.Facts) float64 {
	if e.Overflow() {
		return math.Inf(1)
	}
	terms, c := e.Terms()
	sum, inner := math.Abs(float64(c)), 0.0
	for _, t := range terms {
		p := math.Abs(float64(t.Coef))
		for _, a := range t.Atoms {
			if a.Kind != sym.AtomVar {
				inner = max(inner, greatest(a.A, f), greatest(a.B, f))
			}
			lo, hi := sym.FromAtom(a).Bounds(f)
			p *= max(math.Abs(float64(lo)), math.Abs(float64(hi)))
		}
		sum += p
	}
	return max(sum, inner)
}
