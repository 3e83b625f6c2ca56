// Package lower turns a block into a kernel of the loop IR.
//
// Every block lowers through the generic nest, right for every type, rank and
// shape: it runs over the result's physical coordinates and substitutes the
// inverse of its layout into the stage. Anchors replace the nest where they are faster.
package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// nest is a stage over physical coordinates: loops, and expressions of flat memory.
type nest struct {
	tag       string // tells the names of local variables of several nests apart
	target    *target.Target
	lanes     int64     // floats in a vector register
	axes      []te.Axis // physical, outermost first
	reduce    []te.Axis
	values    []te.Expr
	combiner  *te.Combiner
	results   []te.Expr
	at        layout.Position // of the results' element
	within    []te.Within     // what holds of an element that is not padding
	in, out   []*loop.Buffer
	scratch   []scratch // what placed stages computed
	windows   bool      // guards bound loops
	depth     int       // leading axes that stages of a row-wise reduction fusion share
	rows      te.Axis   // points of the last one of these that stages are computed at one after the other (chainrows.go)
	trimmed   map[string]bound
	trims     bool // windows
	parted    bool // the nest is of the interior of windows, or of a border
	separated bool // the nest is of columns of windows, or of windows of columns
	bound     int  // integers that expressions have bound so far
	facts     sym.Facts
	// together are how many innermost axes stay in one task, of which before is to run around the one before it; the
	// innermost one then stores so far apart, if stride is more than 1.
	together int
	before   string
	stride   int64
	// phase are points whose code is written out side by side in each iteration of the innermost axis: of a period of that axis (turn.go), of
	// the axis beside it (split.go), or of any outer one (jam.go), so that they need not be neighbours in the results.
	phase te.Axis
	cut   bool // the nest is of a stretch of its innermost axis
	// texelLane is the reduction axis that walks the lanes of a texel, fills what reads one
	// before it, and packs the layouts of constants that the kernel reads in another order.
	texelLane string
	fills     []loop.Stmt
	packs     map[*ir.Value]layout.Layout
}

// scratch is where a placed stage's results of one point of the common axes lie.
type scratch struct {
	bufs  []*loop.Buffer // by result
	inner ir.Shape       // extents of the stage's own axes
	row   sym.Expr       // where the row's begin
}

// newNest substitutes layouts into the block's stage.
func newNest(b *block.Block, env *Env) (*nest, error) {
	s, out := b.Stage, env.Layouts(b.Results[0])
	for _, r := range b.Results {
		if env.Layouts(r) != out {
			return nil, fmt.Errorf("block %s: results of different layouts", b.Label())
		}
	}
	packs := packings(b, env)
	lay := func(v *ir.Value) layout.Layout {
		if l, ok := packs[v]; ok {
			return l
		}
		return env.Layouts(v)
	}
	n := startNest(b, env)
	n.packs = packs
	n.buffers(b, lay)
	parts := layout.PartsOf(out, len(s.Axes))
	var coords []sym.Expr
	dims := parts.Dims(s.Shape())
	for i, v := range partVars(parts, len(s.Axes)) {
		coords = append(coords, sym.Var(v))
		n.axes = append(n.axes, te.Axis{Var: v, Extent: dims[i]})
	}
	n.addRanges(n.axes)
	logical := map[string]sym.Expr{}
	for i, e := range parts.Logical(coords, len(s.Axes)) {
		logical[s.Axes[i].Var] = e
		if parts.Pads(s.Shape(), i) {
			n.within = append(n.within, te.Within{E: e, Lo: sym.Const(0), Hi: s.Axes[i].Extent})
		}
	}
	n.at = out.Position(parts, dims, coords)
	n.splitReduction(b, lay, logical)
	n.values = n.flatten(b, s.Values, logical, lay)
	n.results = n.flatten(b, s.Results, logical, lay)
	n.guardOutside()
	return n, nil
}

// partVars are variables of a layout's parts: outermost ones are called by their axes, wherever they lie, and the others count on.
func partVars(parts layout.Parts, rank int) []string {
	var out []string
	next := rank
	for _, x := range parts {
		if x.Size == 0 {
			out = append(out, axisVar(x.Axis))
			continue
		}
		out = append(out, axisVar(next))
		next++
	}
	return out
}

// startNest is a nest without axes: the ranges of symbols and reduction axes.
func startNest(b *block.Block, env *Env) *nest {
	n := &nest{facts: sym.Facts{}, target: env.Target, lanes: env.lanes(), windows: env.Windows, reduce: slices.Clone(b.Stage.Reduce), combiner: b.Stage.Combine}
	for k, v := range env.Symbols {
		n.facts[k] = v
	}
	n.addRanges(b.Stage.Reduce)
	return n
}

