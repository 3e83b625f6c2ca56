package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// dot is a product of integers by one instruction: lanes along an axis of W, one group of X for all
// of them. Constants are packed as the instruction reads them; another W must be stored so.
type dot struct {
	b    *block.Block
	t    *target.Target
	row  *instr.Row
	x, w *factor
	n    *nest
	tile
	// extents: of the lane axis, of the pixel axis (X's own; 1 where it is not constant or not
	// there), and groups of the sum.
	lanes, pixels, steps int64
	pixel                int
	together             int64 // pixels that the result's storage keeps together, where tiles have them whole
	wLay, xLay           layout.Layout
	wAt, xAt             sym.Expr
	micro                loop.MicroKernel
	out                  layout.Layout
	index                []sym.Expr // of the result
}

// DotLayout is the layout in which a tile instruction reads a matrix in its lanes: GCD2's for the
// instruction, with the axis of lanes and the one that is summed.
func DotLayout(r *instr.Row, lanes, summed int) layout.Layout {
	return layout.Of(layout.Part{Axis: lanes, Size: r.Lanes}, layout.Part{Axis: summed, Size: r.Group})
}

// groupLayout is the layout in which X's groups are whole.
func groupLayout(r *instr.Row, summed int) layout.Layout {
	return layout.Blocked(summed, r.Group)
}

// DotLayouts calls want for the layouts, besides row-major, in which the chip's instructions read the
// factors of a contraction of integers.
func DotLayouts(b *block.Block, t *target.Target, want func(*ir.Value, layout.Layout)) {
	l, r, ok := findProduct(b)
	if !ok || !t.StoresDots() {
		return
	}
	for _, row := range t.Dots(ir.I32) {
		for _, f := range []*factor{l, r} {
			if f.load.Type == row.W && f.dim >= 0 {
				want(f.value, DotLayout(row, f.dim, f.k))
			}
			if _, k := f.extents(b.Stage); f.load.Type == row.X && k%row.Group != 0 {
				want(f.value, groupLayout(row, f.k))
			}
		}
	}
}

// Dots lowers a contraction of integers in every way that the chip's instructions and the values'
// layouts allow.
func Dots(b *block.Block, env *Env) ([]*Lowered, error) {
	rows := env.Target.Dots(ir.I32)
	if len(rows) == 0 || !env.Target.StoresDots() || !env.Contractions || readsImages(b, env.Layouts) {
		return nil, nil
	}
	l, r, ok := findProduct(b)
	if !ok {
		return nil, nil
	}
	var out []*Lowered
	for _, row := range rows {
		for i, roles := range [][2]*factor{{l, r}, {r, l}} {
			d := &dot{b: b, t: env.Target, row: row, x: roles[0], w: roles[1]}
			low, err := d.lower(env)
			if err != nil {
				return nil, err
			}
			if low != nil {
				low.Name = fmt.Sprintf("%s, factor %d in vectors", low.Family, 1-i)
				out = append(out, low)
			}
		}
	}
	return out, nil
}

// lower gives nil where the instruction or the layouts do not suit.
func (d *dot) lower(env *Env) (*Lowered, error) {
	s := d.b.Stage
	if d.w.axis < 0 || !d.layouts(env.Layouts) {
		return nil, nil
	}
	for _, f := range []*factor{d.x, d.w} {
		if ok, err := d.typed(f); !ok || err != nil {
			return nil, err
		}
	}
	lanes, isConst := s.Axes[d.w.axis].Extent.Const()
	if !isConst || lanes < 1 || d.x.axis >= 0 && s.Axes[d.x.axis].Extent.Is(0) {
		return nil, nil
	}
	corrected, other := d.correct()
	if corrected == nil {
		return nil, nil
	}
	d.b, d.lanes = corrected, lanes
	d.n = startNest(d.b, env)
	d.n.buffers(d.b, env.Layouts)
	logical := d.axes()
	d.n.results = d.n.flatten(d.b, d.b.Stage.Results, logical, env.Layouts)
	d.n.at = d.out.Find(s.Shape(), d.index, d.n.facts)
	if !d.offsets(logical) {
		return nil, nil
	}
	k := &loop.Kernel{Anchor: "dot " + d.row.Name, Facts: d.n.facts}
	d.body(k)
	kept := d.reads()
	k.Buffers = append(pick(d.n.in, kept), d.n.out...)
	k.Syms = symbolsOf(k, env.Symbols)
	return env.done(k, func() ([]*ir.Value, error) { return d.args(other, kept) }), nil
}

// layouts reports whether factors and results are stored as the instruction wants them.
func (d *dot) layouts(lay Layouts) bool {
	d.out = lay(d.b.Results[0])
	for i, r := range d.b.Results {
		if lay(r) != d.out || d.out.HasPads() {
			return false
		}
		for axis := range d.b.Results[i].Shape {
			if axis != d.w.axis && d.out.Pads(r.Shape, axis) {
				return false
			}
		}
	}
	d.wLay, d.xLay = DotLayout(d.row, 0, 1), groupLayout(d.row, 1)
	if !d.w.constant() {
		d.wLay = lay(d.w.value)
		if d.wLay != DotLayout(d.row, d.w.dim, d.w.k) {
			return false
		}
	}
	if !d.x.constant() {
		d.xLay = lay(d.x.value)
	}
	return true
}

