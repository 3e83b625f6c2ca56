package precision

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// span bounds the finite numbers of a value, as far as what computes it tells: integers of 16 bits and less, functions and clips with bounds, constants,
// and sums, products and moves of such. Bounds of contractions are far from what numbers come to, and are left out.
type span struct{ lo, hi float64 }

func (s span) most() float64 { return max(-s.lo, s.hi) }

func (s span) join(o span) span { return span{min(s.lo, o.lo), max(s.hi, o.hi)} }

// whole are the numbers of integers that models store what they measure in. Wider ones rarely come near their ends.
var whole = map[ir.DType]span{ir.Bool: {0, 1}, ir.U8: {0, 255}, ir.I8: {-128, 127}, ir.U16: {0, 65535}, ir.I16: {-32768, 32767}}

// measure finds the spans of the graph's values.
func (h *halves) measure() error {
	for _, n := range h.g.Nodes {
		if len(n.Outputs) == 0 || n.Outputs[0] == nil || n.Outputs[0].Type != ir.F32 || len(n.Regions) > 0 {
			continue
		}
		s, known, err := h.spanOf(n)
		if err != nil {
			return n.Errorf("%w", err)
		}
		if known && !math.IsNaN(s.lo) && !math.IsNaN(s.hi) && !math.IsInf(s.most(), 0) {
			h.spans[n.Outputs[0]] = s
		}
	}
	return nil
}

// span is that of a value, if it is known.
func (h *halves) span(v *ir.Value) (span, bool, error) {
	if v == nil {
		return span{}, false, nil
	}
	if s, known := h.spans[v]; known || v.Const == nil || v.Type != ir.F32 {
		return s, known, nil
	}
	s, err := spanOfConstant(v.Const)
	if err != nil {
		return s, false, err
	}
	h.spans[v] = s
	return s, true, nil
}

// spanOfConstant bounds the finite elements of a tensor of f32.
func spanOfConstant(t *ir.Tensor) (span, error) {
	s := span{math.Inf(1), math.Inf(-1)}
	err := pieces(t.Len()*4, func(at, n int64) error {
		b := make([]byte, n)
		if err := t.ReadBytes(b, at); err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4 {
			if x := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))); x >= -math.MaxFloat32 && x <= math.MaxFloat32 {
				s = s.join(span{x, x})
			}
		}
		return nil
	})
	if s.lo > s.hi {
		s = span{}
	}
	return s, err
}

// spanOf bounds the results of a node by its operands' spans.
func (h *halves) spanOf(n *ir.Node) (span, bool, error) {
	switch {
	case n.Op == "Cast" && len(n.Inputs) > 0 && !n.Inputs[0].Type.IsFloat():
		s, known := whole[n.Inputs[0].Type]
		return s, known, nil
	case ops.IsBounded(n.Op):
		return span{-1, 1}, true, nil
	case n.Op == "Clip" && n.Input(1) != nil && n.Input(2) != nil && n.Input(1).Const != nil && n.Input(2).Const != nil:
		lo, known, err := h.span(n.Input(1))
		hi, known2, err2 := h.span(n.Input(2))
		if err == nil {
			err = err2
		}
		return lo.join(hi), known && known2, err
	}
	f, known := arithmetic[n.Op]
	if !known && !h.gives(n) {
		return span{}, false, nil
	}
	var of []span
	for _, v := range n.Own() {
		if v == nil || v.Type != ir.F32 {
			continue
		}
		s, known, err := h.span(v)
		if !known || err != nil {
			return span{}, false, err
		}
		of = append(of, s)
	}
	if f == nil || len(of) == 0 {
		return joined(of), len(of) > 0, nil
	}
	s, ok := f(of)
	return s, ok, nil
}

// pools are operators whose results are means or elements of an operand, or zeros beside it.
var pools = map[string]bool{"AveragePool": true, "GlobalAveragePool": true, "GlobalMaxPool": true, "MaxPool": true, "ReduceMax": true, "ReduceMean": true, "ReduceMin": true}

// gives reports whether a node's results are elements of its operands, or means of some.
func (h *halves) gives(n *ir.Node) bool {
	if pools[n.Op] {
		return true
	}
	m, err := ops.Build(n, h.facts)
	return err == nil && m.Call == nil && ops.GivesOn(m)
}

// joined holds all spans, and 0, which is where elements are left out.
func joined(of []span) span {
	out := span{}
	for _, s := range of {
		out = out.join(s)
	}
	return out
}

// arithmetic are the spans of what operators compute of their operands'.
var arithmetic = map[string]func(of []span) (span, bool){
	"Abs":  func(of []span) (span, bool) { return span{0, of[0].most()}, true },
	"Add":  folded(func(a, b span) span { return span{a.lo + b.lo, a.hi + b.hi} }),
	"Div":  quotient,
	"Max":  folded(func(a, b span) span { return span{max(a.lo, b.lo), max(a.hi, b.hi)} }),
	"Min":  folded(func(a, b span) span { return span{min(a.lo, b.lo), min(a.hi, b.hi)} }),
	"Mul":  folded(product),
	"Neg":  func(of []span) (span, bool) { return span{-of[0].hi, -of[0].lo}, true },
	"Relu": func(of []span) (span, bool) { return span{max(of[0].lo, 0), max(of[0].hi, 0)}, true },
	"Sub":  folded(func(a, b span) span { return span{a.lo - b.hi, a.hi - b.lo} }),
	"Sum":  folded(func(a, b span) span { return span{a.lo + b.lo, a.hi + b.hi} }),
}

func folded(f func(a, b span) span) func(of []span) (span, bool) {
	return func(of []span) (span, bool) {
		s := of[0]
		for _, o := range of[1:] {
			s = f(s, o)
		}
		return s, true
	}
}

func product(a, b span) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, x := range []float64{float64(a.lo * b.lo), float64(a.lo * b.hi), float64(a.hi * b.lo), float64(a.hi * b.hi)} {
		s = s.join(span{x, x})
	}
	return s
}

// quotient is known of divisors that keep away from 0.
func quotient(of []span) (span, bool) {
	if len(of) != 2 || of[1].lo <= 0 && of[1].hi >= 0 {
		return span{}, false
	}
	return product(of[0], span{1 / of[1].hi, 1 / of[1].lo}), true
}
