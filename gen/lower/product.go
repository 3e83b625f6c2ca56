package lower

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// product is a contraction of two operands of which neither is a constant: what attention multiplies, for instance. A stage packs
// W for a group of its columns, where the tiles are that read them.
type product struct {
	b    *block.Block
	s    *te.Stage
	x, w te.Load
	// row and column are the axes of the result that only X, or only W, has, the innermost ones; row is -1 where there is none.
	row, column int
	instr       *instr.Row
	tile
}

const productAnchor = "product"

// Product proposes a schedule for a contraction of two operands that are computed, and follows it; none where the block is no such
// thing.
func Product(b *block.Block, env *Env) (*Lowered, error) {
	p := newProduct(b, env)
	if p == nil {
		return nil, nil
	}
	w, s := p.schedule(env)
	l, err := env.scheduled(productAnchor, tiledName(productAnchor, p.tile), tiledFamily(productAnchor, p.tile), w, s, Values(b))
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	return l, nil
}

// newProduct is nil where the block is no contraction that tiles compute.
func newProduct(b *block.Block, env *Env) *product {
	s := b.Stage
	p := &product{b: b, s: s, row: -1, column: -1, instr: env.Target.Tile(ir.F32)}
	// Work-items that share what they pack take a loop of their own kind.
	if !env.Contractions || env.Target.WorkItems() || p.instr == nil || !env.wants(productAnchor) || len(b.Placed) > 0 || s.Update != nil ||
		s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1 || s.Values[0].DType() != ir.F32 || !static(s.Reduce) || p.empty() {
		return nil
	}
	for _, v := range slices.Concat(b.Operands, b.Results) {
		if env.Layouts(v) != layout.RowMajor {
			return nil
		}
	}
	mul, ok := s.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return nil
	}
	l0, ok0 := mul.Args[0].(te.Load)
	l1, ok1 := mul.Args[1].(te.Load)
	if !ok0 || !ok1 || len(l0.Guard) > 0 || len(l1.Guard) > 0 || isWeights(b, l0) || isWeights(b, l1) {
		return nil
	}
	if p.x, p.w = l0, l1; !p.roles() {
		if p.x, p.w = l1, l0; !p.roles() {
			return nil
		}
	}
	rows, known := p.extent(p.row)
	columns, _ := p.extent(p.column)
	if known && rows < minProductRows {
		return nil
	}
	steps := int64(1)
	for _, a := range s.Reduce {
		n, _ := a.Extent.Const()
		steps *= n
	}
	choice := tiled{t: env.Target, instr: p.instr, x: p.instr.Broadcaster(0), pixels: rows, groups: (columns + p.instr.Lanes - 1) / p.instr.Lanes, perBlock: 1, steps: steps}
	if !known {
		choice.most = mostRows
	}
	p.tile = choice.choose()
	return p
}

// minProductRows is how many rows must share what a task packs.
const minProductRows = 4

func (p *product) empty() bool {
	return slices.ContainsFunc(slices.Concat(p.s.Axes, p.s.Reduce), func(a te.Axis) bool { return a.Extent.Is(0) })
}

// extent is an axis' points, or how many it is taken to have where only the run knows.
func (p *product) extent(axis int) (n int64, known bool) {
	if n, known = p.s.Axes[axis].Extent.Const(); !known {
		return usualPixels, false
	}
	return n, true
}

// roles finds the row and the column: the innermost axis of the result is one of W alone.
func (p *product) roles() bool {
	p.row, p.column = -1, -1
	for i, a := range p.s.Axes {
		switch inX, inW := uses(p.x, a.Var), uses(p.w, a.Var); {
		case a.Extent.Is(1):
		case inW && !inX:
			p.column = i
		case inX && !inW:
			p.row = i
		default:
			p.column = -1 // of both, or of none: tasks
		}
	}
	for i := p.column + 1; p.column >= 0 && i < len(p.s.Axes); i++ {
		if !p.s.Axes[i].Extent.Is(1) {
			return false
		}
	}
	for _, a := range p.s.Reduce {
		if !a.Extent.Is(1) && !(uses(p.x, a.Var) && uses(p.w, a.Var)) {
			return false
		}
	}
	return p.row >= 0 && p.column >= 0
}

