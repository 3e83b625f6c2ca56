package pruned

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// Pixels that lie far apart: an image is cut into as many blocks of rows and columns as a register has lanes, and a register has the pixel of one
// place within its block from each of them. So what a tap reads for a register is another register, whole, and what the taps of a kernel read for
// registers beside each other is loaded once for all of them; only blocks' edges lie in other lanes.
//
// Blocks is how an image is cut: blocks of so many rows and columns, so many of them beside each other and in all.
type Blocks struct {
	Rows, Columns, Across, Lanes int64
}

// Dimensions of images in which pixels may lie apart.
const (
	ImageRank = 4
	RowDim    = 2
	ColumnDim = 3
)

// leastBlock is the fewest rows or columns of a block: of fewer, edges are most of what is read.
const leastBlock = 4

// cut is how an image of whole blocks is cut for so many lanes, so that the edges of blocks are the shortest; false where blocks are not whole,
// or too small.
func cut(s ir.Shape, lanes int64) (best Blocks, ok bool) {
	if len(s) != ImageRank {
		return best, false
	}
	rows, known := s[RowDim].Const()
	columns, known1 := s[ColumnDim].Const()
	least := int64(0)
	for across := int64(1); across <= lanes && known && known1; across *= 2 {
		b := Blocks{Rows: rows * across / lanes, Columns: columns / across, Across: across, Lanes: lanes}
		whole := b.Rows*lanes == rows*across && b.Columns*across == columns
		if edges := b.Rows + b.Columns; whole && min(b.Rows, b.Columns) >= leastBlock && (!ok || edges < least) {
			best, least, ok = b, edges, true
		}
	}
	return best, ok
}

// Layout is that of the blocks: lanes are the innermost parts.
func (b Blocks) Layout() layout.Layout {
	return layout.Of(layout.Part{Axis: RowDim, Size: b.Rows}, layout.Part{Axis: ColumnDim, Size: b.Columns}, layout.Part{Axis: RowDim}, layout.Part{Axis: ColumnDim})
}

// CutOf is how a value's layout cuts its images; false where it is another one.
func CutOf(l layout.Layout, s ir.Shape) (b Blocks, ok bool) {
	if len(s) != ImageRank || l == layout.RowMajor {
		return b, false
	}
	p := layout.PartsOf(l, len(s))
	if len(p) != ImageRank+2 {
		return b, false
	}
	rows, known := s[RowDim].Const()
	columns, known1 := s[ColumnDim].Const()
	if b.Rows, b.Columns = p[2].Size, p[3].Size; !known || !known1 || b.Rows < 1 || b.Columns < 1 || rows%b.Rows != 0 || columns%b.Columns != 0 {
		return b, false
	}
	b.Across = columns / b.Columns
	b.Lanes = rows / b.Rows * b.Across
	return b, b.Layout().In(l.Space) == l
}

// split is a shape as it is stored: lanes are its last dimension.
func (b Blocks) split(s ir.Shape) ir.Shape {
	return ir.Shape{s[0], s[1], sym.Const(b.Rows), sym.Const(b.Columns), sym.Const(b.Lanes)}
}

// apart is a contraction of images in which pixels lie apart: of the results, and of X unless that is row-major.
type apart struct {
	*sparse
	Blocks
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
	of, ok := CutOf(first, b.Results[0].Shape)
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
		if l := lay(v); l != of.Layout().In(l.Space) {
			return l
		}
		return layout.RowMajor
	}
	c := tiled.Lay(b, &rows)
	if c == nil || c.Window || c.Groups > 1 || c.InReduce != 0 || !c.Target.SumsStoredOf(c.Weights.Type) || c.XLayout != layout.RowMajor || of.Lanes%c.Instr.Lanes != 0 {
		return nil
	}
	if len(b.Stage.Axes) != ImageRank || c.Channel != 1 || c.Pixel != ColumnDim || len(c.X.Index) != ImageRank || readsTwice(b, c) {
		return nil
	}
	a := &apart{sparse: &sparse{Laid: c}, Blocks: of}
	a.x5 = b.Operands[c.X.Source.N]
	_, a.lies = CutOf(lay(a.x5), a.x5.Shape)
	for d := RowDim; d <= ColumnDim; d++ {
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
func readsTwice(b *block.Block, c *tiled.Laid) bool {
	twice := false
	for _, e := range b.Stage.Results {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			twice = twice || ok && l.Source == c.X.Source
		})
	}
	return twice
}

// reaches finds what blocks read around them: no more than the next blocks have.
func (c *apart) reaches() bool {
	local := map[string]int64{}
	for _, a := range c.Reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	zero := map[string]sym.Expr{}
	for _, a := range c.Axes() {
		zero[a.Var] = sym.Const(0)
	}
	reach := func(d int, size int64) (before, all int64, ok bool) {
		e := c.X.Index[d]
		n, walked := c.Walked(e, local)
		first, known := e.Subst(zero, c.Nest.Facts).Const()
		k, linear := sym.Coefficient(e, c.Block.Stage.Axes[d].Var, c.Nest.Facts)
		after := first + n - 1
		return -first, size + n - 1, walked && known && linear && k.Is(1) && first <= 0 && -first <= size && after >= 0 && after <= size
	}
	var ok, ok1 bool
	c.up, c.high, ok = reach(RowDim, c.Rows)
	c.left, c.wide, ok1 = reach(ColumnDim, c.Columns)
	return ok && ok1 && c.Guards(&te.Load{Index: c.X.Index})
}

// Axes of the stages, besides those of the block.
const apartLane = "i4"

