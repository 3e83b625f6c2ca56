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
	b   *block.Block
	lay Layouts
	*roles
	// row and column are the roles' axes. Without rows a tile has one.
	row, column te.Axis
	instr       *instr.Row
	// group is the axis of the reduction of which the instruction takes neighbours in at a time, "" where it takes in one point; windows
	// are read from one copy of what they share.
	group   string
	windows []window
	// packX: a stage packs X, or the compiler does. storedW: W is read as it is stored.
	packX, storedW bool
	tile
	// together is how many rows of a tile lie side by side in the results' storage, for each lane.
	together int64
	// chunk is how many tiles of rows share what a task packs of X.
	chunk int64
	// choice is what the tile is chosen for.
	choice *tiled
	// slides are windows of X that overlap in lines of which a task has one copy, read where they lie; none where each row is packed by itself.
	slides []window
	// beside: lanes are channels of both factors, of which the instruction takes in taps that a task puts beside each other.
	beside bool
	// weights is the stage that packs a constant X.
	weights *packing
	// dots: instructions take in neighbours along the sum at a time, or integers.
	dots bool
	// last: the result has its channels last, which are the lanes, and X is read with its own last, or is packed so.
	last bool
}

const productAnchor = "product"

// Product proposes schedules for a contraction of computed factors, one for each factor that may have the lanes, and follows them; none where
// the block is no such thing.
func Product(b *block.Block, env *Env) ([]*Lowered, error) {
	all, err := newProducts(b, env)
	var out []*Lowered
	for _, p := range all {
		var l *Lowered
		if l, err = p.follow(env); err != nil {
			break
		}
		if l != nil {
			out = append(out, l)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	return out, nil
}

// follow is the kernel of the product's schedule, nil where it has none.
func (p *product) follow(env *Env) (*Lowered, error) {
	anchor, plan := productAnchor, (*proposal)(nil)
	if p.instr == nil {
		anchor, plan = windowAnchor, p.slide(env)
		if p.last {
			plan = p.slideChannels(env)
		}
	} else {
		plan = p.schedule(env)
	}
	if plan != nil && p.instr != nil && p.instr.Narrow > 0 {
		if room, err := p.narrow(plan); err != nil || !room {
			return nil, err
		}
	}
	if plan == nil {
		return nil, nil
	}
	if p.beside && p.sum() == ir.F32 {
		cut := *env
		cut.borders = true
		env = &cut
	}
	l, err := env.proposed(anchor, p.tile, plan, p.b)
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err == nil && p.instr != nil && p.instr.Narrow == 0 && !p.beside {
		l.Point = p.point
	}
	if err == nil && p.instr != nil && p.kind() != productAnchor {
		l.Name, l.Family = p.kind()+", "+l.Name, p.kind()+", "+l.Family
	}
	return l, err
}

// newProducts are the ways in which tiles compute a contraction of computed factors.
func newProducts(b *block.Block, env *Env) ([]*product, error) {
	s, t := b.Stage, env.Target
	plainly := rowMajor(b, env.Layouts)
	// Work-items that share what they pack take a loop of their own kind.
	if t.WorkItems() || !env.Contractions || !env.wants(productAnchor) && !env.wants(windowAnchor) || len(b.Placed) > 0 || !anyOrder(b, env.Layouts) && !t.StoresDots() || readsImages(b, env.Layouts) {
		return nil, nil
	}
	m, _ := matched(s, b.Operands, nil)
	if m == nil || m.empty() {
		return nil, nil
	}
	r, dots := plain(s, b.Operands, env.Symbols), m.dots(t)
	last := !plainly && dots && lieLast(b, env.Layouts) && !t.StoresDots()
	switch {
	case last:
		r.joinWithin(channelsLast)
	case dots && plainly:
		r = reshape(s, b.Operands, env.Symbols)
	}
	m, _ = matched(&r.Stage, r.operands, r.facts)
	if m == nil {
		return nil, nil
	}
	rows := instructions(m, t)
	if rows == nil {
		return nil, nil
	}
	var out []*product
	for x := range m.factors {
		for _, of := range kinds(rows) {
			p := &product{b: b, lay: env.Layouts, last: last, dots: dots}
			if ok, err := p.take(m.roles(x), of, t); err != nil {
				return nil, err
			} else if ok && p.suits() && p.choose(env) {
				if ok, err = p.vary(env); err != nil {
					return nil, err
				} else if ok {
					out = append(out, p)
				}
			}
		}
	}
	if out != nil || env.varies() || m.sum() != ir.I32 || !env.Windows {
		return out, nil
	}
	if last {
		return depthwise(b, m, env)
	}
	if !plainly {
		return nil, nil
	}
	for x := range m.factors { // without rows it is a window of its own for each channel
		p := &product{b: b, lay: env.Layouts, roles: m.roles(x), dots: true}
		if p.findColumn(); p.column.Var != "" && p.sideBySide() && !p.w.constant {
			return []*product{p}, nil
		}
	}
	return nil, nil
}

// rowMajor reports whether all values of a block are.
func rowMajor(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return lay(v) != layout.RowMajor })
}

