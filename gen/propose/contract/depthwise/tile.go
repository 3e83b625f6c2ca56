package depthwise

import (
	"fmt"
	"slices"
	"sort"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/vary"
)

// directTiles are the tiles of a row of pixels, of so many channels of a block.
type directTiles struct {
	*direct
	lanes int64
}

// all returns the tiles of a row. Those without padding are in a loop.
func (d *directTiles) all() []loop.Stmt {
	var body []loop.Stmt
	spans, _ := d.spans()
	for _, s := range spans {
		if s.tiles == 1 {
			body = append(body, d.tile(sym.Const(s.first), s.pixels)...)
			continue
		}
		d.ranges(vars.Tile, s.tiles)
		first := sym.Add(sym.Const(s.first), sym.Scale(sym.Var(vars.Tile), s.pixels))
		body = append(body, loop.For{Var: vars.Tile, Extent: sym.Const(s.tiles), Body: d.tile(first, s.pixels)})
	}
	return body
}

// span is neighbouring tiles of a row, each of so many pixels: several are a loop.
type span struct{ first, pixels, tiles int64 }

// mostProducts bounds the code of a row: a model may have any number of taps, and of pixels that are padding.
const mostProducts = 1 << 13

// spans are those of a row; false where their code would be too long.
func (d *directTiles) spans() ([]span, bool) {
	pixels, _ := d.pixel.Extent.Const()
	taps, _ := d.tap.Extent.Const()
	if taps > mostProducts {
		return nil, false
	}
	size, products := d.size(pixels), int64(0)
	var out []span
	for at := int64(0); at < pixels; {
		s := span{at, size, d.within(at, size, pixels)}
		if s.tiles < 2 {
			s.pixels, s.tiles = min(size, pixels-at), 1
		}
		if products += s.pixels * taps; products > mostProducts {
			return nil, false
		}
		out, at = append(out, s), at+s.tiles*s.pixels
	}
	return out, true
}

// within is how many whole tiles from a pixel on have no tap that is padding.
func (d *directTiles) within(first, size, pixels int64) int64 {
	return int64(sort.Search(int((pixels-first)/size), func(more int) bool { return !d.inside(first, int64(more+1)*size) }))
}

// ranges lets loops over a variable, of which there may be several, have so many points.
func (d *directTiles) ranges(v string, points int64) {
	d.n.Facts[v] = sym.Range{Lo: 0, Hi: max(d.n.Facts[v].Hi, points-1)}
}

// size is how many pixels a tile has: about as many in each.
func (d *directTiles) size(pixels int64) int64 {
	if n, ok := d.Given.Get(vary.Pixels); ok {
		return n
	}
	most := d.most()
	tiles := (pixels + most - 1) / most
	return (pixels + tiles - 1) / tiles
}

// most is how many pixels a tile has at most: their sums, the weights of a row of taps and an element of X are in registers.
func (d *directTiles) most() int64 {
	taps, _ := d.tap.Extent.Const()
	most := int64(d.Target.VectorRegisters) - taps - 1 - d.Instr.Temps
	if d.Instr.Ops > 1 {
		most-- // a product is rounded before it is added
	}
	if d.Instr.Scheduled() {
		most /= 2 // compilers move loads far ahead
	}
	return max(most, 1)
}

// inside reports whether no tap of so many pixels is padding.
func (d *directTiles) inside(first, pixels int64) bool {
	taps, _ := d.tap.Extent.Const()
	for k := range taps {
		if !d.reads(sym.Const(first), k) || !d.reads(sym.Const(first+pixels-1), k) {
			return false
		}
	}
	return true
}

// reads reports whether a tap of a pixel is no padding, as is known of pixels within.
func (d *directTiles) reads(pixel sym.Expr, tap int64) bool {
	return !slices.ContainsFunc(d.ends, func(w te.Within) bool {
		at, known := d.at(w.E, pixel, tap).Const()
		lo, _ := w.Lo.Const()
		hi, _ := w.Hi.Const()
		return known && (at < lo || at >= hi)
	})
}

// tapped is an element of X for a tap of a pixel of the tile.
type tapped struct {
	offset     int64 // of the element
	pixel, tap int64
}

