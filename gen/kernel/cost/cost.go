// Package cost estimates how long a kernel runs, from its loops and the chip's facts. Only the
// order of estimates matters: they choose layouts and kernels.
package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
)

// Cycles of what a chip's facts do not tell.
const (
	perLocal    = 0.5      // load of a vector or an element of a local array
	perStride   = 1.5      // more, where neighbours in the loop lie on different lines
	perCast     = 1.0      // of a vector to one of another type: lanes of other sizes cross its halves
	perBranch   = 1.0      // well predicted
	perDivision = 3.0      // of indices, by constants
	perLoop     = 2.0      // entry and exit
	perStep     = 0.5      // increment and test
	perWork     = 2.0      // an operation of an opaque operator
	perForward  = 12.0     // a load of what was stored just before, and the addition that waits for it: 12 to 15 on a Zen 4, in halves of 16, 8, 4, 2 and 1 floats
	perKernel   = 10       // lines that cross from core to core: the call, and the threads' barrier
	lesser      = 1.0 / 16 // of what computes and what moves, the part of the lesser that the greater does not hide
	farStride   = 16       // floats of a cache line
)

// Kernel is the cycles of all tasks on one core: the greater of what it computes and what it
// moves. The symbols count as typical.
func Kernel(k *loop.Kernel, t *target.Target, symbols sym.Facts) float64 {
	e := &estimate{t: t, tile: tileCycles, facts: typical(k.Facts, symbols)}
	tasks := e.trips(k.Tasks())
	if n := float64(t.AtOnce(len(k.Scratch) > 0)); n > 1 {
		items := float64(k.Items()) // which run at once, too
		tasks = max(1, tasks*items/n) / items
	}
	compute := tasks * e.body(k.Statements(), "", 1)
	moved := e.moved(k)
	return kernel(t) + max(compute, moved) + float64(lesser*min(compute, moved)) + e.spilled(k)
}

// kernel is the cycles of a kernel besides what its tasks do.
func kernel(t *target.Target) float64 { return float64(perKernel * t.Crossing()) }

// typical fixes symbols at one value.
func typical(f, symbols sym.Facts) sym.Facts {
	out := sym.Facts{}
	for k, r := range f {
		out[k] = r
	}
	for s, r := range symbols {
		n := Typical(r)
		out[s] = sym.Range{Lo: n, Hi: n}
	}
	return out
}

// Typical is the geometric mean of the least and greatest number of a range, of which more than 1024 counts as 1024.
func Typical(r sym.Range) int64 {
	lo, hi := max(r.Lo, 1), min(max(r.Hi, 1), 1024)
	return max(lo, int64(math.Sqrt(float64(lo)*float64(max(lo, hi)))))
}

type estimate struct {
	t     *target.Target
	tile  func(*target.Target, *loop.MicroKernel) float64 // a call of a micro-kernel
	facts sym.Facts
	lane  string // variable of the vector loop
}

func (e *estimate) trips(x sym.Expr) float64 {
	_, hi := x.Bounds(e.facts)
	return float64(max(hi, 0))
}

// body is the cycles of statements within the innermost loop variable v, lanes at a time.
func (e *estimate) body(body []loop.Stmt, v string, lanes int64) float64 {
	if c, ok := e.sums(body, lanes); ok {
		return c
	}
	c := 0.0
	for _, s := range body {
		c += e.stmt(s, v, lanes)
	}
	return c
}

func (e *estimate) stmt(s loop.Stmt, v string, lanes int64) float64 {
	switch x := s.(type) {
	case loop.For:
		return e.loop(x, lanes)
	case loop.Index:
		return e.index(x.Value)
	case loop.Bind:
		return e.expr(x.Value, v, lanes) + e.t.ArithmeticCycles()
	case loop.Def:
		return e.expr(x.Init, v, lanes)
	case loop.Set:
		return e.expr(x.Value, v, lanes)
	case loop.Store:
		return e.t.StoreCycles() + e.access(x.Index, v, lanes) + e.expr(x.Value, v, lanes)
	case loop.If:
		then, otherwise := e.body(x.Then, v, lanes), e.body(x.Else, v, lanes)
		if f, known := e.fraction(x.Cond); known {
			return perBranch + float64(f*then) + float64((1-f)*otherwise)
		}
		if wholes(x) {
			return perBranch + float64((1-edges)*then) + float64(edges*otherwise)
		}
		return perBranch + max(then, otherwise)
	case loop.Tile:
		return e.tile(e.t, x.Micro)
	case loop.Call:
		return e.trips(x.Work) * perWork
	}
	return 0
}

// edges is the part of the times that a loop over integers runs with the conditions that it has a form without: for the last columns of a group.
const edges = 1.0 / 4

// wholes reports whether a condition is between two forms of one loop over integers.
func wholes(x loop.If) bool {
	if len(x.Then) != 1 || len(x.Else) != 1 {
		return false
	}
	a, ok1 := x.Then[0].(loop.For)
	b, ok2 := x.Else[0].(loop.For)
	return ok1 && ok2 && a.Var == b.Var && a.Extent.Equal(b.Extent) && !a.Floats() && !b.Floats()
}

