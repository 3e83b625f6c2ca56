package winograd

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/vary"
)

// Loops of Winograd, besides those of contractions, and parts of axes. Loops that no stage is placed at are called by their stage's number.
const (
	shareVar      = "wo" // number of the task among those that share a chunk of tiles
	ownGroupVar   = "wg" // group of result channels within the part
	tileOfVar     = "wt" // tile of the task
	resultRowVar  = "wi" // result within the tile
	resultColVar  = "wj" // along the second axis
	tilesJoined   = "w0" // tiles as one axis: their parts of the windows' axes,
	tileRowPart   = "wy"
	tileColPart   = "wx"
	resultRowPart = "w1" // and the parts within
	resultColPart = "w2"
	inputTileVar  = "w1t" // tile whose inputs are transformed
	inputRowVar   = "w1y" // its place
	inputColVar   = "w1x"
	inputBlockVar = "w1c" // block of input channels
	sumsJoined    = "w3"  // axes of the sum as one
)

// loopVar is a loop of a stage over points or rows (p), lanes (l), what is written out (u), groups (g), tiles (t), or a sum (k).
func loopVar(stage int, of string) string { return fmt.Sprintf("w%d%s", stage, of) }

// claimAhead is how many blocks of channels before a store its cache line is claimed: the points of a
// transform lie further apart than a processor follows by itself, and stores wait for lines of the third-level cache.
const claimAhead = 4

// schedule has a task for each chunk of tiles, in which all other stages are placed: inputs of the chunk, and its sums, in the worker's memory,
// a tile's own values in registers.
func (w *filtering) schedule(work *sched.Work) *sched.Schedule {
	s := &places{staged: w.steps(), facts: maps.Clone(w.facts)}
	if s.facts == nil {
		s.facts = sym.Facts{}
	}
	_, chunks := w.chunks.Bounds(w.facts)
	s.facts[vars.Chunk] = sym.Range{Lo: 0, Hi: max(chunks, 1) - 1}
	s.facts[tileOfVar] = sym.Range{Lo: 0, Hi: w.chunk - 1}
	s.facts[inputTileVar] = s.facts[tileOfVar]
	out := &sched.Schedule{Stages: []sched.Stage{s.columns(), s.inputs(), s.products(), s.transformed(sumStage), s.transformed(resultStage), s.block()}}
	s.values(out, work)
	return out
}

// places makes the stages' schedules.
type places struct {
	*staged
	facts sym.Facts
}

func serial(name, axis string, size int64, e sched.Edge) sched.Loop {
	return sched.Loop{Var: name, Axis: axis, Size: size, Edge: e}
}

// point is a region of one point.
func point(axis string, first sym.Expr) sched.Region {
	return sched.Region{Axis: axis, First: first, Extent: 1}
}

// regions are those of a stage that is placed at a task: the task's point of other axes.
func (s *places) regions(own ...sched.Region) []sched.Region {
	var out []sched.Region
	for i, a := range s.Block.Stage.Axes {
		if i != s.Channel && i != s.along[0].axis && i != s.along[1].axis {
			out = append(out, point(a.Var, sym.Var(vars.Axis(i))))
		}
	}
	return append(out, own...)
}

// firstTile is the first one of the task.
func (s *places) firstTile() sym.Expr { return sym.Scale(sym.Var(vars.Chunk), s.chunk) }

// ends is how loops over a chunk's tiles end.
func (s *places) ends(e sched.Edge) sched.Edge {
	n, known := s.count.Const()
	return lower.EdgeIf(!known || n%s.chunk != 0, e)
}

func deepVar(i int) string { return loopVar(inputStage, fmt.Sprintf("d%d", i)) }

func (s *places) columns() sched.Stage {
	tile := sym.Add(s.firstTile(), sym.Var(inputTileVar))
	row, col := point(tileRowAxis, sym.FloorDiv(tile, s.tiles[1], s.facts)), point(tileColAxis, sym.Mod(tile, s.tiles[1], s.facts))
	row.Var, col.Var = inputRowVar, inputColVar
	out := sched.Stage{At: sched.Ref{Stage: inputStage, Loop: inputBlockVar}, Inside: true, Regions: s.regions(row, col)}
	for i, a := range s.deep {
		out.Regions = append(out.Regions, point(a.Var, sym.Var(deepVar(i))))
	}
	block := s.Contraction.ChannelBlock
	out.Regions = append(out.Regions, sched.Region{Axis: inputAxis, First: sym.Scale(sym.Var(inputBlockVar), block), Extent: block})
	out.Loops = []sched.Loop{serial(loopVar(columnStage, "p"), secondAxis, 0, sched.Exact), serial(loopVar(columnStage, "l"), inputAxis, 0, sched.Exact), {Kind: sched.Unroll, Var: loopVar(columnStage, "u"), Axis: pointAxis}}
	return out
}

