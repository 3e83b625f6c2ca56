package fuse

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// maxSize bounds a block's expressions, in nodes: the constraint of the paper's list 3.1, step
// 2.2. Beyond it kernels take long to compile and need more registers than there are.
const maxSize = 4000

// maxNodes bounds the nodes of the network that one block stands for. What is read once for so many operations costs
// nothing beside them, and each composition takes time in the size of what it makes: the time of long chains
// would grow with its square.
const maxNodes = 256

// maxEstimated bounds the expressions of pairs whose estimates decide: an estimate takes time in the size, too. In networks
// such pairs have up to 50 nodes.
const maxEstimated = 256

// maxDepth bounds how deep choices stand in each other: clang reads 256 levels of brackets.
const maxDepth = 100

// depthOf is how deep choices stand in an expression.
func depthOf(e te.Expr) int {
	switch x := e.(type) {
	case te.Call:
		n := 0
		for _, a := range x.Args {
			n = max(n, depthOf(a))
		}
		return n
	case te.Let:
		return max(depthOf(x.Value), depthOf(x.Body))
	case te.Select:
		return 1 + max(depthOf(x.Then), depthOf(x.Else))
	case te.Load:
		if x.Default != nil {
			return 1 + depthOf(x.Default)
		}
	}
	return 0
}

// large reports whether a pair is too large before it is looked at.
func (f *fuser) large(p pair) bool {
	first, second := f.known(p.first).depth, f.known(p.second).depth
	if first > 0 && second > 0 && first+second > maxDepth {
		return true
	}
	return len(p.first.Origins)+len(p.second.Origins) > maxNodes || max(f.known(p.first).size, f.known(p.second).size) > maxSize || f.outgrows(p)
}

// outgrows reports whether a pair is one that no row fuses, as its size is known and too large, and nothing of it can be placed. A block at its limit
// is then left alone by the one after it, which is tried again with each block that it takes in.
func (f *fuser) outgrows(p pair) bool {
	if f.known(p.first).size+f.known(p.second).size <= maxSize || reduces(p.second) {
		return false
	}
	size, exact := f.grown(p)
	return exact && size > maxSize
}

// known is what fusion asks of a block again and again, and would have to walk its expressions for.
type known struct {
	// size is that of the code that computes the block: its nodes, and the conditions under which it binds
	// variables. A kernel binds all of them before it computes, each by choices as the one that it stands in.
	size int
	lets bool // variables are bound
	// depth is how deep choices stand in each other, or more.
	depth         int
	concatenation *concatenation // nil until it is asked for
	latency       *float64       // nil until it is asked for
}

// concatenation is what block.Concatenation gives.
type concatenation struct {
	axis   int
	pieces []block.Piece
	ok     bool
}

// concatenation of a block, if it is one.
func (f *fuser) concatenation(b *block.Block) *concatenation {
	k := f.known(b)
	if k.concatenation == nil {
		axis, pieces, ok := b.Concatenation()
		k.concatenation = &concatenation{axis, pieces, ok}
	}
	return k.concatenation
}

// latency of a block: in a chain each is compared with what comes before it, and then what they became with what comes after.
func (f *fuser) latency(b *block.Block) float64 {
	k := f.known(b)
	if k.latency == nil {
		l := f.o.Estimator.Alone(b)
		k.latency = &l
	}
	return *k.latency
}

// known is kept as long as the block lives.
func (f *fuser) known(b *block.Block) *known {
	k := f.sizes[b]
	if k == nil {
		k = knownOf(b)
		f.sizes[b] = k
	}
	return k
}

func knownOf(b *block.Block) *known {
	k := &known{}
	for _, e := range exprs(b) {
		k.size += sizeOf(e, 0)
		k.depth = max(k.depth, depthOf(e))
		te.Walk(e, func(e te.Expr) {
			_, let := e.(te.Let)
			k.lets = k.lets || let
		})
	}
	return k
}

// grown is the size of a pair in which what the first block computes stands for each load of it. That is exactly the
// size of what inlining makes, or appending, where no variable is bound, so that conditions add nothing to it.
func (f *fuser) grown(p pair) (size int, exact bool) {
	first, second := f.known(p.first), f.known(p.second)
	n, guards := loads(p)
	each := first.size - 1
	if _, joins := p.first.Stage.Results[0].(te.Load); guards && !joins {
		each++ // a choice (see guarded)
	}
	exact = !first.lets && !second.lets && p.first.Stage.Combine == nil && len(p.first.Placed)+len(p.second.Placed) == 0
	return second.size + n*each, exact
}

// loads is how often the second block of a pair reads the first one, and whether it does so under guards.
func loads(p pair) (n int, guards bool) {
	for _, e := range exprs(p.second) {
		te.Walk(e, func(e te.Expr) {
			if l, ok := e.(te.Load); ok && !l.Source.Stage && l.Source.N == p.n {
				n++
				guards = guards || len(l.Guard) > 0
			}
		})
	}
	return n, guards
}

// maxIndex bounds the text of an index: those of some moves, composed, double with each of them, and what a kernel makes of a
// long one may be longer than limit.Expression. In networks they have up to some hundred characters.
const maxIndex = 512

// written reports whether all indices of an expression are short enough to write.
func written(e te.Expr) bool {
	ok := true
	te.Walk(e, func(x te.Expr) {
		te.EachIndex(x, func(i sym.Expr) { ok = ok && !i.Overflow() && len(i.String()) <= maxIndex })
	})
	return ok
}

// exprs are what a block's stages compute.
func exprs(b *block.Block) []te.Expr {
	var out []te.Expr
	for _, s := range b.Stages() {
		out = append(append(out, s.Values...), s.Results...)
	}
	return out
}

// sizeOf is the size of e under conditions of so many terms.
func sizeOf(e te.Expr, conditions int) int {
	n := 1
	switch x := e.(type) {
	case te.Call:
		for _, a := range x.Args {
			n += sizeOf(a, conditions)
		}
	case te.Let:
		n += conditions + sizeOf(x.Value, conditions) + sizeOf(x.Body, conditions)
	case te.Select:
		conditions += terms(x.Cond)
		n += sizeOf(x.Then, conditions) + sizeOf(x.Else, conditions)
	case te.Load:
		if x.Default != nil {
			n += sizeOf(x.Default, conditions+terms(x.Guard))
		}
	}
	return n
}

// terms are those of conditions.
func terms(ws []te.Within) int {
	n := 0
	for _, w := range ws {
		e, _ := w.E.Terms()
		lo, _ := w.Lo.Terms()
		hi, _ := w.Hi.Terms()
		n += len(e) + len(lo) + len(hi)
	}
	return n
}
