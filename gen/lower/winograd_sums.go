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

// allProducts is the second stage: for each point, the sums of the part's result channels. The inputs of a point
// stay in the cache for all of these, whose weights are read one after the other.
func (w *filtering) allProducts() []loop.Stmt {
	return loopOver(pointVar, w.points, loopOver(ownGroupVar, w.own(), w.products()...)...)
}

// products are those of one point and group: full register tiles, then the exact rest.
func (w *filtering) products() []loop.Stmt {
	count, known := w.count.Const()
	rows := sym.Const(w.rows)
	if !known {
		here := w.here()
		full := sym.FloorDiv(here, rows, w.n.facts)
		single := w.product(sym.Add(sym.Scale(full, w.rows), sym.Var(restVar)), 1)
		return append(w.fullTiles(full), loops([]te.Axis{{Var: restVar, Extent: sym.Mod(here, rows, w.n.facts)}}, []loop.Stmt{single})...)
	}
	exact := func(n int64) []loop.Stmt {
		out := w.fullTiles(sym.Const(n / w.rows))
		if n%w.rows != 0 {
			out = append(out, w.product(sym.Const(n-n%w.rows), n%w.rows))
		}
		return out
	}
	chunks, _ := w.chunks.Const()
	last := count - (chunks-1)*w.chunk
	if chunks == 1 || last == w.chunk {
		return exact(last)
	}
	return []loop.Stmt{loop.If{Cond: []te.Within{{E: sym.Var(chunkVar), Lo: sym.Const(0), Hi: sym.Const(chunks - 1)}},
		Then: exact(w.chunk), Else: exact(last)}}
}

func (w *filtering) fullTiles(n sym.Expr) []loop.Stmt {
	if n.Is(0) {
		return nil
	}
	w.n.addRanges([]te.Axis{{Var: tileVar, Extent: sym.Const(max(w.chunk/w.rows, 1))}})
	return loops([]te.Axis{{Var: tileVar, Extent: n}}, []loop.Stmt{w.product(sym.Scale(sym.Var(tileVar), w.rows), w.rows)})
}

// product is a call of the micro-kernel: rows tiles from one on, at one point.
func (w *filtering) product(from sym.Expr, rows int64) loop.Stmt {
	x := w.instr.Broadcaster(w.k)
	m := &loop.MicroKernel{Instr: w.instr, X: x, Rows: rows, Vectors: w.vectors, RowStep: w.k,
		K: []loop.KLoop{{Extent: w.k, XStep: 1, WStep: w.packed.Lanes}}}
	m.PrefetchW, m.PrefetchX = prefetch(w.t, w.instr, w.instr.W, w.k, w.vectors, false, m.K)
	at := sym.Add(sym.Scale(sym.Var(pointVar), w.chunk), from)
	return loop.Tile{Micro: m, X: w.inputs, XAt: sym.Scale(at, w.k), W: w.n.in[w.contraction.w.Source.N], At: w.filtersAt(),
		Acc: w.sums, AccAt: sym.Scale(sym.Add(w.sumsOf(sym.Var(pointVar)), from), w.tileLanes)}
}

// filtersAt is where the filters of the group of channels at hand begin, at a point.
func (w *filtering) filtersAt() sym.Expr {
	own := w.packed.Groups / w.packed.Parts // of packed groups
	if w.packed.Lanes == w.tileLanes && w.packed.Parts == w.parts {
		group := sym.Add(sym.Scale(sym.Var(shareVar), w.points*own), sym.Scale(sym.Var(pointVar), own), sym.Var(ownGroupVar))
		return sym.Scale(group, w.k*w.tileLanes)
	}
	tile := sym.Add(sym.Scale(sym.Var(shareVar), w.own()), sym.Var(ownGroupVar))
	tiles := sym.Const(w.packed.Lanes / w.tileLanes) // of a packed group
	group := sym.FloorDiv(tile, tiles, w.n.facts)
	part, first := sym.FloorDiv(group, sym.Const(own), w.n.facts), sym.Mod(group, sym.Const(own), w.n.facts)
	group = sym.Add(sym.Scale(part, w.points*own), sym.Scale(sym.Var(pointVar), own), first)
	return sym.Add(sym.Scale(group, w.k*w.packed.Lanes), sym.Scale(sym.Mod(tile, tiles, w.n.facts), w.tileLanes))
}

// sumsOf is where the sums of a point and group begin, in tiles.
func (w *filtering) sumsOf(point sym.Expr) sym.Expr {
	return sym.Scale(sym.Add(sym.Scale(point, w.own()), sym.Var(ownGroupVar)), w.chunk)
}

