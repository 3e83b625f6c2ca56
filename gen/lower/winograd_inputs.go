package lower

import (
	"fmt"
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
	wino "rules_dnn/gen/winograd"
)

// Variables of Winograd, besides those of contractions.
const (
	shareVar     = "wo" // number of the task among those that share a chunk of tiles
	ownGroupVar  = "wg" // group of result channels within the part
	tileOfVar    = "wt" // tile of the task
	tileRowVar   = "wy" // and where it lies
	tileColVar   = "wx" // among all tiles
	blockOfVar   = "wc" // block of input channels
	pointVar     = "wp" // point of the transform, along the second axis or both
	resultRowVar = "wi" // result within the tile
	resultColVar = "wj" // along the second axis
)

// deepVar walks a reduction axis besides windows and channels.
func deepVar(reduce int) string { return fmt.Sprintf("wd_%d", reduce) }

// variables names what loops walk, and gives the stage's axes in them.
func (w *filtering) variables() map[string]sym.Expr {
	s, m := w.b.Stage, int64(w.f.Results)
	logical := map[string]sym.Expr{}
	for i, a := range s.Axes {
		w.n.addRanges([]te.Axis{{Var: axisVar(i), Extent: a.Extent}})
		logical[a.Var] = sym.Var(axisVar(i))
	}
	for _, r := range w.deep {
		a := w.contraction.reduce[r]
		v := deepVar(r)
		w.n.addRanges([]te.Axis{{Var: v, Extent: a.Extent}})
		logical[a.Var] = sym.Var(v)
	}
	axis := func(v string, n sym.Expr) te.Axis { return te.Axis{Var: v, Extent: n} }
	w.n.addRanges([]te.Axis{axis(shareVar, sym.Const(w.parts)), axis(ownGroupVar, sym.Const(w.own())), axis(groupVar, sym.Const(w.groups)),
		axis(chunkVar, w.chunks), axis(tileOfVar, sym.Const(w.chunk)), axis(tileRowVar, w.tiles[0]), axis(tileColVar, w.tiles[1]),
		axis(blockOfVar, sym.Const(w.blocks)), axis(pointVar, sym.Const(w.points)), axis(resultRowVar, sym.Const(m)), axis(resultColVar, sym.Const(m)),
		axis(vecVar, sym.Const(w.tileLanes/w.block)), axis(laneVar, sym.Const(w.block)), axis(restVar, sym.Const(w.rows))})
	first := [2]sym.Expr{sym.Scale(sym.Var(tileRowVar), m), sym.Scale(sym.Var(tileColVar), m)}
	for i, at := range w.along {
		logical[s.Axes[at.axis].Var] = first[i]
	}
	return logical
}

// here is how many tiles the task has.
func (w *filtering) here() sym.Expr {
	if w.chunks.Is(1) {
		return w.count
	}
	return sym.Min(sym.Const(w.chunk), sym.Sub(w.count, sym.Scale(sym.Var(chunkVar), w.chunk)), w.n.facts)
}

// locate binds where tile wt of the task lies.
func (w *filtering) locate() []loop.Stmt {
	at := sym.Add(sym.Scale(sym.Var(chunkVar), w.chunk), sym.Var(tileOfVar))
	return []loop.Stmt{
		loop.Index{Var: tileRowVar, Value: sym.FloorDiv(at, w.tiles[1], nil)},
		loop.Index{Var: tileColVar, Value: sym.Mod(at, w.tiles[1], nil)},
	}
}

func loopOver(v string, n int64, body ...loop.Stmt) []loop.Stmt {
	return loops([]te.Axis{{Var: v, Extent: sym.Const(n)}}, body)
}

