package neon

// registers is how many vector registers there are.
const registers = 32

// latency is by how many products a load is ahead of the first that reads it, where registers allow: as many cycles
// as a load takes on processors that start one product in a cycle.
const latency = 6

// schedule gives each load a register and a place among the products. The loop is a pipeline (modulo scheduling): a
// load may stand in the iteration before the one that reads it, where busy names the slots that others take. It
// reports whether registers are enough.
func (b *body) schedule(busy int) bool {
	n := len(b.products)
	free := registers - int(b.micro.Rows*b.micro.Vectors)
	if free < 2 || busy >= n {
		return false
	}
	from, ok := b.allocate(free)
	if !ok {
		return false
	}
	p := places{taken: make([]int, n)}
	for i := range p.temps {
		p.temps[i] = make([]bool, n)
	}
	for i := range busy {
		p.taken[i] = 1
	}
	for i, l := range b.loads {
		p.place(l, max(from[i], busy-n))
	}
	return true
}

// temps is how many general registers hold upper halves.
const temps = 4

// places is what stands after each product.
type places struct {
	taken []int
	temps [temps][]bool
}

// place gives a load its slots: 'from' or later.
func (p *places) place(l *load, from int) {
	if l.halves && l.first-from > 3 {
		// The insertion is late enough for both loads, and early enough for the product.
		early := max(from+1, l.first-latency)
		high := p.slot(from, early)
		low := p.slot(min(high+1, early-1), early)
		in := p.slot(min(max(low, high)+latency/2, l.first-1), l.first)
		if temp := p.temp(high, in); temp >= 0 {
			p.take(high)
			p.take(low)
			p.take(in)
			l.steps = []step{{upper, high, temp}, {whole, low, 0}, {insert, in, temp}}
			return
		}
	}
	l.halves = false
	s := p.slot(from, l.first)
	p.take(s)
	l.steps = []step{{kind: whole, slot: s}}
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
	if l.halves {
		return 2 * latency
	}
	return latency
}

// turns gives loads of X the first of the free registers in turn, and those of W the others.
func (b *body) turns(x, w int) ([]int, bool) {
	n := len(b.products)
	count := map[bool]int{true: x, false: w}
	start := map[bool]int{true: registers - x - w, false: registers - w}
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

// slot is one from 'from' on before product 'first': what others take costs a cycle each, and so does each by which the
// load is late. Of equals it is the earliest.
func (p *places) slot(from, first int) int {
	n := len(p.taken)
	best, least := from, 0
	for s := from; s < first; s++ {
		if cost := 2*p.taken[(s+n)%n] + max(0, latency-(first-s)); s == from || cost < least {
			best, least = s, cost
		}
	}
	return best
}
