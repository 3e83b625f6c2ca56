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
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// product is a contraction of which a factor at least is computed: X, of which a tile has rows, and W, which has its lanes; of f32, of 16-bit
// floats, or of integers of 8 bits minus zero points. Stages pack what an instruction does not read as it is stored; stages of constants are
// computed by the compiler.
type product struct {
	b *block.Block
	*roles
	// row and column are the roles' axes. Without rows there is no tile, and no instruction.
	row, column te.Axis
	instr       *instr.Row
	// group is the axis of the reduction of which the instruction takes neighbours in at a time, "" where it takes in one point; windows
	// are read from one copy of what they share.
	group   string
	windows []window
	// packX: a stage packs X, or the compiler does.
	packX bool
	tile
	// chunk is how many tiles of rows share what a task packs of X.
	chunk int64
}

const productAnchor = "product"

// Product proposes a schedule for a contraction of computed factors, and follows it; none where the block is no such thing.
func Product(b *block.Block, env *Env) (*Lowered, error) {
	p := newProduct(b, env)
	if p == nil {
		return nil, nil
	}
	anchor, plan := productAnchor, (*proposal)(nil)
	if p.instr == nil {
		anchor, plan = windowAnchor, p.slide(env)
	} else {
		plan = p.schedule(env)
	}
	if plan == nil {
		return nil, nil
	}
	l, err := env.proposed(anchor, p.tile, plan, b)
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	return l, nil
}

// newProduct is nil where the block is no contraction of computed factors that tiles compute.
func newProduct(b *block.Block, env *Env) *product {
	s := b.Stage
	// Work-items that share what they pack take a loop of their own kind.
	if env.Target.WorkItems() || !env.Contractions || !env.wants(productAnchor) && !env.wants(windowAnchor) || len(b.Placed) > 0 || !rowMajor(b, env.Layouts) {
		return nil
	}
	if m, _ := matched(s, b.Operands, nil); m == nil || m.empty() {
		return nil
	}
	r := plain(s, b.Operands, env.Symbols)
	if s.Values[0].DType() == ir.I32 {
		r = reshape(s, b.Operands, env.Symbols)
	}
	m, _ := matched(&r.Stage, r.operands, r.facts)
	if m == nil {
		return nil
	}
	p := &product{b: b}
	rows := instructions(m, env.Target)
	if rows == nil {
		return nil
	}
	for x := range m.factors {
		if p.take(m.roles(x)); p.column.Var != "" && p.row.Var != "" && p.suits(rows[0]) {
			return p.choose(env, rows)
		}
	}
	for x := range m.factors { // without rows it is a window of its own for each channel
		if p.take(m.roles(x)); p.column.Var != "" && m.sum() == ir.I32 && env.Windows && !p.w.constant {
			return p
		}
	}
	return nil
}

// rowMajor reports whether all values of a block are.
func rowMajor(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return lay(v) != layout.RowMajor })
}

// suits reports whether constants are where tiles of floats may have them. Packing weights that are lanes is a contraction's choice; as
// rows they are those of a convolution of fewer channels than a register has lanes, most of which a contraction would leave empty.
func (p *product) suits(row *instr.Row) bool {
	n, known := p.row.Extent.Const()
	return p.sum() != ir.F32 || !p.w.constant && (!p.x.constant || known && n < row.Lanes)
}

// instructions are those that may compute products of floats, and of bytes.
func instructions(m *match, t *target.Target) []*instr.Row {
	for _, f := range m.factors {
		switch {
		case !m.fixedDefault(f):
			return nil
		case m.sum() == ir.F32 && f.zero != nil:
			return nil
		case m.sum() == ir.I32 && (f.load.Type.Size() != 1 || !f.load.Type.IsInteger()):
			return nil
		}
	}
	switch row := t.Tile(ir.F32); {
	case m.sum() == ir.F32 && row != nil:
		return []*instr.Row{row}
	case m.sum() == ir.I32 && !t.StoresDots() && len(m.reduce) > 0:
		return t.Dots(ir.I32)
	}
	return nil
}

