package contract

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Pixels that lie far apart: an image is cut into as many blocks of rows and columns as a register has lanes, and a register has the pixel of one
// place within its block from each of them. So what a tap reads for a register is another register, whole, and what the taps of a kernel read for
// registers beside each other is loaded once for all of them; only blocks' edges lie in other lanes.
//
// blocks is how an image is cut: blocks of so many rows and columns, so many of them beside each other and in all.
type blocks struct {
	rows, columns, across, lanes int64
}

// Dimensions of images in which pixels may lie apart.
const (
	imageRank = 4
	rowDim    = 2
	columnDim = 3
)

// leastBlock is the fewest rows or columns of a block: of fewer, edges are most of what is read.
const leastBlock = 4

// cut is how an image of whole blocks is cut for so many lanes, so that the edges of blocks are the shortest; false where blocks are not whole,
// or too small.
func cut(s ir.Shape, lanes int64) (best blocks, ok bool) {
	if len(s) != imageRank {
		return best, false
	}
	rows, known := s[rowDim].Const()
	columns, known1 := s[columnDim].Const()
	least := int64(0)
	for across := int64(1); across <= lanes && known && known1; across *= 2 {
		b := blocks{rows: rows * across / lanes, columns: columns / across, across: across, lanes: lanes}
		whole := b.rows*lanes == rows*across && b.columns*across == columns
		if edges := b.rows + b.columns; whole && min(b.rows, b.columns) >= leastBlock && (!ok || edges < least) {
			best, least, ok = b, edges, true
		}
	}
	return best, ok
}

// layout is that of the blocks: lanes are the innermost parts.
func (b blocks) layout() layout.Layout {
	return layout.Of(layout.Part{Axis: rowDim, Size: b.rows}, layout.Part{Axis: columnDim, Size: b.columns}, layout.Part{Axis: rowDim}, layout.Part{Axis: columnDim})
}

// cutOf is how a value's layout cuts its images; false where it is another one.
func cutOf(l layout.Layout, s ir.Shape) (b blocks, ok bool) {
	if len(s) != imageRank || l == layout.RowMajor {
		return b, false
	}
	p := layout.PartsOf(l, len(s))
	if len(p) != imageRank+2 {
		return b, false
	}
	rows, known := s[rowDim].Const()
	columns, known1 := s[columnDim].Const()
	if b.rows, b.columns = p[2].Size, p[3].Size; !known || !known1 || b.rows < 1 || b.columns < 1 || rows%b.rows != 0 || columns%b.columns != 0 {
		return b, false
	}
	b.across = columns / b.columns
	b.lanes = rows / b.rows * b.across
	return b, b.layout().In(l.Space) == l
}

// split is a shape as it is stored: lanes are its last dimension.
func (b blocks) split(s ir.Shape) ir.Shape {
	return ir.Shape{s[0], s[1], sym.Const(b.rows), sym.Const(b.columns), sym.Const(b.lanes)}
}

// apart is a contraction of images in which pixels lie apart: of the results, and of X unless that is row-major.
type apart struct {
	*sparse
	blocks
	// up and left are how far taps read before the first row and column, high and wide how many rows and columns a block's results read.
	up, left, high, wide int64
	strip                int64 // columns of blocks that a task has, in a kernel
	lies                 bool  // so does X
	x5                   *ir.Value
}

// newApart is nil where the block is no contraction of images with such results, which have the same rows and columns as X.
func newApart(b *block.Block, env *lower.Env) *apart {
	lay := env.Layouts
	first := lay(b.Results[0])
	of, ok := cutOf(first, b.Results[0].Shape)
	for _, r := range b.Results {
		if lay(r) != first {
			return nil
		}
	}
	if !ok {
		return nil
	}
	rows := *env
	rows.Layouts = func(v *ir.Value) layout.Layout {
		if l := lay(v); l != of.layout().In(l.Space) {
			return l
		}
		return layout.RowMajor
	}
	c := newLaid(b, &rows)
	if c == nil || c.window || c.groups > 1 || c.inReduce != 0 || c.wv.Type != ir.F32 || c.layX != layout.RowMajor || c.converts() || of.lanes%c.instr.Lanes != 0 {
		return nil
	}
	if len(b.Stage.Axes) != imageRank || c.channel != 1 || c.pixel != columnDim || len(c.x.Index) != imageRank || readsTwice(b, c) {
		return nil
	}
	a := &apart{sparse: &sparse{laid: c}, blocks: of}
	a.x5 = b.Operands[c.x.Source.N]
	_, a.lies = cutOf(lay(a.x5), a.x5.Shape)
	for d := rowDim; d <= columnDim; d++ {
		if !a.x5.Shape[d].Equal(b.Stage.Axes[d].Extent) {
			return nil
		}
	}
	if !a.reaches() {
		return nil
	}
	return a
}