// transformInputs is the first stage: of each tile and block of channels the points of B x B'.
func (w *filtering) transformInputs(logical map[string]sym.Expr) []loop.Stmt {
	n := int64(w.f.Points())
	conds := w.conditions(logical)
	guards := false
	for i := range n {
		guards = guards || len(w.uncertainAt(conds, i)) > 0
	}
	column := func(guarded bool) []loop.Stmt {
		input := func(i int) te.Expr {
			if !guarded {
				return w.input(logical, int64(i))
			}
			return w.n.choose(w.pointsOf(conds, int64(i)), w.input(logical, int64(i)), te.Number(ir.F32, 0))
		}
		put := func(r int, v te.Expr) loop.Stmt {
			at := sym.Add(sym.Const(int64(r)*n*w.block), sym.Scale(sym.Var(pointVar), w.block), sym.Var(laneVar))
			return loop.Store{Buf: w.half, Index: at, Value: v}
		}
		return loopOver(pointVar, n, loopOver(laneVar, w.block, transform(wino.Rows(w.f.B), input, put)...)...)
	}
	columns := column(false)
	if guards {
		columns = column(true)
		if whole := w.whole(conds); len(whole) > 0 {
			columns = []loop.Stmt{loop.If{Cond: whole, Then: column(false), Else: columns}}
		}
	}
	body := loopOver(blockOfVar, w.blocks, append(columns, w.transformRows(n)...)...)
	for i := len(w.deep) - 1; i >= 0; i-- {
		a := w.contraction.reduce[w.deep[i]]
		body = loops([]te.Axis{{Var: deepVar(w.deep[i]), Extent: a.Extent}}, body)
	}
	body = append([]loop.Stmt{loop.Alloc{Buf: w.half}}, append(w.locate(), body...)...)
	return w.eachTile(body)
}

// eachTile is a loop of one of the stages, also where the task has a single tile: what the stages declare
// has the same names.
func (w *filtering) eachTile(body []loop.Stmt) []loop.Stmt {
	return []loop.Stmt{loop.For{Var: tileOfVar, Extent: w.here(), Body: body}}
}

// transformRows completes a tile's transform: rows of what columns left.
func (w *filtering) transformRows(n int64) []loop.Stmt {
	input := func(i int) te.Expr {
		at := sym.Add(sym.Scale(sym.Var(pointVar), n*w.block), sym.Const(int64(i)*w.block), sym.Var(laneVar))
		return loop.Mem{Buf: w.half, Index: at}
	}
	plane := w.chunk * w.k // of one point
	first := func(r int) sym.Expr {
		return sym.Add(sym.Scale(sym.Var(pointVar), n*plane), sym.Const(int64(r)*plane), sym.Scale(sym.Var(tileOfVar), w.k),
			sym.Scale(w.plane(), w.blocks*w.block), sym.Scale(sym.Var(blockOfVar), w.block))
	}
	put := func(r int, v te.Expr) loop.Stmt {
		return loop.Store{Buf: w.inputs, Index: sym.Add(first(r), sym.Var(laneVar)), Value: v}
	}
	var body []loop.Stmt
	for r := 0; r < int(n) && w.t.PrefetchBytes > 0; r++ {
		body = append(body, loop.Claim{Buf: w.inputs, Index: sym.Add(first(r), sym.Const(claimAhead*w.block))})
	}
	return loopOver(pointVar, n, append(body, loopOver(laneVar, w.block, transform(wino.Rows(w.f.B), input, put)...)...)...)
}

// claimAhead is how many blocks of channels before a store its cache line is claimed: the points of a
// transform lie further apart than a processor follows by itself, and stores wait for lines of the third-level cache.
const claimAhead = 4

// plane is the number of the deep axes' point.
func (w *filtering) plane() sym.Expr {
	at := sym.Const(0)
	for _, r := range w.deep {
		n, _ := w.contraction.reduce[r].Extent.Const()
		at = sym.Add(sym.Scale(at, n), sym.Var(deepVar(r)))
	}
	return at
}

