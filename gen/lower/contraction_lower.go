package lower

import (
	"fmt"
	"maps"

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
	if out.Block > 0 && (out.Axis != c.channel || out.Block != c.block || c.groups > 1 && out.Padded(s.Shape())) {
		return nil, nil
	}
	c.outBlocked = out.Block > 0
	index, logical := c.axisVars()
	xIndex := c.kIndex(c.x.Index, logical)
	guarded := len(c.uncertain(logical)) > 0
	p := &tiling{pixels: sym.Const(1), lanes: c.instr.Lanes, xBuf: c.n.in[c.x.Source.N]}
	if c.pixel >= 0 {
		p.pixels = s.Axes[c.pixel].Extent
	}
	c.merged = map[int]bool{}
	if !guarded && !c.window {
		c.mergePixels(p, lay, out, index, logical, xIndex)
	}
	ch := c.chooseTile(p)
	index[c.channel], logical[s.Axes[c.channel].Var] = ch, ch
	if c.window {
		xIndex = c.kIndex(c.x.Index, logical)
	}
	c.n.results = c.n.flatten(c.b, s.Results, logical, lay)
	c.n.at = out.Find(s.Shape(), index, c.n.facts)
	var copyIn []loop.Stmt
	k := &loop.Kernel{Anchor: "contraction", Doc: c.b.Origins, Facts: c.n.facts}
	if c.window {
		k.Anchor = "window"
	}
	p.xAt = c.layX.Offset(c.b.Operands[c.x.Source.N].Shape, xIndex, c.n.facts)
	c.dropMerged(p)
	if guarded || !c.strides(p) { // or strides that only the run knows
		ok := false
		if copyIn, ok = c.readPadded(k, p, logical); !ok || !c.strides(p) {
			return nil, nil
		}
	}
	p.wBuf = c.n.in[c.w.Source.N]
	group := c.kSteps() * p.perGroup // elements of packed weights
	p.wBuf.Size = sym.Const(group * p.groups * c.groups)
	p.wAt = sym.Scale(sym.Var(groupVar), group)
	if c.groups > 1 {
		p.wAt = sym.Add(p.wAt, sym.Scale(sym.Var(convVar), group*p.groups))
	}
	p.acc = &loop.Buffer{Name: "acc", Type: ir.F32, Write: true, Local: true, Size: sym.Const(p.rows * p.perGroup)}
	if c.channels%p.perGroup != 0 {
		p.padded = []te.Within{{E: sym.Sub(ch, c.firstChannel()), Lo: sym.Const(0), Hi: sym.Const(c.channels)}}
	}
	c.body(k, p, copyIn)
	k.Buffers = append(append([]*loop.Buffer{}, c.n.in...), c.n.out...)
	k.Syms = symbolsOf(k, env.Symbols)
	return env.done(k, func() ([]*ir.Value, error) {
		packed, err := c.packWeights(p.groups, p.perGroup)
		if err != nil {
			return nil, err
		}
		args := append([]*ir.Value{}, c.b.Operands...)
		args[c.w.Source.N] = packed
		return append(args, c.b.Results...), nil
	}), nil
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
func (c *contraction) chooseTile(p *tiling) sym.Expr {
	groups := (c.channels + c.block - 1) / c.block
	if c.window {
		groups = 1 // a tile of pixels of one block: more would share nothing
	}
	p.x = c.operand()
	choice := tiled{t: c.t, instr: c.instr, x: p.x, pixels: p.usualPixels(), groups: groups, perBlock: c.block / p.lanes, steps: c.kSteps()}
	if _, known := p.pixels.Const(); !known {
		choice.most = mostRows
	}
	p.tile = choice.choose()
	p.perGroup = p.vectors * p.lanes
	p.groups = (c.channels + p.perGroup - 1) / p.perGroup
	c.n.addRanges([]te.Axis{{Var: groupVar, Extent: sym.Const(p.groups)}, {Var: vecVar, Extent: sym.Const(p.perGroup / c.block)},
		{Var: laneVar, Extent: sym.Const(c.block)}, {Var: rowVar, Extent: sym.Const(p.rows)}})
	ch := sym.Add(c.firstChannel(), sym.Scale(sym.Var(groupVar), p.perGroup), sym.Var(laneVar))
	if p.perGroup > c.block {
		ch = sym.Add(ch, sym.Scale(sym.Var(vecVar), c.block))
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

// readPadded makes the tile read a zero-padded copy of the part of X that the pixels of one task need.
func (c *contraction) readPadded(k *loop.Kernel, p *tiling, logical map[string]sym.Expr) ([]loop.Stmt, bool) {
	local := map[string]int64{}
	if c.pixel >= 0 {
		p.copied = true
		local[axisVar(c.pixel)] = p.chunk()
		logical = maps.Clone(logical)
		for i := range c.merged {
			logical[c.b.Stage.Axes[i].Var] = sym.Const(0)
		}
		logical[c.b.Stage.Axes[c.pixel].Var] = sym.Add(p.first(), sym.Var(axisVar(c.pixel)))
	}
	if c.window {
		local[laneVar] = c.block
	}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	x := c.x
	x.Index = append([]sym.Expr{}, c.x.Index...)
	x.Guard = append([]te.Within{}, c.x.Guard...)
	for i, e := range x.Index {
		x.Index[i] = e.Subst(logical, c.n.facts)
	}
	for i, w := range x.Guard {
		x.Guard[i] = te.Within{E: w.E.Subst(logical, c.n.facts), Lo: w.Lo.Subst(logical, c.n.facts), Hi: w.Hi.Subst(logical, c.n.facts)}
	}
	if _, known := p.pixels.Const(); !known {
		x.Guard = append(x.Guard, c.withinX(p, x)...) // the last task has pixels that are none
	}
	body, scratch, shape, index, ok := c.copyPadded(x, local)
	if !ok {
		return nil, false
	}
	k.Scratch, p.xBuf = []*loop.Buffer{scratch}, scratch
	p.xAt = c.layX.Offset(shape, c.kIndex(index, nil), c.n.facts)
	return body, true
}

// withinX holds of the places that X has, along the dimension that the pixels walk.
func (c *contraction) withinX(p *tiling, x te.Load) []te.Within {
	var out []te.Within
	for d, e := range x.Index {
		end := c.b.Operands[x.Source.N].Shape[d]
		if len(c.merged) > 0 {
			end = p.pixels // along two dimensions, as one
		}
		if e.Uses(axisVar(c.pixel)) {
			out = append(out, te.Within{E: e, Lo: sym.Const(0), Hi: end})
		}
	}
	return out
}

// strides reads the micro-kernel's strides off X's offset; false where they are not constants.
func (c *contraction) strides(p *tiling) bool {
	p.xAt = p.xAt.Subst(map[string]sym.Expr{vecVar: sym.Const(0), laneVar: sym.Const(0)}, c.n.facts)
	ks := c.kAxes()
	wStep := p.perGroup
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
	p.xAt = p.xAt.Subst(zero, c.n.facts)
	return true
}

// packWeights orders the weights as the micro-kernel reads them: group of X's channels, group of
// result channels, the K loops, the group's channels. What lies beyond the channels is zero.
func (c *contraction) packWeights(groups, perGroup int64) (*ir.Value, error) {
	raw, err := c.wv.Const.Bytes()
	if err != nil {
		return nil, err
	}
	ks, steps := c.kAxes(), c.kSteps()
	strideOC, strides, base := c.weightStrides(ks)
	out := ir.NewTensor(ir.F32, c.groups*groups, steps, perGroup)
	at := make([]int64, len(ks))
	for step := int64(0); step < steps; step++ {
		off, inside := base, true
		for i, k := range ks {
			off += at[i] * strides[i]
			inside = inside && c.reduceInside(ks, at, k.reduce)
		}
		for oc := int64(0); inside && oc < c.groups*c.channels; oc++ {
			g, l := oc/c.channels*groups+oc%c.channels/perGroup, oc%c.channels%perGroup
			dst := ((g*steps+step)*perGroup + l) * 4
			src := (off + oc*strideOC) * 4
			copy(out.Data[dst:dst+4], raw[src:src+4])
		}
		for i := len(ks) - 1; i >= 0; i-- {
			if at[i]++; at[i] < ks[i].extent {
				break
			}
			at[i] = 0
		}
	}
	return ir.ConstValue(c.wv.Name+".packed", out), nil
}

// weightStrides are what a result channel and each K loop add to W's row-major offset.
func (c *contraction) weightStrides(ks []kAxis) (channel int64, strides []int64, base int64) {
	off := layout.Flat(c.wv.Shape, c.w.Index)
	zero := map[string]sym.Expr{}
	for _, a := range append(append([]te.Axis{}, c.b.Stage.Axes...), c.reduce...) {
		zero[a.Var] = sym.Const(0)
	}
	base, _ = off.Subst(zero, nil).Const()
	stride := func(v string) int64 {
		e, _ := sym.Coefficient(off, v, nil)
		n, _ := e.Const()
		return n
	}
	for _, k := range ks {
		strides = append(strides, stride(c.reduce[k.reduce].Var)*k.unit)
	}
	return stride(c.b.Stage.Axes[c.channel].Var), strides, base
}

// reduceInside tells whether the K loops' position lies within the reduction axis: the last
// block of channels may not be full.
func (c *contraction) reduceInside(ks []kAxis, at []int64, reduce int) bool {
	v := int64(0)
	for i, k := range ks {
		if k.reduce == reduce {
			v += at[i] * k.unit
		}
	}
	n, _ := c.reduce[reduce].Extent.Const()
	return v < n
}
