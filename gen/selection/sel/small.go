package sel

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// smallSizes are the sizes up to which versions are looked for, by estimates at that size.
var smallSizes = []int64{128, 32, 8, 1}

// growing are the symbols by which a network's runs differ in size, but for how many images or sequences there are at once: those that
// are no input's first dimension.
func growing(g *block.Graph) []string {
	first := map[string]bool{}
	for _, v := range g.Inputs {
		if len(v.Shape) > 1 {
			if s, ok := v.Shape[0].AsVar(); ok {
				first[s] = true
			}
		}
	}
	var out []string
	for _, s := range g.Symbols {
		if !s.Computed && !first[s.Name] && s.Lo < s.Hi {
			out = append(out, s.Name)
		}
	}
	return out
}

// small selects for runs in which the symbols are at most of a size.
type small struct {
	*selector
	size    int64
	symbols []string // that are bounded so
	ranges  map[string]ranged
}

// newSmall is nil where no symbol may be greater, or as small.
func newSmall(g *block.Graph, t *target.Target, o Options, size int64) *small {
	o.Times = nil // a record is of blocks as they are for all sizes
	s := &small{selector: newSelector(g, t, o), size: size, ranges: map[string]ranged{}}
	s.points = true
	for _, name := range growing(g) {
		r := g.Facts[name]
		if r.Hi > size && r.Lo <= size {
			s.symbols = append(s.symbols, name)
		}
		n := min(max(size, r.Lo), r.Hi)
		s.usual[name] = sym.Range{Lo: n, Hi: n}
	}
	if s.symbols == nil {
		return nil
	}
	return s
}

// upTo are the facts of sizes up to one.
func (s *small) upTo(size int64) sym.Facts {
	return plan.Guard{Dims: guard(s.symbols, size)}.Narrow(s.g.Facts)
}

// widest is the greatest size up to which a block's values are of the shapes that they have at the size, where these are constant.
func (s *small) widest(b *block.Block) int64 {
	least := s.upTo(s.size)
	fixed := func(size int64) bool {
		f := s.upTo(size)
		for _, v := range slices.Concat(b.Operands, b.Results) {
			for _, d := range v.Shape {
				e := d.Under(f)
				if !e.Equal(d.Under(least)) || slices.ContainsFunc(s.symbols, e.Uses) {
					return false
				}
			}
		}
		return true
	}
	size := s.size
	for size < smallSizes[0] && fixed(2*size) {
		size *= 2
	}
	return size
}

// ranged is what a selector knows of the sizes of a guard.
type ranged struct {
	g       *block.Graph
	classes map[string]*class
	classOf map[*block.Block]*class
}

// within lets the selector take the sizes of a guard until what it gives is called.
func (s *small) within(dims []ops.Check) (restore func()) {
	key := plan.Guard{Dims: dims}.String()
	r, known := s.ranges[key]
	if !known {
		g := &block.Graph{Facts: plan.Guard{Dims: dims}.Narrow(s.g.Facts), Symbols: s.g.Symbols}
		r = ranged{g, map[string]*class{}, map[*block.Block]*class{}}
		s.ranges[key] = r
	}
	before := ranged{s.g, s.classes, s.classOf}
	s.g, s.classes, s.classOf = r.g, r.classes, r.classOf
	return func() { s.g, s.classes, s.classOf = before.g, before.classes, before.classOf }
}

// guard holds where symbols are at most of a size.
func guard(symbols []string, size int64) []ops.Check {
	var out []ops.Check
	for _, name := range symbols {
		out = append(out, ops.Check{Kind: ops.AtLeast, A: sym.Const(size), B: sym.Var(name), What: "size"})
	}
	return out
}

// dependsOn are the bounded symbols that a block's extents are made of.
func (s *small) dependsOn(b *block.Block) []string {
	used := map[string]bool{}
	for _, st := range b.Stages() {
		for _, a := range slices.Concat(st.Axes, st.Reduce) {
			a.Extent.Vars(used)
		}
	}
	for _, v := range slices.Concat(b.Operands, b.Results) {
		for _, d := range v.Shape {
			d.Vars(used)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.symbols), func(name string) bool { return !used[name] })
}

// empty reports whether a value of a block has no element: the network's own checks refuse such sizes, or there is nothing to gain.
func (s *small) empty(b *block.Block) bool {
	return slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool {
		return slices.ContainsFunc(v.Shape, func(d sym.Expr) bool { _, most := d.Bounds(s.g.Facts); return most < 1 })
	})
}