// schedule is the stages, one that packs W and the product, and where they are computed: a task packs some columns of W for one
// point of the axes that it has besides, and computes all rows of them.
func (p *product) schedule(env *Env) (*sched.Work, *sched.Schedule) {
	width := p.vectors * p.instr.Lanes
	columns := p.s.Axes[p.column].Extent
	all := sym.Scale(sym.CeilDiv(columns, sym.Const(width), env.Symbols), width) // that are packed
	pack := &te.Stage{Name: "pack"}
	ps, cs := sched.Stage{At: sched.Ref{Stage: 1, Loop: groupVar}}, sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: p.instr.Name, X: p.instr.Broadcaster(0)}}
	names := map[string]sym.Expr{} // of axes in the stage that packs
	var packed []sym.Expr          // its index where the product reads it
	axis := func(a te.Axis, extent sym.Expr) string {
		v := fmt.Sprintf("i%d", len(pack.Axes))
		names[a.Var] = sym.Var(v)
		pack.Axes = append(pack.Axes, te.Axis{Var: v, Extent: extent})
		packed = append(packed, sym.Var(a.Var))
		return v
	}
	add := func(s *sched.Stage, k sched.Kind, name, axis string, size int64, e sched.Edge) {
		s.Loops = append(s.Loops, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
	}
	var inner []te.Axis // of X alone, around its rows
	for i, a := range p.s.Axes {
		switch {
		case i == p.row || i == p.column || a.Extent.Is(1):
		case uses(p.x, a.Var) && !uses(p.w, a.Var):
			inner = append(inner, a)
		default:
			name := axisVar(i)
			add(&cs, sched.Task, name, a.Var, 0, sched.Exact)
			if uses(p.w, a.Var) {
				v := axis(a, a.Extent)
				ps.Regions = append(ps.Regions, sched.Region{Axis: v, First: sym.Var(name), Extent: 1})
			}
		}
	}
	column, row := p.s.Axes[p.column], p.s.Axes[p.row]
	add(&cs, sched.Task, groupVar, column.Var, 0, sched.Exact)
	for i, a := range inner {
		add(&cs, sched.Serial, fmt.Sprintf("u%d", i), a.Var, 0, sched.Exact)
	}
	add(&cs, sched.Serial, tileVar, row.Var, 0, sched.Exact)
	add(&cs, sched.Rows, rowVar, row.Var, p.rows, edge(!sym.Mod(row.Extent, sym.Const(p.rows), env.Symbols).Is(0), sched.Peel))
	rounded := edge(!all.Equal(columns), sched.RoundUp)
	add(&cs, sched.Columns, vecVar, column.Var, p.vectors, rounded)
	add(&cs, sched.Lanes, laneVar, column.Var, p.instr.Lanes, rounded)
	for i, a := range p.s.Reduce {
		if !a.Extent.Is(1) {
			v := axis(a, a.Extent)
			add(&cs, sched.Sum, kVar(i), a.Var, 0, sched.Exact)
			add(&ps, sched.Serial, fmt.Sprintf("q%d", i), v, 0, sched.Exact)
		}
	}
	v := axis(column, all)
	ps.Regions = append(ps.Regions, sched.Region{Axis: v, First: sym.Scale(sym.Var(groupVar), width), Extent: width})
	add(&ps, sched.Serial, partOfAxis, v, 0, sched.Exact)
	w := te.SubstIndices(p.ones(p.w), names, nil).(te.Load)
	if rounded != sched.Exact {
		w.Guard, w.Default = []te.Within{{E: sym.Var(v), Hi: columns}}, te.Number(ir.F32, 0)
	}
	pack.Results = []te.Expr{w}
	st := *p.s
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", p.ones(p.x), te.FromStage(0, ir.F32, packed...))}
	return &sched.Work{Stages: []*te.Stage{pack, &st}, Operands: p.b.Operands, Facts: env.Symbols}, &sched.Schedule{Stages: []sched.Stage{ps, cs}}
}

// ones fixes axes of one point.
func (p *product) ones(l te.Load) te.Load {
	zero := map[string]sym.Expr{}
	for _, a := range slices.Concat(p.s.Axes, p.s.Reduce) {
		if a.Extent.Is(1) {
			zero[a.Var] = sym.Const(0)
		}
	}
	return te.SubstIndices(l, zero, nil).(te.Load)
}

// edge is e where there is one.
func edge(there bool, e sched.Edge) sched.Edge {
	if there {
		return e
	}
	return sched.Exact
}
