package exact

import (
	"fmt"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// mostWork is how many operations on numbers are spent on one quantization at most: seconds. Sums of two tensors need a hundredth.
const mostWork = 1 << 29

// mostOnce is how many it takes to evaluate an expression once at most, each with a result in memory: a hundred operations on two bytes.
const mostOnce = 1 << 23

// budget is what is left of mostWork.
type budget struct{ left int }

// value evaluates an expression; nil where that is no number or too much work.
func (b *budget) value(v *evaluation, e te.Expr) *scalar.Vec {
	if b.left -= work(e, v.n); b.left < 0 {
		return nil
	}
	return v.expr(e)
}

// work is how many operations it takes to evaluate an expression at points.
func work(e te.Expr, points int) int {
	n := 0
	te.Walk(e, func(te.Expr) { n++ })
	return n * points
}

// memory is what a run has found: layers of a network repeat each other. One that is nil forgets.
type memory struct {
	found map[string]te.Expr
}

// recall is what has been found for a key, among a space's variables.
func (m *memory) recall(key string) (te.Expr, bool) {
	if m == nil {
		return nil, false
	}
	e, ok := m.found[key]
	return e, ok
}

func (m *memory) remember(key string, e te.Expr) {
	if m == nil {
		return
	}
	if m.found == nil {
		m.found = map[string]te.Expr{}
	}
	m.found[key] = e
}

// key is all of which a result depends: what is quantized, to what, and the values of all leaves.
func (s *space) key(q quantization, x te.Expr) string {
	key := fmt.Sprintf("%v %d %#v", q.typ, q.zero, x)
	for _, l := range s.leaves {
		key += fmt.Sprintf(" %v %v", l.span, l.floats)
	}
	return key
}

// count is how many points the space has.
func (s *space) count() int {
	n := 1
	for _, l := range s.leaves {
		n *= int(l.count())
	}
	return n
}
