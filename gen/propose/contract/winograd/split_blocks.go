package winograd

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/propose/workgroup"
)

// blocks are the three, in their order.
func (s *splitFilter) blocks(facts sym.Facts) []*block.Block {
	in := s.inputs(facts)
	sums := s.products(in.Results[0], facts)
	return []*block.Block{in, sums, s.results(sums.Results[0])}
}

// between is a block of a stage, whose result other blocks read.
func (s *splitFilter) between(st *workgroup.GroupStage, operands []*ir.Value) *block.Block {
	v := &ir.Value{Name: fmt.Sprintf("%s.%s", s.b.Results[0].Name, st.Name), Type: ir.F32, Shape: st.Shape(), HasShape: true}
	return &block.Block{Stage: &st.Stage, Operands: operands, Results: []*ir.Value{v}, Origins: s.b.Origins, Models: s.b.Models, Ops: s.b.Ops}
}

// stage begins a stage of points, channels, and tiles: those of the axes that are none of channels and windows, then along each window.
func (s *splitFilter) stage(name string, facts sym.Facts, channels sym.Expr) (st *workgroup.GroupStage, p, channel sym.Expr, others, tiles []sym.Expr) {
	own := maps.Clone(facts)
	if own == nil {
		own = sym.Facts{}
	}
	st = workgroup.NewGroupStage(name, own, sched.Root)
	p, channel = st.Axis(sym.Const(int64(s.f.Points()*s.f.Points()))), st.Axis(channels)
	for _, e := range s.otherExtents() {
		others = append(others, st.Axis(e))
	}
	return st, p, channel, others, []sym.Expr{st.Axis(s.tiles[0]), st.Axis(s.tiles[1])}
}

// inputs transforms the inputs of each tile.
func (s *splitFilter) inputs(facts sym.Facts) *block.Block {
	st, p, channel, others, tiles := s.stage("inputs", facts, s.in.Extent)
	axes, m := s.b.Stage.Axes, int64(s.f.Results)
	for i, n := range s.others {
		st.Names[axes[n].Var] = others[i]
	}
	for i, w := range s.along {
		st.Names[axes[w.axis].Var] = sym.Scale(tiles[i], m)
	}
	st.Names[s.in.Var] = channel
	x := s.x
	if x.Guard = slices.Concat(x.Guard, beyond(x, s.along, s.tiles, m, axes, s.b.Operands[x.Source.N].Shape)); len(x.Guard) > 0 {
		x.Default = te.Number(x.Type, 0)
	}
	st.Results = []te.Expr{workgroup.Choice(p, square(wino.Rows(s.f.B), func(i, j int) te.Expr {
		at := maps.Clone(st.Names)
		at[s.m.Reduce[s.along[0].reduce].Var], at[s.m.Reduce[s.along[1].reduce].Var] = sym.Const(int64(i)), sym.Const(int64(j))
		return te.SubstIndices(x, at, st.Facts)
	}))}
	return s.between(st, s.b.Operands)
}

// square applies a matrix along both axes of values, the first one's first; results are along the second axis fastest.
func square(by *wino.Steps, value func(i, j int) te.Expr) []te.Expr {
	var half [][]te.Expr // of each column
	for j := range by.Inputs {
		half = append(half, combined(by, func(i int) te.Expr { return value(i, j) }))
	}
	var out []te.Expr
	for i := range by.Results {
		out = append(out, combined(by, func(j int) te.Expr { return half[j][i] })...)
	}
	return out
}

// products multiplies a matrix of transformed weights and one of transformed inputs for each point.
func (s *splitFilter) products(inputs *ir.Value, facts sym.Facts) *block.Block {
	st, p, channel, others, tiles := s.stage("products", facts, s.b.Stage.Axes[s.channel].Extent)
	const sum = "r0"
	st.Reduce, st.Combine = []te.Axis{{Var: sum, Extent: s.in.Extent}}, te.Sum(ir.F32)
	at := slices.Concat([]sym.Expr{p, sym.Var(sum)}, others, tiles)
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", te.Operand(0, ir.F32, p, sym.Var(sum), channel), te.Operand(1, ir.F32, at...))}
	st.Results = []te.Expr{te.Acc{Type: ir.F32}}
	return s.between(st, []*ir.Value{s.transformedWeights(), inputs})
}

// results transforms the sums of each tile, and computes what the block makes of them.
func (s *splitFilter) results(sums *ir.Value) *block.Block {
	st, m, n := *s.b.Stage, int64(s.f.Results), s.f.Points()
	var at []sym.Expr
	for _, i := range append([]int{s.channel}, s.others...) {
		at = append(at, sym.Var(st.Axes[i].Var))
	}
	row, column := sym.Var(st.Axes[s.along[0].axis].Var), sym.Var(st.Axes[s.along[1].axis].Var)
	at = append(at, sym.FloorDiv(row, sym.Const(m), nil), sym.FloorDiv(column, sym.Const(m), nil))
	place := sym.Add(sym.Scale(sym.Mod(row, sym.Const(m), nil), m), sym.Mod(column, sym.Const(m), nil))
	result := workgroup.Choice(place, square(wino.Columns(s.f.A), func(i, j int) te.Expr {
		return te.Operand(0, ir.F32, append([]sym.Expr{sym.Const(int64(i*n + j))}, at...)...)
	}))
	st.Reduce, st.Combine, st.Values, st.Results = nil, nil, nil, nil
	for _, r := range s.b.Stage.Results {
		st.Results = append(st.Results, te.Map(r, func(e te.Expr) te.Expr {
			switch x := e.(type) {
			case te.Acc:
				return result
			case te.Load: // Map does not visit what it puts in the place of another expression
				x.Source.N++
				return x
			}
			return e
		}))
	}
	operands := append([]*ir.Value{sums}, s.b.Operands...)
	return &block.Block{Stage: &st, Operands: operands, Results: s.b.Results, Origins: s.b.Origins, Models: s.b.Models, Ops: s.b.Ops}
}

// transformedWeights is a constant of all points of the transform, input channels and result channels.
func (s *splitFilter) transformedWeights() *ir.Value {
	v, p, f := s.b.Operands[s.w.Source.N], s.weights, s.f
	inputs, _ := s.in.Extent.Const()
	outputs, _ := s.b.Stage.Axes[s.channel].Extent.Const()
	points := int64(f.Points() * f.Points())
	dims := []int64{points, inputs, outputs}
	// Each filter gives an element of every point: all are computed at once.
	return ir.ConstValue(fmt.Sprintf("%s.winograd%d", v.Name, f.Results), ir.Computed(ir.F32, dims, points*inputs*outputs, func(b []byte, _ int64) error {
		raw, err := v.Const.Bytes()
		if err != nil {
			return err
		}
		filter, taps, rows := f.Filter(), make([]float32, filterTaps*filterTaps), make([]float32, points)
		for c := range inputs {
			for k := range outputs {
				for i := range taps {
					at := p.base + k*p.output + c*p.input + int64(i)/filterTaps*p.taps[0] + int64(i)%filterTaps*p.taps[1]
					taps[i] = weights.ElementOf(ir.F32, raw[4*at:])
				}
				filter.Apply(rows, taps, 0, f.Points())
				for q, x := range rows {
					putFilter(b, ir.F32, (int64(q)*inputs+c)*outputs+k, x)
				}
			}
		}
		return nil
	}))
}
