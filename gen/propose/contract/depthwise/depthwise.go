// Package depthwise proposes kernels of depthwise convolutions that read X where it lies.
package depthwise

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/weights"
)

// Anchor is what kernels of this file are called.
const Anchor = "direct"

// direct is a depthwise convolution that reads X where it lies. Its sums are of few products, so that a copy of X with padding around, and
// accumulators that pass through memory, would take as long as the products do. Taps of rows that are padding are left out by a condition
// for each tile; a row of pixels is cut into tiles, of which those at its ends leave out the taps that are padding, each pixel its own.
type direct struct {
	*tiled.Laid
	n       *nest.Nest
	packed  weights.Packing
	weights *tiled.PackedWeights
	weight  loop.Mem
	// pixel is the axis along a row, row the one before it (there may be none) and lane the one within a block of channels.
	pixel, lane te.Axis
	row         *te.Axis
	taps        []te.Axis // reduction axes but the one along a row
	tap         te.Axis   // that one, of one point if there is none
	x           loop.Mem
	// ends are the conditions on elements of X that pixel and tap alone decide, others all the others.
	ends, others []te.Within
	// left is how many channels the last block has, if it is not full.
	left  int64
	tiles int // so far, which number variables
}

// Direct is the kernel of a depthwise convolution whose sizes are known; nil where the block is none.
func Candidate(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	if !env.Packing.Transforms(0) {
		return nil, nil
	}
	d, err := newDirect(b, env)
	if d == nil || err != nil {
		return nil, err
	}
	name := Anchor
	if env.Varies() {
		if name, err = d.vary(env); name == "" || err != nil {
			return nil, err
		}
	}
	k := &loop.Kernel{Anchor: Anchor, Buffers: slices.Concat(d.n.In, d.n.Out)}
	k.Grid, k.Body = d.tasks()
	k.Syms, k.Facts = nest.SymbolsOf(k, env.Symbols), d.n.Facts
	l := env.Done(k, d.args(b))
	l.Name, l.ArgsOf, l.Packing, l.Point = name, d.args, &d.packed, d.point
	return l, nil
}

// step is how far apart in X neighbours along an axis are; 0 where they are not as far everywhere.
func (d *direct) step(v string) int64 {
	e, linear := sym.Coefficient(d.x.Index, v, d.n.Facts)
	n, known := e.Const()
	if !linear || !known {
		return 0
	}
	return n
}

// at is an index for a pixel and a tap along the row.
func (d *direct) at(e, pixel sym.Expr, tap int64) sym.Expr {
	m := map[string]sym.Expr{d.pixel.Var: pixel}
	if d.tap.Var != "" {
		m[d.tap.Var] = sym.Const(tap)
	}
	return e.Subst(m, d.n.Facts)
}

// tasks are the rows of a block of channels, several of them where there are many.
func (d *direct) tasks() (grid []te.Axis, body []loop.Stmt) {
	grid = d.outer()
	if d.row == nil {
		return grid, d.blockOf(nil)
	}
	band := d.bandOf(grid)
	rows, _ := d.row.Extent.Const()
	switch row := *d.row; {
	case band == 1:
		return append(grid, row), d.blockOf(nil)
	default:
		in := te.Axis{Var: row.Var, Extent: sym.Const(band)}
		number := te.Axis{Var: vars.Band, Extent: sym.Const(rows / band)}
		d.n.AddRanges([]te.Axis{in, number})
		at := sym.Var(in.Var)
		if band < rows {
			grid, at = append(grid, number), sym.Add(sym.Scale(sym.Var(number.Var), band), at)
		}
		d.subst(map[string]sym.Expr{row.Var: at})
		return grid, d.blockOf(&in)
	}
}

// outer are the axes of tasks besides the row.
func (d *direct) outer() []te.Axis {
	grid := d.n.Axes[:len(d.n.Axes)-2]
	if d.row != nil {
		grid = grid[:len(grid)-1]
	}
	return slices.Clone(grid)
}

// subst replaces variables wherever the kernel has them.
func (d *direct) subst(m map[string]sym.Expr) {
	d.n.Subst(m)
	d.x.Index = d.x.Index.Subst(m, d.n.Facts)
	d.others = slices.Clone(d.others)
	for i, w := range d.others {
		d.others[i] = te.Within{E: w.E.Subst(m, d.n.Facts), Lo: w.Lo, Hi: w.Hi}
	}
}

// bandOf is how many rows a task has: the most that divide all of them and leave enough tasks.
func (d *direct) bandOf(grid []te.Axis) int64 {
	if n, ok := d.GivenBand(); ok {
		return n
	}
	tasks := int64(1)
	for _, a := range grid {
		n, _ := a.Extent.Const()
		tasks *= max(n, 1)
	}
	rows, _ := d.row.Extent.Const()
	for bands := (micro.MinTasks + tasks - 1) / tasks; bands <= min(rows, tiled.MostBands); bands++ {
		if rows%bands == 0 {
			return rows / bands
		}
	}
	return 1
}

// blockOf are the rows of one block of channels, of which the last one may have fewer.
func (d *direct) blockOf(rows *te.Axis) []loop.Stmt {
	body := func(lanes int64) []loop.Stmt {
		tiles := (&directTiles{direct: d, lanes: lanes}).all()
		if rows != nil {
			tiles = []loop.Stmt{loop.For{Var: rows.Var, Extent: rows.Extent, Body: tiles}}
		}
		return tiles
	}
	full := d.Channels / d.ChannelBlock
	switch {
	case d.left == 0:
		return body(d.ChannelBlock)
	case full == 0:
		return body(d.left)
	}
	whole := []te.Within{{E: sym.Var(vars.Axis(d.Channel)), Lo: sym.Const(0), Hi: sym.Const(full)}}
	return []loop.Stmt{loop.If{Cond: whole, Then: body(d.ChannelBlock), Else: body(d.left)}}
}

// args are the block's values, W packed.
func (d *direct) args(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) {
		_, operands := d.Widened(b)
		values := slices.Concat(operands, b.Results)
		w := d.PackedOperand()
		values[w] = d.weights.Constant(b.Operands[w])
		return values, nil
	}
}
