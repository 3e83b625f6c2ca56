// Package pbqp solves partitioned Boolean quadratic problems: it chooses one alternative of
// each node so that the sum of the nodes' and the edges' costs is least.
//
// Nodes are eliminated one by one (bucket elimination, Dechter 1999): the tables that mention a
// node are joined and minimised over it. On chains, trees and graphs of small width that
// is exact dynamic programming. A join that would grow beyond a limit is split into
// mini-buckets, whose minima are a lower bound; the solution then states its gap.
package pbqp

import (
	"fmt"
	"math"
	"slices"
)

// Problem is nodes with the costs of their alternatives, and edges with costs of pairs.
// Costs are not negative; math.Inf(1) forbids.
type Problem struct {
	Nodes [][]float64
	Edges []Edge
}

// Edge costs Cost[a][b] where node A takes alternative a and node B takes b.
type Edge struct {
	A, B int
	Cost [][]float64
}

// Solution is the alternative of each node. The least cost possible is between Bound and
// Cost; where they are equal the solution is optimal.
type Solution struct {
	Choice []int
	Cost   float64
	Bound  float64
}

// Optimal reports whether no cheaper solution exists.
func (s *Solution) Optimal() bool { return s.Cost <= s.Bound*(1+1e-9) }

// String says what is known of the cost, in the unit of the problem.
func (s *Solution) String() string {
	if s.Optimal() {
		return fmt.Sprintf("optimum %.6g", s.Cost)
	}
	return fmt.Sprintf("%.6g, within %.2g %% of the optimum", s.Cost, 100*(s.Cost/s.Bound-1))
}

// DefaultLimit is the most entries of a table.
const DefaultLimit = 1 << 16

// Solve minimises. limit is the most entries of a joined table. It fails where every choice is
// forbidden, or the limit kept it from finding one that is not.
func Solve(p *Problem, limit int) (*Solution, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &elimination{p: p, limit: limit}
	e.start()
	for _, v := range e.order() {
		e.eliminate(v)
	}
	s := &Solution{Choice: e.decode(), Bound: e.bound}
	s.Cost = p.Cost(s.Choice)
	if !e.exact {
		p.improve(s)
	}
	if math.IsInf(s.Cost, 1) {
		return nil, fmt.Errorf("no choice of alternatives is allowed")
	}
	if e.exact {
		s.Bound = s.Cost // the two sums differ by rounding
	}
	return s, nil
}

func (p *Problem) check() error {
	for i, n := range p.Nodes {
		if len(n) == 0 {
			return fmt.Errorf("node %d has no alternative", i)
		}
	}
	for _, e := range p.Edges {
		if e.A == e.B || e.A < 0 || e.B < 0 || e.A >= len(p.Nodes) || e.B >= len(p.Nodes) {
			return fmt.Errorf("edge between nodes %d and %d of %d", e.A, e.B, len(p.Nodes))
		}
		if len(e.Cost) != len(p.Nodes[e.A]) {
			return fmt.Errorf("edge between nodes %d and %d has %d rows of costs", e.A, e.B, len(e.Cost))
		}
		for _, r := range e.Cost {
			if len(r) != len(p.Nodes[e.B]) {
				return fmt.Errorf("edge between nodes %d and %d has %d columns of costs", e.A, e.B, len(r))
			}
		}
	}
	return nil
}

// Cost is what a choice costs.
func (p *Problem) Cost(choice []int) float64 {
	c := 0.0
	for i, n := range p.Nodes {
		c += n[choice[i]]
	}
	for _, e := range p.Edges {
		c += e.Cost[choice[e.A]][choice[e.B]]
	}
	return c
}

// improve changes one node at a time as long as that helps.
func (p *Problem) improve(s *Solution) {
	edges := make([][]Edge, len(p.Nodes))
	for _, e := range p.Edges {
		edges[e.A], edges[e.B] = append(edges[e.A], e), append(edges[e.B], e)
	}
	local := func(i int) float64 { // what depends on the node's choice
		c := p.Nodes[i][s.Choice[i]]
		for _, e := range edges[i] {
			c += e.Cost[s.Choice[e.A]][s.Choice[e.B]]
		}
		return c
	}
	better := true
	for round := 0; better && round < maxRounds; round++ {
		better = false
		for i, n := range p.Nodes {
			least := local(i)
			for a := range n {
				was := s.Choice[i]
				s.Choice[i] = a
				if c := local(i); c < least {
					least, better = c, true
				} else {
					s.Choice[i] = was
				}
			}
		}
	}
	s.Cost = p.Cost(s.Choice)
}

