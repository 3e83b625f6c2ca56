package weights

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"rules_dnn/gen/ir"
)

// Packed is a constant matrix, of channels by points of a sum, in the order in which a tile instruction
// reads it: group of channels, point, channel of the group. What lies beyond
// the channels and the points is zero. It is computed where it is written, some groups and steps at a
// time, from the parts of the file that they need.
type Packed struct {
	From *ir.Tensor
	// To is the type of the packed elements where those of from are converted: f32, of 16 bits; else Invalid.
	To ir.DType
	// Channels are those of a set, which groups do not cross: the channels of one of a convolution's groups.
	Channels int64
	Lanes    int64 // channels of a group
	Set      int64 // slots of a set; 0: those of as few groups as hold its channels
	// Offset is the element of channel 0 and stride what a channel adds to it; points are what each
	// point of the sum adds, -1 of those beyond it.
	Offset, Stride int64
	Points         []int64
}

// Tensor is the packed constant, of elements as large as those that it is made of, or converted.
func (p *Packed) Tensor(t ir.DType, shape ...int64) *ir.Tensor {
	return ir.Computed(t, shape, p.Lanes, p.fill)
}

// size is that of a packed element.
func (p *Packed) size() int64 {
	if p.To != ir.Invalid {
		return int64(p.To.Size())
	}
	return int64(p.From.Type.Size())
}

func (p *Packed) steps() int64 { return int64(len(p.Points)) }

// rectangle is channels and steps of the packed matrix; channels are counted with those that fill
// groups up.
type rectangle struct{ c0, c1, s0, s1 int64 }

// Raws are buffers for what is read of weights, which the next part uses again: garbage would double what the compiler takes.
var Raws sync.Pool

// NewRaw is one of Raws, or a new one.
func NewRaw() *[]byte {
	if b, ok := Raws.Get().(*[]byte); ok {
		return b
	}
	return &[]byte{}
}

// fill packs elements from the first on: the end of a group, whole groups, the beginning of one.
func (p *Packed) fill(b []byte, first int64) error {
	size, run := p.size(), p.Lanes
	raw := NewRaw()
	defer Raws.Put(raw)
	for len(b) > 0 {
		group, step := first/run/p.steps(), first/run%p.steps()
		n := int64(len(b)) / size / run // runs: a step of a group each
		r := rectangle{group * p.Lanes, (group + 1) * p.Lanes, step, min(p.steps(), step+n)}
		if step == 0 && n > p.steps() {
			r.c1, r.s1 = (group+n/p.steps())*p.Lanes, p.steps()
		}
		n = (r.c1 - r.c0) / p.Lanes * (r.s1 - r.s0) * run
		clear(b[:n*size])
		if err := p.rectangle(b, r, r, raw); err != nil {
			return err
		}
		b, first = b[n*size:], first+n
	}
	return nil
}

// seekBytes are the bytes that could be read in the time that one more read takes.
const seekBytes = 32 << 10

// rectangle packs r, a part of whole, which begins at b: of all that lies between its first and
// its last element where that is not much more, else by halves. buffer is what it reads into.
func (p *Packed) rectangle(b []byte, whole, r rectangle, buffer *[]byte) error {
	first, last := p.span(r)
	if last < first {
		return nil
	}
	size := int64(p.From.Type.Size())
	spanned, needed := (last-first+1)*size, (r.c1-r.c0)*(r.s1-r.s0)*size
	if x, y, ok := p.halves(r, last-first); ok && spanned > 2*needed+seekBytes {
		if err := p.rectangle(b, whole, x, buffer); err != nil {
			return err
		}
		return p.rectangle(b, whole, y, buffer)
	}
	*buffer = slices.Grow((*buffer)[:0], int(spanned))
	raw := (*buffer)[:spanned]
	if err := p.From.ReadBytes(raw, first*size); err != nil {
		return err
	}
	p.copy(b, whole, r, raw, first)
	return nil
}

// halves splits what its elements lie apart for: the channels, or the steps.
func (p *Packed) halves(r rectangle, apart int64) (x, y rectangle, ok bool) {
	x, y = r, r
	channels, steps := r.c1-r.c0, r.s1-r.s0
	switch {
	case channels > 1 && (steps == 1 || 2*(channels-1)*max(p.Stride, -p.Stride) > apart):
		x.c1 = (r.c0 + r.c1) / 2
		y.c0 = x.c1
	case steps > 1:
		x.s1 = (r.s0 + r.s1) / 2
		y.s0 = x.s1
	default:
		return x, y, false
	}
	return x, y, true
}

// slots are the channels of a set with those that fill its last group up.
func (p *Packed) slots() int64 {
	if p.Set > 0 {
		return p.Set
	}
	return (p.Channels + p.Lanes - 1) / p.Lanes * p.Lanes
}

// before is how many channels lie before a slot: those of [c0, c1) are [before(c0), before(c1)).
func (p *Packed) before(slot int64) int64 {
	return slot/p.slots()*p.Channels + min(slot%p.slots(), p.Channels)
}

// span is the first and the last element of a rectangle; the last is before the first where there is none.
func (p *Packed) span(r rectangle) (first, last int64) {
	first, last = math.MaxInt64, -1
	for _, x := range p.Points[r.s0:r.s1] {
		if x >= 0 {
			first, last = min(first, x), max(last, x)
		}
	}
	c0, c1 := p.before(r.c0), p.before(r.c1)-1
	if last < 0 || c1 < c0 {
		return 0, -1
	}
	a, b := p.Offset+c0*p.Stride, p.Offset+c1*p.Stride
	return first + min(a, b), last + max(a, b)
}

// copy packs a rectangle of elements, of which raw holds those from the first on.
func (p *Packed) copy(b []byte, whole, r rectangle, raw []byte, first int64) {
	for slot := r.c0; slot < r.c1; slot += p.Lanes - slot%p.Lanes {
		lane, c := slot%p.Lanes, p.before(slot)
		n := p.before(min(r.c1, slot-lane+p.Lanes)) - c
		for k := r.s0; k < r.s1; k++ {
			if p.Points[k] < 0 {
				continue
			}
			to := ((slot-whole.c0)/p.Lanes*(whole.s1-whole.s0)+k-whole.s0)*p.Lanes + lane
			p.line(b, to, raw, p.Offset+c*p.Stride+p.Points[k]-first, n)
		}
	}
}

// line packs n channels at a point.
func (p *Packed) line(b []byte, to int64, raw []byte, from, n int64) {
	le := binary.LittleEndian
	if p.From.Type.Size() == 2 {
		for i := range n {
			x := le.Uint16(raw[2*(from+i*p.Stride):])
			if p.size() == 2 {
				le.PutUint16(b[2*(to+i):], x)
			} else {
				le.PutUint32(b[4*(to+i):], math.Float32bits(widened(p.From.Type, x)))
			}
		}
		return
	}
	for i := range n {
		le.PutUint32(b[4*(to+i):], le.Uint32(raw[4*(from+i*p.Stride):]))
	}
}
