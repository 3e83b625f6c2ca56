package neon

import (
	"cmp"
	"math/bits"
	"slices"

	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// mostProducts is how many products the loop's body has at most where its points allow fewer: enough to
// hide what the loop costs, and short enough for the instruction cache.
const mostProducts = 192

// mostBytes is how far a body's points lie apart at most if it has more than the innermost loop's: near enough for
// addresses in one register.
const mostBytes = 1 << 14

// load brings some neighbours of an operand to a register.
type load struct {
	x     bool  // of X; else of W
	at    int64 // in elements from where the body's operand begins
	bytes int64 // 2, 4, 8 or 16
	// first and last are the products that read it.
	first, last int
	// halves reports that a register of 16 bytes is to be loaded in two, and inHalves that it is.
	halves, inHalves bool
	// paired reports that the upper half is of another row, from element 'second' on.
	paired bool
	second int64
	reg    int
	steps  []step
}

// step is an instruction of a load, after a product; a negative slot is one of the iteration before.
type step struct {
	kind stepKind
	slot int
	temp int // general register of a half, by number
}

type stepKind int

const (
	whole  stepKind = iota // all of it, or the lower half
	upper                  // the upper half, to a general register
	insert                 // that one to its place
)

// product is one application of the instruction.
type product struct {
	acc  int64
	x, w *load
	lane int64 // of X's register; negative: all of them
	// upper reports that it reads the upper half of W's register.
	upper bool
}

// point is a point of the reduction: what it adds to the operands' pointers.
type point struct{ x, w int64 }

// body is what the innermost loop does, and the loops around it, with steps of their own.
type body struct {
	micro    *loop.MicroKernel
	points   []point
	loops    []loop.KLoop
	products []product
	loads    []*load // by the first product that reads them
	// size is of an operand's element in bytes, and sum of an accumulator: 4, or 2 of halves.
	size, sum int64
	// group is how many neighbours along the sum a lane of W takes.
	group int64
	// firstSum is the register of the first accumulator; the others follow.
	firstSum int64
	// advanceAt is the product after which addresses are the next iteration's.
	advanceAt int
}

// newBody takes the innermost K loops into a body: whole loops while they are short, else a part of the innermost one.
func newBody(m *loop.MicroKernel) *body {
	b := &body{micro: m, points: []point{{}}, loops: slices.Clone(m.K), size: int64(m.Instr.X.Size()), sum: int64(m.Instr.Acc.Size()), group: m.Instr.Group}
	each := m.Rows * m.Vectors
	for len(b.loops) > 0 {
		k := b.loops[len(b.loops)-1]
		outer := len(b.loops) < len(m.K)
		far := b.size*k.Extent*max(k.XStep, k.WStep) > mostBytes
		if each*int64(len(b.points))*k.Extent > mostProducts || outer && far {
			break
		}
		b.take(k)
		b.loops = b.loops[:len(b.loops)-1]
	}
	if len(b.points) == 1 && len(b.loops) > 0 {
		k := &b.loops[len(b.loops)-1]
		u := part(k.Extent, m, each)
		b.take(loop.KLoop{Extent: u, XStep: k.XStep, WStep: k.WStep})
		k.Extent, k.XStep, k.WStep = k.Extent/u, k.XStep*u, k.WStep*u
	}
	b.loops = slices.DeleteFunc(b.loops, func(k loop.KLoop) bool { return k.Extent == 1 })
	b.order()
	return b
}

// part is how many points of the innermost loop a body has that has not all of them.
func part(extent int64, m *loop.MicroKernel, each int64) int64 {
	step := int64(1)
	if m.X == instr.Lane {
		step = m.Lanes()
		if extent%(2*step) == 0 && m.Instr.InTwos() {
			step *= 2
		}
	}
	best := step
	for u := step; u <= extent && u*each <= mostProducts; u += step {
		if extent%u == 0 {
			best = u
		}
	}
	return best
}

// take repeats the points for each of a loop's iterations.
func (b *body) take(k loop.KLoop) {
	inner := b.points
	b.points = nil
	for i := range k.Extent {
		for _, p := range inner {
			b.points = append(b.points, point{p.x + i*k.XStep, p.w + i*k.WStep})
		}
	}
}

// order lists the products in the order in which they are computed. Each accumulator adds its points
// in the order of the loops.
func (b *body) order() {
	switch {
	case b.micro.Instr.Blocks:
		b.byBlock()
	case b.micro.X == instr.Vector:
		b.byAddress()
	default:
		b.byPoint()
	}
	for i, p := range b.products {
		for _, l := range []*load{p.x, p.w} {
			if l.first < 0 {
				l.first = i
				b.loads = append(b.loads, l)
			}
			l.last = i
		}
	}
}

// byPoint takes a point after the other, and in it a register of W after the other, so that the next point's
// may follow in the same register.
func (b *body) byPoint() {
	m := b.micro
	neighbours := b.neighbours()
	shared := b.shared()
	xs := make([]*load, m.Rows)
	for p, at := range b.points {
		lane := int64(p) % neighbours
		var w *load
		for v := range m.Vectors {
			upper := v%2 == 1 && b.besides(v)
			if !upper {
				w = &load{at: at.w + m.VectorAt(v), bytes: b.bytesOfW(v), first: -1, halves: m.Instr.Halves}
			}
			for r := range m.Rows {
				next := product{acc: r*m.Vectors + v, w: w, lane: lane, upper: upper}
				if shared != nil {
					next.x = shared[at.x+m.RowAt(r)]
					next.lane = (at.x + m.RowAt(r) - next.x.at) / b.group
				} else {
					if v == 0 && lane == 0 {
						xs[r] = &load{x: true, at: at.x + m.RowAt(r), bytes: b.size * b.group * neighbours, first: -1}
					}
					next.x = xs[r]
				}
				b.products = append(b.products, next)
			}
		}
	}
}

// neighbours returns how many lanes of X a load brings.
func (b *body) neighbours() int64 {
	m := b.micro
	switch {
	case m.X != instr.Lane:
		return 1
	case m.Instr.Halves:
		return m.Lanes() / 2
	}
	if whole := 16 / (b.size * b.group); m.K[len(m.K)-1].Extent%whole == 0 {
		return whole
	}
	return m.Lanes()
}

// besides reports whether a load of W brings the lanes of this vector together with those of the one
// before.
func (b *body) besides(v int64) bool {
	m := b.micro
	return m.Instr.InTwos() && m.VectorAt(v) == m.VectorAt(v-1)+m.Lanes()
}

// bytesOfW returns how many bytes of W a load brings for a vector.
func (b *body) bytesOfW(v int64) int64 {
	if n := b.micro.Instr.Bytes(); n == 16 || v%2 == 1 || v+1 == b.micro.Vectors || !b.besides(v+1) {
		return n
	}
	return 16
}

// shared returns the loads that bring each element of X if it is copied to all lanes. Neighbours come
// together, for all rows and points of the body. It returns nil if registers are too few.
func (b *body) shared() map[int64]*load {
	m := b.micro
	if m.X != instr.Register {
		return nil
	}
	var at []int64
	for _, p := range b.points {
		for r := range m.Rows {
			at = append(at, p.x+m.RowAt(r))
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	most := int(m.Lanes())
	if m.Instr.Halves {
		most /= 2
	}
	out, loads := map[int64]*load{}, int64(0)
	for i := 0; i < len(at); {
		run := 1
		for i+run < len(at) && at[i+run] == at[i]+b.group*int64(run) && run < most {
			run++
		}
		run = 1 << (bits.Len(uint(run)) - 1)
		l := &load{x: true, at: at[i], bytes: b.size * b.group * int64(run), first: -1}
		for k := range run {
			out[at[i]+b.group*int64(k)] = l
		}
		i += run
		loads++
	}
	if loads > registers-m.Rows*m.Vectors-2 { // of W
		return nil
	}
	return out
}

// byAddress goes through X as it lies in memory, so that windows that overlap share a load.
func (b *body) byAddress() {
	m := b.micro
	type use struct {
		at, v, r int64
		p        int
	}
	var uses []use
	for p, at := range b.points {
		for r := range m.Rows {
			for v := range m.Vectors {
				uses = append(uses, use{m.RowAt(r) + at.x, v, r, p})
			}
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.v, b.v)) })
	type key struct {
		at int64
		v  int64
	}
	xs, ws := map[key]*load{}, map[key]*load{}
	for _, u := range uses {
		x, w := key{u.at, u.v}, key{int64(u.p), u.v}
		if xs[x] == nil {
			xs[x] = &load{x: true, at: u.at + u.v*m.Lanes()*b.group, bytes: 16, first: -1}
		}
		if ws[w] == nil {
			ws[w] = &load{at: b.points[u.p].w + m.VectorAt(u.v), bytes: 16, first: -1}
		}
		b.products = append(b.products, product{acc: u.r*m.Vectors + u.v, x: xs[x], w: ws[w], lane: -1})
	}
}
