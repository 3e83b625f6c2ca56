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

// Run fuses by all rules, in each graph that a block runs too. It returns how often each rule was applied.
func Run(g *block.Graph, o Options) []Applied {
	if o.Estimator == nil {
		o.Estimator = Unpriced{}
	}
	out := make([]Applied, len(rules))
	for i, r := range rules {
		out[i].Name = r.Name
	}
	fused, names := 0, namesOf(g)
	g.All(func(r *block.Graph) {
		f := newFuser(r, o, fused)
		f.names = names
		f.run()
		fused = f.fused
		for i, n := range f.applied {
			out[i].Times += n
		}
	})
	g.SyncOperands()
	return slices.DeleteFunc(out, func(a Applied) bool { return a.Times == 0 })
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
	todo     []todo                     // by rule
	applied  []int                      // times, by rule
	fused    int
	names    *ir.Names
	repeats  map[repeated]*ir.Value // copies of operands
}

func newFuser(g *block.Graph, o Options, fused int) *fuser {
	f := &fuser{g: g, o: o, trials: map[*block.Block][]trial{}, mappings: map[*block.Block]*mappings{}, sizes: map[*block.Block]*known{},
		readers: map[*ir.Value]readers{}, def: map[*ir.Value]*block.Block{}, at: map[*block.Block]int{}, outputs: map[*ir.Value]bool{},
		todo: make([]todo, len(rules)), applied: make([]int, len(rules)), fused: fused, repeats: map[repeated]*ir.Value{}}
	for _, v := range g.Outputs {
		f.outputs[v] = true
	}
	return f
}

// index enters all blocks at their places.
func (f *fuser) index() {
	for i, b := range f.g.Blocks {
		f.enter(b, i)
		f.count(b, i)
	}
}

// compose fuses pairs to a fixed point.
func (f *fuser) compose() {
	f.index()
	for f.once() {
	}
	f.compact()
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
	illegal uint // the set of rules that cannot fuse the pair
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

// once fuses one pair, by the first rule that fuses any.
func (f *fuser) once() bool {
	for i, r := range rules {
		if r.pair == nil || !f.on(i) {
			continue
		}
		for at, left := f.todo[i].take(len(f.g.Blocks)); left; at, left = f.todo[i].take(len(f.g.Blocks)) {
			if f.into(i, at) {
				return true
			}
		}
	}
	return false
}

// into fuses a block into the one at a place, by a rule.
func (f *fuser) into(rule, at int) bool {
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
		if t.refused || t.illegal&(1<<rule) != 0 {
			continue
		}
		if m := f.try(rules[rule].pair, p, t); m != nil {
			f.applied[rule]++
			f.replace(p.first, at, m)
			return true
		}
		t.illegal |= 1 << rule
	}
	return false
}

// replace puts m in the place of p and of the block at a place. All rules are tried again there, and where m's result is
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

// try fuses a pair by a composition; nil where that is not legal or does not pay.
func (f *fuser) try(r *composition, p pair, t *trial) *block.Block {
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
	fused := f.latency(m)
	return !math.IsInf(fused, 1) && fused <= f.latency(p.first)+f.latency(p.second)
}
