package tiled

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target/instr"
)

const (
	// TilesPerTask is how many tiles of a long pixel axis one task computes at most, but for those of short ones.
	TilesPerTask = 8
)

// Tiling is what the loops of a contraction are to be.
type Tiling struct {
	micro.Tile
	Lanes             int64 // of a vector
	Groups, TileLanes int64 // so many tiles along the result channels, of so many lanes each
	Pixels            sym.Expr
	X                 instr.Operand
	k                 []loop.KLoop // of X
	copied            bool         // X is a copy of what the task's pixels need
	// PerTask is the most tiles of a task along the pixels; GroupTasks: tasks compute one group of channels each.
	PerTask    int64
	GroupTasks bool
	// apart: each register of W walks memory by itself. What is read once a run comes from memory, which gives a
	// processor more where it reads several places at a time.
	apart bool
	// Packing is how W lies in memory.
	Packing weights.Packing
	// converted: a task widens some pixels of X, for some groups or all of them, whatever rows these are of: see shareConverted.
	converted bool
	SetGroups int64 // groups of channels of a task, where these are fewer than all
}

// SetPacking decides how W lies in memory: as is given, or in groups of a tile's channels or, apart, of a register's.
func (p *Tiling) SetPacking(given *weights.Packing, t ir.DType) {
	switch {
	case given != nil:
		p.Packing = *given
	case p.apart:
		p.Packing = weights.Packing{Lanes: p.Lanes, Groups: p.Groups * p.Vectors, Parts: 1, Type: t}
	default:
		p.Packing = weights.Packing{Lanes: p.TileLanes, Groups: p.Groups, Parts: 1, Type: t}
	}
}

// Plan decides on the loops; nil where no tile suits the layouts. The choices are the tiles that may be used.
func (c *Laid) Plan(env *lower.Env, want *micro.Tile) (p *Tiling, choices []micro.Tile) {
	c.Runs, c.Band, c.merged = 0, 0, map[int]bool{}
	p = &Tiling{Pixels: sym.Const(1), Lanes: c.Instr.Lanes, PerTask: TilesPerTask}
	padded := c.mayPad() || c.straddles()
	p.copied = padded && c.Pixel >= 0
	if c.Pixel >= 0 {
		p.Pixels = c.Block.Stage.Axes[c.Pixel].Extent
	}
	if !padded && !c.Window {
		c.mergePixels(p, env.Layouts)
	}
	choices = c.chooseTile(p, env, want)
	if !env.Packing.Of(c.PackedType()) || !p.apart && !env.Packing.Holds(p.TileLanes) {
		return nil, nil
	}
	if c.Converts() && !padded && !c.Window {
		c.shareConverted(p)
	}
	if padded || c.Converts() || !c.strides(p, c.X.Index, layout.PartsOf(c.XLayout, len(c.X.Index)), c.Block.Operands[c.X.Source.N].Shape) {
		p.copied = c.Pixel >= 0
		c.copy = c.newCopy(p)
		if c.copy == nil || !c.strides(p, c.copy.Index, c.copy.Parts, c.copy.Shape) {
			return nil, nil
		}
	}
	c.share(p)
	c.vary(p)
	return p, choices
}

// mayPad reports whether a condition of X's guard may not hold somewhere.
func (c *Laid) mayPad() bool {
	_, uncertain := c.Nest.Choose(c.X.Guard, zeroF32, zeroF32).(te.Select)
	return uncertain
}

var zeroF32 = te.Number(ir.F32, 0)

// chunk is the most pixels of a task: all of them, or as many as fill some tiles.
func (p *Tiling) chunk() int64 {
	n, known := p.Pixels.Const()
	tiles := n / p.Rows
	if p.converted { // the rest is a tile of its own
		tiles = (n + p.Rows - 1) / p.Rows
	}
	if known && (p.copied && !p.converted || tiles <= p.PerTask) {
		return n
	}
	return p.PerTask * p.Rows
}

// mergePixels joins the axis before the pixels to them where all accesses walk both as one.
func (c *Laid) mergePixels(p *Tiling, lay lower.Layouts) {
	s := c.Block.Stage
	if c.Pixel < 1 || c.Pixel-1 == c.Channel {
		return
	}
	logical := map[string]sym.Expr{}
	index := make([]sym.Expr, len(s.Axes))
	for i, a := range s.Axes {
		index[i] = sym.Var(a.Var)
	}
	n := &nest.Nest{Facts: c.Nest.Facts, In: c.Nest.In, Out: c.Nest.Out}
	n.Results = n.Flatten(c.Block, s.Results, logical, lay)
	n.Values = n.Flatten(c.Block, []te.Expr{te.Load{Source: c.X.Source, Type: c.X.Type, Index: c.kIndex(c.X.Index)}}, logical, lay)
	n.At = lay(c.Block.Results[0]).Find(s.Shape(), index, c.Nest.Facts)
	if n.CanCollapse(s.Axes[c.Pixel-1], s.Axes[c.Pixel]) {
		c.merged[c.Pixel-1] = true
		p.Pixels = sym.Mul(p.Pixels, s.Axes[c.Pixel-1].Extent)
	}
}

