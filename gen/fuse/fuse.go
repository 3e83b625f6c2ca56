// Package fuse composes blocks into larger ones (DNNFusion, dissertation chapter 3).
//
// Mapping types decide by the paper's table 3.3 which pairs fuse; a row tells how. A
// producer without a reduction is composed into what its consumer loads; a consumer
// without a reduction that reads its producer element by element is composed into what
// the producer stores; by row-wise reduction fusion the reductions of a softmax are placed at the
// loops that they share. Either way the value between them is never in memory.
package fuse

import (
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Options say what takes part.
type Options struct {
	// Chains allows blocks of several stages.
	Chains bool
	// Views keeps concatenations apart whose operands are then written where they belong.
	Views bool
	// Latency estimates a block's time, in any unit; nil: what depends does not fuse.
	Latency func(*block.Block) float64
}

// Run fuses to a fixed point, in each graph that a block runs too, and leaves g verified.
func Run(g *block.Graph, o Options) error {
	fused := 0
	g.All(func(r *block.Graph) {
		f := newFuser(r, o, fused)
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
	users    map[*ir.Value][]*block.Block // of values
	def      map[*ir.Value]*block.Block   // what computes them
	// tried is, by row, how many of the first blocks read nothing that the row can fuse into them.
	tried []int
	fused int
}

func newFuser(g *block.Graph, o Options, fused int) *fuser {
	f := &fuser{g: g, o: o, refused: map[refusal]bool{}, illegal: map[attempt]bool{}, mappings: map[*block.Block]*mappings{},
		users: g.Users(), def: map[*ir.Value]*block.Block{}, tried: make([]int, len(rows)), fused: fused}
	for _, b := range g.Blocks {
		f.defines(b)
	}
	return f
}

func (f *fuser) defines(b *block.Block) {
	for _, r := range b.Results {
		f.def[r] = b
	}
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
	for i := range rows {
		for ; f.tried[i] < len(f.g.Blocks); f.tried[i]++ {
			if f.into(i, f.tried[i]) {
				return true
			}
		}
	}
	return false
}

// into fuses a block into the one at a place, by a row.
func (f *fuser) into(row, at int) bool {
	c := f.g.Blocks[at]
	for n, v := range c.Operands {
		p := f.def[v]
		if p == nil || len(p.Results) != 1 || len(f.users[v]) != 1 || f.g.IsOutput(v) {
			continue
		}
		x := attempt{row, pair{p, c, n}}
		if f.illegal[x] {
			continue
		}
		if m := f.try(rows[row], x.pair); m != nil {
			f.replace(p, at, m)
			return true
		}
		f.illegal[x] = true
	}
	return false
}

// replace puts m in the place of p and of the block at a place. Before it no block has other operands, and
// no value fewer users: what was tried there stays so.
func (f *fuser) replace(p *block.Block, at int, m *block.Block) {
	c := f.g.Blocks[at]
	for _, b := range []*block.Block{p, c} {
		delete(f.mappings, b)
		for _, v := range b.Operands {
			f.users[v] = slices.DeleteFunc(f.users[v], func(u *block.Block) bool { return u == b })
		}
		for _, r := range b.Results {
			delete(f.def, r)
		}
	}
	f.defines(m)
	for _, v := range m.Operands {
		if !slices.Contains(f.users[v], m) {
			f.users[v] = append(f.users[v], m)
		}
	}
	f.g.Blocks[at] = m
	first := slices.Index(f.g.Blocks, p)
	f.g.Blocks = slices.Delete(f.g.Blocks, first, first+1)
	for i := range f.tried {
		if f.tried[i] > first {
			f.tried[i]--
		}
		f.tried[i] = min(f.tried[i], at-1)
	}
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
	if size(m) > maxSize || !written(m) || v == depend && !r.despite && !f.pays(p, m) {
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
