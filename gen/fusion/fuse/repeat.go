package fuse

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// A convolution of several filters for each channel, which downsamples and widens at once, has as many results for lanes as a group has filters: two of
// sixteen. Of a copy of its operand that repeats each channel for each of its filters it is a depthwise convolution, whose lanes are channels. The copy is
// a block more, which estimates count, once for all that read it.

// leastRepeatedTaps are the fewest products of a sum that pay a copy of what they read.
const leastRepeatedTaps = 4

// repeated is an operand of which each place along a dimension is wanted several times.
type repeated struct {
	of    *ir.Value
	dim   int
	times int64
}

// repeatChannels returns a convolution that reads a copy with a channel for each filter, after the block that computes the copy, unless another block
// has done so. It returns nil if they are estimated to take longer.
func (f *fuser) repeatChannels(b *block.Block) []*block.Block {
	s := b.Stage
	if s == nil || s.Combine == nil || s.Update != nil || len(b.Placed) > 0 || len(s.Values) != 1 || !contracts(b) || s.Values[0].DType() != ir.F32 {
		return nil
	}
	if n, known := points(s.Reduce).Const(); !known || n < leastRepeatedTaps {
		return nil
	}
	l, axis, r := severalFilters(b)
	if r.of == nil {
		return nil
	}
	v, all := f.repeats[r], []*block.Block(nil)
	if v == nil {
		copied := f.repeat(b, r, axis.Extent)
		v, all = copied.Results[0], append(all, copied)
	}
	all = append(all, reading(b, l, r, axis, v))
	if f.o.Estimator.Together(all) >= f.o.Estimator.Together([]*block.Block{b}) {
		return nil
	}
	f.repeats[r] = v
	return all
}

// severalFilters is the load of a factor of which several neighbours of an axis share each channel, and no axis of several points of the sum walks these.
func severalFilters(b *block.Block) (te.Load, te.Axis, repeated) {
	zero := map[string]sym.Expr{}
	for _, a := range b.Stage.Reduce {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		}
	}
	for _, factor := range b.Stage.Values[0].(te.Call).Args {
		l, ok := element(factor)
		if !ok || l.Source.Stage || b.Operands[l.Source.N].Const != nil {
			continue
		}
		v := b.Operands[l.Source.N]
		for d, e := range l.Index {
			channels, known := v.Shape[d].Const()
			for _, a := range b.Stage.Axes {
				n, fixed := a.Extent.Const()
				if known && fixed && channels > 1 && n > channels && n%channels == 0 && e.Subst(zero, nil).Equal(sym.FloorDiv(sym.Var(a.Var), sym.Const(n/channels), nil)) {
					return l, a, repeated{v, d, n / channels}
				}
			}
		}
	}
	return te.Load{}, te.Axis{}, repeated{}
}

// repeat is the block that computes the copy.
func (f *fuser) repeat(b *block.Block, r repeated, extent sym.Expr) *block.Block {
	s := &te.Stage{Name: "Repeat"}
	for d, n := range r.of.Shape {
		if d == r.dim {
			n = extent
		}
		s.Axes = append(s.Axes, te.Axis{Var: fmt.Sprintf("i%d", d), Extent: n})
	}
	index := te.AxisVars(s.Axes)
	index[r.dim] = sym.FloorDiv(index[r.dim], sym.Const(r.times), nil)
	s.Results = []te.Expr{te.Operand(0, r.of.Type, index...)}
	v := &ir.Value{Name: f.names.Name(r.of.Name + ".repeated"), Type: r.of.Type, Shape: s.Shape(), HasShape: true}
	return &block.Block{Stage: s, Operands: []*ir.Value{r.of}, Results: []*ir.Value{v}, Origins: b.Origins, Models: b.Models, Ops: b.Ops}
}

// reading is a block that reads the copy in a load's place.
func reading(b *block.Block, l te.Load, r repeated, axis te.Axis, v *ir.Value) *block.Block {
	out := *b
	out.Operands = append(slices.Clone(b.Operands), v)
	out.Stage = b.Stage.MapExprs(func(e te.Expr) te.Expr {
		x, ok := e.(te.Load)
		if !ok || x.Source != l.Source || !x.Index[r.dim].Equal(l.Index[r.dim]) {
			return e
		}
		x.Source.N, x.Index = len(b.Operands), slices.Clone(x.Index)
		x.Index[r.dim] = sym.Var(axis.Var)
		return x
	})
	return onlyRead(&out)
}