// typed reports whether a factor's elements are of the instruction's type; constants may become so
// by what is subtracted from them.
func (d *dot) typed(f *factor) (bool, error) {
	want := d.row.X
	if f == d.w {
		want = d.row.W
	}
	if !f.constant() || f.zero == nil {
		return f.load.Type == want, nil
	}
	m, err := f.matrix(d.b)
	if m == nil || err != nil {
		return false, err
	}
	return m.fits(want)
}

// correct takes zero points of non-constant operands out of the sum: the sum of (x - z) w over k is
// that of x w minus z times the sum of w, which is a constant where w is. It gives nil
// where w is not constant, and else the block and the factor w whose sums are its last operand.
func (d *dot) correct() (*block.Block, *factor) {
	f, other := d.x, d.w
	if f.constant() || f.zero == nil {
		f, other = other, f
	}
	if f.constant() || f.zero == nil {
		return d.b, nil
	}
	if !other.constant() {
		return nil, nil
	}
	lines, _ := other.extents(d.b.Stage)
	at := sym.Const(0)
	if other.axis >= 0 {
		at = sym.Var(d.b.Stage.Axes[other.axis].Var)
	}
	b, st := *d.b, *d.b.Stage
	b.Operands = append(slices.Clone(b.Operands), &ir.Value{Name: other.value.Name + ".sums", Type: ir.I32, Shape: ir.Dims(d.whole(lines)), HasShape: true})
	total := te.Fn(ir.I32, "mul", f.zero, te.Operand(len(b.Operands)-1, ir.I32, at))
	st.Results = make([]te.Expr, len(d.b.Stage.Results))
	for i, r := range d.b.Stage.Results {
		st.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			if a, ok := e.(te.Acc); ok {
				return te.Fn(ir.I32, "sub", a, total)
			}
			return e
		})
	}
	b.Stage = &st
	return &b, other
}

// maxTogether is the most rows that a tile always has.
const maxTogether = 4

// whole rounds up to registers: what stores results may read all lanes of one.
func (d *dot) whole(n int64) int64 { return (n + d.row.Lanes - 1) / d.row.Lanes * d.row.Lanes }

// axes gives each axis of the stage a loop variable, chooses the tile, and splits the lane axis.
func (d *dot) axes() map[string]sym.Expr {
	s := d.b.Stage
	d.pixel, d.pixels = -1, 1
	if d.x.axis >= 0 {
		if n, ok := s.Axes[d.x.axis].Extent.Const(); ok {
			d.pixel, d.pixels = d.x.axis, n
		}
	}
	_, k := d.w.extents(s)
	d.steps = (k + d.row.Group - 1) / d.row.Group
	blocks := (d.lanes + d.row.Lanes - 1) / d.row.Lanes
	if d.together = 1; d.pixel >= 0 && d.out.Along(d.pixel) <= maxTogether {
		d.together = d.out.Along(d.pixel)
	}
	choice := tiled{t: d.t, instr: d.row, x: d.row.Broadcaster(0), pixels: d.pixels, groups: blocks, perBlock: 1, steps: d.steps, multiple: d.together}
	d.tile = choice.choose()
	logical := map[string]sym.Expr{}
	for i, a := range s.Axes {
		axis := te.Axis{Var: axisVar(i), Extent: a.Extent}
		d.n.axes = append(d.n.axes, axis)
		d.index = append(d.index, sym.Var(axis.Var))
	}
	d.n.addRanges(d.n.axes)
	tileLanes := d.vectors * d.row.Lanes
	d.n.addRanges([]te.Axis{{Var: groupVar, Extent: sym.Const(blocks / d.vectors)}, {Var: vecVar, Extent: sym.Const(d.vectors)},
		{Var: laneVar, Extent: sym.Const(d.row.Lanes)}, {Var: rowVar, Extent: sym.Const(d.together)}, {Var: chunkVar, Extent: sym.Const(d.rows / d.together)}, {Var: tileVar, Extent: sym.Const(max(1, d.pixels/d.rows))},
		{Var: kVar(0), Extent: sym.Const(d.steps)}, {Var: kVar(1), Extent: sym.Const(d.row.Group)}})
	d.index[d.w.axis] = sym.Add(sym.Scale(sym.Var(groupVar), tileLanes), sym.Scale(sym.Var(vecVar), d.row.Lanes), sym.Var(laneVar))
	for i, a := range s.Axes {
		logical[a.Var] = d.index[i]
	}
	return logical
}

// reads are the operands that the kernel reads: a zero point may be in a packed constant.
func (d *dot) reads() []int {
	read := map[int]bool{d.x.load.Source.N: true, d.w.load.Source.N: true}
	for _, r := range d.b.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			if l, ok := e.(te.Load); ok {
				read[l.Source.N] = true
			}
		})
	}
	var out []int
	for n := range d.b.Operands {
		if read[n] {
			out = append(out, n)
		}
	}
	return out
}

func pick[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}

// args packs the constant factors; summed is the one whose sums are the last operand, or nil.
func (d *dot) args(summed *factor, kept []int) ([]*ir.Value, error) {
	out := slices.Clone(d.b.Operands)
	for _, f := range []*factor{d.x, d.w} {
		if !f.constant() {
			continue
		}
		m, err := f.matrix(d.b)
		if err != nil {
			return nil, err
		}
		t, l := d.row.X, d.xLay
		if f == d.w {
			t, l = d.row.W, d.wLay
		}
		out[f.load.Source.N] = m.pack(t, l)
		if f != summed {
			continue
		}
		if out[len(out)-1], err = m.sums(d.whole(m.lines)); err != nil {
			return nil, err
		}
	}
	return append(pick(out, kept), d.b.Results...), nil
}