// anyOrder reports whether a product's values lie as it reads and stores them: axes in any order, of integers in that of their shapes, which
// are reshaped, or with channels last, as all results then are.
func anyOrder(b *block.Block, lay Layouts) bool {
	integers := len(b.Stage.Values) > 0 && b.Stage.Values[0].DType() == ir.I32
	if integers && !rowMajor(b, lay) && !lieLast(b, lay) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return !lay(v).Orders() })
}

// lieLast reports whether a product's results have their channels last, and what else is not row-major and has as many axes.
func lieLast(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(b.Results, func(v *ir.Value) bool { return lay(v) != channelsLast }) &&
		!slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool {
			return lay(v) != layout.RowMajor && (lay(v) != channelsLast || len(v.Shape) != len(b.Stage.Axes))
		})
}

// Orders reports whether a block is a product, or attention by tasks, whose values may lie with their axes in any order.
func Orders(b *block.Block, t *target.Target) bool {
	if b.Stage != nil && len(b.Placed) > 0 && !t.WorkItems() {
		return recognised(&attention{env: &Env{Target: t, Contractions: true}, b: b}) != nil
	}
	if b.Stage == nil || len(b.Stage.Values) != 1 || b.Stage.Values[0].DType() != ir.F32 {
		return false
	}
	all, err := newProducts(b, &Env{Layouts: func(*ir.Value) layout.Layout { return layout.RowMajor }, Target: t, Contractions: true})
	return err == nil && slices.ContainsFunc(all, func(p *product) bool { return !p.x.constant })
}

// suits reports whether constants are where tiles of floats may have them. Packing weights that are lanes is a contraction's choice; as
// rows they are those of a convolution of fewer channels than a register has lanes, most of which a contraction would leave empty, or of one that
// sums over taps alone, whose products take less than it takes to store lanes that lie apart.
func (p *product) suits() bool {
	n, known := p.row.Extent.Const()
	return p.dots || p.x.computed == nil && !p.w.constant && (!p.x.constant || known && n < p.instr.Lanes || len(p.windows) > 0 && len(p.windows) == len(p.reduce))
}

// take gives the product its axes and an instruction, by what the axes are to the factors and how these are stored; false where they suit no tile.
func (p *product) take(r *roles, rows []*instr.Row, t *target.Target) (bool, error) {
	p.roles = r
	if r.row >= 0 {
		p.row = r.stage.Axes[r.row]
	}
	if p.findColumn(); p.column.Var == "" {
		return false, nil
	}
	if p.findInstruction(rows); p.instr == nil {
		return false, nil
	}
	if p.storedW {
		p.windows = nil
	}
	if !p.sideBySide() && !p.storedW || !p.resultsLie() {
		return false, nil
	}
	if err := p.findExact(t); err != nil {
		return false, err
	}
	p.packX = p.x.constant && p.dots || !p.readsX()
	if p.last && !p.w.constant {
		return false, nil
	}
	if p.last && p.packX && !p.x.constant {
		p.slides = p.findSlides()
	}
	packs := !p.storedW && !p.w.constant || p.packX && !p.x.constant
	return p.row.Var != "" || !packs && t.StoresDots() || p.w.constant && !t.StoresDots(), nil
}

// findColumn finds the axis of W's lanes.
func (p *product) findColumn() {
	if p.lane >= 0 && p.summed {
		p.column = p.stage.Axes[p.lane]
	}
}

// findInstruction finds the instruction that reads the most as it is stored, and what it takes neighbours of.
func (p *product) findInstruction(rows []*instr.Row) {
	q := *p
	best := -1
	for _, r := range rows {
		q.instr, q.group = r, ""
		q.findWindows()
		q.findGroup()
		fit := 0
		if q.storedW = q.readsW(); q.storedW {
			fit += 4
		}
		if r.X == p.x.load.Type {
			fit += 2
		}
		if r.W == p.w.load.Type {
			fit++
			if p.last { // X is converted where it is packed: sums of its rows, which other weights take, are dearer
				fit += 2
			}
		}
		if fit > best {
			best, *p = fit, q
		}
	}
}

// choose finds the tile; false where one does not pay.
func (p *product) choose(env *Env) bool {
	if n, known := p.row.Extent.Const(); p.row.Var != "" && known && n*p.overlap() < minProductRows && !p.dots {
		return false
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
	rows := sym.Const(1)
	if p.row.Var != "" {
		rows = p.row.Extent
	}
	choice := newTiled(env.Target, p.instr, p.instr.Broadcaster(0), rows)
	choice.groups, choice.perBlock, choice.steps = (columns+p.instr.Lanes-1)/p.instr.Lanes, 1, steps
	if p.together > 1 {
		choice.multiple = p.together
	}
	p.tile, p.choice = choice.choose(), choice
	if p.packX && !p.x.constant {
		p.windows = nil
	}
	if p.row.Var != "" && (p.last || p.packX && !p.x.constant) {
		p.chunk = p.tilesOfTask()
	}
	if n, _ := p.row.Extent.Const(); p.slides != nil {
		p.chunk = (n + p.rows - 1) / p.rows
	}
	return true
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
	if p.last && !p.packX && tasks > 1 && tasks < enoughTasks { // of which two threads have equally many
		tasks += tasks % 2
	}
	return (tiles + tasks - 1) / tasks
}

// rowsOfTask is about how many rows share what a task packs of W, where it packs X too.
const rowsOfTask = 96

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
