package cost

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// sums is the cycles of statements that load vectors into variables and add up products of these: an FMA each, as in a micro-kernel, beside which
// loads take no time of their own but where they are more, and conversions of 16 bits take what they take in one. False where the statements are no
// such thing.
func (e *estimate) sums(body []loop.Stmt, lanes int64) (cycles float64, ok bool) {
	if lanes < 2 || !slices.ContainsFunc(body, loop.MultiplyAdds) {
		return 0, false
	}
	products, loads, widened := 0.0, 0.0, 0.0
	for _, s := range body {
		if loop.MultiplyAdds(s) {
			products++
			continue
		}
		from, isLoad := loaded(s)
		if !isLoad {
			return 0, false
		}
		loads++
		widened += e.t.Widen(from)
	}
	products, loads = products/e.t.FMAPerCycle+widened, loads/e.t.LoadsPerCycle
	return max(products, loads) + float64(lesser*min(products, loads)), true
}

// loaded is the type of what a statement loads into a variable, as it is or as float32; false where it does something else.
func loaded(s loop.Stmt) (ir.DType, bool) {
	d, isDef := s.(loop.Def)
	if !isDef {
		return ir.Invalid, false
	}
	e := d.Init
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type == ir.F32 && slices.Contains(loop.Halves, c.Args[0].DType()) {
		e = c.Args[0]
	}
	_, isMem := e.(loop.Mem)
	return e.DType(), isMem
}
