package winograd

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/lower/workgroup"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
	wino "rules_dnn/gen/winograd"
)

// splitFilter is a convolution by Winograd's algorithm as three blocks, whose values between them lie in memory: a device's work-groups cannot wait
// for each other, and none has room for what it would need of a transform's points. The first block transforms tiles of inputs, the second multiplies
// matrices, one of each point of the transform, and the third transforms their sums and computes what the convolution's block makes of them.
type splitFilter struct {
	b       *block.Block
	f       *wino.Transform
	m       *match.Match
	x, w    te.Load // of inputs, and of the weights
	along   [2]slide
	channel int   // axis of result channels
	others  []int // axes of the result besides channels and windows
	in      te.Axis
	tiles   [2]sym.Expr
	weights weightPlaces
}

// weightPlaces are how far apart weights are in the constant, from base on.
type weightPlaces struct {
	base, output, input int64
	taps                [2]int64
}

// mostTransformed is how many bytes transformed inputs or sums have at most: they are objects of a device, which may be no larger than a part of
// its memory.
const mostTransformed = 256 << 20

// SplitFilters are the ways to compute a convolution of floats by transforms of so many results along each axis, as blocks; none where the block is
// no such thing, or filters share what they keep of pruned weights: work-groups leave out the others, and weights are packed, where transformed ones
// are as many as of a dense convolution.
func SplitFilters(b *block.Block, env *lower.Env, results []int64) [][]*block.Block {
	if len(results) == 0 || workgroup.Keeps(b, env) {
		return nil
	}
	var out [][]*block.Block
	for _, n := range results {
		f := wino.New(int(n), filterTaps)
		if f == nil || !env.Winograd {
			continue
		}
		if s := newSplitFilter(b, env, f); s != nil {
			out = append(out, s.blocks(env.Symbols))
		}
	}
	return out
}

// newSplitFilter is nil where the block is no convolution of windows of three points along two axes, of floats and weights that are constant, or what is
// transformed is large or of unknown size.
func newSplitFilter(b *block.Block, env *lower.Env, f *wino.Transform) *splitFilter {
	if b.Stage == nil || len(b.Placed) > 0 {
		return nil
	}
	m, _ := match.Find(b.Stage, b.Operands, env.Symbols)
	if m == nil || m.Empty() || len(m.Reduce) != 3 {
		return nil
	}
	for i := range m.Factors {
		s := &splitFilter{b: b, f: f, m: m, x: m.Factors[i].Load, w: m.Factors[1-i].Load}
		if plainFloats(m.Factors[i]) && plainFloats(m.Factors[1-i]) && m.Factors[1-i].Constant && !m.Factors[i].Constant && s.find(env.Symbols) {
			return s
		}
	}
	return nil
}

// plainFloats reports whether a factor is elements of f32, and zeros beyond them.
func plainFloats(t *match.Term) bool {
	return t.Load.Type == ir.F32 && t.Zero == nil && t.Computed == nil && match.ZeroDefault(t.Load)
}

// find gives each axis its part; false where one has none.
func (s *splitFilter) find(facts sym.Facts) bool {
	axes, in := s.b.Stage.Axes, -1
	for i, r := range s.m.Reduce {
		if match.DimOf(s.x, r.Var) < 0 {
			continue
		}
		if in >= 0 {
			return false
		}
		in = i
	}
	if in < 0 {
		return false
	}
	var ok bool
	if s.along, ok = slidesOf(s.x, axes, s.m.Reduce, in); !ok {
		return false
	}
	s.in, s.channel = s.m.Reduce[in], -1
	for i, a := range axes {
		switch ofX, ofW := match.Uses(s.x, a.Var), match.Uses(s.w, a.Var); {
		case i == s.along[0].axis || i == s.along[1].axis:
			if ofW {
				return false
			}
		case ofW && (ofX || s.channel >= 0):
			return false // several groups, or channels of several axes
		case ofW:
			s.channel = i
		default:
			s.others = append(s.others, i)
		}
	}
	for i, w := range s.along {
		s.tiles[i] = sym.CeilDiv(axes[w.axis].Extent, sym.Const(int64(s.f.Results)), facts)
	}
	return s.channel >= 0 && s.place() && s.fits(facts)
}

// fits reports whether transformed values are of a known size that devices have room for.
func (s *splitFilter) fits(facts sym.Facts) bool {
	n := sym.Const(int64(ir.F32.Size() * s.f.Points() * s.f.Points()))
	for _, e := range append(s.otherExtents(), s.tiles[0], s.tiles[1]) {
		n = sym.Mul(n, e)
	}
	channels, known := s.b.Stage.Axes[s.channel].Extent.Const()
	inputs, static := s.in.Extent.Const()
	_, most := n.Bounds(facts)
	return known && static && most <= mostTransformed/max(channels, inputs)
}

func (s *splitFilter) otherExtents() []sym.Expr {
	var out []sym.Expr
	for _, i := range s.others {
		out = append(out, s.b.Stage.Axes[i].Extent)
	}
	return out
}

// place finds where weights are in the constant; false where that is no sum of multiples.
func (s *splitFilter) place() bool {
	v := s.b.Operands[s.w.Source.N]
	if v.Const == nil || len(s.w.Guard) > 0 {
		return false
	}
	off, zero, ok := layout.Flat(v.Shape, s.w.Index), map[string]sym.Expr{}, true
	step := func(name string) int64 {
		e, linear := sym.Coefficient(off, name, nil)
		n, known := e.Const()
		ok = ok && linear && known
		zero[name] = sym.Const(0)
		return n
	}
	p := &s.weights
	p.output, p.input = step(s.b.Stage.Axes[s.channel].Var), step(s.in.Var)
	for i, w := range s.along {
		p.taps[i] = step(s.m.Reduce[w.reduce].Var)
	}
	if !ok {
		return false
	}
	p.base, ok = off.Subst(zero, nil).Const()
	return ok
}

// blocks are the three, in their order.
func (s *splitFilter) blocks(facts sym.Facts) []*block.Block {
	in := s.inputs(facts)
	sums := s.products(in.Results[0], facts)
	return []*block.Block{in, sums, s.results(sums.Results[0])}
}

// between is a block of a stage, whose result other blocks read.
func (s *splitFilter) between(st *workgroup.GroupStage, operands []*ir.Value) *block.Block {
	v := &ir.Value{Name: fmt.Sprintf("%s.%s", s.b.Results[0].Name, st.Name), Type: ir.F32, Shape: st.Shape(), HasShape: true}
	return &block.Block{Stage: &st.Stage, Operands: operands, Results: []*ir.Value{v}, Origins: s.b.Origins, Ops: s.b.Ops}
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
	return &block.Block{Stage: &st, Operands: operands, Results: s.b.Results, Origins: s.b.Origins, Ops: s.b.Ops}
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
