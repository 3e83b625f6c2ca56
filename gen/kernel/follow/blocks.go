package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// blocks is how the loops of a sum are cut into blocks. An instruction that adds in f16 adds the
// products of a block, and then the sums of blocks are added in f16.
//
// Each addition rounds to u times the sum so far, where u = 2^-11. So a sum of n products of random
// signs has a relative error of about u * sqrt(n/6). Sums of m blocks of k products have one of
// u * sqrt(k/6 + m/6), which is hardly more than that of one block.
type blocks struct {
	outer []loop.KLoop // around the blocks
	cut   loop.KLoop   // a block has 'each' points of this loop
	each  int64
	inner []loop.KLoop
}

// blocksOf returns the blocks of a micro-kernel, or nil if one block has all points.
func (f *follower) blocksOf(c *stage, m *loop.MicroKernel) *blocks {
	most := c.sched.Tile.Block
	if most == 0 || m.Steps() <= most {
		return nil
	}
	for i, k := range m.K {
		within, step := int64(1), int64(1)
		for _, k := range m.K[i+1:] {
			within *= k.Extent
		}
		if i == len(m.K)-1 && m.X == instr.Lane {
			step = m.Lanes()
		}
		if within*step > most {
			continue
		}
		b := &blocks{outer: slices.Clone(m.K[:i]), cut: k, each: step, inner: m.K[i+1:]}
		for n := step; n <= k.Extent && n*within <= most; n += step {
			if k.Extent%n == 0 || 2*b.each < n {
				b.each = n
			}
		}
		return b
	}
	return nil
}

// inBlocks returns the calls of a tile for each block. Afterwards, 'sums' reads the sum of all
// blocks.
func (f *follower) inBlocks(c *stage, t loop.Tile, b *blocks, sums *accumulators) []loop.Stmt {
	c.total = f.room(c, c.total, "total", t.Micro)
	k := &blockCalls{tile: t, blocks: b, total: c.total}
	for i, l := range b.outer {
		v := sym.Var(fmt.Sprintf("b%d", i))
		k.x, k.w = sym.Add(k.x, sym.Scale(v, l.XStep)), sym.Add(k.w, sym.Scale(v, l.WStep))
	}
	whole, rest := b.cut.Extent/b.each, b.cut.Extent%b.each
	if len(b.outer) > 0 {
		sums.bufs = []*loop.Buffer{c.total}
		out := []loop.Stmt{loop.For{Var: "b", Extent: sym.Const(whole), Body: k.added(sym.Scale(sym.Var("b"), b.each), b.each)}}
		if rest > 0 {
			out = append(out, k.added(sym.Const(whole*b.each), rest)...)
		}
		for i, l := range slices.Backward(b.outer) {
			out = []loop.Stmt{loop.For{Var: fmt.Sprintf("b%d", i), Extent: sym.Const(l.Extent), Body: out}}
		}
		zero := eachSum(t.Micro, loop.Store{Buf: c.total, Index: sym.Var(elementVar), Value: te.Number(c.total.Type, 0)})
		return append([]loop.Stmt{zero}, out...)
	}
	// The first block's sums are the total, and the last one's are added when results are computed.
	sums.before = c.total
	if rest == 0 {
		whole, rest = whole-1, b.each
	}
	begin := k.call(sym.Const(0), b.each)
	begin.Acc = c.total
	out := []loop.Stmt{begin}
	switch {
	case whole == 2:
		out = append(out, k.added(sym.Const(b.each), b.each)...)
	case whole > 2:
		at := sym.Scale(sym.Add(sym.Var("b"), sym.Const(1)), b.each)
		out = append(out, loop.For{Var: "b", Extent: sym.Const(whole - 1), Body: k.added(at, b.each)})
	}
	return append(out, k.call(sym.Const(whole*b.each), rest))
}

// blocksTo returns the calls of a tile for each block, and stores the sums in the tile's place.
func (f *follower) blocksTo(c *stage, t loop.Tile, b *blocks) []loop.Stmt {
	to, first := t.Acc, t.AccAt
	c.sums = f.room(c, c.sums, "acc", t.Micro)
	t.Acc, t.AccAt = c.sums, sym.Const(0)
	at := sym.Var(elementVar)
	sums := &accumulators{bufs: []*loop.Buffer{t.Acc}, index: at}
	out := f.inBlocks(c, t, b, sums)
	return append(out, eachSum(t.Micro, loop.Store{Buf: to, Index: sym.Add(first, at), Value: sums.sum(0)}))
}

// blockCalls makes the calls of a tile for blocks.
type blockCalls struct {
	tile   loop.Tile
	blocks *blocks
	total  *loop.Buffer
	x, w   sym.Expr // offsets of the loops around the blocks
}

// call returns the call for a block: for points of the loop that is cut, from one on.
func (k *blockCalls) call(from sym.Expr, points int64) loop.Tile {
	call, m, cut := k.tile, *k.tile.Micro, k.blocks.cut
	m.K = append([]loop.KLoop{{Extent: points, XStep: cut.XStep, WStep: cut.WStep}}, k.blocks.inner...)
	call.Micro = &m
	call.XAt, call.At = sym.Add(call.XAt, k.x, sym.Scale(from, cut.XStep)), sym.Add(call.At, k.w, sym.Scale(from, cut.WStep))
	return call
}

// added returns the call for a block, and adds its sums to the total.
func (k *blockCalls) added(from sym.Expr, points int64) []loop.Stmt {
	call, at := k.call(from, points), sym.Var(elementVar)
	sum := te.Fn(k.total.Type, "add", loop.Mem{Buf: k.total, Index: at}, loop.Mem{Buf: call.Acc, Index: at})
	return []loop.Stmt{call, eachSum(call.Micro, loop.Store{Buf: k.total, Index: at, Value: sum})}
}

// elementVar numbers accumulators.
const elementVar = "e"

// eachSum runs a statement for each accumulator of a micro-kernel.
func eachSum(m *loop.MicroKernel, s loop.Stmt) loop.Stmt {
	return loop.For{Var: elementVar, Extent: sym.Const(m.Rows * m.Vectors * m.Lanes()), Body: []loop.Stmt{s}}
}
