package follow

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target/instr"
)

// skipped is a call of a tile's micro-kernel, for the loops from i on, or, where the schedule says so, calls for some of the sum's iterations each, by where in X the
// tile is: without those at which all that it reads is padding.
func (f *follower) skipped(c *stage, i int, tile loop.Tile, zero map[string]sym.Expr) []loop.Stmt {
	var all []*skip
	if c.sched.Tile.Skips > 0 && !c.sumsStored() {
		for _, w := range f.w.CopiedZeros(c.n) {
			if s := f.skip(c, i, w, tile.Micro, zero); s != nil {
				all = append(all, s)
			}
		}
	}
	return f.some(tile, all)
}

// skip is a loop of the sum, the k-th one, of which a tile at a place needs some iterations.
type skip struct {
	k     int
	at    sym.Expr // the place
	parts []part
}

// part is of the tiles at places below a bound that are none of the part before: iterations [from, to).
type part struct{ below, from, to int64 }

// mostIterations is how many a loop has at most of which some are left out.
const mostIterations = 256

// skip is that of a condition on X; nil where no single loop of the sum moves with it, or all its iterations are needed everywhere.
func (f *follower) skip(c *stage, i int, w te.Within, m *loop.MicroKernel, zero map[string]sym.Expr) *skip {
	at := f.place(c, w.E.Subst(c.logical, c.facts))
	lo, known := w.Lo.Const()
	hi, both := w.Hi.Const()
	if !known || !both {
		return nil
	}
	s := &skip{k: -1}
	sums, step, reach, n := 0, int64(0), int64(0), int64(0)
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		by, linear := sym.Coefficient(at, l.Var, f.facts)
		one, isConst := by.Const()
		extent, fixed := f.extent(c, k).Const()
		switch {
		case !linear || !isConst || one < 0 || !fixed:
			return nil
		case l.Kind == sched.Rows && !c.single:
			reach += one * (extent - 1)
		case l.Kind == sched.Sum && one > 0 && s.k >= 0:
			return nil
		case l.Kind == sched.Sum && one > 0:
			s.k, step, n = sums, one, extent
		case l.Kind != sched.Rows && l.Kind != sched.Sum && one > 0:
			return nil
		}
		if l.Kind == sched.Sum {
			sums++
		}
	}
	if s.k < 0 || n > mostIterations {
		return nil
	}
	s.at = at.Subst(zero, f.facts)
	whole := int64(1) // iterations that are needed together: lanes of X are a register of them
	if m.X == instr.Lane && s.k == sums-1 {
		whole = m.Lanes()
	}
	turns := make([]int64, 0, 2*n+2)
	for t := range n + 1 {
		turns = append(turns, lo-reach-t*step, hi-t*step)
	}
	s.parts = fewer(f.parts(s.at, turns, func(place int64) (from, to int64) {
		from, to = sched.Needed(lo, hi, place, reach, step, n)
		return from / whole * whole, min((to+whole-1)/whole*whole, n)
	}), int(c.sched.Tile.Skips))
	if len(s.parts) == 0 || len(s.parts) == 1 && s.parts[0].to-s.parts[0].from == n {
		return nil
	}
	return s
}

// parts are the iterations that tiles need at the places that an index may have, by a function that takes turns at some of them; none where such places have no bounds.
func (f *follower) parts(at sym.Expr, turns []int64, needed func(place int64) (from, to int64)) []part {
	lo, hi := at.Bounds(f.facts)
	if lo == -math.MaxInt64 || hi == math.MaxInt64 {
		return nil
	}
	slices.Sort(turns)
	var out []part
	for _, end := range append(turns, hi+1) {
		end = min(end, hi+1)
		if mayBe(at, lo, end) {
			from, to := needed(lo)
			if n := len(out); n > 0 && out[n-1].from == from && out[n-1].to == to {
				out[n-1].below = end
			} else {
				out = append(out, part{end, from, to})
			}
		}
		lo = max(lo, end)
	}
	return out
}

// mayBe reports whether an index may have a value from lo to before end.
func mayBe(at sym.Expr, lo, end int64) bool {
	terms, first := at.Terms()
	step := int64(0)
	for _, t := range terms {
		step = sym.GCD(step, t.Coef)
	}
	if step == 0 {
		return first >= lo && first < end
	}
	return first+sym.CeilInt(lo-first, step)*step < end
}

// fewer are at most so many parts: neighbours of which the fewest iterations are needless are one.
func fewer(parts []part, most int) []part {
	for len(parts) > most {
		best, least := 0, int64(0)
		for i := range len(parts) - 1 {
			a, b := parts[i], parts[i+1]
			all := max(a.to, b.to) - min(a.from, b.from)
			if more := 2*all - (a.to - a.from) - (b.to - b.from); i == 0 || more < least {
				best, least = i, more
			}
		}
		a, b := parts[best], parts[best+1]
		parts = slices.Replace(parts, best, best+2, part{b.below, min(a.from, b.from), max(a.to, b.to)})
	}
	return parts
}

// some are calls of a tile for what is needed of the sum's loops.
func (f *follower) some(tile loop.Tile, all []*skip) []loop.Stmt {
	if len(all) == 0 {
		return []loop.Stmt{tile}
	}
	s := all[0]
	var out []loop.Stmt
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		calls := f.some(p.of(tile, s.k), all[1:])
		if out == nil {
			out = calls
			continue
		}
		lo, _ := s.at.Bounds(f.facts)
		out = []loop.Stmt{loop.If{Cond: []te.Within{{E: s.at, Lo: sym.Const(lo), Hi: sym.Const(p.below)}}, Then: calls, Else: out}}
	}
	return out
}

// of is the call of a tile for the iterations of the part of loop k of the sum.
func (p part) of(tile loop.Tile, k int) loop.Tile {
	l := tile.Micro.K[k]
	if p.from == 0 && p.to == l.Extent {
		return tile
	}
	m := *tile.Micro
	m.K, m.FetchX = slices.Clone(m.K), 0
	m.K[k].Extent = p.to - p.from
	tile.Micro = &m
	tile.XAt = sym.Add(tile.XAt, sym.Const(p.from*l.XStep))
	tile.At = sym.Add(tile.At, sym.Const(p.from*l.WStep))
	return tile
}
