// Package nest turns a block into a kernel of loops.
//
// Every block lowers through the generic nest, right for every type, rank and
// shape: it runs over the result's physical coordinates and substitutes the
// inverse of its layout into the stage. Other packages replace the nest where they are faster.
package nest

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/target"
)

// Nest is a stage over physical coordinates: loops, and expressions of flat memory.
type Nest struct {
	tag       string // tells the names of local variables of several nests apart
	target    *target.Target
	lanes     int64     // floats in a vector register
	Axes      []te.Axis // physical, outermost first
	Reduce    []te.Axis
	Values    []te.Expr
	Combiner  *te.Combiner
	Results   []te.Expr
	At        layout.Position // of the results' element
	within    []te.Within     // what holds of an element that is not padding
	In, Out   []*loop.Buffer
	scratch   []scratch // what placed stages computed
	windows   bool      // guards bound loops
	depth     int       // leading axes that stages of a row-wise reduction fusion share
	rows      te.Axis   // points of the last one of these that stages are computed at one after the other (chainrows.go)
	trimmed   map[string]bound
	trims     bool // windows
	loaded    bool // bounds of a window are elements of tensors
	parted    bool // the nest is of the interior of windows, or of a border
	separated bool // the nest is of columns of windows, or of windows of columns
	bound     int  // integers that expressions have bound so far
	Facts     sym.Facts
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

// NewNest substitutes layouts into the block's stage.
func NewNest(b *block.Block, env *lower.Env) (*Nest, error) {
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
	n := StartNest(b, env)
	n.packs = packs
	n.Buffers(b, lay)
	parts := layout.PartsOf(out, len(s.Axes))
	var coords []sym.Expr
	dims := parts.Dims(s.Shape())
	for i, v := range partVars(parts, len(s.Axes)) {
		coords = append(coords, sym.Var(v))
		n.Axes = append(n.Axes, te.Axis{Var: v, Extent: dims[i]})
	}
	n.AddRanges(n.Axes)
	logical := map[string]sym.Expr{}
	for i, e := range parts.Logical(coords, len(s.Axes)) {
		logical[s.Axes[i].Var] = e
		if parts.Pads(s.Shape(), i) {
			n.within = append(n.within, te.Within{E: e, Lo: sym.Const(0), Hi: s.Axes[i].Extent})
		}
	}
	n.At = out.Position(parts, dims, coords)
	n.splitReduction(b, lay, logical)
	n.Values = n.Flatten(b, s.Values, logical, lay)
	n.Results = n.Flatten(b, s.Results, logical, lay)
	n.guardOutside()
	return n, nil
}

// partVars are variables of a layout's parts: outermost ones are called by their axes, wherever they lie, and the others count on.
func partVars(parts layout.Parts, rank int) []string {
	var out []string
	next := rank
	for _, x := range parts {
		if x.Size == 0 {
			out = append(out, vars.Axis(x.Axis))
			continue
		}
		out = append(out, vars.Axis(next))
		next++
	}
	return out
}

// StartNest is a nest without axes: the ranges of symbols and reduction axes.
func StartNest(b *block.Block, env *lower.Env) *Nest {
	n := &Nest{Facts: sym.Facts{}, target: env.Target, lanes: env.Lanes(), windows: env.Windows, Reduce: slices.Clone(b.Stage.Reduce), Combiner: b.Stage.Combine}
	for k, v := range env.Symbols {
		n.Facts[k] = v
	}
	n.AddRanges(b.Stage.Reduce)
	return n
}

// AddRanges notes the ranges of axes.
func (n *Nest) AddRanges(axes []te.Axis) {
	for _, a := range axes {
		_, hi := a.Extent.Bounds(n.Facts)
		n.Facts[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
}

// Buffers are those of a block's values.
func (n *Nest) Buffers(b *block.Block, lay lower.Layouts) {
	for i, v := range b.Operands {
		n.In = append(n.In, Stored(fmt.Sprintf("a%d", i), v, lay(v)))
	}
	for i, v := range b.Results {
		b := Stored(fmt.Sprintf("y%d", i), v, lay(v))
		b.Write = true
		n.Out = append(n.Out, b)
	}
}

// Stored is the buffer of a value in a layout.
func Stored(name string, v *ir.Value, l layout.Layout) *loop.Buffer {
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

// Flatten replaces loads by flat memory accesses and drops conditions that are certain.
func (n *Nest) Flatten(b *block.Block, es []te.Expr, logical map[string]sym.Expr, lay lower.Layouts) []te.Expr {
	out := make([]te.Expr, len(es))
	for i, e := range es {
		e = n.separateLets(te.SubstIndices(e, logical, n.Facts))
		bound := boundIn(e)
		out[i] = te.Map(e, func(e te.Expr) te.Expr {
			switch x := e.(type) {
			case te.Select:
				return n.Choose(x.Cond, x.Then, x.Else)
			case te.Load:
				if x.Source.Stage {
					return n.Choose(x.Guard, n.fromScratch(x), x.Default)
				}
				v := b.Operands[x.Source.N]
				find := func(at []sym.Expr) loop.Mem { return load(n.In[x.Source.N], lay(v).Find(v.Shape, at, n.Facts)) }
				if e := n.reached(x, bound, find); e != nil {
					return e
				}
				return n.Choose(x.Guard, find(x.Index), x.Default)
			}
			return e
		})
	}
	return out
}

// fromScratch reads what a placed stage computed.
func (n *Nest) fromScratch(l te.Load) te.Expr {
	s := n.scratch[l.Source.N]
	depth := len(l.Index) - len(s.inner)
	return loop.Mem{Buf: s.bufs[l.Source.Part], Index: sym.Add(s.row, layout.Flat(s.inner, l.Index[depth:]))}
}

// Choose is Then under the conditions that are not certain.
func (n *Nest) Choose(cond []te.Within, then, otherwise te.Expr) te.Expr {
	var left []te.Within
	for _, w := range cond {
		if sym.AtLeast(sym.Sub(w.E, w.Lo), 0, n.Facts) && sym.AtLeast(sym.Sub(w.Hi, w.E), 1, n.Facts) {
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
func (n *Nest) separateLets(e te.Expr) te.Expr {
	f := te.LetFacts(e, n.Facts) // inner ones are renamed first, and may use the outer ones
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
		n.Facts[v] = f[v]
		x.Body = te.SubstIndices(x.Body, map[string]sym.Expr{x.Var: sym.Var(v)}, f)
		x.Var = v
		return x
	})
}
