package product

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/match"
)

// packing is a stage that packs a term: an axis for each of the term's own and of the reduction, in the order in which it is stored.
type packing struct {
	te.Stage
	sched sched.Stage
	// read is the stage's index where the contraction reads it.
	read []sym.Expr
	// names are the term's axes in those of the stage; along are windows, by what both their axes walk.
	names map[string]sym.Expr
	along []walked
	// prefix is what names of axes begin with: no name of the term's where what windows walk is replaced before these are.
	prefix string
	// columns is the axis of a tile's columns; -1: there is none.
	columns int
	// clipped are axes of which the last task has fewer points than the others, and how many these have.
	clipped map[int]int64
	// there holds of the points that are some of the term's.
	there []te.Within
}

// packing is a stage of a name that packs.
func (l *plan) packing(name string) *packing {
	k := &packing{Stage: te.Stage{Name: name}, names: map[string]sym.Expr{}, prefix: "i", columns: -1}
	if len(l.windows) > 0 {
		k.prefix = "j"
	}
	return k
}

// once reports whether one point of an axis is computed.
func (k *packing) once(axis string) bool {
	return slices.ContainsFunc(k.sched.Regions, func(r sched.Region) bool { return r.Axis == axis && r.Extent == 1 })
}

// walked is the axis of a stage that is what both axes of a window walk.
type walked struct {
	window
	by sym.Expr
}

// axis adds one, of which a region of some points is computed; all of them where that is 0.
func (k *packing) axis(extent, read sym.Expr, first sym.Expr, region int64) sym.Expr {
	v := fmt.Sprintf("%s%d", k.prefix, len(k.Axes))
	k.Axes = append(k.Axes, te.Axis{Var: v, Extent: extent})
	k.read = append(k.read, read)
	if region > 0 {
		k.sched.Regions = append(k.sched.Regions, sched.Region{Axis: v, First: first, Extent: region})
	}
	return sym.Var(v)
}

// until notes that an axis goes on beyond the points of the term.
func (k *packing) until(v, end sym.Expr) {
	k.there = append(k.there, te.Within{E: v, Lo: sym.Const(0), Hi: end})
}

// subst is an expression of the term's in the stage's axes.
func (k *packing) subst(e te.Expr, f sym.Facts) te.Expr {
	along := func(x sym.Expr) sym.Expr {
		for _, w := range k.along {
			x, _ = w.along(x, w.by, f)
		}
		return x
	}
	e = te.Map(e, func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok {
			return e
		}
		index, guard := make([]sym.Expr, len(l.Index)), make([]te.Within, len(l.Guard))
		for i, x := range l.Index {
			index[i] = along(x)
		}
		for i, g := range l.Guard {
			guard[i] = te.Within{E: along(g.E), Lo: g.Lo, Hi: g.Hi}
		}
		l.Index, l.Guard = index, guard
		return l
	})
	return te.SubstIndices(e, k.names, nil) // once: names may be those of the stage's own axes
}

// finish makes the stage's result. Of a load that is 0 beyond its guard, converted or not, whose rows are columns, it is a copy: conditions
// are outside of rows.
func (k *packing) finish(e te.Expr, f sym.Facts) {
	e = k.subst(e, f)
	inner, wide := e, func(e te.Expr) te.Expr { return e }
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type.IsFloat() {
		inner, wide = c.Args[0], func(e te.Expr) te.Expr { return te.Fn(c.Type, "cast", e) }
	}
	load, isLoad := inner.(te.Load)
	switch {
	case len(k.there) == 0:
	case isLoad && match.ZeroDefault(load) && k.columns == len(k.Axes)-1:
		load.Guard, load.Default = slices.Concat(load.Guard, k.there), te.Number(load.Type, 0)
		e = wide(load)
	default:
		e = te.Select{Cond: k.there, Then: e, Else: te.Number(e.DType(), 0)}
	}
	k.Results = []te.Expr{e}
}
