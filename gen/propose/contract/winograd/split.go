package winograd

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
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
		if f == nil {
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
