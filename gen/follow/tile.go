package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
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

// call is a call of the micro-kernel of one size.
func (f *follower) call(c *stage, i int) ([]loop.Stmt, error) {
	x, w, err := f.factors(c, i)
	if err != nil {
		return nil, err
	}
	m, err := f.micro(c, i, x, w)
	if err != nil {
		return nil, err
	}
	acc := &loop.Buffer{Name: fmt.Sprintf("acc%d", c.n), Type: c.row.Acc, Write: true, Local: true, Size: sym.Const(m.Rows * m.Vectors * m.Lanes())}
	zero := map[string]sym.Expr{}
	at := sym.Const(0) // among the accumulators
	var results []int  // loops of what is stored
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		if l.Kind == sched.Rows && c.single {
			continue // around the call
		}
		zero[l.Var] = sym.Const(0)
		if step := map[sched.Kind]int64{sched.Rows: m.Vectors * m.Lanes(), sched.Columns: m.Lanes(), sched.Lanes: 1}[l.Kind]; step > 0 {
			results = append(results, k)
			at = sym.Add(at, sym.Scale(sym.Var(l.Var), step))
		}
	}
	slices.SortStableFunc(results, func(a, b int) int { return int(c.sched.Loops[a].Kind) - int(c.sched.Loops[b].Kind) })
	tile := loop.Tile{Micro: m, X: x.Buf, XAt: x.Index.Subst(zero, f.facts), W: w.Buf, At: w.Index.Subst(zero, f.facts), Acc: acc}
	end, err := f.stores(c, i, results, &accumulators{bufs: []*loop.Buffer{acc}, index: at}, zero)
	return append([]loop.Stmt{loop.Alloc{Buf: acc}, tile}, end...), err
}

// micro is the micro-kernel of the loops from i on.
func (f *follower) micro(c *stage, i int, x, w loop.Mem) (*loop.MicroKernel, error) {
	m := &loop.MicroKernel{Instr: c.row, X: c.sched.Tile.X, Rows: 1, Vectors: 1}
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		xs, ws, err := f.steps(l.Var, x, w)
		if err != nil {
			return nil, err
		}
		n, _ := f.extent(c, k).Const()
		if l.Edge == sched.RoundUp {
			n = l.Size
		}
		if (l.Kind != sched.Rows || !c.single) && !walk(m, l.Kind, n, xs, ws) {
			return nil, unsuited("loop %s (%s) walks X by %d and W by %d elements, which instruction %s does not read so", l.Var, l.Kind, xs, ws, c.row.Name)
		}
	}
	if m.X == instr.Lane && (len(m.K) == 0 || m.K[len(m.K)-1].XStep != 1) {
		return nil, unsuited("the lanes of X are no neighbours along the innermost loop of the sum")
	}
	return m, nil
}

// walk adds a loop of n iterations to a micro-kernel, each of which is so many elements further in X and W; false where it does not
// read them so.
func walk(m *loop.MicroKernel, kind sched.Kind, n, x, w int64) bool {
	switch kind {
	case sched.Rows:
		m.Rows, m.RowStep = n, x
		return w == 0
	case sched.Columns:
		m.Vectors = n
		if m.VecStep = w; w == m.Lanes()*m.Instr.Group {
			m.VecStep = 0
		}
		return x == 0 && m.Broadcast() || x == m.Lanes()
	case sched.Lanes:
		return w == m.Instr.Group && (x == 0 && m.Broadcast() || x == 1 && !m.Broadcast())
	case sched.Sum:
		m.K = append(m.K, loop.KLoop{Extent: n, XStep: x, WStep: w})
	case sched.Dot:
		return x == 1 && w == 1
	}
	return true
}

// stores keeps the sums of a tile: all of them where the axes go on as far, and else those of points that are there.
func (f *follower) stores(c *stage, i int, results []int, sums *accumulators, zero map[string]sym.Expr) ([]loop.Stmt, error) {
	keep := func() ([]loop.Stmt, error) {
		return f.nest(c, results, func() ([]loop.Stmt, error) { return f.store(c, sums) })
	}
	var whole []te.Within
	c.whole = map[string]bool{}
	for _, p := range c.spans {
		need := int64(1)
		for _, k := range p.Loops {
			if k >= i && !p.Reduce {
				need *= max(c.sched.Loops[k].Size, 1)
			}
		}
		left := sym.Sub(p.Extent, c.sched.Point(p).Subst(zero, f.facts))
		if c.roundsUp(p) && !sym.AtLeast(left, need, f.facts) {
			whole = append(whole, te.Within{E: left, Lo: sym.Const(need), Hi: sym.Add(p.Extent, sym.Const(1))})
		}
		c.whole[p.Name] = true
	}
	then, err := keep()
	c.whole = nil
	if err != nil || whole == nil {
		return then, err
	}
	otherwise, err := keep()
	return []loop.Stmt{loop.If{Cond: whole, Then: then, Else: otherwise}}, err
}

// factors are the loads of X and W: W is the one that the lanes' axis walks and the rows' axis does not.
func (f *follower) factors(c *stage, i int) (x, w loop.Mem, err error) {
	mul, ok := c.te.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return x, w, unsuited("a tile of what is no contraction")
	}
	var loads [2]loop.Mem
	for k, a := range mul.Args {
		if cast, ok := a.(te.Call); ok && cast.Fn == "cast" {
			a = cast.Args[0]
		}
		m, ok := f.flatten(c, a).(loop.Mem)
		if !ok {
			return x, w, unsuited("factor %d of a tile is no load, or one that may be out of bounds", k)
		}
		loads[k] = m
	}
	for _, l := range c.sched.Loops[i:] {
		switch in0, in1 := loads[0].Index.Uses(l.Var), loads[1].Index.Uses(l.Var); {
		case l.Kind == sched.Rows && in0 != in1:
			if in1 {
				loads[0], loads[1] = loads[1], loads[0]
			}
			return loads[0], loads[1], f.typed(c, loads[0], loads[1])
		case l.Kind == sched.Lanes && in0 != in1:
			if in0 {
				loads[0], loads[1] = loads[1], loads[0]
			}
			return loads[0], loads[1], f.typed(c, loads[0], loads[1])
		}
	}
	return loads[0], loads[1], f.typed(c, loads[0], loads[1])
}

func (f *follower) typed(c *stage, x, w loop.Mem) error {
	if x.Buf.Type != c.row.X || w.Buf.Type != c.row.W {
		return unsuited("instruction %s multiplies %s with %s; X is %s and W %s", c.row.Name, c.row.X, c.row.W, x.Buf.Type, w.Buf.Type)
	}
	return nil
}

// steps are how many elements apart X and W are for neighbours of a loop.
func (f *follower) steps(v string, x, w loop.Mem) (xs, ws int64, err error) {
	e, ok := sym.Coefficient(x.Index, v, f.facts)
	xs, isConst := e.Const()
	g, ok2 := sym.Coefficient(w.Index, v, f.facts)
	ws, isConst2 := g.Const()
	if !ok || !ok2 || !isConst || !isConst2 {
		return 0, 0, unsuited("loop %s of a tile walks X at %s and W at %s, in steps that are no constants", v, x.Index, w.Index)
	}
	return xs, ws, nil
}
