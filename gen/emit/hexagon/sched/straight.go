package sched

import (
	"math"
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// Mode is how soft dependencies are packed.
type Mode int

// Modes: with a penalty for what they make others wait (SDA); never in one packet ("soft to hard"); as if they cost nothing ("soft to none"); and as SDA, or
// in the order of the code where that takes less.
const (
	Aware Mode = iota
	Hard
	Ignored
	Best
)

// Modes are all, and what Figure 4.11 calls them.
var Modes = map[Mode]string{Aware: "SDA", Hard: "soft to hard", Ignored: "soft to none", Best: "SDA or first fit"}

// weights of order and predecessors against latency in equation 4.4, of which the best is taken: the paper has one, decided empirically.
var weights = []float64{0.95, 0.8, 0.6, 0.4}

// wait is the penalty p of a soft dependency for each packet that others wait: more than order and predecessors differ by among what is free.
const wait = 10

// Straight packs straight-line code whose order says what it means. Where live is set, registers are read after it.
func Straight(version int, insts []isa.Inst, mode Mode, live bool) [][]isa.Inst {
	g := newGraph(version, insts)
	g.straight()
	g.jumpLast()
	var best [][]isa.Inst
	least := 0
	if mode == Best {
		best = firstFit(g)
		least = Cost(version, best)
	}
	for _, w := range weights {
		s := &packer{graph: g, mode: mode, weight: w, live: live}
		p := s.pack()
		if cost := Cost(version, p); best == nil || cost < least {
			best, least = p, cost
		}
	}
	return best
}

// Cost is packets, and those that early sources wait for.
func Cost(version int, packets [][]isa.Inst) int {
	s := packet.NewStalls(version)
	for _, p := range packets {
		s.Step(p)
	}
	return len(packets) + s.Count
}

// jumpLast keeps the function's return in its last packet.
func (g *graph) jumpLast() {
	last := len(g.insts) - 1
	if last < 0 || g.insts[last].Row.Name != "J2_jumpr" {
		return
	}
	for n := range last {
		g.add(edge{from: n, to: last})
	}
}

// packer is a run of Algorithm 1, which makes packets from the last to the first.
type packer struct {
	*graph
	mode   Mode
	weight float64
	live   bool
	// order is an instruction's distance from the first ones, in packets.
	order   []int
	latency []int // when its result is there, in cycles
	at      []int // an instruction's packet, counted from the last; -1: none yet
	current []int
}

func (s *packer) pack() [][]isa.Inst {
	n := len(s.insts)
	s.order, s.at, s.latency = make([]int, n), make([]int, n), make([]int, n)
	for i := range n {
		for _, w := range s.insts[i].Writes(s.version) {
			s.latency[i] = max(s.latency[i], w.Cycle)
		}
		s.at[i] = -1
		for _, e := range s.in[i] {
			s.order[i] = max(s.order[i], s.order[e.from]+max(e.latency, e.least))
		}
	}
	var packets [][]isa.Inst
	for left := n; left > 0; {
		s.current = nil
		for len(s.current) < packet.Most {
			i := s.choose(len(packets))
			if i < 0 {
				break
			}
			s.current, s.at[i] = append(s.current, i), len(packets)
			left--
		}
		p, _ := s.formed(s.current)
		packets = append(packets, p)
	}
	slices.Reverse(packets)
	return packets
}

// choose is the most profitable instruction for the packet, -1 where none fits. The first one of a packet is the end of the critical path.
func (s *packer) choose(at int) int {
	best, score := -1, math.Inf(-1)
	high := 0
	for _, i := range s.current {
		high = max(high, s.latency[i])
	}
	for i := range s.insts {
		if s.at[i] >= 0 {
			continue
		}
		penalty, free := s.free(i, at)
		if !free {
			continue
		}
		x := float64(s.order[i])
		if len(s.current) > 0 {
			x = float64(float64(float64(s.order[i]+len(s.in[i]))*s.weight) - float64(math.Abs(float64(high-s.latency[i]))*(1-s.weight)))
		}
		if s.mode != Ignored {
			x -= float64(wait * penalty)
		}
		if x <= score {
			continue
		}
		if _, fits := s.formed(append(slices.Clone(s.current), i)); fits {
			best, score = i, x
		}
	}
	return best
}

// free reports whether all that depends on an instruction lets it be in a packet, and for how many packets others then wait.
func (s *packer) free(i, at int) (penalty int, ok bool) {
	for _, e := range s.out[i] {
		if s.at[e.to] < 0 {
			return 0, false
		}
		d := at - s.at[e.to]
		switch {
		case d > 0 || e.latency == 0 && !e.over:
			penalty += max(0, e.latency-d)
		case s.mode == Hard || !e.over && !e.hands:
			return 0, false
		}
		if d < e.least && !e.hands {
			return 0, false
		}
	}
	return penalty, true
}

// formed is a packet's instructions with what they hand over in it, and whether they may share it.
func (s *packer) formed(members []int) ([]isa.Inst, bool) {
	out := s.form(members, s.live)
	return out, out != nil && packet.Legal(s.version, out)
}

// form gives loads and stores of a packet the forms in which values are handed over; nil where one reads the old value of what a load hands over.
func (g *graph) form(members []int, live bool) []isa.Inst {
	var out []isa.Inst
	for _, i := range members {
		inst := g.insts[i]
		forms, f := handed(inst), fresh(inst)
		here, elsewhere := false, forms != nil && live && !g.rewritten(i)
		for _, e := range g.out[i] {
			switch in := slices.Contains(members, e.to); {
			case !e.hands || e.distance > 0 && in:
				elsewhere = elsewhere || e.vector
			case in:
				here = true
			default:
				elsewhere = true
			}
		}
		if forms != nil && here {
			inst.Row = isa.Lookup(forms[1])
			if elsewhere {
				inst.Row = isa.Lookup(forms[0])
			}
			for _, e := range g.in[i] {
				if e.over && slices.Contains(members, e.from) {
					return nil
				}
			}
		}
		for _, e := range g.in[i] {
			if f != "" && e.hands && e.distance == 0 && slices.Contains(members, e.from) {
				inst.Row = isa.Lookup(f)
			}
		}
		out = append(out, inst)
	}
	return out
}

// rewritten reports whether a later instruction writes the register of a load.
func (g *graph) rewritten(i int) bool {
	for _, w := range g.insts[i].Writes(g.version) {
		if w.Class != isa.Vector {
			continue
		}
		for _, later := range g.insts[i+1:] {
			for _, x := range later.Writes(g.version) {
				if x.Class == w.Class && x.Reg == w.Reg {
					return true
				}
			}
		}
	}
	return false
}
