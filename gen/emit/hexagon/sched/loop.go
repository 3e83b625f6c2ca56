package sched

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// Op is an instruction of a loop's body.
type Op struct {
	isa.Inst
	// At is the part of an iteration's time before which it does not run, from 0 to 1: products in their turn keep few values waiting.
	// Late ones run as late as what reads them lets them.
	At   float64
	Late bool
}

// Modulo is a schedule of a loop's iterations, each Interval packets after the one before.
type Modulo struct {
	Interval int
	// Times are packets from the begin of an iteration, by operation; the first is 0.
	Times []int
	graph *graph
	rows  [][]int // operations in each packet of the loop
}

// Stages is how many iterations are under way at once.
func (m *Modulo) Stages() int { return slices.Max(m.Times)/m.Interval + 1 }

// Loop schedules a body with that interval, in that order of operations, or gives nil. Operations that find no place displace others,
// a number of times. Only where stalls are allowed may an early source be of the packet before.
func Loop(version int, body []Op, order []int, interval int, stalls bool) *Modulo {
	insts := make([]isa.Inst, len(body))
	for i, o := range body {
		insts[i] = o.Inst
	}
	g := newGraph(version, insts)
	g.carried()
	if stalls {
		g.allowStalls()
	}
	s := &placer{graph: g, body: body, interval: interval, times: make([]int, len(body)), placed: make([]bool, len(body)), rows: make([][]int, interval)}
	queue := slices.Clone(order)
	tries := 8*len(body) + 64
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if s.placed[n] {
			continue
		}
		t, ok := s.find(n)
		if !ok {
			if tries--; tries < 0 || len(body) > mostDisplaced {
				return nil
			}
			displaced := s.force(n, t)
			queue = append(displaced, queue...)
			continue
		}
		s.put(n, t)
	}
	first := slices.Min(s.times)
	m := &Modulo{Interval: interval, Times: s.times, graph: g, rows: make([][]int, interval)}
	for n := range s.times {
		s.times[n] -= first
		m.rows[s.times[n]%interval] = append(m.rows[s.times[n]%interval], n)
	}
	return m
}

// mostDisplaced is how many operations a loop has at most in which some displace others.
const mostDisplaced = 100

// allowStalls lets reads of vectors follow right behind what writes them.
func (g *graph) allowStalls() {
	for _, edges := range [][][]edge{g.out, g.in} {
		for _, all := range edges {
			for i := range all {
				if all[i].vector {
					all[i].latency = all[i].least
				}
			}
		}
	}
}

type placer struct {
	*graph
	body     []Op
	interval int
	times    []int
	placed   []bool
	rows     [][]int
	last     []int // the time at which an operation was forced last
}

func (s *placer) row(t int) int { return ((t % s.interval) + s.interval) % s.interval }

// window is when an operation may run for what is placed: after and before report whether something bounds it.
func (s *placer) window(n int) (lo, hi int, after, before bool) {
	lo, hi = -1<<30, 1<<30
	for _, e := range s.in[n] {
		if s.placed[e.from] && e.from != n {
			lo, after = max(lo, s.times[e.from]+max(e.latency, e.least)-s.interval*e.distance), true
		}
	}
	for _, e := range s.out[n] {
		if s.placed[e.to] && e.to != n {
			hi, before = min(hi, s.times[e.to]-max(e.latency, e.least)+s.interval*e.distance), true
		}
	}
	return lo, hi, after, before
}

// find is a time at which there is room.
func (s *placer) find(n int) (int, bool) {
	lo, hi, after, before := s.window(n)
	if at := int(s.body[n].At * float64(s.interval)); s.body[n].At > 0 || !after && !before {
		lo, after = max(lo, at), true
	}
	switch {
	case s.body[n].Late && before, before && !after:
		for t := hi; t >= max(lo, hi-s.interval+1); t-- {
			if s.fits(n, t) {
				return t, true
			}
		}
		return hi, false
	default:
		for t := lo; t <= min(hi, lo+s.interval-1); t++ {
			if s.fits(n, t) {
				return t, true
			}
		}
		return lo, false
	}
}

func (s *placer) fits(n, t int) bool {
	return s.room(s.rows[s.row(t)], s.insts[n])
}

// room reports whether a packet has room for one more instruction. Values are not handed over in packets of a loop: other iterations have work for those between.
func (g *graph) room(row []int, inst isa.Inst) bool {
	if len(row) == packet.Most {
		return false
	}
	all := []isa.Inst{inst}
	for _, i := range row {
		all = append(all, g.insts[i])
	}
	return packet.Fits(g.version, all)
}

func (s *placer) put(n, t int) {
	s.times[n], s.placed[n] = t, true
	s.rows[s.row(t)] = append(s.rows[s.row(t)], n)
}

func (s *placer) take(n int) {
	r := s.row(s.times[n])
	s.rows[r] = slices.DeleteFunc(s.rows[r], func(k int) bool { return k == n })
	s.placed[n] = false
}

// force puts an operation where it finds no room, and is what it displaces.
func (s *placer) force(n, t int) []int {
	if s.last == nil {
		s.last = make([]int, len(s.body))
		for i := range s.last {
			s.last[i] = -1 << 30
		}
	}
	if t <= s.last[n] && t > s.last[n]-s.interval {
		t = s.last[n] + 1 // elsewhere than before
	}
	s.last[n] = t
	var out []int
	for !s.fits(n, t) {
		row := s.rows[s.row(t)]
		k := row[len(row)-1]
		s.take(k)
		out = append(out, k)
	}
	s.put(n, t)
	for k := range s.body {
		if s.placed[k] && k != n {
			if lo, hi, _, _ := s.window(k); s.times[k] < lo || s.times[k] > hi {
				s.take(k)
				out = append(out, k)
			}
		}
	}
	return out
}

// Room reports whether a packet of the loop has room for one more instruction at a time.
func (m *Modulo) Room(inst isa.Inst, t int) bool { return m.graph.room(m.rows[t%m.Interval], inst) }

// Insert adds an instruction that depends on no other at a time, where there is room.
func (m *Modulo) Insert(inst isa.Inst, t int) {
	n := len(m.Times)
	g := m.graph
	g.insts, g.in, g.out = append(g.insts, inst), append(g.in, nil), append(g.out, nil)
	m.Times, m.rows[t%m.Interval] = append(m.Times, t), append(m.rows[t%m.Interval], n)
}

// Packets are the loop's, each of operations by number.
func (m *Modulo) Packets() [][]int { return m.rows }
