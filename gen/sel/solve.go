package sel

import (
	"fmt"
	"math"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/pbqp"
)

// storage is what a value may be stored as: the alternatives of its node.
type storage uint8

const (
	rowMajor storage = 1 << iota
	blocked
)

var storages = []storage{rowMajor, blocked, rowMajor | blocked}

func storageOf(l layout.Layout) storage {
	if l == layout.RowMajor {
		return rowMajor
	}
	return blocked
}

// problem has a node for each block, with its candidates, and one for each value that may be
// blocked, with the sets of layouts in which it is stored. A producer must write one of
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
	for _, v := range s.edges {
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
	if _, ok := s.node[v]; ok || !s.mayBlock(v) {
		return
	}
	s.node[v] = len(p.Nodes)
	costs := make([]float64, len(storages))
	for k, st := range storages {
		switch {
		case fixed[v] && st&rowMajor == 0:
			costs[k] = math.Inf(1)
		case s.given[v] && st&blocked != 0: // given row-major
			costs[k] = s.conversion(v, rowMajor)
		}
	}
	p.Nodes = append(p.Nodes, costs)
}

// addEdges ties a block to the values it computes and reads.
func (s *selector) addEdges(p *pbqp.Problem, i int, b *block.Block) {
	for _, v := range b.Results {
		if n, ok := s.node[v]; ok {
			p.Edges = append(p.Edges, s.edge(i, n, func(written, kept storage) float64 {
				if written&kept == 0 {
					return math.Inf(1)
				}
				if kept == rowMajor|blocked {
					return s.conversion(v, written)
				}
				return 0
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
		p.Edges = append(p.Edges, s.edge(i, n, func(read, kept storage) float64 {
			if read&kept == 0 {
				return math.Inf(1)
			}
			return 0
		}, v))
	}
}

func (s *selector) edge(i, n int, cost func(block, value storage) float64, v *ir.Value) pbqp.Edge {
	e := pbqp.Edge{A: i, B: n}
	for _, c := range s.candidates[i] {
		var row []float64
		for _, st := range storages {
			row = append(row, cost(storageOf(c.layout(v)), st))
		}
		e.Cost = append(e.Cost, row)
	}
	return e
}

// conversion estimates the copies of a value from a layout to the other one.
func (s *selector) conversion(v *ir.Value, from storage) float64 {
	return s.copying(v, from) * s.runs[v]
}

func (s *selector) copying(v *ir.Value, from storage) float64 {
	key := fmt.Sprintf("%d %v", from, v.Shape)
	if c, ok := s.costs[key]; ok {
		return c
	}
	to := &ir.Value{Name: v.Name, Type: v.Type, Shape: v.Shape, HasShape: true}
	k, err := s.cheapest(block.Copy(v, to, "", ""), func(x *ir.Value) layout.Layout {
		if (x == v) == (from == blocked) {
			return s.blocked
		}
		return layout.RowMajor
	})
	c := math.Inf(1)
	if err == nil && k.Lowered != nil {
		c = k.Cycles
	}
	s.costs[key] = c
	return c
}