// chooseTile sets the tile.
func (c *Laid) chooseTile(p *Tiling, env *lower.Env, want *micro.Tile) []micro.Tile {
	groups := (c.Channels + c.ChannelBlock - 1) / c.ChannelBlock
	if c.Window {
		groups = 1 // a tile of pixels of one block: more would share nothing
	}
	p.X = c.operand()
	choice := micro.NewTiled(c.Target, c.Instr, p.X, p.Pixels)
	choice.Groups, choice.PerBlock, choice.Steps, choice.Packing = groups, c.ChannelBlock/p.Lanes, c.kSteps(), env.Packing
	choice.Runs, choice.MostWide = c.runsOf(p)
	if c.PackedType() != c.Instr.W {
		choice.Stored = contract.InMemory(c.PackedType())
	}
	if choice.Stored != ir.Invalid && !c.Blocked() {
		choice.Apart = c.rowBytes()
	}
	if n, known := p.Pixels.Const(); known && c.Converts() && !p.copied && !c.Window && choice.Runs <= 1 {
		choice.Widening, choice.Tasks = c.widening(n), c.besides()
	}
	// Tiles of assembly have many rows, and may leave out less than tiles of few rows.
	if p.copied && c.Instr.Scheduled() && c.mayLeaveOut() {
		choice.Needed = c.computed
	}
	choices := tilesOf(env, choice)
	c.Choice = choice
	if p.Tile = choices[0]; want != nil {
		p.Tile = *want
	}
	if choice.Runs > 1 {
		c.Runs = p.Rows / choice.Pixels
	}
	p.TileLanes = p.Vectors * p.Lanes
	p.Groups = (c.Channels + p.TileLanes - 1) / p.TileLanes
	p.apart = p.Pixels.Is(1) && p.Vectors > 1 && !c.Window && env.Packing.Apart(p.Lanes, p.Groups*p.Vectors)
	p.SetPacking(env.Packing, c.PackedType())
	return choices
}

// rowBytes is how far apart the rows of a tile lie in a row-major X of f32; 0 where they are neighbours.
func (c *Laid) rowBytes() int64 {
	if c.Pixel < 0 || match.DimOf(c.X, c.Block.Stage.Axes[c.Pixel].Var) == len(c.X.Index)-1 {
		return 0
	}
	n := int64(c.Instr.X.Size())
	for _, k := range c.kAxes() {
		n *= k.extent
	}
	return n
}

// operand is how X reaches the instruction, as far as the K loops tell: strides has the last word.
func (c *Laid) operand() instr.Operand {
	ks := c.kAxes()
	switch {
	case c.Window:
		return instr.Vector
	case len(ks) == 0:
		return c.Instr.Broadcaster(0)
	}
	return c.Instr.Broadcaster(ks[len(ks)-1].extent)
}

// kSteps is the number of points of the K loops.
func (c *Laid) kSteps() int64 {
	n := int64(1)
	for _, k := range c.kAxes() {
		n *= k.extent
	}
	return n
}

// kIndex puts the K loops in place of the reduction's axes.
func (c *Laid) kIndex(es []sym.Expr) []sym.Expr {
	m := map[string]sym.Expr{}
	for r, a := range c.Reduce {
		e := sym.Const(0)
		for i, k := range c.kAxes() {
			if k.reduce == r {
				e = sym.Add(e, sym.Scale(sym.Var(vars.K(i)), k.unit))
			}
		}
		m[a.Var] = e
	}
	out := make([]sym.Expr, len(es))
	for i, e := range es {
		out[i] = e.Subst(m, c.Nest.Facts)
	}
	return out
}

// strides reads off how loops walk X, or a copy, in some storage; false where steps are not constants.
func (c *Laid) strides(p *Tiling, index []sym.Expr, parts layout.Parts, shape ir.Shape) bool {
	at := parts.Offset(shape, c.kIndex(index), c.Nest.Facts)
	step := func(v string) (int64, bool) {
		e, linear := sym.Coefficient(at, v, c.Nest.Facts)
		n, isConst := e.Const()
		return n, linear && isConst
	}
	p.k = nil
	for i, k := range c.kAxes() {
		n, ok := step(vars.K(i))
		if !ok {
			return false
		}
		p.k = append(p.k, loop.KLoop{Extent: k.extent, XStep: n})
	}
	if n := len(p.k); p.X == instr.Lane && p.k[n-1].XStep != 1 {
		p.X = c.Instr.Broadcaster(0) // takes fewer registers: the tile still fits
	}
	if c.Pixel >= 0 {
		if _, ok := step(c.Block.Stage.Axes[c.Pixel].Var); !ok {
			return false
		}
	}
	if c.Runs > 1 {
		if _, ok := step(c.Block.Stage.Axes[c.Row()].Var); !ok {
			return false
		}
	}
	return true
}

// tilesOf are those that a contraction is lowered with, the best by estimate first.
func tilesOf(e *lower.Env, p *micro.Tiled) []micro.Tile {
	all := p.Ranked()
	if e.Only != "" {
		return all
	}
	kept := all[:1:1]
	of := map[int64][]micro.Tile{all[0].Vectors: {all[0]}} // that are kept, by width
	for _, t := range all[1:] {
		if same := of[t.Vectors]; len(same) < e.Tiles && !slices.ContainsFunc(same, t.Like) {
			of[t.Vectors] = append(same, t)
			kept = append(kept, t)
		}
	}
	return kept
}