// maxRounds of improvement: each one looks at all nodes.
const maxRounds = 100

// table is a function of some nodes' alternatives, row-major in the order of vars.
type table struct {
	vars []int
	cost []float64
}

// elimination is the state of a run.
type elimination struct {
	p       *Problem
	limit   int
	tables  []*table   // nil where one has been joined into a later one
	of      [][]int    // of each node the numbers of the tables that mention it, some of them nil by now
	buckets [][]*table // by eliminated node, in order of elimination
	nodes   []int
	at      []int // an alternative of each node, while tables are joined
	bound   float64
	exact   bool
}

func (e *elimination) start() {
	e.exact = true
	e.of, e.at = make([][]int, len(e.p.Nodes)), make([]int, len(e.p.Nodes))
	for i, n := range e.p.Nodes {
		e.add(&table{vars: []int{i}, cost: n})
	}
	for _, d := range e.p.Edges {
		t := &table{vars: []int{d.A, d.B}}
		for _, r := range d.Cost {
			t.cost = append(t.cost, r...)
		}
		e.add(t)
	}
}

func (e *elimination) add(t *table) {
	for _, v := range t.vars {
		e.of[v] = append(e.of[v], len(e.tables))
	}
	e.tables = append(e.tables, t)
}

// eliminate minimises over node v.
func (e *elimination) eliminate(v int) {
	var bucket []*table
	for _, i := range e.of[v] {
		if t := e.tables[i]; t != nil {
			bucket = append(bucket, t)
			e.tables[i] = nil
		}
	}
	e.nodes, e.buckets = append(e.nodes, v), append(e.buckets, bucket)
	parts := e.split(bucket)
	e.exact = e.exact && len(parts) == 1
	for _, part := range parts {
		m := e.minimise(part, v)
		if len(m.vars) == 0 {
			e.bound += m.cost[0]
			continue
		}
		e.add(m)
	}
}

// split puts tables together as long as their joined table stays within the limit.
func (e *elimination) split(bucket []*table) [][]*table {
	var parts [][]*table
	var scopes [][]int
	for _, t := range bucket {
		placed := false
		for i := range parts {
			joint := union(scopes[i], t.vars)
			if e.entries(joint) <= e.limit {
				parts[i], scopes[i], placed = append(parts[i], t), joint, true
				break
			}
		}
		if !placed {
			parts, scopes = append(parts, []*table{t}), append(scopes, t.vars)
		}
	}
	return parts
}

func union(a, b []int) []int {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

func (e *elimination) entries(vars []int) int {
	n := 1
	for _, v := range vars {
		if n > e.limit {
			return n
		}
		n *= len(e.p.Nodes[v])
	}
	return n
}

// minimise joins tables and takes the least over v.
func (e *elimination) minimise(ts []*table, v int) *table {
	var scope []int
	for _, t := range ts {
		scope = union(scope, t.vars)
	}
	out := &table{vars: slices.DeleteFunc(slices.Clone(scope), func(x int) bool { return x == v })}
	out.cost = make([]float64, e.entries(out.vars))
	for i := range out.cost {
		e.unpack(i, out.vars, e.at)
		best := math.Inf(1)
		for a := range e.p.Nodes[v] {
			e.at[v] = a
			best = min(best, e.sum(ts, e.at))
		}
		out.cost[i] = best
	}
	return out
}

func (e *elimination) unpack(i int, vars []int, at []int) {
	for k := len(vars) - 1; k >= 0; k-- {
		n := len(e.p.Nodes[vars[k]])
		at[vars[k]] = i % n
		i /= n
	}
}

func (e *elimination) sum(ts []*table, at []int) float64 {
	c := 0.0
	for _, t := range ts {
		i := 0
		for _, v := range t.vars {
			i = i*len(e.p.Nodes[v]) + at[v]
		}
		c += t.cost[i]
	}
	return c
}

// decode chooses from the last eliminated node to the first.
func (e *elimination) decode() []int {
	at := make([]int, len(e.p.Nodes))
	for i := len(e.nodes) - 1; i >= 0; i-- {
		v, best, cost := e.nodes[i], 0, math.Inf(1)
		for a := range e.p.Nodes[v] {
			at[v] = a
			if c := e.sum(e.buckets[i], at); c < cost {
				best, cost = a, c
			}
		}
		at[v] = best
	}
	return at
}
