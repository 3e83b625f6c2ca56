package neon

// registers is how many vector registers there are.
const registers = 32

// firstRegisters is the number of registers whose lanes of f16 FMLA (by element) can take (Arm's
// manual of the architecture).
const firstRegisters = 16

// latency is by how many products a load is ahead of the first that reads it, where registers allow: as many cycles
// as a load takes on processors that start one product in a cycle.
const latency = 6

// schedule finds a register and a place among the products for each load. A load may stand in the
// iteration before the one that reads it, after advanceAt. advanceAt is chosen so that loads are the
// least late. 'moves' instructions advance addresses, each after a product, after the loads that use
// these. schedule reports whether there are enough registers.
func (b *body) schedule(moves int) bool {
	free := registers - int(b.accumulators())
	if free < 2 {
		return false
	}
	from, ok := b.allocate(free)
	if !ok {
		return false
	}
	best, least := -1, 0
	for _, at := range b.advances() {
		if cost, ok := b.placeAll(from, at, moves); ok && (best < 0 || cost < least) {
			best, least = at, cost
		}
	}
	if best < 0 {
		return false
	}
	b.placeAll(from, best, moves)
	return true
}

// mostOpen is behind how many of an iteration's products at most addresses have advanced.
const mostOpen = 48

// advances returns the products after which addresses may advance. Without a loop, it is the last one.
func (b *body) advances() []int {
	n := len(b.products)
	if len(b.loops) == 0 {
		return []int{n - 1}
	}
	var out []int
	for at := n - 1; at >= max(0, n-1-mostOpen); at-- {
		out = append(out, at)
	}
	return out
}

// placeAll places all loads if addresses advance after a product. It returns the cost, and whether
// each load has a place.
func (b *body) placeAll(from []int, advanceAt, moves int) (cost int, ok bool) {
	n := len(b.products)
	b.advanceAt = advanceAt
	p := places{taken: make([]int, n)}
	for i := range p.temps {
		p.temps[i] = make([]bool, n)
	}
	before, last := advanceAt+1-n, max(advanceAt-moves+1, 0)
	if len(b.loops) == 0 {
		before, last = -n, n-1
	}
	for i := last; i < advanceAt; i++ {
		p.taken[i]++
	}
	for i, l := range b.loads {
		// In the iteration that reads it, or in the one before.
		own := window{max(from[i], 0), min(l.first-1, last)}
		early := window{max(from[i], before), min(l.first, 0) - 1}
		in := own
		switch {
		case own.empty() && early.empty():
			return 0, false
		case own.empty(), !early.empty() && p.best(early, l.first).cost < p.best(own, l.first).cost:
			in = early
		}
		cost += p.place(l, in)
		if l.paired && !l.inHalves {
			return 0, false
		}
	}
	return cost, true
}

// window is the slots from one to another.
type window struct{ from, to int }

func (w window) empty() bool { return w.to < w.from }

// temps is how many general registers hold upper halves.
const temps = 4

// places is what stands after each product.
type places struct {
	taken []int
	temps [temps][]bool
}

// place finds the slots of a load, and returns their cost.
func (p *places) place(l *load, in window) int {
	if (l.halves || l.paired) && in.to > in.from && l.first-in.from > 3 {
		// The insertion is late enough for both loads, and early enough for the product.
		early := window{in.from, min(max(in.from, l.first-latency-1), in.to)}
		high := p.best(early, l.first)
		low := p.best(window{min(high.slot+1, early.to), early.to}, l.first)
		ins := p.best(window{min(max(low.slot, high.slot)+latency/2, l.first-1), l.first - 1}, l.first)
		if temp := p.temp(high.slot, ins.slot); temp >= 0 {
			p.take(high.slot)
			p.take(low.slot)
			p.take(ins.slot)
			l.steps = []step{{upper, high.slot, temp}, {whole, low.slot, 0}, {insert, ins.slot, temp}}
			l.inHalves = true
			return high.cost + low.cost + ins.cost
		}
	}
	l.inHalves = false
	s := p.best(in, l.first)
	if l.paired {
		return p.placeLate(l, s)
	}
	p.take(s.slot)
	l.steps = []step{{kind: whole, slot: s.slot}}
	return s.cost
}

