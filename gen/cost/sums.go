package cost

import (
	"slices"

	"rules_dnn/gen/loop"
)

// sums is the cycles of statements that load vectors into variables and add up products of these: an FMA each, as in a micro-kernel, beside which
// loads take no time of their own but where they are more. False where the statements are no such thing.
func (e *estimate) sums(body []loop.Stmt, lanes int64) (cycles float64, ok bool) {
	if lanes < 2 || !slices.ContainsFunc(body, loop.MultiplyAdds) {
		return 0, false
	}
	products, loads := 0.0, 0.0
	for _, s := range body {
		if loop.MultiplyAdds(s) {
			products++
			continue
		}
		d, isDef := s.(loop.Def)
		if _, isMem := d.Init.(loop.Mem); !isDef || !isMem {
			return 0, false
		}
		loads++
	}
	products, loads = products/e.t.FMAPerCycle, loads/e.t.LoadsPerCycle
	return max(products, loads) + float64(lesser*min(products, loads)), true
}
