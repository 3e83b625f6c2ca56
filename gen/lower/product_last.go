package lower

import (
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/target"
)

// wantChannelsLast calls want for what a contraction of bytes, or of floats in pairs, with weights reads and stores.
func wantChannelsLast(b *block.Block, t *target.Target, want func(*ir.Value, layout.Layout)) {
	if len(b.Placed) > 0 {
		return
	}
	r := plain(b.Stage, b.Operands, nil)
	m, _ := matched(&r.Stage, r.operands, nil)
	if m == nil || m.empty() || !takesDots(m, t) || instructions(m, t) == nil {
		return
	}
	x, w := m.factors[0], m.factors[1]
	if x.isWeights() {
		x, w = w, x
	}
	if !w.isWeights() || x.constant || len(b.Stage.Axes) < 3 {
		return
	}
	for _, v := range slices.Concat(b.Operands, b.Results) { // what is added to sums, too, of any type
		if v.Const == nil && len(v.Shape) == len(b.Stage.Axes) {
			want(v, channelsLast)
		}
	}
}

// sideBySide reports whether lanes are neighbours in the result.
func (p *product) sideBySide() bool {
	if p.last {
		return p.lane == channelsLast.Lane(len(p.stage.Axes))
	}
	return p.roles.sideBySide()
}