// fraction is the part of a variable's range in which a condition on it alone holds; false where there are others.
func (e *estimate) fraction(cond []te.Within) (float64, bool) {
	if len(cond) != 1 {
		return 0, false
	}
	v, isVar := cond[0].E.AsVar()
	r, ranged := e.facts[v]
	lo, ok0 := cond[0].Lo.Const()
	hi, ok1 := cond[0].Hi.Const()
	if !isVar || !ranged || !ok0 || !ok1 {
		return 0, false
	}
	inside := max(min(hi, r.Hi+1)-max(lo, r.Lo), 0)
	return float64(inside) / float64(r.Hi+1-r.Lo), true
}

func (e *estimate) loop(x loop.For, lanes int64) float64 {
	n := e.trips(x.Extent)
	if x.Lanes == 0 {
		return perLoop + waits(x) + float64(n*(perStep+e.body(x.Body, x.Var, lanes)))
	}
	e.lane = x.Var
	vectors := math.Floor(n / float64(x.Lanes))
	rest := n - float64(vectors*float64(x.Lanes))
	c := perLoop + waits(x) + float64(vectors*(perStep+e.body(x.Body, x.Var, x.Lanes)))
	if rest > 0 && x.Overlaps() {
		c += perStep + e.body(x.Body, x.Var, x.Lanes)
	} else if rest > 0 {
		c += float64(rest * (perStep + e.body(x.Body, x.Var, 1)))
	}
	return c
}

// waits is what a loop waits for before it begins where it moves elements within a local array: the loop before it
// stored them, as partial sums that are joined by halves.
func waits(x loop.For) float64 {
	stored := map[*loop.Buffer]sym.Expr{}
	for _, s := range x.Body {
		if w, ok := s.(loop.Store); ok && w.Buf.Local {
			stored[w.Buf] = w.Index
		}
	}
	if len(stored) == 0 {
		return 0
	}
	found := false
	loop.Accesses(x.Body, func(b *loop.Buffer, at sym.Expr) {
		to, ok := stored[b]
		found = found || ok && !to.Equal(at)
	})
	if found {
		return perForward
	}
	return 0
}

func (e *estimate) expr(x te.Expr, v string, lanes int64) float64 {
	switch y := x.(type) {
	case loop.Mem:
		return e.load(y.Buf) + e.access(y.Index, v, lanes)
	case te.Index:
		return e.index(y.E)
	case te.Call:
		c := e.flops(y)
		if lanes > 1 {
			c += e.converts(y)
		}
		for _, a := range y.Args {
			c += e.expr(a, v, lanes)
		}
		return c
	case te.Select:
		return perBranch*float64(len(y.Cond)) + max(e.expr(y.Then, v, lanes), e.expr(y.Else, v, lanes))
	}
	return 0
}

// converts is the cycles of a conversion of vectors, from or to integers or wide floats, and what a product of vectors of integers takes beside one
// of floats.
func (e *estimate) converts(x te.Call) float64 {
	switch {
	case x.Fn == "cast" && !(slices.Contains(loop.Floats, x.Type) && slices.Contains(loop.Floats, x.Args[0].DType())):
		return perCast
	case x.Fn == "mul" && x.Type.IsInteger():
		return e.t.ArithmeticCycles()
	}
	return 0
}

// flops is the cycles of a function of what is loaded.
func (e *estimate) flops(x te.Call) float64 {
	if row := scalar.Lookup(x.Fn); row != nil {
		return float64(e.t.ArithmeticCycles() * float64(row.FLOPs))
	}
	return e.t.ArithmeticCycles()
}

// load is the cycles of a load of a vector or an element that is cached.
func (e *estimate) load(b *loop.Buffer) float64 {
	switch {
	case b.Local:
		return perLocal
	case b.Image != nil:
		return e.t.Images.LoadCycles
	}
	return e.t.LoadCycles
}

// access is what an index adds to a load or store: divisions, and a far stride.
func (e *estimate) access(x sym.Expr, v string, lanes int64) float64 {
	c := e.index(x)
	if lanes > 1 {
		k := sym.Step(x, e.lane, e.facts)
		if step, _ := k.Const(); step > 1 { // lane by lane
			c += float64(e.t.PerLane() * float64(lanes))
		}
		return c
	}
	if v == "" {
		return c
	}
	k, linear := sym.Coefficient(x, v, e.facts)
	step, isConst := k.Const()
	if !linear || !isConst || step >= farStride || step <= -farStride {
		c += perStride
	}
	return c
}

// index counts the divisions in an index.
func (e *estimate) index(x sym.Expr) float64 {
	c := 0.0
	terms, _ := x.Terms()
	for _, t := range terms {
		for _, a := range t.Atoms {
			if a.Kind != sym.AtomVar {
				c += perDivision
			}
		}
	}
	return c
}
