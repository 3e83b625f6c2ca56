package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/winograd"
)

// Nonzeros is the constant of a stage of which only kernels are stored that were not pruned: W[filter, channel, taps...], of
// which one stored loop walks the filters, or the groups that share what they keep, and another one within it the kernels of a filter and their
// taps; it may be the sum of a tile.
type Nonzeros struct {
	fkw.Encoding
	Operand int
	// Plane is the axis of the result that walks the encoding's planes, where it has any: the constant's first dimension.
	Plane   te.Axis
	Filter  te.Axis
	Channel te.Axis
	Taps    []te.Axis
	// Filters and Kernels are the numbers of their loops: of filters the innermost one. Part is that of a loop over blocks of channels around, each of
	// which a tile sums by itself, or -1.
	Filters, Kernels, Part int
}

// Together is how many taps of a pattern lie in one column at most: what a tile reads of one row of it, others of its rows read, too.
func (z *Nonzeros) Together() int64 {
	width := int64(1)
	if n := len(z.Taps); n > 0 {
		width, _ = z.Taps[n-1].Extent.Const()
	}
	return z.Encoding.Together(width)
}

// sparse reports whether only a part of the constant is stored.
func (v Value) sparse() bool { return v.Encoding != "" && !v.transformed() }

// transformed reports whether the constant is stored as a transform of package winograd makes it of a constant of the network, all of it.
func (v Value) transformed() bool { return winograd.Names(v.Encoding) }

// Nonzeros is the encoded constant of stage n, or nil.
func (s *Schedule) Nonzeros(w *Work, n int) (*Nonzeros, error) {
	sc, st := &s.Stages[n], w.Stages[n]
	loops := slices.ContainsFunc(sc.Loops, func(l Loop) bool { return l.Stored })
	if !loops && !slices.ContainsFunc(s.Values, Value.sparse) {
		return nil, nil
	}
	z := &Nonzeros{Operand: -1, Filters: -1, Kernels: -1, Part: -1}
	var load te.Load
	reads := 0
	for _, e := range slices.Concat(st.Values, st.Results) {
		te.Walk(e, func(e te.Expr) {
			if l, ok := e.(te.Load); ok && !l.Source.Stage && s.Place(w, l.Source).sparse() {
				z.Operand, load = l.Source.N, l
				reads++
			}
		})
	}
	switch {
	case reads == 0 && !loops:
		return nil, nil
	case reads != 1:
		return nil, fmt.Errorf("it reads encoded constants %d times; loops over stored weights support one", reads)
	case !factor(st, load):
		return nil, fmt.Errorf("weights that operand %d does not store count as zero, but the stage is not a contraction with it", z.Operand)
	}
	e, err := fkw.Parse(s.Place(w, load.Source).Encoding)
	if err != nil {
		return nil, err
	}
	z.Encoding = *e
	if err := z.axes(w, st, load); err != nil {
		return nil, fmt.Errorf("operand %d: %w", z.Operand, err)
	}
	return z, z.loops(sc, st)
}

// factor reports whether the stage sums products of the load, or of its conversion to floats, which
// keeps zeros.
func factor(st *te.Stage, l te.Load) bool {
	if st.Combine == nil || st.Combine.Name != "sum" || len(st.Values) != 1 || len(l.Guard) > 0 {
		return false
	}
	mul, ok := st.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return false
	}
	return slices.ContainsFunc(mul.Args, func(e te.Expr) bool {
		if cast, ok := e.(te.Call); ok && cast.Fn == "cast" && cast.Type.IsFloat() {
			e = cast.Args[0]
		}
		x, ok := e.(te.Load)
		return ok && x.Source == l.Source
	})
}

// axes finds what walks the dimensions of the constant.
func (z *Nonzeros) axes(w *Work, st *te.Stage, l te.Load) error {
	var of []te.Axis
	planes := 0 // dimensions of them
	if z.Planes > 0 {
		planes = 1
	}
	for d, e := range l.Index {
		from := st.Reduce
		if d <= planes {
			from = st.Axes
		}
		k := slices.IndexFunc(from, func(a te.Axis) bool { return e.Equal(sym.Var(a.Var)) })
		if k < 0 || !from[k].Extent.Equal(w.Operands[z.Operand].Shape[d]) {
			return fmt.Errorf("index %d is %s; encoding fkw wants filters indexed by an axis of the result, then channels and taps by all axes of the sum", d, e)
		}
		of = append(of, from[k])
	}
	if len(of) < planes+2 {
		return fmt.Errorf("it has %d dimensions; encoding fkw wants filters, channels and taps, and planes before these if it has any", len(of))
	}
	if planes > 0 {
		z.Plane = of[0]
		if of = of[1:]; !z.Plane.Extent.Is(z.Planes) || z.Plane.Var == of[0].Var {
			return fmt.Errorf("axis %s walks %s planes; encoding fkw has %d, which are not filters", z.Plane.Var, z.Plane.Extent, z.Planes)
		}
	}
	z.Filter, z.Channel, z.Taps = of[0], of[1], of[2:]
	n := int64(1)
	for _, a := range of[2:] {
		taps, _ := a.Extent.Const()
		n *= taps
	}
	filters, _ := z.Filter.Extent.Const()
	channels, _ := z.Channel.Extent.Const()
	if most := z.Stored(filters); z.Encoding.Kernels > most*channels {
		return fmt.Errorf("%d kernels are stored; want at most %d x %d", z.Encoding.Kernels, most, channels)
	}
	return z.Fits(n)
}

