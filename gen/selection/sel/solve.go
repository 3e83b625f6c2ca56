package sel

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/selection/pbqp"
)

// storage is a set of a value's layouts in which it is stored, as bits: an alternative of its node.
type storage uint32

// storages are the alternatives of a value's node: every set but the empty one.
func (s *selector) storages(v *ir.Value) []storage {
	var out []storage
	for st := storage(1); st < 1<<len(s.layouts(v)); st++ {
		out = append(out, st)
	}
	return out
}

// has reports whether the set has one of the value's layouts.
func (s *selector) has(st storage, v *ir.Value, l layout.Layout) bool {
	i := slices.Index(s.layouts(v), l)
	return i >= 0 && st>>i&1 == 1
}

// copies estimates what it takes to store a value, which is written in one layout, in all of a set.
func (s *selector) copies(v *ir.Value, written layout.Layout, kept storage) float64 {
	c := 0.0
	for _, l := range s.layouts(v) {
		if l == written || !s.has(kept, v, l) {
			continue
		}
		from := source(written, l)
		if from != written && !s.has(kept, v, from) {
			return math.Inf(1)
		}
		c += s.conversion(v, from, l)
	}
	return c
}

// source is the layout from which a value, which is written in one layout, becomes stored in another one: values reach
// another space row-major, and are converted there.
func source(written, to layout.Layout) layout.Layout {
	switch {
	case to.Space == written.Space:
		return written
	case to.In(layout.Host) == layout.RowMajor:
		return layout.RowMajor.In(written.Space)
	}
	return layout.RowMajor.In(to.Space)
}

// problem has a node for each block, with its candidates, and one for each value of more than one
// layout, with the sets of layouts in which it is stored. A producer must write one of
// them, the others are conversions; a consumer must find the one it reads. What runs in a loop
// counts as often as it runs.
func (s *selector) problem() *pbqp.Problem {
	p := &pbqp.Problem{}
	for i, cs := range s.candidates {
		var costs []float64
		for _, c := range cs {
			costs = append(costs, c.cycles*s.runs[s.blocks[i].Results[0]])
		}
		p.Nodes = append(p.Nodes, costs)
	}
	s.node = map[*ir.Value]int{}
	fixed := map[*ir.Value]bool{} // must be stored row-major
	for _, v := range s.interfaces {
		fixed[v] = true
		s.addValue(p, v, fixed)
	}
	for _, b := range s.blocks {
		for _, v := range append(append([]*ir.Value{}, b.Results...), b.Operands...) {
			s.addValue(p, v, fixed)
		}
	}
	for i, b := range s.blocks {
		s.addEdges(p, i, b)
	}
	return p
}

func (s *selector) addValue(p *pbqp.Problem, v *ir.Value, fixed map[*ir.Value]bool) {
	if _, ok := s.node[v]; ok || len(s.layouts(v)) == 1 {
		return
	}
	s.node[v] = len(p.Nodes)
	var costs []float64
	for _, st := range s.storages(v) {
		c := 0.0
		switch {
		case fixed[v] && !s.has(st, v, layout.RowMajor):
			c = math.Inf(1)
		case s.given[v]: // given row-major
			c = s.copies(v, layout.RowMajor, st)
		}
		costs = append(costs, c+s.inBuffer(v, st))
	}
	p.Nodes = append(p.Nodes, costs)
}

// addEdges ties a block to the values it computes and reads.
func (s *selector) addEdges(p *pbqp.Problem, i int, b *block.Block) {
	for _, v := range b.Results {
		if n, ok := s.node[v]; ok {
			p.Edges = append(p.Edges, s.edge(i, n, func(written layout.Layout, kept storage) float64 {
				if !s.has(kept, v, written) {
					return math.Inf(1)
				}
				return s.copies(v, written, kept)
			}, v))
		}
	}
	seen := map[*ir.Value]bool{}
	for _, v := range b.Operands {
		n, ok := s.node[v]
		if !ok || seen[v] {
			continue
		}
		seen[v] = true
		p.Edges = append(p.Edges, s.edge(i, n, func(read layout.Layout, kept storage) float64 {
			if !s.has(kept, v, read) {
				return math.Inf(1)
			}
			return 0
		}, v))
	}
}

func (s *selector) edge(i, n int, cost func(block layout.Layout, value storage) float64, v *ir.Value) pbqp.Edge {
	e := pbqp.Edge{A: i, B: n}
	for _, c := range s.candidates[i] {
		var row []float64
		for _, st := range s.storages(v) {
			row = append(row, cost(c.layout(v), st))
		}
		e.Cost = append(e.Cost, row)
	}
	return e
}

// conversion estimates the copies of a value from a layout to another one.
func (s *selector) conversion(v *ir.Value, from, to layout.Layout) float64 {
	return float64(s.copying(v, from, to) * s.runs[v]) // where it is inlined, a sum would be fused with it
}

func (s *selector) copying(v *ir.Value, from, to layout.Layout) float64 {
	q := conversion{v, from, to}
	if c, ok := s.copied[q]; ok {
		return c
	}
	key := fmt.Sprintf("%s %s %s %v", v.Type, from, to, v.Shape)
	c, ok := s.costs[key]
	if !ok {
		c = s.copyingAnew(v, from, to)
		s.costs[key] = c
	}
	s.copied[q] = c
	return c
}

// conversion is one of a value, which is asked for with each set of layouts that the value may be stored in.
type conversion struct {
	of       *ir.Value
	from, to layout.Layout
}

func (s *selector) copyingAnew(v *ir.Value, from, to layout.Layout) float64 {
	if from.Space != to.Space {
		return s.transferring(v)
	}
	twin := &ir.Value{Name: v.Name, Type: v.Type, Shape: v.Shape, HasShape: true}
	k, err := s.cheapest(block.Copy(v, twin, "", ""), func(x *ir.Value) layout.Layout {
		if x == v {
			return from
		}
		return to
	})
	if err != nil || k.Lowered == nil {
		return math.Inf(1)
	}
	return k.Cycles
}

// transferring estimates the transfer of a row-major value to or from the device.
func (s *selector) transferring(v *ir.Value) float64 {
	bytes := cost.Bytes(layout.RowMajor.Elements(v.Shape), v.Type.Size(), s.usual)
	return s.sides[layout.Device].link.Transfer(bytes)
}
