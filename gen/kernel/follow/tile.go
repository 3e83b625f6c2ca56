package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// TileError says why a tile does not suit what its stage reads.
type TileError struct{ what string }

func (e *TileError) Error() string { return e.what }

func unsuited(format string, args ...any) error { return &TileError{fmt.Sprintf(format, args...)} }

// tile is a call of a micro-kernel for the loops from i on, which are a tile's, and what the stage does with its sums.
func (f *follower) tile(c *stage, i int) ([]loop.Stmt, error) {
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		n, cut := c.rest[k]
		if _, known := n.Const(); l.Kind == sched.Rows && cut && !known {
			return f.singles(c, i, k)
		}
		if l.Kind == sched.Rows && l.Edge == sched.Peel && !cut {
			return f.peeledTile(c, i, k)
		}
	}
	return f.call(c, i)
}

// peeledTile is a tile of fewer rows where the last one of an axis has only a part of them.
func (f *follower) peeledTile(c *stage, i, rows int) ([]loop.Stmt, error) {
	whole, left := c.sched.Loops[rows].Size*c.sched.Within(rows), f.left(c, rows)
	c.rest[rows] = sym.Const(c.sched.Loops[rows].Size)
	then, err := f.call(c, i)
	delete(c.rest, rows)
	if err != nil || sym.AtLeast(left, whole, f.facts) {
		return then, err
	}
	c.rest[rows] = sym.CeilDiv(sym.Mod(c.span(rows).Extent, sym.Const(whole), f.facts), sym.Const(c.sched.Within(rows)), f.facts)
	otherwise, err := f.tile(c, i)
	delete(c.rest, rows)
	cond := []te.Within{{E: left, Lo: sym.Const(whole), Hi: sym.Add(c.span(rows).Extent, sym.Const(1))}}
	return []loop.Stmt{loop.If{Cond: cond, Then: then, Else: otherwise}}, err
}

// singles are tiles of one row each: of a part of which only the run knows how many it has.
func (f *follower) singles(c *stage, i, rows int) ([]loop.Stmt, error) {
	c.single = true
	out, err := f.iterate(c, rows, func() ([]loop.Stmt, error) { return f.call(c, i) })
	c.single = false
	return out, err
}

// wholeTile is the micro-kernel of a stage's whole tiles, nil where it has no tile.
func (f *follower) wholeTile(c *stage) (*loop.MicroKernel, error) {
	i := slices.IndexFunc(c.sched.Loops, func(l sched.Loop) bool { return l.Kind.Tile() })
	if c.sched.Tile == nil || i < 0 {
		return nil, nil
	}
	for k := i; k < len(c.sched.Loops); k++ {
		if l := c.sched.Loops[k]; l.Kind == sched.Rows && l.Edge == sched.Peel {
			c.rest[k] = sym.Const(l.Size)
		}
	}
	defer clear(c.rest)
	if c.sumsStored() {
		f.openKernels(c)
	}
	x, w, err := f.factors(c, i)
	if err != nil {
		return nil, err
	}
	return f.micro(c, i, x, w)
}