// readsTwice reports whether the results read X besides.
func readsTwice(b *block.Block, c *laid) bool {
	twice := false
	for _, e := range b.Stage.Results {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			twice = twice || ok && l.Source == c.x.Source
		})
	}
	return twice
}

// reaches finds what blocks read around them: no more than the next blocks have.
func (c *apart) reaches() bool {
	local := map[string]int64{}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	zero := map[string]sym.Expr{}
	for _, a := range c.axes() {
		zero[a.Var] = sym.Const(0)
	}
	reach := func(d int, size int64) (before, all int64, ok bool) {
		e := c.x.Index[d]
		n, walked := c.walked(e, local)
		first, known := e.Subst(zero, c.n.Facts).Const()
		k, linear := sym.Coefficient(e, c.b.Stage.Axes[d].Var, c.n.Facts)
		after := first + n - 1
		return -first, size + n - 1, walked && known && linear && k.Is(1) && first <= 0 && -first <= size && after >= 0 && after <= size
	}
	var ok, ok1 bool
	c.up, c.high, ok = reach(rowDim, c.rows)
	c.left, c.wide, ok1 = reach(columnDim, c.columns)
	return ok && ok1 && c.guards(&te.Load{Index: c.x.Index})
}

// Axes of the stages, besides those of the block.
const apartLane = "i4"

// copyApart is a stage that copies what blocks read, with their edges: of other blocks, and zeros around the image.
func (c *apart) copyApart() *te.Stage {
	st := &te.Stage{Name: "edges"}
	for d, n := range []sym.Expr{c.x5.Shape[0], c.x5.Shape[1], sym.Const(c.high), sym.Const(c.columns - c.strip + c.copied(c.strip)), sym.Const(c.lanes)} {
		st.Axes = append(st.Axes, te.Axis{Var: fmt.Sprintf("i%d", d), Extent: n})
	}
	if !c.lies {
		st.Results = []te.Expr{c.fromRows()}
		return st
	}
	row, column := sym.Sub(sym.Var("i2"), sym.Const(c.up)), sym.Sub(sym.Var("i3"), sym.Const(c.left))
	along := func(at sym.Expr, size int64, of func(step int64) te.Expr) te.Expr {
		in := func(first int64) []te.Within {
			return []te.Within{{E: at, Lo: sym.Const(first), Hi: sym.Const(first + size)}}
		}
		return te.Select{Cond: in(0), Then: of(0), Else: te.Select{Cond: in(-size), Then: of(-1), Else: te.Select{Cond: in(size), Then: of(1), Else: te.Number(ir.F32, 0)}}}
	}
	st.Results = []te.Expr{along(row, c.rows, func(down int64) te.Expr {
		return along(column, c.columns, func(right int64) te.Expr {
			return c.neighbour(sym.Sub(row, sym.Const(down*c.rows)), sym.Sub(column, sym.Const(right*c.columns)), down, right)
		})
	})}
	return st
}

// neighbour is a pixel of the block so many blocks further down and right; zero where there is none.
func (c *apart) neighbour(row, column sym.Expr, down, right int64) te.Expr {
	lane := sym.Var(apartLane)
	if right != 0 && c.across == 1 || down != 0 && c.across == c.lanes {
		return te.Number(ir.F32, 0)
	}
	at := sym.Add(lane, sym.Const(down*c.across+right))
	l := te.Load{Source: c.x.Source, Type: ir.F32, Index: []sym.Expr{sym.Var("i0"), sym.Var("i1"), row, column, at}}
	if down != 0 || right != 0 {
		l.Guard = append(l.Guard, te.Within{E: at, Lo: sym.Const(0), Hi: sym.Const(c.lanes)})
		l.Default = te.Number(ir.F32, 0)
	}
	if right != 0 && c.across < c.lanes {
		l.Guard = append(l.Guard, te.Within{E: sym.Add(sym.Mod(lane, sym.Const(c.across), c.n.Facts), sym.Const(right)), Lo: sym.Const(0), Hi: sym.Const(c.across)})
	}
	return l
}