// loops finds the loops over what is stored: that of kernels walks its axes alone, or those of a block of channels, and the innermost one of filters
// is around it and takes as many at a time as share what they keep.
func (z *Nonzeros) loops(sc *Stage, st *te.Stage) error {
	spans, err := sc.Spans(st)
	if err != nil {
		return err
	}
	want := append([]te.Axis{z.Channel}, z.Taps...)
	for _, p := range spans {
		plane := func(a te.Axis) bool { return z.Planes > 0 && a.Var == z.Plane.Var }
		if slices.ContainsFunc(p.Axes, plane) && slices.ContainsFunc(p.Loops, func(i int) bool { return sc.Loops[i].Edge == RoundUp }) {
			return fmt.Errorf("operand %d is encoded: loops of %s exceed its %d stored planes", z.Operand, z.Plane.Var, z.Planes)
		}
		if len(p.Loops) == 0 || !sc.Loops[p.Loops[0]].Stored {
			continue
		}
		same := func(axes []te.Axis) bool {
			return slices.EqualFunc(p.Axes, axes, func(a, b te.Axis) bool { return a.Var == b.Var })
		}
		if same([]te.Axis{z.Filter}) && sc.region(z.Filter.Var) == nil {
			z.Filters = max(z.Filters, sc.filters(p, z.Share))
		}
		if same(want) {
			z.kernels(sc, p)
		}
	}
	if x := sc.split(z.Filter.Var); x != nil && (z.Share > 1 || x.ragged(z.Filter)) {
		return fmt.Errorf("operand %d is encoded: filters %s are stored in groups of %d and split by %d; want filters without sharing, in equal parts", z.Operand, z.Filter.Var, z.Share, x.Size)
	}
	parts := slices.ContainsFunc(sc.Loops[:z.Filters+1], func(l Loop) bool { return z.walksFilters(sc, l.Axis) && !l.Stored })
	if z.Filters < 0 || z.Kernels < z.Filters || parts {
		return fmt.Errorf("operand %d is encoded; want a stored loop of %s by %d, and within it one over the joined channels and taps, of all channels or of a block", z.Operand, z.Filter.Var, z.Share)
	}
	for i, l := range sc.Loops {
		if l.Stored && !z.walks(sc, i) {
			return fmt.Errorf("loop %s (%s) over stored weights; want a task or serial loop over filters, and a serial loop or a tile's sum over kernels", l.Var, l.Kind)
		}
	}
	return nil
}

// filters is the innermost loop of a span that walks the filters that are stored, so many at a time, or -1.
func (s *Stage) filters(p Span, share int64) int {
	out := -1
	for _, i := range p.Loops {
		if s.Loops[i].Stored && s.Within(i) == share {
			out = i
		}
	}
	return out
}

// kernels finds the loop of a filter's kernels: that of the span, or, where the encoding has them in blocks of channels, one of a block's within
// another one of the blocks.
func (z *Nonzeros) kernels(sc *Stage, p Span) {
	channels, _ := z.Channel.Extent.Const()
	points, _ := p.Extent.Const()
	outer := p.Loops[0]
	switch {
	case len(p.Loops) == 1:
		z.Kernels = outer
	case len(p.Loops) == 2 && sc.Loops[outer].Kind == Serial && sc.Loops[p.Loops[1]].Kind == Sum && z.Block > 0 && sc.Within(outer)*channels == z.Block*points:
		z.Part, z.Kernels = outer, p.Loops[1]
	}
}

// walks reports whether loop i may walk what is stored: filters, blocks of their channels, or the kernels of these.
func (z *Nonzeros) walks(sc *Stage, i int) bool {
	l := sc.Loops[i]
	switch {
	case l.Edge != Exact:
		return false
	case i == z.Kernels:
		return (l.Size > 0) == (z.Part >= 0) && (l.Kind == Serial || l.Kind == Sum)
	case i == z.Part:
		return l.Size == 0
	}
	return z.walksFilters(sc, l.Axis) && i <= z.Filters && !l.Kind.Tile()
}

// walksFilters reports whether loops of an axis, or of a part of one, walk the filters.
func (z *Nonzeros) walksFilters(sc *Stage, axis string) bool {
	x := sc.split(z.Filter.Var)
	return axis == sc.Loops[z.Filters].Axis || x != nil && (axis == x.Outer || axis == x.Inner)
}
