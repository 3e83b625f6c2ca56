package product

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/vars"
)

// mostChannels is how many channels at most are summed for all pixels of a line, so that their weights stay in registers, or near.
const mostChannels = 64

// depthwise are convolutions of channels by themselves, whose channels lie last; none where a block is none.
func depthwise(b *block.Block, m *match.Match, env *lower.Env) ([]*product, error) {
	at := lower.ChannelsLast.Lane(len(m.Stage.Axes))
	var out []*product
	if p := besideTaps(b, m, env); p != nil {
		out = append(out, p)
	}
	p, err := floatTaps(b, m, env)
	if err != nil {
		return nil, err
	}
	if p != nil {
		out = append(out, p)
	}
	for x := range m.Factors {
		p := &product{b: b, lay: env.Layouts, Roles: m.Roles(x), dots: true, last: true}
		if !p.X.IsWeights() || p.W.Constant || p.Of[at] != match.OfBoth || match.DimOf(p.W.Load, m.Stage.Axes[at].Var) != 1 || env.Lanes() < 2 {
			continue
		}
		if p.column = m.Stage.Axes[at]; p.column.Extent.Is(1) {
			continue
		}
		if p.findWindows(); len(p.windows) > 0 {
			return append(out, p), nil
		}
	}
	return out, nil
}

// slideChannels is the schedule of such a convolution: a task copies the lines that its windows read, minus the zero point and in 16 bits, and sums, for
// some channels after the others, products of taps for each pixel of its lines, in vectors of channels.
func (p *product) slideChannels(env *lower.Env) *lower.Proposal {
	channels, known := p.column.Extent.Const()
	if !known {
		return nil
	}
	l := &plan{product: p, Proposal: lower.NewProposal(env.Symbols), places: map[string]place{}}
	c := sched.Stage{At: sched.Root}
	var within []sched.Loop
	last := ""
	for i, a := range p.Stage.Axes {
		if a.Var == p.column.Var || a.Extent.Is(1) {
			continue
		}
		n, known := a.Extent.Const()
		if i == len(p.Stage.Axes)-1 && last != "" && known { // pixels of a line
			at := place{serial: "u" + vars.Axis(i)[1:], size: n}
			within = append(within, sched.Loop{Kind: sched.Serial, Var: at.serial, Axis: a.Var})
			l.places[a.Var] = at
			continue
		}
		last = vars.Axis(i)
		within = append(within, l.tasks(&c, last, a)...)
	}
	if last == "" {
		return nil
	}
	size := int64(mostChannels)
	for ; size > 1 && channels%size != 0; size /= 2 {
	}
	if size >= env.Lanes() && size < channels {
		c.Loops = append(c.Loops, sched.Loop{Kind: sched.Serial, Var: vars.Group, Axis: p.column.Var})
	} else {
		size = 0
	}
	c.Loops = append(append(c.Loops, within...), sched.Loop{Kind: sched.Serial, Var: vars.Lane, Axis: p.column.Var, Size: size})
	for i, r := range p.Reduce {
		c.Loops = append(c.Loops, sched.Loop{Kind: sched.Serial, Var: vars.K(i), Axis: r.Var})
	}
	st := *p.Stage
	st.Values = []te.Expr{te.Fn(ir.I32, "mul", te.Fn(ir.I32, "cast", l.lines(last)), te.Fn(ir.I32, "cast", l.taps()))}
	l.finish(&st, c)
	return l.Proposal
}

// taps are the weights minus their zero points, channels last.
func (l *plan) taps() te.Expr {
	k := l.packing("taps")
	for _, r := range l.Reduce {
		k.names[r.Var] = k.axis(r.Extent, sym.Var(r.Var), sym.Const(0), 0)
	}
	k.names[l.column.Var] = k.axis(l.column.Extent, sym.Var(l.column.Var), sym.Const(0), 0)
	k.Results = []te.Expr{k.subst(l.X.Element(ir.I16), l.Facts)}
	return l.add(k, l.X, "")
}
