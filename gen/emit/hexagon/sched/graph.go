// Package sched puts instructions into packets: straight-line code by GCD2's packing that is aware of soft dependencies
// (dissertation, Algorithm 1), and loops as modulo schedules.
package sched

import (
	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// edge says how many packets later than one instruction another follows.
type edge struct {
	from, to int
	// latency is where nothing stalls; least is what must be.
	latency, least int
	// distance is how many iterations of a loop lie between.
	distance int
	// hands reports that the value may be handed over within a packet: .cur, .tmp or .new; over reports a register that is read before it is written anew.
	hands, over bool
	// vector reports that the value is a vector.
	vector bool
}

type register struct {
	class isa.Class
	n     int64
}

// graph is the dependencies among instructions.
type graph struct {
	version int
	insts   []isa.Inst
	out, in [][]edge
}

func newGraph(version int, insts []isa.Inst) *graph {
	return &graph{version: version, insts: insts, out: make([][]edge, len(insts)), in: make([][]edge, len(insts))}
}

func (g *graph) add(e edge) {
	if e.from == e.to && e.distance == 0 {
		return
	}
	g.out[e.from] = append(g.out[e.from], e)
	g.in[e.to] = append(g.in[e.to], e)
}

// access is an instruction's of a register.
type access struct {
	at int
	isa.Access
}

// straight adds the dependencies of straight-line code. Loads and stores meet only on the stack (r29): what is computed is stored where nothing is read.
func (g *graph) straight() {
	writer, readers := map[register]access{}, map[register][]access{}
	stack := -1
	for n, i := range g.insts {
		for _, u := range i.Reads(g.version) {
			r := register{u.Class, u.Reg}
			if w, ok := writer[r]; ok {
				g.add(g.flow(w, access{n, u}, 0))
			}
			readers[r] = append(readers[r], access{n, u})
			if u.Class == isa.Scalar && u.Reg == 29 && i.Row.Memory != isa.None {
				if i.Row.Memory == isa.Stores {
					stack = n
				} else if stack >= 0 {
					g.add(edge{from: stack, to: n, latency: 1, least: 1})
				}
			}
		}
		for _, w := range i.Writes(g.version) {
			r := register{w.Class, w.Reg}
			for _, u := range readers[r] {
				g.add(edge{from: u.at, to: n, over: true})
			}
			if last, ok := writer[r]; ok {
				g.add(edge{from: last.at, to: n, latency: 1, least: 1})
			}
			writer[r], readers[r] = access{n, w}, nil
		}
	}
}

// flow is the dependency of a read on a write.
func (g *graph) flow(w, u access, distance int) edge {
	e := edge{from: w.at, to: u.at, latency: latency(w.Access, u.Access), least: 1, distance: distance, vector: w.Class == isa.Vector}
	from, to := g.insts[w.at], g.insts[u.at]
	switch {
	case w.Class != isa.Vector:
	case handed(from) != nil && to.Row.Memory == isa.None && !u.Operand.Writes:
		e.hands = true
	case fresh(to) != "" && from.Row.Memory == isa.None && u.Operand.Class == isa.Vector:
		e.hands = true
	}
	return e
}

// handed are the forms of a load that give the packet its value, or nil.
func handed(i isa.Inst) []string { return handedForms[i.Row.Name] }

// fresh is the form of a store that takes the packet's value, or "".
func fresh(i isa.Inst) string { return freshForms[i.Row.Name] }

var (
	handedForms = map[string][]string{
		"V6_vL32b_ai": {"V6_vL32b_cur_ai", "V6_vL32b_tmp_ai"},
		"V6_vL32b_pi": {"V6_vL32b_cur_pi", "V6_vL32b_tmp_pi"},
	}
	freshForms = map[string]string{"V6_vS32b_ai": "V6_vS32b_new_ai", "V6_vS32b_pi": "V6_vS32b_new_pi"}
)

// carried adds the dependencies of a loop's iterations: within one, and on the one before. A register that an iteration writes before it reads it is a
// value of its own for each, and lives for at most one iteration's time.
func (g *graph) carried() {
	g.straight()
	type span struct{ first, last access }
	writes := map[register]*span{}
	for n, i := range g.insts {
		for _, w := range i.Writes(g.version) {
			r, a := register{w.Class, w.Reg}, access{n, w}
			if writes[r] == nil {
				writes[r] = &span{first: a}
			}
			writes[r].last = a
		}
	}
	for n, i := range g.insts {
		for _, u := range i.Reads(g.version) {
			s := writes[register{u.Class, u.Reg}]
			if s == nil {
				continue // nothing in the loop writes it
			}
			if n <= s.first.at {
				g.add(g.flow(s.last, access{n, u}, 1))
			}
			if n >= s.last.at {
				g.add(edge{from: n, to: s.first.at, distance: 1, over: true})
			}
		}
	}
}

// latency is between packets: LLVM counts addresses as late by a packet more than processors show, so that only loads and vectors count.
func latency(w, u isa.Access) int {
	if w.Class == isa.Scalar && w.Cycle < 4 {
		return 1
	}
	return packet.Latency(w, u)
}