// transformSums is the third stage: A y A' of each block of channels and tile, and what the block does
// with the results. Tiles run innermost: those of one group lie side by side, in the sums and in the results.
func (w *filtering) transformSums(logical map[string]sym.Expr) []loop.Stmt {
	n, m := int64(w.f.Points()), int64(w.f.Results)
	sum := func(i int) te.Expr {
		point := sym.Add(sym.Const(int64(i)*n), sym.Var(pointVar))
		tile := sym.Add(w.sumsOf(point), sym.Var(tileOfVar))
		return loop.Mem{Buf: w.sums, Index: sym.Add(sym.Scale(tile, w.tileLanes), sym.Scale(sym.Var(vecVar), w.block), sym.Var(laneVar))}
	}
	toHalf := func(r int, v te.Expr) loop.Stmt {
		return loop.Store{Buf: w.half, Index: sym.Add(sym.Const(int64(r)*n*w.block), sym.Scale(sym.Var(pointVar), w.block), sym.Var(laneVar)), Value: v}
	}
	columns := loopOver(pointVar, n, loopOver(laneVar, w.block, transform(wino.Columns(w.f.A), sum, toHalf)...)...)
	half := func(i int) te.Expr {
		return loop.Mem{Buf: w.half, Index: sym.Add(sym.Scale(sym.Var(resultRowVar), n*w.block), sym.Const(int64(i)*w.block), sym.Var(laneVar))}
	}
	toSquare := func(r int, v te.Expr) loop.Stmt {
		return loop.Store{Buf: w.square, Index: sym.Add(sym.Scale(sym.Var(resultRowVar), m*w.block), sym.Const(int64(r)*w.block), sym.Var(laneVar)), Value: v}
	}
	rows := loopOver(resultRowVar, m, loopOver(laneVar, w.block, transform(wino.Columns(w.f.A), half, toSquare)...)...)
	body := append(append(columns, rows...), w.results(logical)...)
	group := loop.Index{Var: groupVar, Value: sym.Add(sym.Scale(sym.Var(shareVar), w.own()), sym.Var(ownGroupVar))}
	body = append([]loop.Stmt{loop.Alloc{Buf: w.half}, loop.Alloc{Buf: w.square}}, append(w.locate(), loopOver(vecVar, w.tileLanes/w.block, body...)...)...)
	return loopOver(ownGroupVar, w.own(), append([]loop.Stmt{group}, w.eachTile(body)...)...)
}

// results stores those of a tile that exist.
func (w *filtering) results(logical map[string]sym.Expr) []loop.Stmt {
	s, m := w.b.Stage, int64(w.f.Results)
	logical = maps.Clone(logical)
	ch := sym.Add(sym.Scale(sym.Var(groupVar), w.tileLanes), sym.Scale(sym.Var(vecVar), w.block), sym.Var(laneVar))
	logical[s.Axes[w.channel].Var] = ch
	var extent [2]sym.Expr
	for i, at := range w.along {
		v := s.Axes[at.axis].Var
		extent[i] = sym.Min(sym.Const(m), sym.Sub(s.Axes[at.axis].Extent, logical[v]), w.n.facts)
		if sym.Mul(w.tiles[i], sym.Const(m)).Equal(s.Axes[at.axis].Extent) {
			extent[i] = sym.Const(m)
		}
		logical[v] = sym.Add(logical[v], sym.Var([]string{resultRowVar, resultColVar}[i]))
	}
	index := make([]sym.Expr, len(s.Axes))
	for i, a := range s.Axes {
		index[i] = logical[a.Var]
	}
	e := &nest{facts: w.n.facts, out: w.n.out, at: w.out.Find(s.Shape(), index, w.n.facts)}
	e.results = w.n.flatten(w.b, w.stored, logical, w.lay)
	value := loop.Mem{Buf: w.square, Index: sym.Add(sym.Scale(sym.Var(resultRowVar), m*w.block), sym.Scale(sym.Var(resultColVar), w.block), sym.Var(laneVar))}
	store := e.stores(func(int) te.Expr { return value }, e.at)
	return loops([]te.Axis{{Var: resultRowVar, Extent: extent[0]}, {Var: resultColVar, Extent: extent[1]}}, w.channelBlock(e, store))
}

// channelBlock runs the statements, which store the results of one channel, for those of a block. Where the last
// block is not full, it stores zeros where storage goes on beyond the channels.
func (w *filtering) channelBlock(e *nest, store []loop.Stmt) []loop.Stmt {
	all, left := loopOver(laneVar, w.block, store...), w.channels%w.block
	if left == 0 {
		return all
	}
	beyond := e.at.Subst(map[string]sym.Expr{laneVar: sym.Add(sym.Var(laneVar), sym.Const(left))}, w.n.facts)
	last := append(loopOver(laneVar, left, store...), loopOver(laneVar, w.block-left, e.zeros(beyond)...)...)
	if w.channels < w.block {
		return last
	}
	first := sym.Add(sym.Scale(sym.Var(groupVar), w.tileLanes), sym.Scale(sym.Var(vecVar), w.block))
	whole := []te.Within{{E: first, Lo: sym.Const(0), Hi: sym.Const(w.channels - left)}}
	return []loop.Stmt{loop.If{Cond: whole, Then: all, Else: last}}
}

// transform makes the statements that compute a matrix times a vector in the lanes of a loop.
func transform(s *wino.Steps, input func(i int) te.Expr, put func(r int, v te.Expr) loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	value := func(n int) te.Expr { return loop.Ref{Name: fmt.Sprintf("u%d", n), Type: ir.F32} }
	for i := range s.Inputs {
		out = append(out, loop.Def{Name: fmt.Sprintf("u%d", i), Init: input(i)})
	}
	for i, step := range s.Steps {
		var sum te.Expr
		for _, t := range step {
			factor := max(t.Factor, -t.Factor)
			x := value(t.Of)
			if factor != 1 {
				x = te.Fn(ir.F32, "mul", x, te.Number(ir.F32, factor))
			}
			switch {
			case sum == nil && t.Factor < 0:
				sum = te.Fn(ir.F32, "neg", x)
			case sum == nil:
				sum = x
			case t.Factor < 0:
				sum = te.Fn(ir.F32, "sub", sum, x)
			default:
				sum = te.Fn(ir.F32, "add", sum, x)
			}
		}
		out = append(out, loop.Def{Name: fmt.Sprintf("u%d", s.Inputs+i), Init: sum})
	}
	for r, v := range s.Results {
		out = append(out, put(r, value(v)))
	}
	return out
}
