package fuse

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// maxSize bounds a block's expressions, in nodes: the constraint of the paper's list 3.1, step
// 2.2. Beyond it kernels take long to compile and need more registers than there are.
const maxSize = 4000

// grown is about the size of a pair that is composed, where each load becomes what it loads.
func grown(p pair) int {
	loads := 0
	for _, e := range exprs(p.second) {
		te.Walk(e, func(e te.Expr) {
			if l, ok := e.(te.Load); ok && !l.Source.Stage && l.Source.N == p.n {
				loads++
			}
		})
	}
	return size(p.second) + loads*size(p.first)
}

// size is that of the code that computes a block: its nodes, and the conditions under which it binds
// variables. A kernel binds all of them before it computes, each by choices as the one that it stands in.
func size(b *block.Block) int {
	n := 0
	for _, e := range exprs(b) {
		n += sizeOf(e, 0)
	}
	return n
}

// written reports whether all indices of a block have a text: composed ones may be longer than limit.Expression.
func written(b *block.Block) bool {
	ok := true
	for _, e := range exprs(b) {
		te.Walk(e, func(x te.Expr) {
			te.EachIndex(x, func(i sym.Expr) { ok = ok && !i.Overflow() })
		})
	}
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
