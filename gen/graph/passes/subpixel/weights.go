package subpixel

import (
	"slices"

	"rules_dnn/gen/ir"
)

// mode is the order of the convolutions' channels, that of DepthToSpace. Where all of a phase's follow each other, neighbouring channels
// move to the same place, in vectors; where one convolution of several groups computes all phases, a group's channels must follow each other.
func (t *transposed) mode() string {
	if t.group == 1 || len(t.form.parts) > 1 {
		return "DCR"
	}
	return "CRD"
}

// phaseOf tells what channel a convolution's computes, and at which phase.
func (t *transposed) phaseOf(p part, at int64) (channel, phase int64) {
	if n := t.group * t.perGroup; t.mode() == "DCR" {
		return at % n, p.first + at/n
	}
	return at / p.phases, at % p.phases
}

// places are those of a phase along each axis.
func (t *transposed) places(phase int64) []int64 {
	out := make([]int64, len(t.strides))
	for axis, s := range slices.Backward(t.strides) {
		out[axis], phase = phase%s, phase/s
	}
	return out
}

func (p part) taps() []int64 {
	var out []int64
	for _, w := range p.windows {
		out = append(out, w.taps)
	}
	return out
}

// weights are the kernel's taps that a part's phases have, in the order of what they read, with zeros where a phase has none.
func (t *transposed) weights(names *ir.Names, p part) (*ir.Value, error) {
	data, err := t.w.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size, each, dims := int64(t.w.Type.Size()), t.channels/t.group, p.taps()
	channels := t.group * t.perGroup * p.phases
	out := ir.NewTensor(t.w.Type, append([]int64{channels, each}, dims...)...)
	taps, kernel := product(dims), product(t.kernel)
	to := int64(0)
	for at := range channels {
		o, phase := t.phaseOf(p, at)
		group, o := o/t.perGroup, o%t.perGroup
		place := t.places(phase)
		for c := range each {
			for i := range taps {
				if tap, ok := t.tap(p, i, place); ok {
					from := (((group*each+c)*t.perGroup+o)*kernel + tap) * size
					copy(out.Data[to:to+size], data[from:])
				}
				to += size
			}
		}
	}
	return ir.ConstValue(names.Name(t.w.Name+".phases"), out), nil
}

// tap is the kernel's one that is the i-th of a phase's windows, where there is one.
func (t *transposed) tap(p part, i int64, place []int64) (int64, bool) {
	at, unit := int64(0), int64(1)
	for axis, w := range slices.Backward(p.windows) {
		s, d := t.strides[axis], t.dilations[axis]
		y := (t.form.start[axis] + place[axis] - s*(w.first+i%w.taps*d)) / d // which one of a stride and a dilation is 1
		if y < 0 || y >= t.kernel[axis] {
			return 0, false
		}
		at, unit, i = at+y*unit, unit*t.kernel[axis], i/w.taps
	}
	return at, true
}

// bias is the node's, once for each phase of a channel.
func (t *transposed) bias(names *ir.Names, p part) (*ir.Value, error) {
	b := t.n.Inputs[2]
	if p.phases == 1 {
		return b, nil
	}
	data, err := b.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size := b.Type.Size()
	out := ir.NewTensor(b.Type, t.group*t.perGroup*p.phases)
	for i := range int(out.Len()) {
		channel, _ := t.phaseOf(p, int64(i))
		copy(out.Data[i*size:(i+1)*size], data[int(channel)*size:])
	}
	return ir.ConstValue(names.Name(b.Name+".phases"), out), nil
}
