package winograd

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
)

// Stages of Winograd's algorithm.
const (
	columnStage  = iota // B x: each column of a tile's inputs
	inputStage          // B x B'
	productStage        // sums over channels, of each point
	sumStage            // A y
	resultStage         // A y A', m x m results of a tile
	blockStage          // what the block does with them, where they belong
)

// Axes of these stages, besides those of the block that are none of channels and windows, and of the reduction.
const (
	pointAxis   = "q0" // point along the first axis, or of a product along both
	secondAxis  = "q1" // point along the second axis
	tileAxis    = "t0" // tile among all of them
	tileRowAxis = "t1" // its place along the first axis
	tileColAxis = "t2" // and along the second
	inputAxis   = "x0" // input channel, whole blocks of them
	resultAxis  = "x1" // result channel, whole blocks of them
)

// staged makes the stages. Indices of the block's axes are those of a tile's first result.
type staged struct {
	*filtering
	n, m   int64
	others []te.Axis // the block's axes besides channels and windows
	deep   []te.Axis
}

func constAxis(name string, n int64) te.Axis { return te.Axis{Var: name, Extent: sym.Const(n)} }

// steps is what the stages have in common.
func (w *filtering) steps() *staged {
	s := &staged{filtering: w, n: int64(w.f.Points()), m: int64(w.f.Results)}
	for i, a := range w.Block.Stage.Axes {
		if i != w.Channel && i != w.along[0].axis && i != w.along[1].axis {
			s.others = append(s.others, a)
		}
	}
	for _, r := range w.deep {
		s.deep = append(s.deep, w.Contraction.Reduce[r])
	}
	return s
}

// axes are those of a stage.
func (s *staged) axes(own ...te.Axis) []te.Axis {
	return append(append([]te.Axis{}, s.others...), own...)
}

// at is the index of a stage at the point of the block's other axes.
func (s *staged) at(own ...sym.Expr) []sym.Expr { return append(te.AxisVars(s.others), own...) }

// all are the stages, in their order.
func (s *staged) all() []*te.Stage {
	var results []te.Expr
	results, s.filtering.operands = s.Widened(s.Block)
	return []*te.Stage{s.columns(), s.inputs(), s.products(), s.sums(), s.square(), s.block(results)}
}

// work is all stages, with the transformed filters as their constant.
func (s *staged) work() *sched.Work {
	operands := slices.Clone(s.operands)
	operands[s.Contraction.W.Source.N] = s.filters()
	return &sched.Work{Facts: s.facts, Operands: operands, Stages: s.stages}
}

// from returns an element of a stage as f32.
func (s *staged) from(stage int, at ...sym.Expr) te.Expr {
	return match.AsF32(te.FromStage(stage, s.Instr.Acc, at...))
}

// kept returns values in the type that stages store: f16 if products are added in f16.
func (s *staged) kept(all []te.Expr) []te.Expr {
	out := slices.Clone(all)
	for i, e := range out {
		if s.Instr.InHalves() {
			out[i] = te.Fn(s.Instr.Acc, "cast", e)
		}
	}
	return out
}

// scaled returns a matrix times 2^k if products are added in f16. F(4,3) makes inputs up to 32
// times as large, and sums grow, too. So the first transform of inputs divides by the growth along
// both axes, and each transform of sums multiplies by the growth along one.
func (s *staged) scaled(m wino.Matrix, k int) wino.Matrix {
	if !s.Instr.InHalves() {
		return m
	}
	return m.Times(k)
}

// columns transforms each column of a tile's inputs.
func (s *staged) columns() *te.Stage {
	axes := append(s.axes(constAxis(pointAxis, s.n), constAxis(secondAxis, s.n), te.Axis{Var: tileRowAxis, Extent: s.tiles[0]}, te.Axis{Var: tileColAxis, Extent: s.tiles[1]}), s.deep...)
	return &te.Stage{Name: "columns", Axes: append(axes, constAxis(inputAxis, s.blocks*s.Contraction.ChannelBlock)),
		Results: []te.Expr{workgroup.Choice(sym.Var(pointAxis), s.kept(combined(wino.Rows(s.scaled(s.f.B, -2*s.f.Growth())), s.input)))}}
}

