// Package fuse composes blocks into larger ones (DNNFusion, dissertation chapter 3).
//
// Mapping types decide by the paper's table 3.3 which pairs fuse; a row tells how. A
// producer without a reduction is composed into what its consumer loads; a consumer
// without a reduction that reads its producer element by element is composed into what
// the producer stores; the reductions of a row-wise chain (softmax) are placed at the
// loops that they share. Either way the value between them is never in memory.
package fuse

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Options say what takes part.
type Options struct {
	// Chains allows blocks of several stages.
	Chains bool
	// Latency estimates a block's time, in any unit; nil: what depends does not fuse.
	Latency func(*block.Block) float64
}

// Run fuses to a fixed point, in each graph that a block runs too, and leaves g verified.
func Run(g *block.Graph, o Options) error {
	fused := 0
	g.All(func(r *block.Graph) {
		f := &fuser{g: r, o: o, refused: map[refusal]bool{}, illegal: map[attempt]bool{},
			mappings: map[*block.Block]*mappings{}, fused: fused}
		for f.once() {
		}
		fused = f.fused
	})
	g.SyncOperands()
	return g.Verify()
}

// fuser is the state of a run.
type fuser struct {
	g        *block.Graph
	o        Options
	refused  map[refusal]bool // pairs that an estimate decided against
	illegal  map[attempt]bool // pairs that a row cannot fuse: blocks do not change while they live
	mappings map[*block.Block]*mappings
	fused    int
	users    map[*ir.Value][]*block.Block // of values
	def      map[*ir.Value]*block.Block   // what computes them
}

// fresh is a number for the names of one composition.
func (f *fuser) fresh() int {
	f.fused++
	return f.fused
}

type refusal struct{ first, second *block.Block }

type attempt struct {
	row int // its number
	pair
}

// pair is a block, and one that reads what it computes as operand n.
type pair struct {
	first, second *block.Block
	n             int
}

// once fuses one pair, by the first row that fuses any.
func (f *fuser) once() bool {
	f.users, f.def = f.g.Users(), map[*ir.Value]*block.Block{}
	users, def := f.users, f.def
	for _, b := range f.g.Blocks {
		for _, r := range b.Results {
			def[r] = b
		}
	}
	for i, r := range rows {
		for at, c := range f.g.Blocks {
			for n, v := range c.Operands {
				p := def[v]
				if p == nil || len(p.Results) != 1 || len(users[v]) != 1 || f.g.IsOutput(v) {
					continue
				}
				x := attempt{i, pair{p, c, n}}
				if f.illegal[x] {
					continue
				}
				if m := f.try(r, x.pair); m == nil {
					f.illegal[x] = true
				} else {
					f.g.Blocks[at] = m
					f.g.Blocks = remove(f.g.Blocks, p)
					delete(f.mappings, p)
					delete(f.mappings, c)
					return true
				}
			}
		}
	}
	return false
}

func remove(bs []*block.Block, x *block.Block) []*block.Block {
	out := bs[:0]
	for _, b := range bs {
		if b != x {
			out = append(out, b)
		}
	}
	return out
}

// try fuses a pair by a row; nil where that is not legal or does not pay.
func (f *fuser) try(r row, p pair) *block.Block {
	key := refusal{p.first, p.second}
	if p.first.Stage == nil || p.second.Stage == nil || f.refused[key] || p.first.Stage.Update != nil || p.second.Stage.Update != nil || !r.legal(f, p) {
		return nil
	}
	v := f.verdict(p)
	if v == stop && !r.despite {
		return nil
	}
	if grown(p) > 16*maxSize { // before it is made: values that are read often would fill memory
		f.refused[key] = true
		return nil
	}
	m := r.fuse(f, p)
	if size(m) > maxSize || v == depend && !r.despite && !f.pays(p, m) {
		f.refused[key] = true
		return nil
	}
	return m
}

// verdict looks the pair up in the table.
func (f *fuser) verdict(p pair) verdict {
	first, second := f.mappingsOf(p.first).all(), f.mappingsOf(p.second).of(p.n)
	if first == ops.Unread || second == ops.Unread {
		return through // a producer that reads nothing, such as a Range
	}
	return table[first][second].verdict
}

// pays compares the estimates, as the paper does measured latencies (list 3.1, step 2.3).
func (f *fuser) pays(p pair, m *block.Block) bool {
	return f.o.Latency != nil && f.o.Latency(m) <= f.o.Latency(p.first)+f.o.Latency(p.second)
}
