package lower

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
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
	anchor, plan := p.propose(env)
	if plan == nil {
		return nil, nil
	}
	if p.instr != nil && p.instr.Narrow > 0 {
		if room, err := p.narrow(plan); err != nil || !room {
			return nil, err
		}
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

// propose is the product's schedule, nil where it has none, and the anchor of its kernel: where no instruction computes tiles of it, windows slide over
// pixels, or over channels.
func (p *product) propose(env *Env) (string, *proposal) {
	switch {
	case p.instr != nil:
		return productAnchor, p.schedule(env)
	case p.last:
		return windowAnchor, p.slideChannels(env)
	}
	return windowAnchor, p.slide(env)
}

// newProducts are the ways in which tiles compute a contraction of computed factors.
func newProducts(b *block.Block, env *Env) ([]*product, error) {
	t := env.Target
	// Work-items that share what they pack take a loop of their own kind.
	if t.WorkItems() || !env.Contractions || !env.wants(productAnchor) && !env.wants(windowAnchor) || len(b.Placed) > 0 || !anyOrder(b, env.Layouts) && !t.StoresDots() || readsImages(b, env.Layouts) {
		return nil, nil
	}
	m, dots, last := factorsAsStored(b, env)
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
	return windowsOfChannels(b, m, env), nil
}

// factorsAsStored matches a contraction whose axes are those that its values are stored with, nil where the block is none; dots: of numbers of which
// instructions take in neighbours; last: with channels last.
func factorsAsStored(b *block.Block, env *Env) (m *match, dots, last bool) {
	plainly := rowMajor(b, env.Layouts)
	if m, _ = matched(b.Stage, b.Operands, nil); m == nil || m.empty() {
		return nil, false, false
	}
	r := plain(b.Stage, b.Operands, env.Symbols)
	dots = takesDots(m, env.Target)
	last = !plainly && dots && lieLast(b, env.Layouts) && !env.Target.StoresDots()
	switch {
	case last:
		r.joinWithin(channelsLast)
	case dots && plainly:
		r = reshape(b.Stage, b.Operands, env.Symbols)
	}
	m, _ = matched(&r.Stage, r.operands, r.facts)
	return m, dots, last
}

// windowsOfChannels is a product of integers without rows, of row-major values: a window of its own for each channel.
func windowsOfChannels(b *block.Block, m *match, env *Env) []*product {
	if !rowMajor(b, env.Layouts) {
		return nil
	}
	for x := range m.factors {
		p := &product{b: b, lay: env.Layouts, roles: m.roles(x), dots: true}
		if p.findColumn(); p.column.Var != "" && p.sideBySide() && !p.w.constant {
			return []*product{p}
		}
	}
	return nil
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

// axis is that of the reduction of this name.
func (p *product) axis(v string) te.Axis {
	i := slices.IndexFunc(p.reduce, func(a te.Axis) bool { return a.Var == v })
	return p.reduce[i]
}