// input is X at row i of a tile's points.
func (s *staged) input(i int) te.Expr {
	st, reduce := s.Block.Stage, s.Contraction.Reduce
	to := map[string]sym.Expr{
		st.Axes[s.along[0].axis].Var:       sym.Scale(sym.Var(tileRowAxis), s.m),
		st.Axes[s.along[1].axis].Var:       sym.Scale(sym.Var(tileColAxis), s.m),
		reduce[s.along[0].reduce].Var:      sym.Const(int64(i)),
		reduce[s.along[1].reduce].Var:      sym.Var(secondAxis),
		reduce[s.Contraction.InReduce].Var: sym.Var(inputAxis),
	}
	x := s.X
	x.Guard = append(append([]te.Within{}, x.Guard...), beyond(x, s.along, s.tiles, s.m, st.Axes, s.Block.Operands[x.Source.N].Shape)...)
	x = te.SubstIndices(x, to, s.facts).(te.Load)
	if n, _ := reduce[s.Contraction.InReduce].Extent.Const(); n != s.blocks*s.Contraction.ChannelBlock { // storage of X is padded alike
		x.Guard = append(x.Guard, te.Within{E: sym.Var(inputAxis), Hi: sym.Const(n)})
	}
	x.Default = nil
	if x.Guard != nil {
		x.Default = te.Number(x.Type, 0)
	}
	return match.AsF32(x)
}

// beyond are the conditions that X, of a shape, has what the last tiles of m x m results read.
func beyond(x te.Load, along [2]slide, tiles [2]sym.Expr, m int64, axes []te.Axis, shape ir.Shape) []te.Within {
	var out []te.Within
	for i, w := range along {
		if sym.Scale(tiles[i], m).Equal(axes[w.axis].Extent) {
			continue
		}
		inside := te.Within{E: x.Index[w.dim], Lo: sym.Const(0), Hi: shape[w.dim]}
		known := false
		for _, g := range x.Guard {
			known = known || g.E.Equal(inside.E) && g.Lo.Equal(inside.Lo) && g.Hi.Equal(inside.Hi)
		}
		if !known {
			out = append(out, inside)
		}
	}
	return out
}

// inputs completes the transform of each tile's inputs.
func (s *staged) inputs() *te.Stage {
	axes := append(s.axes(constAxis(pointAxis, s.n), constAxis(secondAxis, s.n), te.Axis{Var: tileAxis, Extent: s.count}), s.deep...)
	t := sym.Var(tileAxis)
	input := func(i int) te.Expr {
		at := s.at(sym.Var(pointAxis), sym.Const(int64(i)), sym.FloorDiv(t, s.tiles[1], nil), sym.Mod(t, s.tiles[1], nil))
		return s.from(columnStage, append(append(at, te.AxisVars(s.deep)...), sym.Var(inputAxis))...)
	}
	return &te.Stage{Name: "inputs", Axes: append(axes, constAxis(inputAxis, s.blocks*s.Contraction.ChannelBlock)),
		Results: []te.Expr{workgroup.Choice(sym.Var(secondAxis), s.kept(combined(wino.Rows(s.f.B), input)))}}
}

// filters is the transformed constant: of each point and input channel those of all result channels.
func (s *staged) filters() *ir.Value {
	shape := ir.Dims(s.points)
	if s.f.Of != nil { // of the points along each axis it reads the first ones
		n := int64(s.f.Of.Points())
		shape = ir.Dims(n, n)
	}
	for _, a := range s.deep {
		shape = append(shape, a.Extent)
	}
	shape = append(shape, sym.Const(s.blocks*s.Contraction.ChannelBlock), sym.Const(s.packed.Groups*s.packed.Lanes))
	if s.enc != nil { // filters, then channels of each point, as package fkw has them
		shape = ir.Dims(s.points, s.outputs*s.Contraction.ChannelBlock, s.blocks*s.Contraction.ChannelBlock)
	}
	return &ir.Value{Name: s.Weights.Name, Type: s.stored, Shape: shape, HasShape: true, Const: s.Weights.Const}
}

