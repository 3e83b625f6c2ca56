package interp

import (
	"math"
	"slices"
)

// arrange decides on the copy; it reports whether it is small enough.
func (b *slabs) arrange(lane int) bool {
	n := len(b.index)
	b.stride = make([]int64, n)
	inside := true
	for d, x := range b.low {
		inside = inside && x >= 0 && x+b.size[d] <= b.shape[d]
	}
	stride := int64(1)
	for d := n - 1; d >= 0; d-- {
		b.stride[d] = stride
		stride *= b.shape[d]
	}
	b.source = slices.Clone(b.stride)
	if lane >= 0 {
		b.lanes = lane
		for d, f := range b.index {
			if f.deps.has(lane) {
				b.inner, b.phases = d, f.coef[lane]
			}
		}
	}
	if inside && (lane < 0 || b.inner == n-1 && b.phases == 1 && b.p.extent[lane]%lanes == 0) {
		for d := range b.low {
			b.low[d] = 0
		}
		return true
	}
	b.copied = true
	return b.layOut()
}

// layOut gives the copy its strides and memory.
func (b *slabs) layOut() bool {
	stride := int64(1)
	b.last = len(b.index) - 1
	if b.last == b.dim {
		b.last--
	}
	if b.last < 0 {
		return false
	}
	if b.inner >= 0 {
		b.stride[b.inner] = 1
		stride = roundUp(b.size[b.inner], b.phases)
	}
	for d := range b.index {
		if d != b.inner && d != b.dim && d != b.last {
			b.outer = append(b.outer, d)
		}
	}
	for d := len(b.index) - 1; d >= 0; d-- {
		if d == b.inner || d == b.dim {
			continue
		}
		b.stride[d] = stride
		if stride > math.MaxInt32/max(b.size[d], 1) {
			return false
		}
		stride *= b.size[d]
	}
	if b.dim >= 0 {
		b.stride[b.dim] = 0
	}
	if stride > slabElements {
		return false
	}
	b.memory = make([]float32, stride+lanes)
	for i := range b.memory {
		b.memory[i] = b.pad
	}
	return true
}

// slabElements is the most that a copy has.
const slabElements = 1 << 22

// slab is the elements for a value of the slabs' loop, from where points and places count.
func (b *slabs) slab(i int64) []float32 {
	first := int64(0)
	if b.dim >= 0 {
		first = i
		first *= b.source[b.dim]
	}
	if b.copied {
		b.copy(first, 0, b.outer)
		return b.memory
	}
	return b.from[first:]
}

// copy copies what the source has of a slab: along the innermost dimension and, where that is another one, the source's last.
func (b *slabs) copy(from, to int64, outer []int) {
	if len(outer) > 0 {
		d := outer[0]
		for x := max(b.low[d], 0); x < min(b.low[d]+b.size[d], b.shape[d]); x++ {
			b.copy(from+x*b.source[d], to+(x-b.low[d])*b.stride[d], outer[1:])
		}
		return
	}
	if b.inner == b.last || b.inner < 0 {
		b.line(from, to, 0)
		return
	}
	d := b.inner
	lo, hi := max(b.low[d], 0), min(b.low[d]+b.size[d], b.shape[d])
	x := lo
	for ; b.phases == 1 && transposeWide != nil && x+8 <= hi; x += 8 {
		b.transposed(from+x*b.source[d], to+x-b.low[d])
	}
	for ; x < hi; x++ {
		b.line(from+x*b.source[d], to+b.phase(x-b.low[d]), 0)
	}
}

// transposeWide makes columns of eight rows, in blocks of eight columns, by vector instructions; steps are bytes.
var transposeWide func(dst, src *float32, dstStep, srcStep, blocks int64)

// transposed copies eight lines of the lanes' dimension along the last one.
func (b *slabs) transposed(from, to int64) {
	d, lo := b.last, max(b.low[b.last], 0)
	blocks := (min(b.low[d]+b.size[d], b.shape[d]) - lo) / 8
	if b.source[d] != 1 || blocks < 1 {
		blocks = 0
	} else {
		first := to + (lo-b.low[d])*b.stride[d]
		_ = b.memory[first+(8*blocks-1)*b.stride[d]+7] // all of it is there
		transposeWide(&b.memory[first], &b.from[from+lo], 4*b.stride[d], 4*b.source[b.inner], blocks)
	}
	for i := range int64(8) {
		b.line(from+i*b.source[b.inner], to+i, 8*blocks)
	}
}

// line copies along the last dimension, but the first elements that are there already.
func (b *slabs) line(from, to, done int64) {
	d := b.last
	lo := max(b.low[d], 0) + done
	n := min(b.low[d]+b.size[d], b.shape[d]) - lo
	if n <= 0 {
		return
	}
	step, skip := b.source[d], b.stride[d]
	src := b.from[from+lo*step:]
	if d == b.inner && b.phases > 1 {
		b.apart(to, lo-b.low[d], n, src, step)
		return
	}
	dst := b.memory[to+(lo-b.low[d])*skip:]
	if step == 1 && skip == 1 {
		copy(dst, src[:n])
		return
	}
	for i := range n {
		dst[i*skip] = src[i*step]
	}
}

// apart copies n elements from an index of the lanes' dimension on: those of one phase lie side by side.
func (b *slabs) apart(to, at, n int64, src []float32, step int64) {
	for first := range min(b.phases, n) {
		dst := b.memory[to+b.phase(at+first):]
		dst = dst[:(n-first+b.phases-1)/b.phases]
		from := first * step
		for i := range dst {
			dst[i] = src[from]
			from += b.phases * step
		}
	}
}