// products are those of the tile for a row of taps, in the order of their elements of X: what several of them read is loaded once. Of each
// pixel they are in the order of taps.
func (d *directTiles) products(first sym.Expr, pixels int64) []tapped {
	var out []tapped
	taps, _ := d.tap.Extent.Const()
	along := int64(0)
	if d.tap.Var != "" {
		along = d.step(d.tap.Var)
	}
	for i := range pixels {
		for k := range taps {
			if d.reads(sym.Add(first, sym.Const(i)), k) {
				out = append(out, tapped{i*d.step(d.pixel.Var) + k*along, i, k})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b tapped) int { return int(a.offset - b.offset) })
	if d.Instr.Scheduled() {
		return alternate(out, pixels)
	}
	return out
}

// alternate merges the products of both halves of the pixels in turn. Otherwise, processors with few
// instructions in flight would wait for a sum that the product before has changed.
func alternate(all []tapped, pixels int64) []tapped {
	var halves [2][]tapped
	for _, p := range all {
		half := min(2*p.pixel/pixels, 1)
		halves[half] = append(halves[half], p)
	}
	var out []tapped
	for i := range max(len(halves[0]), len(halves[1])) {
		for _, h := range halves {
			if i < len(h) {
				out = append(out, h[i])
			}
		}
	}
	return out
}

// tile computes so many pixels.
func (d *directTiles) tile(first sym.Expr, pixels int64) []loop.Stmt {
	number := d.tiles
	d.tiles++
	name := func(of string, i int64) string { return fmt.Sprintf("%s%d_%d", of, i, number) }
	sum := func(i int64) te.Expr { return loop.Ref{Name: name("acc", i), Type: d.Instr.Acc} }
	var body []loop.Stmt
	for i := range pixels {
		zero := d.n.Combiner.Init[0]
		if d.Instr.InHalves() {
			zero = te.Number(d.Instr.Acc, 0)
		}
		body = append(body, loop.Def{Name: name("acc", i), Init: zero})
	}
	body = append(body, d.sums(first, pixels, name)...)
	if costly(d.n.Results) {
		return d.finished(first, pixels, body, sum)
	}
	for i := range pixels {
		body = append(body, d.stores(sym.Add(first, sym.Const(i)), sum(i))...)
	}
	return append(d.overLanes(body), d.padding(first, pixels)...)
}

// sums adds up the products of all taps.
func (d *directTiles) sums(first sym.Expr, pixels int64, name func(string, int64) string) []loop.Stmt {
	t := d.Instr.Acc
	var body []loop.Stmt
	define := func(name string, from loop.Mem, pixel, tap int64) te.Expr {
		from.Index = d.at(from.Index, sym.Add(first, sym.Const(pixel)), tap)
		init := te.Expr(from)
		if !d.Instr.InHalves() {
			init = match.AsF32(from)
		}
		body = append(body, loop.Def{Name: name, Init: init})
		return loop.Ref{Name: name, Type: t}
	}
	weights, xs := map[int64]te.Expr{}, map[int64]te.Expr{}
	for i, p := range d.products(first, pixels) {
		if weights[p.tap] == nil {
			weights[p.tap] = define(name("w", p.tap), d.weight, 0, p.tap)
		}
		if xs[p.offset] == nil {
			xs[p.offset] = define(name("x", int64(i)), d.x, p.pixel, p.tap)
		}
		acc := name("acc", p.pixel)
		body = append(body, loop.Set{Name: acc, Value: te.Fn(t, "add", loop.Ref{Name: acc, Type: t}, te.Fn(t, "mul", xs[p.offset], weights[p.tap]))})
	}
	if len(d.others) > 0 {
		body = []loop.Stmt{loop.If{Cond: d.others, Then: body}}
	}
	return nest.Loops(d.taps, body)
}

// costlyFLOPs is more than what a pixel's results take in a tile: others are computed one by one.
const costlyFLOPs = 8

// costly reports whether results take so much that code for each pixel of a tile would be large, and what a loop over them takes little beside.
func costly(results []te.Expr) bool {
	flops := int64(0)
	for _, r := range results {
		te.Walk(r, func(e te.Expr) {
			if c, ok := e.(te.Call); ok {
				if row := scalar.Lookup(c.Fn); row != nil {
					flops += int64(row.FLOPs)
				}
			}
		})
	}
	return flops > costlyFLOPs
}

// finished lays the tile's sums down and computes the results from there.
func (d *directTiles) finished(first sym.Expr, pixels int64, sums []loop.Stmt, sum func(int64) te.Expr) []loop.Stmt {
	buf := d.n.Local(fmt.Sprintf("acc_%d", d.tiles), d.n.Values[0].DType(), sym.Const(pixels*d.lanes))
	at := func(pixel sym.Expr) sym.Expr { return sym.Add(sym.Scale(pixel, d.lanes), sym.Var(d.lane.Var)) }
	for i := range pixels {
		sums = append(sums, loop.Store{Buf: buf, Index: at(sym.Const(i)), Value: sum(i)})
	}
	out := append([]loop.Stmt{loop.Alloc{Buf: buf}}, d.overLanes(sums)...)
	row := te.Axis{Var: vars.Row, Extent: sym.Const(pixels)}
	d.ranges(vars.Row, pixels)
	pixel := sym.Var(row.Var)
	each := d.overLanes(d.stores(sym.Add(first, pixel), loop.Mem{Buf: buf, Index: at(pixel)}))
	return append(out, nest.Loops([]te.Axis{row}, append(each, d.padding(sym.Add(first, pixel), 1)...))...)
}

// stores are the results of a pixel.
func (d *directTiles) stores(pixel sym.Expr, sum te.Expr) []loop.Stmt {
	n := *d.n
	n.Results = slices.Clone(n.Results)
	m := map[string]sym.Expr{d.pixel.Var: pixel}
	for i, r := range n.Results {
		n.Results[i] = loop.SubstIndices(r, m, n.Facts)
	}
	if t := d.n.Values[0].DType(); sum.DType() != t {
		sum = te.Fn(t, "cast", sum)
	}
	return n.Stores(func(int) te.Expr { return sum }, n.At.Subst(m, n.Facts))
}

// padding is zeros for the channels of a block that are none.
func (d *directTiles) padding(first sym.Expr, pixels int64) []loop.Stmt {
	if d.lanes == d.ChannelBlock {
		return nil
	}
	var out []loop.Stmt
	for i := range pixels {
		n := *d.n
		n.At = n.At.Subst(map[string]sym.Expr{d.pixel.Var: sym.Add(first, sym.Const(i))}, n.Facts)
		out = append(out, n.ZerosFrom(d.lane, d.lanes, d.ChannelBlock-d.lanes)...)
	}
	return out
}

// overLanes runs statements for the channels of a block.
func (d *directTiles) overLanes(body []loop.Stmt) []loop.Stmt {
	return []loop.Stmt{loop.For{Var: d.lane.Var, Extent: sym.Const(d.lanes), Body: body}}
}