// place substitutes where in its tile an input lies: row i and column wp of the tile's points.
func (w *filtering) place(logical map[string]sym.Expr, i sym.Expr) map[string]sym.Expr {
	m := maps.Clone(logical)
	m[w.contraction.reduce[w.inReduce].Var] = sym.Add(sym.Scale(sym.Var(blockOfVar), w.block), sym.Var(laneVar))
	m[w.contraction.reduce[w.along[0].reduce].Var] = i
	m[w.contraction.reduce[w.along[1].reduce].Var] = sym.Var(pointVar)
	return m
}

// input is X at row i and column wp of a tile's points.
func (w *filtering) input(logical map[string]sym.Expr, i int64) te.Expr {
	m := w.place(logical, sym.Const(i))
	index := make([]sym.Expr, len(w.x.Index))
	for d, e := range w.x.Index {
		index[d] = e.Subst(m, w.n.facts)
	}
	x := w.x.Source.N
	return asF32(loop.Mem{Buf: w.n.in[x], Index: w.layX.Offset(w.b.Operands[x].Shape, index, w.n.facts)})
}

// rowOf stands for the row of a tile's points in conditions.
const rowOf = "wr"

// conditions are what must hold of an input: the guards, and that X has it, since the last tiles
// may reach beyond.
func (w *filtering) conditions(logical map[string]sym.Expr) []te.Within {
	m := w.place(logical, sym.Var(rowOf))
	subst := func(g te.Within) te.Within {
		return te.Within{E: g.E.Subst(m, w.n.facts), Lo: g.Lo.Subst(m, w.n.facts), Hi: g.Hi.Subst(m, w.n.facts)}
	}
	var out []te.Within
	for _, g := range w.x.Guard {
		out = append(out, subst(g))
	}
	for i, s := range w.along {
		extent := w.b.Stage.Axes[s.axis].Extent
		if sym.Mul(w.tiles[i], sym.Const(int64(w.f.Results))).Equal(extent) {
			continue
		}
		inside := subst(te.Within{E: w.x.Index[s.dim], Lo: sym.Const(0), Hi: w.b.Operands[w.x.Source.N].Shape[s.dim]})
		same := func(g te.Within) bool { return g.E.Equal(inside.E) && g.Lo.Equal(inside.Lo) && g.Hi.Equal(inside.Hi) }
		known := false
		for _, g := range out {
			known = known || same(g)
		}
		if !known {
			out = append(out, inside)
		}
	}
	return out
}

// pointsOf are the conditions on row i of a tile's points.
func (w *filtering) pointsOf(conds []te.Within, i int64) []te.Within {
	at := map[string]sym.Expr{rowOf: sym.Const(i)}
	out := make([]te.Within, len(conds))
	for k, c := range conds {
		out[k] = te.Within{E: c.E.Subst(at, w.n.facts), Lo: c.Lo, Hi: c.Hi}
	}
	return out
}

func (w *filtering) uncertainAt(conds []te.Within, i int64) []te.Within {
	if s, ok := w.n.choose(w.pointsOf(conds, i), te.Number(ir.F32, 1), te.Number(ir.F32, 0)).(te.Select); ok {
		return s.Cond
	}
	return nil
}

// whole holds of tiles all of whose inputs are there.
func (w *filtering) whole(conds []te.Within) []te.Within {
	last := sym.Const(int64(w.f.Points()) - 1)
	var all []te.Within
	for _, c := range conds {
		first := c.E.Subst(map[string]sym.Expr{rowOf: sym.Const(0), pointVar: sym.Const(0)}, w.n.facts)
		end := c.E.Subst(map[string]sym.Expr{rowOf: last, pointVar: last}, w.n.facts)
		all = append(all, te.Within{E: first, Lo: c.Lo, Hi: sym.Sub(c.Hi, sym.Sub(end, first))})
	}
	if s, ok := w.n.choose(all, te.Number(ir.F32, 1), te.Number(ir.F32, 0)).(te.Select); ok {
		return s.Cond
	}
	return nil
}
