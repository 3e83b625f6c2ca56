// Package product proposes kernels of contractions of which a factor is computed, or which sum integers.
package product

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/reshape"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// product is a contraction of which a factor at least is computed: X, of which a tile has rows, and W, which has its lanes; of f32, of 16-bit
// floats, or of integers of 8 bits minus zero points. Stages pack what an instruction does not read as it is stored; stages of constants are
// computed by the compiler.
type product struct {
	b   *block.Block
	lay lower.Layouts
	*match.Roles
	// row and column are the roles' axes. Without rows a tile has one.
	row, column te.Axis
	instr       *instr.Row
	// group is the axis of the reduction of which the instruction takes neighbours in at a time, "" where it takes in one point; windows
	// are read from one copy of what they share.
	group   string
	windows []window
	// packX: a stage packs X, or the compiler does. storedW: W is read as it is stored.
	packX, storedW bool
	micro.Tile
	// together is how many rows of a tile lie side by side in the results' storage, for each lane.
	together int64
	// chunk is how many tiles of rows share what a task packs of X.
	chunk int64
	// choice is what the tile is chosen for.
	choice *micro.Tiled
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

// Anchor begins the names of these kernels.
const Anchor = "product"

// Propose proposes schedules for a contraction of computed factors, one for each factor that may have the lanes, and follows them; none where
// the block is no such thing.
func Propose(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	all, err := NewProducts(b, env)
	var out []*lower.Lowered
	for _, p := range all {
		var l *lower.Lowered
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
func (p *product) follow(env *lower.Env) (*lower.Lowered, error) {
	anchor, plan := p.propose(env)
	if plan == nil {
		return nil, nil
	}
	if p.instr != nil && p.instr.Narrow > 0 {
		if room, err := p.narrow(plan); err != nil || !room {
			return nil, err
		}
	}
	if p.beside && p.Sum() == ir.F32 {
		cut := *env
		cut.Borders = true
		env = &cut
	}
	l, err := env.Proposed(anchor, p.Tile, plan, p.b)
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err == nil && p.instr != nil && p.instr.Narrow == 0 && !p.beside {
		l.Point = p.point
	}
	if err == nil && p.instr != nil && p.kind() != Anchor {
		l.Name, l.Family = p.kind()+", "+l.Name, p.kind()+", "+l.Family
	}
	return l, err
}

// propose is the product's schedule, nil where it has none, and the anchor of its kernel: where no instruction computes tiles of it, windows slide over
// pixels, or over channels.
func (p *product) propose(env *lower.Env) (string, *lower.Proposal) {
	switch {
	case p.instr != nil:
		return Anchor, p.schedule(env)
	case p.last:
		return lower.WindowAnchor, p.slideChannels(env)
	}
	return lower.WindowAnchor, p.slide(env)
}

// NewProducts are the ways in which tiles compute a contraction of computed factors.
func NewProducts(b *block.Block, env *lower.Env) ([]*product, error) {
	t := env.Target
	// Work-items that share what they pack take a loop of their own kind.
	if t.WorkItems() || len(b.Placed) > 0 || !lower.AnyOrder(b, env.Layouts) && !t.StoresDots() || lower.ReadsImages(b, env.Layouts) {
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
	for x := range m.Factors {
		for _, of := range kinds(rows) {
			p := &product{b: b, lay: env.Layouts, last: last, dots: dots}
			if ok, err := p.take(m.Roles(x), of, t); err != nil {
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
	if out != nil || env.Varies() || m.Sum() != ir.I32 || !env.Windows {
		return out, nil
	}
	if last {
		return depthwise(b, m, env)
	}
	return windowsOfChannels(b, m, env), nil
}

// factorsAsStored matches a contraction whose axes are those that its values are stored with, nil where the block is none; dots: of numbers of which
// instructions take in neighbours; last: with channels last.
func factorsAsStored(b *block.Block, env *lower.Env) (m *match.Match, dots, last bool) {
	plainly := lower.RowMajor(b, env.Layouts)
	if m, _ = match.Find(b.Stage, b.Operands, nil); m == nil || m.Empty() {
		return nil, false, false
	}
	r := reshape.Plain(b.Stage, b.Operands, env.Symbols)
	dots = takesDots(m, env.Target)
	last = !plainly && dots && lower.LieLast(b, env.Layouts) && !env.Target.StoresDots()
	switch {
	case last:
		r.JoinWithin(lower.ChannelsLast)
	case dots && plainly:
		r = reshape.Reshape(b.Stage, b.Operands, env.Symbols)
	}
	m, _ = match.Find(&r.Stage, r.Operands, r.Facts)
	return m, dots, last
}

// windowsOfChannels is a product of integers without rows, of row-major values: a window of its own for each channel.
func windowsOfChannels(b *block.Block, m *match.Match, env *lower.Env) []*product {
	if !lower.RowMajor(b, env.Layouts) {
		return nil
	}
	for x := range m.Factors {
		p := &product{b: b, lay: env.Layouts, Roles: m.Roles(x), dots: true}
		if p.findColumn(); p.column.Var != "" && p.sideBySide() && !p.W.Constant {
			return []*product{p}
		}
	}
	return nil
}

// suits reports whether constants are where tiles of floats may have them. Packing weights that are lanes is a contraction's choice, unless they are
// those of several products; as rows they are those of a convolution of fewer channels than a register has lanes, most of which a contraction would leave
// empty, or of one that sums over taps alone, whose products take less than it takes to store lanes that lie apart.
func (p *product) suits() bool {
	n, known := p.row.Extent.Const()
	alone := !p.W.Constant && (!p.X.Constant || known && n < p.instr.Lanes || len(p.windows) > 0 && len(p.windows) == len(p.Reduce))
	return p.dots || p.X.Computed == nil && (alone || p.W.Computed == nil && p.severalProducts())
}

// severalProducts reports whether an axis of the result is of both factors, as that of a batch is: each of its points is a product with weights of its own,
// and a contraction has one axis of the result in its weights.
func (p *product) severalProducts() bool {
	for i, a := range p.Stage.Axes {
		if p.Of[i] == match.OfBoth && !a.Extent.Is(1) {
			return true
		}
	}
	return false
}

// take gives the product its axes and an instruction, by what the axes are to the factors and how these are stored; false where they suit no tile.
func (p *product) take(r *match.Roles, rows []*instr.Row, t *target.Target) (bool, error) {
	p.Roles = r
	if r.Row >= 0 {
		p.row = r.Stage.Axes[r.Row]
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
	p.packX = p.X.Constant && p.dots || !p.readsX()
	if p.last && !p.W.Constant {
		return false, nil
	}
	if p.last && p.packX && !p.X.Constant {
		p.slides = p.findSlides()
	}
	return p.row.Var != "" || !p.packs() && t.StoresDots() || p.W.Constant && !t.StoresDots(), nil
}

// findColumn finds the axis of W's lanes.
func (p *product) findColumn() {
	if p.Lane >= 0 && p.Summed {
		p.column = p.Stage.Axes[p.Lane]
	}
}

// axis is that of the reduction of this name.
func (p *product) axis(v string) te.Axis {
	i := slices.IndexFunc(p.Reduce, func(a te.Axis) bool { return a.Var == v })
	return p.Reduce[i]
}