// products is a matrix product of each point.
func (s *staged) products() *te.Stage {
	q := sym.Var(pointAxis)
	sum := append(append([]te.Axis{}, s.deep...), constAxis(inputAxis, s.blocks*s.Contraction.ChannelBlock))
	x := s.from(inputStage, append(s.at(sym.FloorDiv(q, sym.Const(s.n), nil), sym.Mod(q, sym.Const(s.n), nil), sym.Var(tileAxis)), te.AxisVars(sum)...)...)
	point := []sym.Expr{q}
	if s.f.Of != nil {
		point = []sym.Expr{sym.FloorDiv(q, sym.Const(s.n), nil), sym.Mod(q, sym.Const(s.n), nil)}
	}
	at := append(append(point, te.AxisVars(sum)...), sym.Var(resultAxis))
	if s.enc != nil {
		at = []sym.Expr{q, sym.Var(resultAxis), sym.Var(inputAxis)}
	}
	u := match.AsF32(te.Operand(s.Contraction.W.Source.N, s.stored, at...))
	return &te.Stage{Name: "products", Axes: s.axes(constAxis(pointAxis, s.points), te.Axis{Var: tileAxis, Extent: s.count}, s.resultChannels()), Reduce: sum,
		Combine: te.Sum(ir.F32), Values: []te.Expr{te.Fn(ir.F32, "mul", x, u)}, Results: s.kept([]te.Expr{te.Acc{Type: ir.F32}})}
}

func (s *staged) resultChannels() te.Axis {
	return constAxis(resultAxis, s.outputs*s.Contraction.ChannelBlock)
}

// sums transforms each column of a tile's sums.
func (s *staged) sums() *te.Stage {
	sum := func(i int) te.Expr {
		q := sym.Add(sym.Const(int64(i)*s.n), sym.Var(secondAxis))
		return s.from(productStage, s.at(q, sym.Var(tileAxis), sym.Var(resultAxis))...)
	}
	return &te.Stage{Name: "sums", Axes: s.axes(constAxis(pointAxis, s.m), constAxis(secondAxis, s.n), te.Axis{Var: tileAxis, Extent: s.count}, s.resultChannels()),
		Results: []te.Expr{workgroup.Choice(sym.Var(pointAxis), s.kept(combined(wino.Columns(s.scaled(s.f.A, s.f.Growth())), sum)))}}
}

// square completes the transform of each tile's sums.
func (s *staged) square() *te.Stage {
	half := func(i int) te.Expr {
		return s.from(sumStage, s.at(sym.Var(pointAxis), sym.Const(int64(i)), sym.Var(tileAxis), sym.Var(resultAxis))...)
	}
	return &te.Stage{Name: "results", Axes: s.axes(constAxis(pointAxis, s.m), constAxis(secondAxis, s.m), te.Axis{Var: tileAxis, Extent: s.count}, s.resultChannels()),
		Results: []te.Expr{workgroup.Choice(sym.Var(secondAxis), s.kept(combined(wino.Columns(s.scaled(s.f.A, s.f.Growth())), half)))}}
}

// block is the block's stage, of the tiles' results.
func (s *staged) block(results []te.Expr) *te.Stage {
	st, m := *s.Block.Stage, sym.Const(s.m)
	row, col := sym.Var(st.Axes[s.along[0].axis].Var), sym.Var(st.Axes[s.along[1].axis].Var)
	tile := sym.Add(sym.Mul(sym.FloorDiv(row, m, nil), s.tiles[1]), sym.FloorDiv(col, m, nil))
	at := s.at(sym.Mod(row, m, nil), sym.Mod(col, m, nil), tile, sym.Var(st.Axes[s.Channel].Var))
	st.Reduce, st.Combine, st.Values, st.Results = nil, nil, nil, nil
	for _, r := range results {
		st.Results = append(st.Results, te.Map(r, func(e te.Expr) te.Expr {
			if _, ok := e.(te.Acc); ok {
				return s.from(resultStage, at...)
			}
			return e
		}))
	}
	return &st
}

// combined is a matrix times a vector, by steps.
func combined(s *wino.Steps, input func(i int) te.Expr) []te.Expr {
	var values, out []te.Expr
	for i := range s.Inputs {
		values = append(values, input(i))
	}
	for _, step := range s.Steps {
		var sum te.Expr
		for _, t := range step {
			x, factor := values[t.Of], max(t.Factor, -t.Factor)
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
		values = append(values, sum)
	}
	for _, v := range s.Results {
		out = append(out, values[v])
	}
	return out
}
