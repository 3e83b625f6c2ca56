package sched

import (
	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// firstFit packs straight-line code in its order: each instruction in the first packet that has room and where nothing stalls. Code that comes out of a
// loop's schedule is often in a good order already, which Algorithm 1 does not see.
func firstFit(g *graph) [][]isa.Inst {
	var out [][]isa.Inst
	at := make([]int, len(g.insts))
	for n, i := range g.insts {
		t := 0
		for _, e := range g.in[n] {
			t = max(t, at[e.from]+max(e.latency, e.least))
		}
		for ; ; t++ {
			for len(out) <= t {
				out = append(out, nil)
			}
			if p := append(out[t][:len(out[t]):len(out[t])], i); packet.Legal(g.version, p) {
				out[t], at[n] = p, t
				break
			}
		}
	}
	var full [][]isa.Inst
	for _, p := range out {
		if len(p) > 0 { // where nothing runs, processors wait by themselves
			full = append(full, p)
		}
	}
	return full
}
