package contract

import (
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/nest"
	"rules_dnn/gen/lower/vars"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

const (
	// tilesPerTask is how many tiles of a long pixel axis one task computes at most, but for those of short ones.
	tilesPerTask = 8
)

// tiling is what the loops of a contraction are to be.
type tiling struct {
	micro.Tile
	lanes             int64 // of a vector
	groups, tileLanes int64 // so many tiles along the result channels, of so many lanes each
	pixels            sym.Expr
	x                 instr.Operand
	k                 []loop.KLoop // of X
	copied            bool         // X is a copy of what the task's pixels need
	// perTask is the most tiles of a task along the pixels; groupTasks: tasks compute one group of channels each.
	perTask    int64
	groupTasks bool
	// apart: each register of W walks memory by itself. What is read once a run comes from memory, which gives a
	// processor more where it reads several places at a time.
	apart bool
	// packed is how W lies in memory.
	packed weights.Packing
	// converted: a task widens some pixels of X, for some groups or all of them, whatever rows these are of: see shareConverted.
	converted bool
	setGroups int64 // groups of channels of a task, where these are fewer than all
}

// pack decides how W lies in memory: as is given, or in groups of a tile's channels or, apart, of a register's.
func (p *tiling) pack(given *weights.Packing, t ir.DType) {
	switch {
	case given != nil:
		p.packed = *given
	case p.apart:
		p.packed = weights.Packing{Lanes: p.lanes, Groups: p.groups * p.Vectors, Parts: 1, Type: t}
	default:
		p.packed = weights.Packing{Lanes: p.tileLanes, Groups: p.groups, Parts: 1, Type: t}
	}
}

// plan decides on the loops; nil where no tile suits the layouts. The choices are the tiles that may be used.
func (c *laid) plan(env *lower.Env, want *micro.Tile) (p *tiling, choices []micro.Tile) {
	c.runs, c.band, c.merged = 0, 0, map[int]bool{}
	p = &tiling{pixels: sym.Const(1), lanes: c.instr.Lanes, perTask: tilesPerTask}
	padded := c.mayPad() || c.straddles()
	p.copied = padded && c.pixel >= 0
	if c.pixel >= 0 {
		p.pixels = c.b.Stage.Axes[c.pixel].Extent
	}
	if !padded && !c.window {
		c.mergePixels(p, env.Layouts)
	}
	choices = c.chooseTile(p, env, want)
	if !env.Packing.Of(c.packedType()) || !p.apart && !env.Packing.Holds(p.tileLanes) {
		return nil, nil
	}
	if c.converts() && !padded && !c.window {
		c.shareConverted(p)
	}
	if padded || c.converts() || !c.strides(p, c.x.Index, layout.PartsOf(c.layX, len(c.x.Index)), c.b.Operands[c.x.Source.N].Shape) {
		p.copied = c.pixel >= 0
		c.copy = c.newCopy(p)
		if c.copy == nil || !c.strides(p, c.copy.index, c.copy.parts, c.copy.shape) {
			return nil, nil
		}
	}
	c.share(p)
	c.vary(p)
	return p, choices
}

// mayPad reports whether a condition of X's guard may not hold somewhere.
func (c *laid) mayPad() bool {
	_, uncertain := c.n.Choose(c.x.Guard, zeroF32, zeroF32).(te.Select)
	return uncertain
}

var zeroF32 = te.Number(ir.F32, 0)

// chunk is the most pixels of a task: all of them, or as many as fill some tiles.
func (p *tiling) chunk() int64 {
	n, known := p.pixels.Const()
	tiles := n / p.Rows
	if p.converted { // the rest is a tile of its own
		tiles = (n + p.Rows - 1) / p.Rows
	}
	if known && (p.copied && !p.converted || tiles <= p.perTask) {
		return n
	}
	return p.perTask * p.Rows
}

// mergePixels joins the axis before the pixels to them where all accesses walk both as one.
func (c *laid) mergePixels(p *tiling, lay lower.Layouts) {
	s := c.b.Stage
	if c.pixel < 1 || c.pixel-1 == c.channel {
		return
	}
	logical := map[string]sym.Expr{}
	index := make([]sym.Expr, len(s.Axes))
	for i, a := range s.Axes {
		index[i] = sym.Var(a.Var)
	}
	n := &nest.Nest{Facts: c.n.Facts, In: c.n.In, Out: c.n.Out}
	n.Results = n.Flatten(c.b, s.Results, logical, lay)
	n.Values = n.Flatten(c.b, []te.Expr{te.Load{Source: c.x.Source, Type: c.x.Type, Index: c.kIndex(c.x.Index)}}, logical, lay)
	n.At = lay(c.b.Results[0]).Find(s.Shape(), index, c.n.Facts)
	if n.CanCollapse(s.Axes[c.pixel-1], s.Axes[c.pixel]) {
		c.merged[c.pixel-1] = true
		p.pixels = sym.Mul(p.pixels, s.Axes[c.pixel-1].Extent)
	}
}

// chooseTile sets the tile.
func (c *laid) chooseTile(p *tiling, env *lower.Env, want *micro.Tile) []micro.Tile {
	groups := (c.channels + c.block - 1) / c.block
	if c.window {
		groups = 1 // a tile of pixels of one block: more would share nothing
	}
	p.x = c.operand()
	choice := micro.NewTiled(c.t, c.instr, p.x, p.pixels)
	choice.Groups, choice.PerBlock, choice.Steps, choice.Packing = groups, c.block/p.lanes, c.kSteps(), env.Packing
	choice.Runs, choice.MostWide = c.runsOf(p)
	if choice.Stored = inMemory(c.packedType()); choice.Stored != ir.Invalid && !c.blocked() {
		choice.Apart = c.rowBytes()
	}
	if n, known := p.pixels.Const(); known && c.converts() && !p.copied && !c.window && choice.Runs <= 1 {
		choice.Widening, choice.Tasks = c.widening(n), c.besides()
	}
	choices := tilesOf(env, choice)
	c.choice = choice
	if p.Tile = choices[0]; want != nil {
		p.Tile = *want
	}
	if choice.Runs > 1 {
		c.runs = p.Rows / choice.Pixels
	}
	p.tileLanes = p.Vectors * p.lanes
	p.groups = (c.channels + p.tileLanes - 1) / p.tileLanes
	p.apart = p.pixels.Is(1) && p.Vectors > 1 && !c.window && env.Packing.Apart(p.lanes, p.groups*p.Vectors)
	p.pack(env.Packing, c.packedType())
	return choices
}

// rowBytes is how far apart the rows of a tile lie in a row-major X of f32; 0 where they are neighbours.
func (c *laid) rowBytes() int64 {
	if c.pixel < 0 || match.DimOf(c.x, c.b.Stage.Axes[c.pixel].Var) == len(c.x.Index)-1 {
		return 0
	}
	n := int64(ir.F32.Size())
	for _, k := range c.kAxes() {
		n *= k.extent
	}
	return n
}

// operand is how X reaches the instruction, as far as the K loops tell: strides has the last word.
func (c *laid) operand() instr.Operand {
	ks := c.kAxes()
	switch {
	case c.window:
		return instr.Vector
	case len(ks) == 0:
		return c.instr.Broadcaster(0)
	}
	return c.instr.Broadcaster(ks[len(ks)-1].extent)
}

// kSteps is the number of points of the K loops.
func (c *laid) kSteps() int64 {
	n := int64(1)
	for _, k := range c.kAxes() {
		n *= k.extent
	}
	return n
}

// kIndex puts the K loops in place of the reduction's axes.
func (c *laid) kIndex(es []sym.Expr) []sym.Expr {
	m := map[string]sym.Expr{}
	for r, a := range c.reduce {
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
		out[i] = e.Subst(m, c.n.Facts)
	}
	return out
}

// strides reads off how loops walk X, or a copy, in some storage; false where steps are not constants.
func (c *laid) strides(p *tiling, index []sym.Expr, parts layout.Parts, shape ir.Shape) bool {
	at := parts.Offset(shape, c.kIndex(index), c.n.Facts)
	step := func(v string) (int64, bool) {
		e, linear := sym.Coefficient(at, v, c.n.Facts)
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
	if n := len(p.k); p.x == instr.Lane && p.k[n-1].XStep != 1 {
		p.x = c.instr.Broadcaster(0) // takes fewer registers: the tile still fits
	}
	if c.pixel >= 0 {
		if _, ok := step(c.b.Stage.Axes[c.pixel].Var); !ok {
			return false
		}
	}
	if c.runs > 1 {
		if _, ok := step(c.b.Stage.Axes[c.row()].Var); !ok {
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
