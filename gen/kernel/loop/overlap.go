package loop

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Overlaps reports whether the steps of a loop of vectors that fill no vector are computed by one that ends with the loop, again with some
// of those before: where nothing that the loop stores is read in it. Floats in a local array are read soon: of a vector that two stores
// made, a processor waits until both are in the cache.
func (l For) Overlaps() bool {
	n, known := l.Extent.Const()
	if !known || l.Lanes < 2 || n < l.Lanes || n%l.Lanes == 0 {
		return false
	}
	stored, local := map[*Buffer]bool{}, false
	Walk(l.Body, func(s Stmt) bool {
		if x, ok := s.(Store); ok {
			stored[x.Buf] = true
			local = local || x.Buf.Local
		}
		return true
	})
	again := true
	Walk(l.Body, func(s Stmt) bool {
		Values(s, func(e te.Expr) {
			te.Walk(e, func(e te.Expr) {
				m, isMem := e.(Mem)
				again = again && !(isMem && stored[m.Buf])
			})
		})
		return again
	})
	return again && !(local && l.Floats())
}

// Floats reports whether the loop computes with nothing but floats of 32 bits or fewer.
func (l For) Floats() bool {
	floats := true
	Walk(l.Body, func(s Stmt) bool {
		Values(s, func(e te.Expr) {
			laneTypes(e, func(t ir.DType) { floats = floats && slices.Contains(Floats, t) })
		})
		return floats
	})
	return floats
}