// copyApart is a stage that copies what blocks read, with their edges: of other blocks, and zeros around the image.
func (c *apart) copyApart() *te.Stage {
	st := &te.Stage{Name: "edges"}
	for d, n := range []sym.Expr{c.x5.Shape[0], c.x5.Shape[1], sym.Const(c.high), sym.Const(c.Columns - c.strip + c.copied(c.strip)), sym.Const(c.Lanes)} {
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
	st.Results = []te.Expr{along(row, c.Rows, func(down int64) te.Expr {
		return along(column, c.Columns, func(right int64) te.Expr {
			return c.neighbour(sym.Sub(row, sym.Const(down*c.Rows)), sym.Sub(column, sym.Const(right*c.Columns)), down, right)
		})
	})}
	return st
}

// neighbour is a pixel of the block so many blocks further down and right; zero where there is none.
func (c *apart) neighbour(row, column sym.Expr, down, right int64) te.Expr {
	lane := sym.Var(apartLane)
	if right != 0 && c.Across == 1 || down != 0 && c.Across == c.Lanes {
		return te.Number(ir.F32, 0)
	}
	at := sym.Add(lane, sym.Const(down*c.Across+right))
	l := te.Load{Source: c.X.Source, Type: c.X.Type, Index: []sym.Expr{sym.Var("i0"), sym.Var("i1"), row, column, at}}
	if down != 0 || right != 0 {
		l.Guard = append(l.Guard, te.Within{E: at, Lo: sym.Const(0), Hi: sym.Const(c.Lanes)})
		l.Default = te.Number(c.X.Type, 0)
	}
	if right != 0 && c.Across < c.Lanes {
		l.Guard = append(l.Guard, te.Within{E: sym.Add(sym.Mod(lane, sym.Const(c.Across), c.Nest.Facts), sym.Const(right)), Lo: sym.Const(0), Hi: sym.Const(c.Across)})
	}
	return match.AsF32(l)
}

// fromRows is a pixel of rows as they are.
func (c *apart) fromRows() te.Expr {
	l := te.Load{Source: c.X.Source, Type: c.X.Type, Default: te.Number(c.X.Type, 0), Index: []sym.Expr{sym.Var("i0"), sym.Var("i1"),
		sym.Sub(sym.Add(c.place(RowDim), sym.Var("i2")), sym.Const(c.up)), sym.Sub(sym.Add(c.place(ColumnDim), sym.Var("i3")), sym.Const(c.left))}}
	for d := RowDim; d <= ColumnDim; d++ {
		l.Guard = append(l.Guard, te.Within{E: l.Index[d], Lo: sym.Const(0), Hi: c.x5.Shape[d]})
	}
	return match.AsF32(l)
}

// place is the first row or column of a lane's block.
func (c *apart) place(d int) sym.Expr {
	lane, across := sym.Var(apartLane), sym.Const(c.Across)
	facts := sym.Facts{apartLane: {Hi: c.Lanes - 1}}
	if d == RowDim {
		return sym.Scale(sym.FloorDiv(lane, across, facts), c.Rows)
	}
	return sym.Scale(sym.Mod(lane, across, facts), c.Columns)
}

// sumApart is the block's stage over blocks and lanes, which reads the copy, stage 0.
func (c *apart) sumApart(results []te.Expr, weights int) *te.Stage {
	st, axes := *c.Block.Stage, c.Block.Stage.Axes
	st.Axes = nil
	for d, n := range c.split(c.Block.Results[0].Shape) {
		name := apartLane
		if d < ImageRank {
			name = axes[d].Var
		}
		st.Axes = append(st.Axes, te.Axis{Var: name, Extent: n})
	}
	st.Reduce = c.Reduce
	index := append([]sym.Expr{}, c.X.Index...)
	index[RowDim], index[ColumnDim] = sym.Add(index[RowDim], sym.Const(c.up)), sym.Add(index[ColumnDim], sym.Const(c.left))
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", te.FromStage(0, ir.F32, append(index, sym.Var(apartLane))...), c.weight(weights))}
	facts := sym.Facts{apartLane: {Hi: c.Lanes - 1}, axes[RowDim].Var: {Hi: c.Rows - 1}, axes[ColumnDim].Var: {Hi: c.Columns - 1}}
	for v, r := range c.Nest.Facts {
		if _, own := facts[v]; !own {
			facts[v] = r
		}
	}
	st.Results = nil
	for _, e := range results {
		st.Results = append(st.Results, te.SubstIndices(e, map[string]sym.Expr{
			axes[RowDim].Var:    sym.Add(c.place(RowDim), sym.Var(axes[RowDim].Var)),
			axes[ColumnDim].Var: sym.Add(c.place(ColumnDim), sym.Var(axes[ColumnDim].Var)),
		}, facts))
	}
	return &st
}

// valuesApart says how values lie: those in blocks are split ones, of five dimensions.
func (c *apart) valuesApart(s *sched.Schedule, lay lower.Layouts) {
	split := layout.PartsOf(layout.RowMajor, ImageRank+1)
	lower.LayOut(s, c.Block, lay, func(i int) (sched.Value, bool) {
		x := sched.Value{Of: te.Source{N: i}}
		if i == c.X.Source.N && c.lies {
			x.Parts = split
		}
		return x, i != c.PackedOperand()
	}, ImageRank+1, sched.Value{Of: te.Source{N: c.PackedOperand()}}, sched.Value{Of: te.Source{Stage: true}, Parts: split, Space: sched.Worker})
	for i := range s.Values {
		if x := &s.Values[i]; x.Of.Stage && x.Of.N == len(s.Stages)-1 {
			x.Parts = split // the stage's axes are those parts
		}
	}
}
