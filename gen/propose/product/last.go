package product

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/reshape"
	"rules_dnn/gen/target"
)

// wantChannelsLast calls want for what a contraction of bytes, or of floats in pairs, with weights reads and stores.
func wantChannelsLast(b *block.Block, t *target.Target, want func(*ir.Value, layout.Layout)) {
	r := reshape.Plain(b.Stage, b.Operands, nil)
	m, _ := match.Find(&r.Stage, r.Operands, nil)
	if m == nil || m.Empty() || !takesDots(m, t) || instructions(m, t) == nil {
		return
	}
	x, w := m.Factors[0], m.Factors[1]
	if x.IsWeights() {
		x, w = w, x
	}
	if !w.IsWeights() || x.Constant || len(b.Stage.Axes) < 3 {
		return
	}
	for _, v := range slices.Concat(b.Operands, b.Results) { // what is added to sums, too, of any type
		if v.Const == nil && len(v.Shape) == len(b.Stage.Axes) {
			want(v, lower.ChannelsLast)
		}
	}
}

// sideBySide reports whether lanes are neighbours in the result.
func (p *product) sideBySide() bool {
	if p.last {
		return p.Lane == lower.ChannelsLast.Lane(len(p.Stage.Axes))
	}
	return p.Roles.SideBySide()
}
