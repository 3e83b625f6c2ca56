package cost

import "rules_dnn/gen/ir/sym"

// Bytes is how many bytes so many elements have, where the symbols are as usual.
func Bytes(elements sym.Expr, size int, symbols sym.Facts) float64 {
	e := &estimate{facts: typical(nil, symbols)}
	return e.trips(elements) * float64(size)
}