func (s *places) inputs() sched.Stage {
	out := sched.Stage{At: sched.Ref{Stage: blockStage, Loop: vars.Chunk}, Regions: s.regions(sched.Region{Axis: tileAxis, First: s.firstTile(), Extent: s.chunk})}
	out.Loops = []sched.Loop{serial(inputTileVar, tileAxis, s.chunk, s.ends(sched.Clip))}
	for i, a := range s.deep {
		out.Loops = append(out.Loops, serial(deepVar(i), a.Var, 0, sched.Exact))
	}
	out.Loops = append(out.Loops, serial(inputBlockVar, inputAxis, 0, sched.Exact), serial(loopVar(inputStage, "p"), pointAxis, 0, sched.Exact),
		serial(loopVar(inputStage, "l"), inputAxis, s.Contraction.ChannelBlock, sched.Exact), sched.Loop{Kind: sched.Unroll, Var: loopVar(inputStage, "u"), Axis: secondAxis})
	return out
}

func (s *places) products() sched.Stage {
	part := s.own() * s.tileLanes
	out := sched.Stage{At: sched.Ref{Stage: blockStage, Loop: vars.Chunk}, Tile: &sched.Tile{Row: s.Instr.Name, X: s.Instr.Broadcaster(s.k)},
		Regions: s.regions(sched.Region{Axis: tileAxis, First: s.firstTile(), Extent: s.chunk})}
	if s.enc != nil {
		s.keptProducts(&out)
		return out
	}
	out.Regions = append(out.Regions, sched.Region{Axis: resultAxis, First: sym.Scale(sym.Var(shareVar), part), Extent: part})
	k := []loop.KLoop{{Extent: s.k, XStep: 1, WStep: s.packed.Lanes}}
	out.Tile.Ahead, out.Tile.AheadX = micro.Prefetch(s.Target, s.Instr, s.stored, s.k, contract.Streamed(s.stored, s.Vectors, s.own(), false), false, k)
	out.Tile.Ahead = s.given.Or(vary.Ahead, out.Tile.Ahead)
	out.Tile.Block = contract.BlockOf(s.Instr, s.k)
	if s.packed.Lanes == s.tileLanes {
		out.Tile.Next = micro.NextW(s.Target, out.Tile, s.stored, s.k*s.tileLanes)
	}
	sum := inputAxis
	if len(s.deep) > 0 {
		sum = sumsJoined
		j := sched.Join{Name: sum}
		for _, a := range s.deep {
			j.Axes = append(j.Axes, a.Var)
		}
		j.Axes = append(j.Axes, inputAxis)
		out.Joins = []sched.Join{j}
	}
	out.Loops = s.productLoops(sum)
	return out
}

// productLoops are those of products, the last one over a sum.
func (s *places) productLoops(sum string) []sched.Loop {
	return []sched.Loop{serial(loopVar(productStage, "p"), pointAxis, 0, sched.Exact), serial(loopVar(productStage, "g"), resultAxis, 0, sched.Exact), serial(loopVar(productStage, "t"), tileAxis, s.chunk/s.Rows, s.ends(sched.Clip)),
		{Kind: sched.Rows, Var: loopVar(productStage, "r"), Axis: tileAxis, Size: s.Rows, Edge: s.ends(sched.Peel)}, {Kind: sched.Lanes, Var: loopVar(productStage, "l"), Axis: resultAxis, Size: s.tileLanes},
		{Kind: sched.Sum, Var: loopVar(productStage, "k"), Axis: sum}}
}

// transformed is a stage of a tile's sums or results, of a block of channels.
func (s *places) transformed(stage int) sched.Stage {
	block := s.Contraction.ChannelBlock
	first := sym.Add(sym.Scale(sym.Var(shareVar), s.own()*s.tileLanes), sym.Scale(sym.Var(ownGroupVar), s.tileLanes), sym.Scale(sym.Var(vars.Vec), block))
	walked, unrolled := secondAxis, pointAxis
	if stage == resultStage {
		walked, unrolled = pointAxis, secondAxis
	}
	return sched.Stage{At: sched.Ref{Stage: blockStage, Loop: vars.Vec},
		Regions: s.regions(point(tileAxis, sym.Add(s.firstTile(), sym.Var(tileOfVar))), sched.Region{Axis: resultAxis, First: first, Extent: block}),
		Loops:   []sched.Loop{serial(loopVar(stage, "p"), walked, 0, sched.Exact), serial(loopVar(stage, "l"), resultAxis, 0, sched.Exact), {Kind: sched.Unroll, Var: loopVar(stage, "u"), Axis: unrolled}}}
}

