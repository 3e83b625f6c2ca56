package target

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// A library may have kernels for several chips, its variants: one program, one plan of memory and one choice of layouts, and of each
// block a kernel for each chip.

// leastBlock is how many channels a blocked layout keeps together at least.
const leastBlock = 8

// ChannelBlock is how many channels a blocked layout keeps together: a vector of the chip, or of the widest one of the library's.
func (t *Target) ChannelBlock() int64 {
	if t.channelBlock > 0 {
		return t.channelBlock
	}
	return int64(max(leastBlock, t.Lanes(ir.F32)))
}

// VectorBytes is how wide vectors are, of the library's widest chip: what values in memory are aligned for.
func (t *Target) VectorBytes() int64 { return max(t.vectorBytes, int64(t.VectorBits/8)) }

// Library makes the chips those of one library: copies that agree on what values look like in memory.
func Library(chips []*Target) ([]*Target, error) {
	if len(chips) == 1 {
		return chips, nil
	}
	block, wide := int64(0), int64(0)
	for i, t := range chips {
		if t.CPU != chips[0].CPU || t.Language() != "cpp" {
			return nil, fmt.Errorf("chip %s has cpu %q; variants must be processors that run the library's host program, with the same cpu as %s, %q", t.Name, t.CPU, chips[0].Name, chips[0].CPU)
		}
		if slices.ContainsFunc(chips[:i], func(o *Target) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("chip %s is given twice; want different chips as variants", t.Name)
		}
		block, wide = max(block, t.ChannelBlock()), max(wide, t.VectorBytes())
	}
	out := make([]*Target, len(chips))
	for i, t := range chips {
		x := *t
		x.channelBlock, x.vectorBytes = block, wide
		out[i] = &x
	}
	return out, nil
}