// call is a call of the micro-kernel of one size.
func (f *follower) call(c *stage, i int) ([]loop.Stmt, error) {
	if c.sumsStored() {
		f.openKernels(c)
	}
	x, w, err := f.factors(c, i)
	if err != nil {
		return nil, err
	}
	m, err := f.micro(c, i, x, w)
	if err != nil {
		return nil, err
	}
	if c.sched.Tile.Next > 0 {
		f.next[m] = c.sched.Tile.Next
	}
	if c.accumulating() {
		return f.partial(c, i, m, x, w)
	}
	at, results, zero := f.accumulated(c, i, m)
	acc, first := f.direct(c, at, results, zero)
	direct, blocks := acc != nil, f.blocksOf(c, m)
	if !direct {
		c.sums = f.room(c, c.sums, "acc", m)
		acc = c.sums
	}
	if c.sumsStored() {
		c.firstKernel(zero)
	}
	tile := loop.Tile{Micro: m, X: x.Buf, XAt: x.Index.Subst(zero, f.facts), W: w.Buf, At: w.Index.Subst(zero, f.facts), Acc: acc, AccAt: first}
	if c.sumsStored() {
		f.kernelsOf(c, &tile)
	}
	if blocks != nil && direct {
		return f.blocksTo(c, tile, blocks), nil
	}
	var calls []loop.Stmt
	sums := &accumulators{bufs: []*loop.Buffer{acc}, index: at}
	if blocks != nil {
		calls = f.inBlocks(c, tile, blocks, sums)
	} else {
		calls = f.skipped(c, i, tile, zero)
	}
	if direct {
		return calls, nil
	}
	end, err := f.stores(c, i, results, sums, zero)
	return slices.Concat(f.claimResults(c, results), calls, end), err
}

// accumulated is where among the accumulators of a call the sum of a point of the loops from i on lies, the loops of what is stored of them, in their
// order, and the first point of all.
func (f *follower) accumulated(c *stage, i int, m *loop.MicroKernel) (at sym.Expr, results []int, zero map[string]sym.Expr) {
	zero = map[string]sym.Expr{}
	rows, wide := m.Rows, m.Vectors*m.Lanes()
	lanes := wide // of a column
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		if l.Kind == sched.Rows && c.single {
			continue // around the call
		}
		zero[l.Var] = sym.Const(0)
		if l.Kind != sched.Rows && l.Kind != sched.Columns && l.Kind != sched.Lanes {
			continue
		}
		results = append(results, k)
		n, _ := f.extent(c, k).Const()
		switch l.Kind {
		case sched.Rows:
			rows /= n
			at = sym.Add(at, sym.Scale(sym.Var(l.Var), rows*wide))
		case sched.Columns:
			lanes /= n
			at = sym.Add(at, sym.Scale(sym.Var(l.Var), lanes))
		default:
			at = sym.Add(at, sym.Var(l.Var))
		}
	}
	slices.SortStableFunc(results, func(a, b int) int { return int(c.sched.Loops[a].Kind) - int(c.sched.Loops[b].Kind) })
	return at, c.rowsTogether(results), zero
}

// direct is where a tile itself can put its sums: they are the results, which lie in a worker's memory in the order of the accumulators.
func (f *follower) direct(c *stage, at sym.Expr, results []int, zero map[string]sym.Expr) (to *loop.Buffer, first sym.Expr) {
	v := c.out[0]
	if !sched.Plain(c.te, c.row) || len(c.out) > 1 || v.Space != sched.Worker || v.buf.Type != c.row.Acc || !f.t.TilesFillScratch() || slices.ContainsFunc(c.spans, c.roundsUp) {
		return nil, first
	}
	lies := sym.Sub(f.position(c, v, nil), at)
	if slices.ContainsFunc(results, func(k int) bool { return lies.Uses(c.sched.Loops[k].Var) }) {
		return nil, first
	}
	return v.buf, lies.Subst(zero, f.facts)
}

// room returns an array for the accumulators of a micro-kernel: the stage's own, or a new one.
func (f *follower) room(c *stage, b *loop.Buffer, name string, m *loop.MicroKernel) *loop.Buffer {
	n := m.Rows * m.Vectors * m.Lanes()
	if b == nil {
		b = &loop.Buffer{Name: name, Type: c.row.Acc, Write: true, Local: true, Packed: c.row.InHalves(), Size: sym.Const(0)}
		if c.n < len(f.at)-1 {
			b.Name = fmt.Sprintf("%s%d", name, c.n)
		}
		f.allocs = append(f.allocs, loop.Alloc{Buf: b})
	}
	if most, _ := b.Size.Const(); most < n {
		b.Size = sym.Const(n)
	}
	return b
}