func (s *places) block() sched.Stage {
	axes := s.Block.Stage.Axes
	channel := axes[s.Channel].Var
	out := sched.Stage{At: sched.Root, Joins: []sched.Join{{Name: tilesJoined, Axes: []string{tileRowPart, tileColPart}}}}
	ends := [2]sched.Edge{}
	for i, w := range s.along {
		a := axes[w.axis]
		x := sched.Split{Axis: a.Var, Outer: tileRowPart, Inner: resultRowPart, Size: s.m}
		if i == 1 {
			x.Outer, x.Inner = tileColPart, resultColPart
		}
		out.Splits = append(out.Splits, x)
		ends[i] = lower.EdgeIf(!sym.Scale(s.tiles[i], s.m).Equal(a.Extent), sched.Clip)
	}
	task := func(name, axis string) {
		out.Loops = append(out.Loops, sched.Loop{Kind: sched.Task, Var: name, Axis: axis})
	}
	for i, a := range axes {
		if i != s.Channel && i != s.along[0].axis && i != s.along[1].axis {
			task(vars.Axis(i), a.Var)
		}
	}
	task(shareVar, channel)
	task(vars.Chunk, tilesJoined)
	block := s.Contraction.ChannelBlock
	rounded := lower.EdgeIf(s.Channels%block != 0, sched.RoundUp)
	out.Loops = append(out.Loops, serial(ownGroupVar, channel, s.own(), rounded), serial(tileOfVar, tilesJoined, s.chunk, s.ends(sched.Clip)),
		serial(vars.Vec, channel, s.tileLanes/block, rounded), serial(resultRowVar, resultRowPart, 0, ends[0]), serial(resultColVar, resultColPart, 0, ends[1]),
		serial(vars.Lane, channel, block, rounded))
	return out
}

// values says how they lie: filters as they are packed, and what the stages keep.
func (s *places) values(out *sched.Schedule, w *sched.Work) {
	var own []sched.Value
	for n := range blockStage {
		own = append(own, s.kept(n, len(w.Stages[n].Axes)))
	}
	lower.LayOut(out, s.Block, s.lay, func(i int) (sched.Value, bool) {
		x := sched.Value{Of: te.Source{N: i}}
		if i == s.Contraction.W.Source.N && s.enc != nil {
			x.Parts, x.Encoding = layout.PartsOf(layout.RowMajor, keptRank), s.enc.String()
		} else if i == s.Contraction.W.Source.N {
			x.Parts, x.Encoding = s.filterParts(len(w.Operands[i].Shape)), s.f.Filters().String()
		} else if s.lay(s.Block.Operands[i]) != layout.RowMajor {
			x.Fetch = s.fetchOperand(i)
		}
		return x, true
	}, len(s.Block.Results[0].Shape), own...)
	for i := range out.Values {
		if v := &out.Values[i]; v.Of.Stage && v.Of.N == blockStage {
			v.Fetch = s.fetch(s.Block.Results[v.Of.Part], s.along[1].axis)
		}
	}
}

// kept is where the results of a stage lie before the last one.
func (s *places) kept(stage, rank int) sched.Value {
	v := sched.Value{Of: te.Source{Stage: true, N: stage}, Parts: layout.PartsOf(layout.RowMajor, rank), Space: sched.Register}
	switch stage {
	case inputStage:
		v.Space = sched.Worker
		if s.Target.PrefetchBytes > 0 {
			v.Claim = claimAhead * s.Contraction.ChannelBlock
		}
	case productStage: // tiles of a group of channels lie side by side
		v.Space = sched.Worker
		i := len(s.others)
		v.Parts = append(v.Parts[:i+1], layout.Part{Axis: i + 2}, layout.Part{Axis: i + 1}, layout.Part{Axis: i + 2, Size: s.tileLanes})
	}
	return v
}

// filterParts is how the filters lie: those of a part of the channels, of a point, of a group, in the order of the sum.
func (s *places) filterParts(rank int) layout.Parts {
	channel, points := rank-1, 1
	out := layout.Parts{{Axis: channel}, {Axis: 0}}
	if s.f.Of != nil {
		out, points = append(out, layout.Part{Axis: 1}), 2
	}
	out = append(out, layout.Part{Axis: channel, Size: s.packed.Groups / s.packed.Parts})
	for i := points; i < channel; i++ {
		out = append(out, layout.Part{Axis: i})
	}
	return append(out, layout.Part{Axis: channel, Size: s.packed.Lanes})
}

// fetchTiles is how many tiles before they are read or stored the lines of inputs and results are fetched: rows of several blocks of channels are
// more streams than a processor follows by itself.
const fetchTiles = 4

// fetch is how many elements before they are read or stored those of a value are fetched, along rows of tiles; 0 where the value may
// still be in the second-level cache, or rows are so short that others follow.
func (s *places) fetch(v *ir.Value, column int) int64 {
	least, _ := layout.PartsOf(s.lay(v), len(v.Shape)).Elements(v.Shape).Bounds(s.facts)
	if s.Target.PrefetchBytes == 0 || column != len(v.Shape)-1 || least*int64(v.Type.Size()) <= s.Target.L2 || !sym.AtLeast(s.tiles[1], 2*fetchTiles, s.facts) {
		return 0
	}
	return fetchTiles * s.m * s.Contraction.ChannelBlock
}

// fetchOperand is that of an operand: of X, and of what is added to results where they lie.
func (s *places) fetchOperand(i int) int64 {
	v, column := s.Block.Operands[i], s.along[1].axis
	switch {
	case i == s.X.Source.N:
		column = s.along[1].dim
	case !slices.EqualFunc(v.Shape, s.Block.Results[0].Shape, sym.Expr.Equal) || s.lay(v) != s.lay(s.Block.Results[0]):
		return 0
	}
	return s.fetch(v, column)
}
