package packet

import "rules_dnn/gen/emit/hexagon/isa"

// early is the cycle in which multipliers, shifts and permutes read vectors, of results that are there in cycle ready.
const early, ready = 5, 9

// Latency is how many packets later one that reads a register may follow the one that writes it, so that nothing stalls.
//
// An early source that the packet before wrote stalls for a packet; other sources of vectors do not (V65 HVX manual, 4.6). LLVM's cycles
// are two a packet, and a vector is handed on a cycle before it is there.
func Latency(write, read isa.Access) int {
	cycles := write.Cycle - read.Cycle + 1
	if write.Class == isa.Vector {
		cycles--
	}
	return max(1, (cycles+1)/2)
}

// Stalls counts packets for which early sources wait. What values wait for that are handed over within a packet (.cur, .tmp, .new) is not published: it
// counts as nothing, whoever made the code.
type Stalls struct {
	version int
	last    map[register]bool // what the last packet with vectors wrote
	Count   int
}

// NewStalls begins to count.
func NewStalls(version int) *Stalls { return &Stalls{version: version} }

// Step is the next packet to run.
func (s *Stalls) Step(packet []isa.Inst) {
	written := map[register]bool{}
	vectors, stalls, handed := false, false, map[register]bool{}
	for _, i := range packet {
		vectors = vectors || i.Row.IsVector()
		for _, w := range i.Writes(s.version) {
			if w.Class != isa.Vector {
				continue
			}
			if i.Row.Form != isa.Plain {
				handed[register{w.Class, w.Reg}] = true
			}
			if i.Row.Form != isa.Tmp && w.Cycle >= ready {
				written[register{w.Class, w.Reg}] = true
			}
		}
	}
	if !vectors {
		return // vectors have a pipeline of their own
	}
	for _, i := range packet {
		for _, u := range i.Reads(s.version) {
			r := register{u.Class, u.Reg}
			if u.Class == isa.Vector && u.Cycle <= early && !u.New && !handed[r] && s.last[r] {
				stalls = true
			}
		}
	}
	if stalls {
		s.Count++
	}
	s.last = written
}
