package sel

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// side is a target, the space in which its kernels find values, and the layouts that they have there.
type side struct {
	*selector
	space   layout.Space
	t       *target.Target
	blocked layout.Layout
	// wanted are layouts that instructions of the chip read, by value.
	wanted map[*ir.Value][]layout.Layout
	link   *target.OpenCL // of a device beside the host
	// times and history are what a tuning record has of the target: see Options.
	times, history tuning.Times
}

// channelAxis is the one along which values are stored in blocks.
const channelAxis = 1

func (s *selector) newSide(space layout.Space, t *target.Target) *side {
	return &side{selector: s, space: space, t: t, blocked: layout.Blocked(channelAxis, t.ChannelBlock()),
		wanted: map[*ir.Value][]layout.Layout{}}
}

func (s *selector) host() *side { return s.sides[layout.Host] }

// sideOf is where a kernel runs that computes a block in some layouts: where its results lie.
func (s *selector) sideOf(b *block.Block, lay lower.Layouts) *side {
	return s.sides[lay(b.Results[0]).Space]
}

// cycles is an estimate of a kernel in cycles of the host. A device's comes with its launch.
func (d *side) cycles(estimate float64) float64 {
	if d.link == nil {
		return estimate
	}
	return float64(estimate*d.link.Clock()) + d.link.Launch()
}

// scaled are the cycles of a kernel that was measured, by those of the estimates' choice and what that was measured to take: a device's launch, which
// clocks of kernels do not see, takes as long.
func (d *side) scaled(estimate, estimated, measured float64) float64 {
	if d.link == nil {
		return estimate * measured / estimated
	}
	return d.link.Launch() + float64((estimate-d.link.Launch())*measured/estimated)
}

// blockKey is the block's in tuning records, and what they say of it to people: kernels do not know of spaces, and the key has the target's facts.
func (d *side) blockKey(b *block.Block, lay lower.Layouts) (key, what string) {
	return tuning.Key(b, here(lay), d.g.Facts, d.t), tuning.What(b, here(lay))
}

// here are layouts as kernels see them, which do not know of spaces.
func here(lay lower.Layouts) lower.Layouts {
	return func(v *ir.Value) layout.Layout { return lay(v).In(layout.Host) }
}

// layouts are what a value may be stored in, row-major first. Constants lie where they are read.
func (s *selector) layouts(v *ir.Value) []layout.Layout {
	if v.Const != nil {
		return []layout.Layout{layout.RowMajor}
	}
	var out []layout.Layout
	for _, d := range s.sides {
		out = append(out, d.layouts(v)...)
	}
	return out
}

// layouts are those in the side's space.
func (d *side) layouts(v *ir.Value) []layout.Layout {
	out := []layout.Layout{layout.RowMajor}
	if d.mayBlock(v) {
		out = append(out, d.blocked)
	}
	out = append(out, d.wanted[v]...)
	for i := range out {
		out[i] = out[i].In(d.space)
	}
	return out
}

// runs reports whether the side's kernels may compute a block: opaque operators are the host's.
func (d *side) runs(b *block.Block) bool { return d.space == layout.Host || b.Call == nil }