// placeLate places both halves of a load in a slot, and the insertion soon after them. The load is
// not in halves if no general register is free.
func (p *places) placeLate(l *load, at choice) int {
	ins := min(at.slot+latency/2, l.first-1)
	temp := p.temp(at.slot, ins)
	if temp < 0 {
		return at.cost
	}
	p.take(at.slot)
	p.take(at.slot)
	p.take(ins)
	l.steps = []step{{upper, at.slot, temp}, {whole, at.slot, 0}, {insert, ins, temp}}
	l.inHalves = true
	return 2 * at.cost
}

// temp is a general register that is free from one slot to another; -1 if none is.
func (p *places) temp(from, to int) int {
	n := len(p.taken)
	for t, busy := range p.temps {
		free := to-from < n
		for s := from; s <= to && free; s++ {
			free = !busy[(s+n)%n]
		}
		for s := from; s <= to && free; s++ {
			busy[(s+n)%n] = true
		}
		if free {
			return t
		}
	}
	return -1
}

func (p *places) take(slot int) { p.taken[(slot+len(p.taken))%len(p.taken)]++ }

// allocate gives the loads registers: those of X take some in turn, and those of W others. It returns, for each
// load, the product after which its register is free, which may be one of the iteration before. Of all ways to part the registers it
// takes the one that leaves loads the most of the time that they want.
func (b *body) allocate(free int) ([]int, bool) {
	var best []int
	bestX, least := 0, 0
	for x := 1; x < free; x++ {
		from, ok := b.turns(x, free-x)
		if !ok {
			continue
		}
		short := 0
		for i, l := range b.loads {
			missing := max(0, l.wants()-(l.first-from[i]))
			short += missing * missing
		}
		if best == nil || short < least {
			best, bestX, least = from, x, short
		}
	}
	if best != nil {
		b.turns(bestX, free-bestX)
	}
	return best, best != nil
}

// wants is how many products before the first that reads it a load's register should be free.
func (l *load) wants() int {
	if l.halves || l.paired {
		return 2 * latency
	}
	return latency
}

// turns gives loads of X the first of the free registers in turn, and those of W the others.
func (b *body) turns(x, w int) ([]int, bool) {
	n := len(b.products)
	count := map[bool]int{true: x, false: w}
	start := map[bool]int{true: registers - x - w, false: registers - w}
	if b.size == 2 && b.group == 1 { // instructions take lanes of the first registers only
		if x > firstRegisters {
			return nil, false
		}
		start[true], b.firstSum = 0, int64(x)
	}
	seen := map[bool]int{}
	var first, last [registers]int // loads that have a register first and last, from 1 on
	from := make([]int, len(b.loads))
	for i, l := range b.loads {
		l.reg = start[l.x] + seen[l.x]%count[l.x]
		seen[l.x]++
		if before := last[l.reg]; before > 0 {
			from[i] = b.loads[before-1].last
		} else {
			first[l.reg] = i + 1
		}
		last[l.reg] = i + 1
	}
	// What is first in an iteration follows what was last in the one before.
	for r, i := range first {
		if i > 0 {
			from[i-1] = b.loads[last[r]-1].last - n
		}
	}
	for i, l := range b.loads {
		if from[i] >= l.first {
			return nil, false
		}
	}
	return from, true
}

// choice is a slot and its cost.
type choice struct{ slot, cost int }

// best returns the cheapest slot for a load that product 'first' reads, the earliest of several. Each
// instruction there costs two, and each cycle by which the load is late costs one.
func (p *places) best(in window, first int) choice {
	n := len(p.taken)
	out := choice{in.from, -1}
	for s := in.from; s <= in.to; s++ {
		if cost := 2*p.taken[(s+n)%n] + max(0, latency-(first-s)); out.cost < 0 || cost < out.cost {
			out = choice{s, cost}
		}
	}
	return out
}