func (n *nest) addRanges(axes []te.Axis) {
	for _, a := range axes {
		_, hi := a.Extent.Bounds(n.facts)
		n.facts[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
}

func (n *nest) buffers(b *block.Block, lay Layouts) {
	for i, v := range b.Operands {
		n.in = append(n.in, stored(fmt.Sprintf("a%d", i), v, lay(v)))
	}
	for i, v := range b.Results {
		b := stored(fmt.Sprintf("y%d", i), v, lay(v))
		b.Write = true
		n.out = append(n.out, b)
	}
}

// stored is the buffer of a value in a layout.
func stored(name string, v *ir.Value, l layout.Layout) *loop.Buffer {
	b := &loop.Buffer{Name: name, Type: v.Type, Size: l.Elements(v.Shape), Const: v.Const != nil}
	if l.Memory == layout.Image {
		w, h := l.Extent(v.Shape)
		b.Image = &loop.Image{Width: w, Height: h}
	}
	return b
}

// load reads the element at a position.
func load(b *loop.Buffer, p layout.Position) loop.Mem {
	return loop.Mem{Buf: b, Index: p.Index, Texel: loop.Texel{X: p.X, Y: p.Y}}
}

// store writes the element at a position.
func store(b *loop.Buffer, p layout.Position, v te.Expr) loop.Store {
	return loop.Store{Buf: b, Index: p.Index, Texel: loop.Texel{X: p.X, Y: p.Y}, Value: v}
}

// flatten replaces loads by flat memory accesses and drops conditions that are certain.
func (n *nest) flatten(b *block.Block, es []te.Expr, logical map[string]sym.Expr, lay Layouts) []te.Expr {
	out := make([]te.Expr, len(es))
	for i, e := range es {
		e = n.separateLets(te.SubstIndices(e, logical, n.facts))
		bound := boundIn(e)
		out[i] = te.Map(e, func(e te.Expr) te.Expr {
			switch x := e.(type) {
			case te.Select:
				return n.choose(x.Cond, x.Then, x.Else)
			case te.Load:
				if x.Source.Stage {
					return n.choose(x.Guard, n.fromScratch(x), x.Default)
				}
				v := b.Operands[x.Source.N]
				find := func(at []sym.Expr) loop.Mem { return load(n.in[x.Source.N], lay(v).Find(v.Shape, at, n.facts)) }
				if e := n.reached(x, bound, find); e != nil {
					return e
				}
				return n.choose(x.Guard, find(x.Index), x.Default)
			}
			return e
		})
	}
	return out
}

// fromScratch reads what a placed stage computed.
func (n *nest) fromScratch(l te.Load) te.Expr {
	s := n.scratch[l.Source.N]
	depth := len(l.Index) - len(s.inner)
	return loop.Mem{Buf: s.bufs[l.Source.Part], Index: sym.Add(s.row, layout.Flat(s.inner, l.Index[depth:]))}
}

// choose is Then under the conditions that are not certain.
func (n *nest) choose(cond []te.Within, then, otherwise te.Expr) te.Expr {
	var left []te.Within
	for _, w := range cond {
		if sym.AtLeast(sym.Sub(w.E, w.Lo), 0, n.facts) && sym.AtLeast(sym.Sub(w.Hi, w.E), 1, n.facts) {
			continue
		}
		left = append(left, w)
	}
	if len(left) == 0 {
		return then
	}
	return te.Select{Cond: left, Then: then, Else: otherwise}
}

// separateLets gives each bound integer a variable of its own, with its range: fusion may have
// copied what binds it, and in a kernel all of them share one scope.
func (n *nest) separateLets(e te.Expr) te.Expr {
	f := te.LetFacts(e, n.facts) // inner ones are renamed first, and may use the outer ones
	return te.Map(e, func(e te.Expr) te.Expr {
		x, ok := e.(te.Let)
		if !ok {
			return e
		}
		v := fmt.Sprintf("b%d%s", n.bound, n.tag) // unlike any name of package ops: inner ones are renamed first
		n.bound++
		lo, _ := x.Lo.Bounds(f)
		_, hi := x.Hi.Bounds(f)
		f[v] = sym.Range{Lo: lo, Hi: hi}
		n.facts[v] = f[v]
		x.Body = te.SubstIndices(x.Body, map[string]sym.Expr{x.Var: sym.Var(v)}, f)
		x.Var = v
		return x
	})
}
