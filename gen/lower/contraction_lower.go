package lower

import (
	"fmt"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Variables of the lowered nest besides the stage's axes, which keep their logical sense.
const (
	groupVar = "cg" // group of result channels
	vecVar   = "cv" // block of channels within the group
	laneVar  = "cl" // channel within the block
	rowVar   = "tr" // pixel within the tile
)

func axisVar(i int) string { return fmt.Sprintf("p%d", i) }

func (c *contraction) lower(env *Env) (*Lowered, error) {
	s, lay := c.b.Stage, env.Layouts
	out := lay(c.b.Results[0])
	for _, r := range c.b.Results {
		if lay(r) != out {
			return nil, c.error("results of different layouts")
		}
	}
	if out.Block > 0 && (out.Axis != c.channel || out.Block != c.block) {
		return nil, nil
	}
	if c.outBlocked = out.Block > 0; c.outBlocked {
		if c.outPiece = c.piece(c.channels); c.outPiece < minPiece {
			return nil, nil
		}
	}
	index, logical := c.axisVars()
	xIndex := c.kIndex(c.x.Index, logical)
	copied := len(c.uncertain(logical)) > 0 || c.straddles()
	p := &tiling{pixels: sym.Const(1), lanes: c.instr.Lanes, xBuf: c.n.in[c.x.Source.N], copied: copied && c.pixel >= 0, perTask: tilesPerTask}
	if c.pixel >= 0 {
		p.pixels = s.Axes[c.pixel].Extent
	}
	c.merged = map[int]bool{}
	if !copied && !c.window {
		c.mergePixels(p, lay, out, index, logical, xIndex)
	}
	ch := c.chooseTile(p, env, logical)
	if !env.Packing.of(c.packedType()) || !p.apart && !env.Packing.holds(p.tileLanes) {
		return nil, nil
	}
	index[c.channel], logical[s.Axes[c.channel].Var] = ch, ch
	if c.window {
		xIndex = c.kIndex(c.x.Index, logical)
	}
	c.n.results = c.n.flatten(c.b, s.Results, logical, lay)
	wide := c.n.widenConstants(c.b)
	c.n.at = out.Find(s.Shape(), index, c.n.facts)
	var copyIn []loop.Stmt
	k := &loop.Kernel{Anchor: c.anchor(), Facts: c.n.facts}
	p.xAt = c.layX.Offset(c.b.Operands[c.x.Source.N].Shape, xIndex, c.n.facts)
	c.dropMerged(p)
	if c.converts() && !copied && !c.window {
		c.shareConverted(p)
	}
	if copied || c.converts() || !c.strides(p) { // or strides that only the run knows
		ok := false
		if copyIn, ok = c.readPadded(k, p, logical); !ok || !c.strides(p) {
			return nil, nil
		}
	}
	c.buffers(p)
	c.body(k, p, copyIn)
	k.Buffers = append(append([]*loop.Buffer{}, c.n.in...), c.n.out...)
	k.Syms = symbolsOf(k, env.Symbols)
	l := env.done(k, func() ([]*ir.Value, error) {
		args := widenedOperands(c.b, wide)
		args[c.w.Source.N] = c.packWeights(p.packed.Groups, p.packed.Lanes)
		return append(args, c.b.Results...), nil
	})
	l.Packing = &p.packed
	l.Name, l.Family = c.name(p.tile), fmt.Sprintf("%s x%d", c.anchor(), p.vectors)
	return l, nil
}

// buffers are the packed weights and the accumulators.
func (c *contraction) buffers(p *tiling) {
	p.wBuf = c.n.in[c.w.Source.N]
	p.wBuf.Type = c.packedType()
	all := c.kSteps() * p.packed.Lanes * p.packed.Groups // elements of packed weights
	p.wBuf.Size = sym.Const(all * c.groups)
	p.wAt = p.weightsAt(c.kSteps(), c.n.facts)
	if c.groups > 1 {
		p.wAt = sym.Add(p.wAt, sym.Scale(sym.Var(convVar), all))
	}
	p.acc = &loop.Buffer{Name: "acc", Type: ir.F32, Write: true, Local: true, Size: sym.Const(p.rows * p.tileLanes)}
}

// kSteps is the number of points of the K loops.
func (c *contraction) kSteps() int64 {
	n := int64(1)
	for _, k := range c.kAxes() {
		n *= k.extent
	}
	return n
}

// axisVars gives each axis of the stage a loop variable.
func (c *contraction) axisVars() (index []sym.Expr, logical map[string]sym.Expr) {
	logical = map[string]sym.Expr{}
	for i, a := range c.b.Stage.Axes {
		axis := te.Axis{Var: axisVar(i), Extent: a.Extent}
		c.n.axes = append(c.n.axes, axis)
		index = append(index, sym.Var(axis.Var))
		logical[a.Var] = index[i]
	}
	c.n.addRanges(append([]te.Axis{c.groupAxis()}, c.n.axes...))
	for i, k := range c.kAxes() {
		c.n.addRanges([]te.Axis{{Var: kVar(i), Extent: sym.Const(k.extent)}})
	}
	return index, logical
}

func kVar(i int) string { return fmt.Sprintf("k%d", i) }

// kIndex substitutes loop variables, those of the K loops included.
func (c *contraction) kIndex(es []sym.Expr, logical map[string]sym.Expr) []sym.Expr {
	m := map[string]sym.Expr{}
	for k, v := range logical {
		m[k] = v
	}
	for r, a := range c.reduce {
		e := sym.Const(0)
		for i, k := range c.kAxes() {
			if k.reduce == r {
				e = sym.Add(e, sym.Scale(sym.Var(kVar(i)), k.unit))
			}
		}
		m[a.Var] = e
	}
	out := make([]sym.Expr, len(es))
	for i, e := range es {
		out[i] = e.Subst(m, c.n.facts)
	}
	return out
}

// uncertain are the guard's conditions that may not hold somewhere.
func (c *contraction) uncertain(logical map[string]sym.Expr) []te.Within {
	var ws []te.Within
	for _, w := range c.x.Guard {
		ws = append(ws, te.Within{E: w.E.Subst(logical, c.n.facts), Lo: w.Lo.Subst(logical, c.n.facts), Hi: w.Hi.Subst(logical, c.n.facts)})
	}
	if s, ok := c.n.choose(ws, te.Int(ir.Bool, 1), te.Int(ir.Bool, 0)).(te.Select); ok {
		return s.Cond
	}
	return nil
}

// mergePixels joins the axis before the pixels to them where all accesses walk both as one.
func (c *contraction) mergePixels(p *tiling, lay Layouts, out layout.Layout, index []sym.Expr, logical map[string]sym.Expr, xIndex []sym.Expr) {
	s := c.b.Stage
	if c.pixel < 1 || c.pixel-1 == c.channel {
		return
	}
	n := &nest{facts: c.n.facts, in: c.n.in, out: c.n.out}
	n.results = n.flatten(c.b, s.Results, logical, lay)
	n.values = []te.Expr{loop.Mem{Buf: p.xBuf, Index: c.layX.Offset(c.b.Operands[c.x.Source.N].Shape, xIndex, c.n.facts)}}
	n.at = out.Find(s.Shape(), index, c.n.facts)
	if n.canCollapse(c.n.axes[c.pixel-1], c.n.axes[c.pixel]) {
		c.merged[c.pixel-1] = true
		p.pixels = sym.Mul(p.pixels, s.Axes[c.pixel-1].Extent)
	}
}

// dropMerged fixes merged axes at their first point: the pixel axis runs on through them.
func (c *contraction) dropMerged(p *tiling) {
	for i := range c.merged {
		m := map[string]sym.Expr{axisVar(i): sym.Const(0)}
		c.n.subst(m)
		p.xAt = p.xAt.Subst(m, c.n.facts)
	}
	if c.pixel >= 0 {
		c.n.addRanges([]te.Axis{{Var: axisVar(c.pixel), Extent: p.pixels}})
	}
}

// chooseTile sets the tile and gives the result channel in the variables of its loops.
func (c *contraction) chooseTile(p *tiling, env *Env, logical map[string]sym.Expr) sym.Expr {
	groups := (c.channels + c.block - 1) / c.block
	if c.window {
		groups = 1 // a tile of pixels of one block: more would share nothing
	}
	p.x = c.operand()
	choice := tiled{t: c.t, instr: c.instr, x: p.x, pixels: p.usualPixels(), groups: groups, perBlock: c.block / p.lanes, steps: c.kSteps(), packing: env.Packing}
	if _, known := p.pixels.Const(); !known {
		choice.most = mostRows
	}
	choice.runs, choice.mostWide = c.runsOf(p, logical)
	c.choices = env.tiles(&choice)
	if p.tile = c.choices[0]; c.want != nil {
		p.tile = *c.want
	}
	if choice.runs > 1 {
		c.runs = p.rows / choice.pixels
	}
	p.tileLanes = p.vectors * p.lanes
	p.groups = (c.channels + p.tileLanes - 1) / p.tileLanes
	p.apart = p.pixels.Is(1) && p.vectors > 1 && !c.window && env.Packing.apart(p.lanes, p.groups*p.vectors)
	p.pack(env.Packing, c.packedType())
	c.n.addRanges([]te.Axis{{Var: groupVar, Extent: sym.Const(p.groups)}, {Var: vecVar, Extent: sym.Const(p.tileLanes / c.outPiece)},
		{Var: laneVar, Extent: sym.Const(c.outPiece)}, {Var: rowVar, Extent: sym.Const(p.rows)}})
	ch := sym.Add(c.firstChannel(), sym.Scale(sym.Var(groupVar), p.tileLanes), sym.Var(laneVar))
	if p.tileLanes > c.outPiece {
		ch = sym.Add(ch, sym.Scale(sym.Var(vecVar), c.outPiece))
	}
	return ch
}

// operand is how X reaches the instruction, as far as the K loops tell: strides has the last word.
func (c *contraction) operand() instr.Operand {
	ks := c.kAxes()
	switch {
	case c.window:
		return instr.Vector
	case len(ks) == 0:
		return c.instr.Broadcaster(0)
	}
	return c.instr.Broadcaster(ks[len(ks)-1].extent)
}

// strides reads the micro-kernel's strides off X's offset; false where they are not constants.
func (c *contraction) strides(p *tiling) bool {
	p.xAt = p.xAt.Subst(map[string]sym.Expr{vecVar: sym.Const(0), laneVar: sym.Const(0)}, c.n.facts)
	ks := c.kAxes()
	wStep := p.packed.Lanes
	p.micro = make([]loop.KLoop, len(ks))
	zero := map[string]sym.Expr{}
	for i := len(ks) - 1; i >= 0; i-- {
		e, ok := sym.Coefficient(p.xAt, kVar(i), c.n.facts)
		step, isConst := e.Const()
		if !ok || !isConst {
			return false
		}
		p.micro[i] = loop.KLoop{Extent: ks[i].extent, XStep: step, WStep: wStep}
		wStep *= ks[i].extent
		zero[kVar(i)] = sym.Const(0)
	}
	if n := len(p.micro); p.x == instr.Lane && p.micro[n-1].XStep != 1 {
		p.x = c.instr.Broadcaster(0) // takes fewer registers: the tile still fits
	}
	if c.pixel >= 0 {
		e, ok := sym.Coefficient(p.xAt, axisVar(c.pixel), c.n.facts)
		step, isConst := e.Const()
		if !ok || !isConst {
			return false
		}
		p.rowStep = step
	}
	if c.runs > 1 {
		e, ok := sym.Coefficient(p.xAt, axisVar(c.row()), c.n.facts)
		step, isConst := e.Const()
		if !ok || !isConst {
			return false
		}
		p.runStep = step
	}
	p.xAt = p.xAt.Subst(zero, c.n.facts)
	return true
}
