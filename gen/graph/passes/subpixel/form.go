package subpixel

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/sym"
)

// form is a way to compute the results: phases begin with one of these along each axis, pads included, and convolutions compute some of the phases each.
type form struct {
	start []int64
	parts []part
}

// part is neighbouring phases that a convolution computes, and where its windows read along each axis.
type part struct {
	first, phases int64
	windows       []window
}

// window is so many taps, of which the first one reads so far behind the place of the result: mostly before it.
type window struct{ first, taps int64 }

// Of a kernel of three in steps of two, one phase has two taps, the other one. Along two axes one convolution of all four phases multiplies sixteen weights of which seven
// are zero; four convolutions multiply nine. Their results lie beside each other, so that nothing is done again but to read the operand.
const (
	// leastGained is the part of what one convolution takes that several may take at most, as each is a kernel of its own.
	leastGained = 0.9
	// mostParts is how many convolutions there may be.
	mostParts = 16
	// widest is how many channels the widest vectors have: those of few channels are fuller of several phases.
	widest = 16
	// winograd is how many times less convolutions of 3x3 take by Winograd.
	winograd = 2.25
	// usual is an extent of which only the run knows what it is.
	usual = 32
)

// forms sets the form that takes least; false where none serves all runs. The phases of the first axes, of none to all, have windows of their own, those of the others
// one with all their taps, by which one convolution computes them: neighbours are phases of the last axis.
func (t *transposed) forms() bool {
	least := math.Inf(1)
	for apart := range len(t.kernel) + 1 {
		start := t.starts(apart)
		if start == nil {
			continue
		}
		f := t.parted(start, apart)
		if cost := t.cost(f); len(f.parts) <= mostParts && cost < least {
			t.form, least = f, float64(leastGained*cost)
		}
	}
	return len(t.form.parts) > 0
}

// windows are those of the phases of an axis from a first result on, or the one for all of them.
func (t *transposed) windows(axis int, start int64, apart bool) []window {
	if !apart {
		return []window{t.union(axis, start)}
	}
	var out []window
	for phase := range t.strides[axis] {
		out = append(out, t.window(axis, start+phase))
	}
	return out
}

// parted are convolutions of neighbouring phases with the same windows. Several groups have the phases of a channel beside each other where one computes all of
// them, and others one each.
func (t *transposed) parted(start []int64, apart int) form {
	f := form{start: start}
	var of [][]window
	for axis, at := range start {
		of = append(of, t.windows(axis, at, axis < apart))
	}
	for phase := range t.phases() {
		p := part{first: phase, phases: 1}
		for axis, at := range t.places(phase) {
			p.windows = append(p.windows, of[axis][at%int64(len(of[axis]))])
		}
		if n := len(f.parts); n > 0 && (t.group == 1 || apart == 0) && slices.Equal(f.parts[n-1].windows, p.windows) {
			f.parts[n-1].phases++
			continue
		}
		if f.parts = append(f.parts, p); len(f.parts) > mostParts {
			break
		}
	}
	return f
}

// window is what a result is summed of, so far from the first one of all: element e of the operand where tap at - stride*e is one of the kernel.
func (t *transposed) window(axis int, at int64) window {
	s, d := t.strides[axis], t.dilations[axis]
	n := sym.CeilInt(max(t.kernel[axis]-at%s, 0), s)
	return window{at/s - (n-1)*d, n}
}

// union is the window of all that those of an axis' phases have.
func (t *transposed) union(axis int, start int64) window {
	var all window
	for _, w := range t.windows(axis, start, true) {
		switch {
		case w.taps == 0:
		case all.taps == 0:
			all = w
		default: // of a stride, beside which there is no dilation
			first, end := min(all.first, w.first), max(all.first+all.taps, w.first+w.taps)
			all = window{first, end - first}
		}
	}
	return all
}

// starts are where phases begin best along each axis, if those of so many axes have windows of their own: where nothing is computed that is not wanted, if windows
// are not longer so. They are nil where for some axis each would have windows without taps, pads below zero or, in some run, no place.
func (t *transposed) starts(apart int) []int64 {
	var out []int64
	for axis, before := range t.before {
		best, least := int64(-1), int64(0)
		for _, start := range []int64{before, before - before%t.strides[axis], 0} {
			cost, ok := t.along(axis, start, t.windows(axis, start, axis < apart))
			if ok && (best < 0 || cost < least) {
				best, least = start, cost
			}
			if t.strides[axis] == 1 {
				break // a result is a place: those that are not wanted are left out at once
			}
		}
		if best < 0 {
			return nil
		}
		out = append(out, best)
	}
	return out
}

// along is how many taps all places of an axis have; false where they are none that a convolution may have.
func (t *transposed) along(axis int, start int64, windows []window) (cost int64, ok bool) {
	more := t.more(axis, start)
	ok = t.least[axis] >= 1-more
	for _, w := range windows {
		before, after := t.around(axis, more, w)
		ok = ok && w.taps > 0 && before >= 0 && after >= 0
		cost += w.taps * (t.extent(axis) + more)
	}
	return cost, ok
}

// extent is the operand's, or a usual one.
func (t *transposed) extent(axis int) int64 {
	if n, known := t.n.Inputs[0].Shape[2+axis].Const(); known {
		return n
	}
	return usual
}

// span is how many results a kernel reaches.
func (t *transposed) span(axis int) int64 { return (t.kernel[axis]-1)*t.dilations[axis] + 1 }

// beyond is how many more results are wanted from a first one on than the stride times the operand's extent.
func (t *transposed) beyond(axis int, start int64) int64 {
	return t.span(axis) - t.strides[axis] + t.extra[axis] - t.after[axis] - start
}

// more is how many more places a convolution has than its operand. Where that may have no element, there is one place at least if a kernel reaches another.
func (t *transposed) more(axis int, start int64) int64 {
	s := t.strides[axis]
	n := sym.CeilInt(t.beyond(axis, start), s)
	if s == 1 {
		return n
	}
	return max(n, min(1-t.least[axis], sym.CeilInt(t.kernel[axis], s)-1))
}

// cut is how many results of the last place lie behind the last one that is wanted.
func (t *transposed) cut(axis int) int64 {
	start := t.form.start[axis]
	return t.more(axis, start)*t.strides[axis] - t.beyond(axis, start)
}

// around is how far windows reach beyond the operand.
func (t *transposed) around(axis int, more int64, w window) (before, after int64) {
	return -w.first, more + w.first + (w.taps-1)*t.dilations[axis]
}

// pads are those of a part's convolution.
func (t *transposed) pads(p part) []int64 {
	rank := len(p.windows)
	out := make([]int64, 2*rank)
	for axis, w := range p.windows {
		out[axis], out[rank+axis] = t.around(axis, t.more(axis, t.form.start[axis]), w)
	}
	return out
}

// cost is about how many vectors of products a form takes.
func (t *transposed) cost(f form) float64 {
	places := 1.0
	for axis, start := range f.start {
		places *= float64(t.extent(axis) + t.more(axis, start))
	}
	sum := 0.0
	for _, p := range f.parts {
		n, square := float64(sym.CeilInt(p.phases*t.group*t.perGroup, widest)), len(p.windows) == 2
		for axis, w := range p.windows {
			n *= float64(w.taps)
			square = square && w.taps == 3 && t.dilations[axis] == 1
		}
		if square {
			n /= winograd
		}
		sum += n
	}
	return places * sum
}
