// Package fuse composes blocks into larger ones (DNNFusion, dissertation chapter 3).
//
// Mapping types decide by the paper's table 3.3 which pairs fuse; a row tells how. A
// producer without a reduction is composed into what its consumer loads; a consumer
// without a reduction that reads its producer element by element is composed into what
// the producer stores; by row-wise reduction fusion the reductions of a softmax are placed at the
// loops that they share. Either way the value between them is never in memory.
package fuse

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Options say what takes part.
type Options struct {
	// Chains allows blocks of several stages.
	Chains bool
	// Views keeps concatenations apart whose operands are then written where they belong.
	Views bool
	// Moves composes what only moves elements into what reads each of them several times, where that is estimated to pay: where a launch costs more
	// than indices do.
	Moves bool
	// Apart leaves blocks that only move elements blocks of their own, to measure what composing them gains.
	Apart bool
	// Latency estimates a block's time, in any unit, +Inf where nothing is known to compute it; nil: what depends does not fuse.
	Latency func(*block.Block) float64
	// Tasks keep the whole chip busy, TaskElements is what one of them takes; 0: nothing is done for more tasks.
	Tasks, TaskElements int64
	// Lanes are how many neighbouring results of a reduction one task may take as a vector; 0: one.
	Lanes int64
	// SumResults is the most results of a product whose sums may be added in parts by one kernel and joined by another, where this is estimated to take
	// less: a device has too few work-groups for them. Shared estimates what its groups take for a product, and Latency what joins. SumParts, where it
	// is not 0, cuts all products that divide into so many, of 1 none.
	SumResults, SumParts int64
	Shared               func(*block.Block) float64
	// Split gives ways to compute a block by several ones. That of the least estimate is taken where it is less than the block's or, by SplitAll, whatever it is.
	Split    func(*block.Block) [][]*block.Block
	SplitAll bool
	// Together estimates blocks in the layouts that suit them best. Where it is given, convolutions of several filters for each channel read a copy that
	// repeats the channels, where this is estimated to take less: lanes are then channels.
	Together func([]*block.Block) float64
	// Attention lets the products around a softmax and the softmax be one block, where this is estimated to take less.
	// Queued is the part of an estimate that is a launch while the device computes the one before, which a launch less does not gain.
	// Memory is how long so many bytes take that are stored and read again, in the unit of estimates, and 0 where caches hold them; nil: what is stored stays
	// as near as estimates say.
	Attention bool
	Queued    float64
	Memory    func(bytes float64) float64
	// CacheBytes is what a task may read several times and find in its processor's own cache; 0: whatever it is.
	CacheBytes int64
}

// Run fuses to a fixed point, in each graph that a block runs too.
func Run(g *block.Graph, o Options) {
	fused, names := 0, namesOf(g)
	g.All(func(r *block.Graph) {
		if o.Moves {
			spread(r, names)
		}
		f := newFuser(r, o, fused)
		f.names = names
		for f.once() {
		}
		f.compact()
		f.attend()
		f.cutReductions()
		fused = f.fused
	})
	g.SyncOperands()
}

// fuser is the state of a run. While it runs, a block that was fused into another one leaves nil in
// its place, so that places are those of the beginning.
type fuser struct {
	g        *block.Graph
	o        Options
	trials   map[*block.Block][]trial // of a block's operands
	mappings map[*block.Block]*mappings
	sizes    map[*block.Block]*known
	readers  map[*ir.Value]readers
	def      map[*ir.Value]*block.Block // what computes them
	at       map[*block.Block]int       // places of blocks
	outputs  map[*ir.Value]bool         // of the graph
	todo     []todo                     // by row
	fused    int
	names    *ir.Names
	repeats  map[repeated]*ir.Value // copies of operands
}

func newFuser(g *block.Graph, o Options, fused int) *fuser {
	f := &fuser{g: g, o: o, trials: map[*block.Block][]trial{}, mappings: map[*block.Block]*mappings{}, sizes: map[*block.Block]*known{},
		readers: map[*ir.Value]readers{}, def: map[*ir.Value]*block.Block{}, at: map[*block.Block]int{}, outputs: map[*ir.Value]bool{},
		todo: make([]todo, len(rows)), fused: fused, repeats: map[repeated]*ir.Value{}}
	for _, v := range g.Outputs {
		f.outputs[v] = true
	}
	for i, b := range g.Blocks {
		f.enter(b, i)
		f.count(b, i)
	}
	return f
}

// compact removes the places of blocks that were fused into others: of places the fuser knows nothing any more.
func (f *fuser) compact() {
	f.g.Blocks = slices.DeleteFunc(f.g.Blocks, func(b *block.Block) bool { return b == nil })
}

// enter notes a block at a place.
func (f *fuser) enter(b *block.Block, at int) {
	f.at[b] = at
	for _, r := range b.Results {
		f.def[r] = b
	}
}

// leave forgets a block.
func (f *fuser) leave(b *block.Block) {
	delete(f.mappings, b)
	delete(f.sizes, b)
	delete(f.trials, b)
	delete(f.at, b)
	for _, r := range b.Results {
		delete(f.def, r)
	}
}

// readers are how many blocks read a value, and the sum of their places: of one reader, its place.
type readers struct{ n, places int }

// count notes that a block at a place reads values.
func (f *fuser) count(b *block.Block, at int) {
	for _, v := range b.Operands { // each of them is there once
		r := f.readers[v]
		f.readers[v] = readers{r.n + 1, r.places + at}
	}
}