// fromRows is a pixel of rows as they are.
func (c *apart) fromRows() te.Expr {
	l := te.Load{Source: c.x.Source, Type: ir.F32, Default: te.Number(ir.F32, 0), Index: []sym.Expr{sym.Var("i0"), sym.Var("i1"),
		sym.Sub(sym.Add(c.place(rowDim), sym.Var("i2")), sym.Const(c.up)), sym.Sub(sym.Add(c.place(columnDim), sym.Var("i3")), sym.Const(c.left))}}
	for d := rowDim; d <= columnDim; d++ {
		l.Guard = append(l.Guard, te.Within{E: l.Index[d], Lo: sym.Const(0), Hi: c.x5.Shape[d]})
	}
	return l
}

// place is the first row or column of a lane's block.
func (c *apart) place(d int) sym.Expr {
	lane, across := sym.Var(apartLane), sym.Const(c.across)
	facts := sym.Facts{apartLane: {Hi: c.lanes - 1}}
	if d == rowDim {
		return sym.Scale(sym.FloorDiv(lane, across, facts), c.rows)
	}
	return sym.Scale(sym.Mod(lane, across, facts), c.columns)
}

// sumApart is the block's stage over blocks and lanes, which reads the copy, stage 0.
func (c *apart) sumApart(results []te.Expr, weights int) *te.Stage {
	st, axes := *c.b.Stage, c.b.Stage.Axes
	st.Axes = nil
	for d, n := range c.split(c.b.Results[0].Shape) {
		name := apartLane
		if d < imageRank {
			name = axes[d].Var
		}
		st.Axes = append(st.Axes, te.Axis{Var: name, Extent: n})
	}
	st.Reduce = c.reduce
	index := append([]sym.Expr{}, c.x.Index...)
	index[rowDim], index[columnDim] = sym.Add(index[rowDim], sym.Const(c.up)), sym.Add(index[columnDim], sym.Const(c.left))
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", te.FromStage(0, ir.F32, append(index, sym.Var(apartLane))...), te.Operand(weights, ir.F32, c.index...))}
	facts := sym.Facts{apartLane: {Hi: c.lanes - 1}, axes[rowDim].Var: {Hi: c.rows - 1}, axes[columnDim].Var: {Hi: c.columns - 1}}
	for v, r := range c.n.Facts {
		if _, own := facts[v]; !own {
			facts[v] = r
		}
	}
	st.Results = nil
	for _, e := range results {
		st.Results = append(st.Results, te.SubstIndices(e, map[string]sym.Expr{
			axes[rowDim].Var:    sym.Add(c.place(rowDim), sym.Var(axes[rowDim].Var)),
			axes[columnDim].Var: sym.Add(c.place(columnDim), sym.Var(axes[columnDim].Var)),
		}, facts))
	}
	return &st
}

// valuesApart says how values lie: those in blocks are split ones, of five dimensions.
func (c *apart) valuesApart(s *sched.Schedule, lay lower.Layouts) {
	split := layout.PartsOf(layout.RowMajor, imageRank+1)
	lower.LayOut(s, c.b, lay, func(i int) (sched.Value, bool) {
		x := sched.Value{Of: te.Source{N: i}}
		if i == c.x.Source.N && c.lies {
			x.Parts = split
		}
		return x, i != c.packedOperand()
	}, imageRank+1, sched.Value{Of: te.Source{N: c.packedOperand()}}, sched.Value{Of: te.Source{Stage: true}, Parts: split, Space: sched.Worker})
	for i := range s.Values {
		if x := &s.Values[i]; x.Of.Stage && x.Of.N == len(s.Stages)-1 {
			x.Parts = split // the stage's axes are those parts
		}
	}
}