// take gives the product its axes by what they are to the factors; no column where they suit no tile.
func (p *product) take(r *roles) {
	p.roles, p.row, p.column = r, te.Axis{}, te.Axis{}
	if r.row >= 0 {
		p.row = r.stage.Axes[r.row]
	}
	if r.sideBySide() && r.summed {
		p.column = r.stage.Axes[r.lane]
	}
}

// choose finds the instruction, what it takes neighbours of, what stages pack, and the tile; nil where a tile does not pay.
func (p *product) choose(env *Env, rows []*instr.Row) *product {
	best := -1
	for _, r := range rows {
		fit := 0
		if r.X == p.x.load.Type {
			fit += 2
		}
		if r.W == p.w.load.Type {
			fit++
		}
		if fit > best {
			best, p.instr = fit, r
		}
	}
	p.findWindows()
	p.findGroup()
	p.packX = p.x.constant && p.sum() != ir.F32 || !p.readsX()
	if n, known := p.row.Extent.Const(); known && n*p.overlap() < minProductRows && p.sum() == ir.F32 {
		return nil
	}
	columns := usual(p.column.Extent)
	steps := int64(1)
	for _, a := range p.reduce {
		n, _ := a.Extent.Const()
		if a.Var == p.group {
			n = (n + p.instr.Group - 1) / p.instr.Group
		}
		steps *= n
	}
	choice := newTiled(env.Target, p.instr, p.instr.Broadcaster(0), p.row.Extent)
	choice.groups, choice.perBlock, choice.steps = (columns+p.instr.Lanes-1)/p.instr.Lanes, 1, steps
	p.tile = choice.choose()
	p.chunk = 0
	if p.packX && !p.x.constant {
		p.chunk = p.tilesOfTask()
		p.windows = nil
	}
	return p
}

// minProductRows is how many rows, and windows that overlap, must share what a task packs.
const minProductRows = 4

// tilesOfTask are those that share what a task packs: tasks are as even as tiles allow.
func (p *product) tilesOfTask() int64 {
	n, known := p.row.Extent.Const()
	if !known {
		return max(1, rowsOfTask/p.rows)
	}
	tasks, tiles := (n+rowsOfTask-1)/rowsOfTask, (n+p.rows-1)/p.rows
	return (tiles + tasks - 1) / tasks
}

// rowsOfTask is about how many rows share what a task packs of W, where it packs X too.
const rowsOfTask = 96

// readsX reports whether the instruction reads X where it is stored: whole groups of neighbours, of its type.
func (p *product) readsX() bool {
	l := p.x.load
	if l.Type != p.instr.X || len(l.Guard) > 0 {
		return false
	}
	if p.group == "" {
		return true
	}
	c, ok := sym.Coefficient(layout.Flat(p.operands[l.Source.N].Shape, l.Index), p.group, p.facts)
	n, _ := p.axis(p.group).Extent.Const()
	return ok && c.Is(1) && n%p.instr.Group == 0
}

// axis is that of the reduction of this name.
func (p *product) axis(v string) te.Axis {
	i := slices.IndexFunc(p.reduce, func(a te.Axis) bool { return a.Var == v })
	return p.reduce[i]
}

// ZeroPoints are the operands that are subtracted from the factors of a contraction: what its kernels are depends on the elements of constant ones.
func ZeroPoints(b *block.Block) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	if b.Stage == nil {
		return out
	}
	for _, v := range b.Stage.Values {
		te.Walk(v, func(e te.Expr) {
			sub, ok := e.(te.Call)
			if !ok || sub.Fn != "sub" {
				return
			}
			te.Walk(sub.Args[1], func(e te.Expr) {
				if l, ok := e.(te.Load); ok && !l.Source.Stage {
					out[b.Operands[l.Source.N]] = true
				}
			})
		})
	}
	return out
}