// recount lets what p reads, at a place, be read by c, at another one, which may read it already and p's result no more.
func (f *fuser) recount(p, c *block.Block, from, to int) {
	delete(f.readers, p.Results[0])
	for _, v := range p.Operands {
		r := f.readers[v]
		if slices.Contains(c.Operands, v) {
			f.readers[v] = readers{r.n - 1, r.places - from}
		} else {
			f.readers[v] = readers{r.n, r.places - from + to}
		}
	}
}

// single reports whether a value is all that a block computes, and one other block alone reads it.
func (f *fuser) single(v *ir.Value) bool {
	p := f.def[v]
	return p != nil && len(p.Results) == 1 && f.readers[v].n == 1 && !f.outputs[v]
}

// fresh is a number for the names of one composition.
func (f *fuser) fresh() int {
	f.fused++
	return f.fused
}

// trial is what is known of fusing the block that computes an operand into the one that reads it: blocks do not
// change while they live.
type trial struct {
	first   *block.Block
	illegal uint // the set of rows that cannot fuse the pair
	refused bool // the pair is too large, or an estimate decided against it
}

// trial is that of a pair.
func (f *fuser) trial(p pair) *trial {
	ts := f.trials[p.second]
	if ts == nil {
		ts = make([]trial, len(p.second.Operands))
		f.trials[p.second] = ts
	}
	t := &ts[p.n]
	if t.first != p.first {
		*t = trial{first: p.first}
	}
	return t
}

// pair is a block, and one that reads what it computes as operand n.
type pair struct {
	first, second *block.Block
	n             int
}

// once fuses one pair, by the first row that fuses any.
func (f *fuser) once() bool {
	for i := range rows {
		for at, left := f.todo[i].take(len(f.g.Blocks)); left; at, left = f.todo[i].take(len(f.g.Blocks)) {
			if f.into(i, at) {
				return true
			}
		}
	}
	return false
}

// into fuses a block into the one at a place, by a row.
func (f *fuser) into(row, at int) bool {
	c := f.g.Blocks[at]
	if c == nil {
		return false
	}
	for n, v := range c.Operands {
		if !f.single(v) {
			continue
		}
		p := pair{f.def[v], c, n}
		t := f.trial(p)
		if t.refused || t.illegal&(1<<row) != 0 {
			continue
		}
		if m := f.try(rows[row], p, t); m != nil {
			f.replace(p.first, at, m)
			return true
		}
		t.illegal |= 1 << row
	}
	return false
}

// replace puts m in the place of p and of the block at a place. All rows are tried again there, and where m's result is
// read; no other block has other operands, and no other value fewer readers than before.
func (f *fuser) replace(p *block.Block, at int, m *block.Block) {
	c, from := f.g.Blocks[at], f.at[p]
	f.recount(p, c, from, at)
	f.leave(p)
	f.leave(c)
	f.g.Blocks[from], f.g.Blocks[at] = nil, m
	f.enter(m, at)
	for i := range f.todo {
		f.todo[i].repeat(at)
		if v := m.Results[0]; f.single(v) {
			f.todo[i].repeat(f.readers[v].places)
		}
	}
}

// try fuses a pair by a row; nil where that is not legal or does not pay.
func (f *fuser) try(r row, p pair, t *trial) *block.Block {
	if !composable(p.first) || !composable(p.second) || f.o.Apart && (p.first.Moves() || p.second.Moves()) || f.large(p) {
		t.refused = true
		return nil
	}
	if !r.legal(f, p) {
		return nil
	}
	v := f.verdict(p)
	if v == stop && !r.despite {
		return nil
	}
	// Before it is made: values that are read often would fill memory.
	grown, exact := f.grown(p)
	exact = exact && !r.places
	if grown > 16*maxSize || exact && grown > maxSize || v == depend && !r.despite && grown > maxEstimated {
		t.refused = true
		return nil
	}
	m := r.fuse(f, p)
	if m == nil {
		t.refused = true
		return nil
	}
	if exact {
		f.sizes[m] = &known{size: grown, depth: f.known(p.first).depth + f.known(p.second).depth}
	}
	estimated := v == depend && !r.despite || r.places && f.o.Moves // items may share rows, or not
	if f.known(m).size > maxSize || estimated && !f.pays(p, m) {
		delete(f.sizes, m) // what was noted of it goes with it
		delete(f.mappings, m)
		t.refused = true
		return nil
	}
	return m
}

// composable reports whether a block is a stage whose elements can be composed with another one's.
func composable(b *block.Block) bool { return b.Stage != nil && b.Stage.Update == nil }

// verdict looks the pair up in the table.
func (f *fuser) verdict(p pair) verdict {
	second := f.mappingsOf(p.second).of(p.n)
	if paysAfterAny(second) {
		return through // and the first one, of many operands perhaps, need not be followed
	}
	first := f.mappingsOf(p.first).all()
	if first == ops.Unread || second == ops.Unread {
		return through // a producer that reads nothing, such as a Range
	}
	return table[first][second].verdict
}

// pays compares the estimates, as the paper does measured latencies (list 3.1, step 2.3). A block without an estimate is
// never better, not even than others without one.
func (f *fuser) pays(p pair, m *block.Block) bool {
	if f.o.Latency == nil {
		return false
	}
	fused := f.latency(m)
	return !math.IsInf(fused, 1) && fused <= f.latency(p.first)+f.latency(p.second)
}
