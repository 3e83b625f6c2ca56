package depthwise

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/vars"
)

// newDirect is nil where the block or a layout does not suit.
func newDirect(b *block.Block, env *lower.Env) (*direct, error) {
	c := tiled.LayHalves(b, env)
	if c != nil && c.Instr.InHalves() && !addsInHalves(c) {
		c = tiled.Lay(b, env)
	}
	if c == nil || !c.Window || c.Pixel < 0 || c.Groups != 1 || c.Instr.Halves || !c.Blocked() || !match.Static(b.Stage.Axes) ||
		c.PackedOperand() == len(b.Operands) || !allFloats(b) || env.Layouts(b.Results[0]) != layout.Blocked(c.Channel, c.ChannelBlock) {
		return nil, nil
	}
	n, err := nest.NewNest(b, env)
	if err != nil {
		return nil, err
	}
	d := &direct{Laid: c, n: n}
	d.widen(env)
	if !d.pack(env) || !d.axesOf() || !d.operands() || !d.conditions() {
		return nil, nil
	}
	if _, short := (&directTiles{direct: d}).spans(); !short {
		return nil, nil
	}
	return d, nil
}

// addsInHalves reports whether sums have few enough products for f16, and registers still hold them
// when results are computed.
func addsInHalves(c *tiled.Laid) bool {
	return contract.BlockOf(c.Instr, match.PointsOf(c.Reduce)) == 0 && !costly(c.Block.Stage.Results)
}

// allFloats reports whether all values of the block are floats that registers hold as float32, and no result binds integers.
func allFloats(b *block.Block) bool {
	other := func(v *ir.Value) bool { return !match.Floats(v.Type) }
	lets := false
	for _, r := range b.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			_, let := e.(te.Let)
			lets = lets || let
		})
	}
	return !lets && !slices.ContainsFunc(b.Operands, other) && !slices.ContainsFunc(b.Results, other)
}

// pack orders W as tiles of one block of channels read it; false where another chip's kernel reads it otherwise.
func (d *direct) pack(env *lower.Env) bool {
	p := &tiled.Tiling{Tile: micro.Tile{Rows: 1, Vectors: d.ChannelBlock / d.Instr.Lanes}, Lanes: d.Instr.Lanes, Groups: (d.Channels + d.ChannelBlock - 1) / d.ChannelBlock, TileLanes: d.ChannelBlock}
	p.SetPacking(nil, d.PackedType())
	if env.Packing != nil && *env.Packing != p.Packing {
		return false
	}
	d.packed, d.weights = p.Packing, d.Laid.PackWeights(p)
	return true
}

// axesOf finds the axes; false where the block has none of them in their places.
func (d *direct) axesOf() bool {
	find := func(v string) (te.Axis, bool) {
		i := slices.IndexFunc(d.n.Axes, func(a te.Axis) bool { return a.Var == v })
		return d.n.Axes[max(i, 0)], i >= 0
	}
	last := len(d.n.Axes) - 1
	var ok bool
	if d.pixel, ok = find(vars.Axis(d.Laid.Pixel)); !ok || d.n.Axes[last-1].Var != d.pixel.Var || !d.n.Axes[last].Extent.Is(d.ChannelBlock) {
		return false
	}
	d.lane, d.left = d.n.Axes[last], d.Channels%d.ChannelBlock
	if r := d.Laid.Pixel - 1; r >= 0 && r != d.Channel {
		a := d.n.Axes[last-2]
		if a.Var != vars.Axis(r) {
			return false
		}
		d.row = &a
	}
	return true
}

// operands finds X and W in the product, and the reduction's axes.
func (d *direct) operands() bool {
	zero := map[string]sym.Expr{}
	var reduce []te.Axis
	for _, r := range d.n.Reduce {
		if r.Extent.Is(1) {
			zero[r.Var] = sym.Const(0)
			continue
		}
		reduce = append(reduce, r)
	}
	d.n.Subst(zero)
	mul, ok := d.n.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return false
	}
	found := false
	for _, e := range mul.Args {
		if c, converts := e.(te.Call); converts { // from 16 bits: matched knows no other
			e = c.Args[0]
		}
		if s, guarded := e.(te.Select); guarded {
			d.others, e = s.Cond, s.Then
		}
		if m, isMem := e.(loop.Mem); isMem && m.Buf == d.n.In[d.Laid.X.Source.N] {
			d.x, found = m, true
		}
	}
	d.tap = te.Axis{Extent: sym.Const(1)}
	for _, r := range reduce {
		if d.alongRow(r) {
			d.tap = r
		} else {
			d.taps = append(d.taps, r)
		}
	}
	w := d.PackedOperand()
	d.n.In[w] = nest.Stored(d.n.In[w].Name, d.weights.Value, layout.RowMajor)
	d.n.In[w].Size = d.weights.Parts.Elements(d.weights.Value.Shape)
	at := d.weights.Parts.Offset(d.weights.Value.Shape, d.weights.Index, d.n.Facts)
	channel := sym.Add(sym.Scale(sym.Var(vars.Axis(d.Channel)), d.ChannelBlock), sym.Var(d.lane.Var))
	m := map[string]sym.Expr{d.Block.Stage.Axes[d.Channel].Var: channel}
	d.weight = loop.Mem{Buf: d.n.In[w], Index: at.Subst(m, d.n.Facts)}
	return found
}

// alongRow reports whether a reduction axis walks the dimension of X that pixels walk.
func (d *direct) alongRow(r te.Axis) bool {
	return slices.ContainsFunc(d.Laid.X.Index, func(e sym.Expr) bool {
		return e.Uses(d.Block.Stage.Axes[d.Laid.Pixel].Var) && e.Uses(r.Var)
	})
}

// conditions parts those on X; false where one along a row depends on what only the loops know.
func (d *direct) conditions() bool {
	all := d.others
	d.others = nil
	for _, w := range all {
		if !w.E.Uses(d.pixel.Var) && (d.tap.Var == "" || !w.E.Uses(d.tap.Var)) {
			d.others = append(d.others, w)
			continue
		}
		_, lo := w.Lo.Const()
		_, hi := w.Hi.Const()
		if _, known := d.at(w.E, sym.Const(0), 0).Const(); !known || !lo || !hi {
			return false
		}
		d.ends = append(d.ends, w)
	}
	return d.step(d.pixel.Var) > 0 && (d.tap.Var == "" || d.step(d.tap.Var) > 0)
}
