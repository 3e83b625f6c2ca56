package workgroup

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/match"
)

// packedFactor is a constant factor as groups read it: a row of all its points beside the sum for each point of the sum, or for each group of them, so
// that items which are neighbours read neighbours; and so for each of its contractions.
type packedFactor struct {
	madeOperand
	// batch, sum and points are how far apart neighbours along them are in the constant, from base on; own are the axes of batch.
	batch, sum, points []steps
	own                []string
	base               int64
	// group neighbours along the sum lie together, 1: those of points do.
	group int64
}

// steps is an axis of so many points, which are so far apart.
type steps struct{ extent, step int64 }

// pack finds constant factors that are packed, and orders the sum for what the other one reads: channels, at one place of an image, are last, so
// that a step is at one place wherever it divides them.
func (g *groupTiles) pack() {
	g.packed[0], g.packed[1] = g.packs(g.X, g.rows), g.packs(g.W, g.columns)
	if (g.packed[0] == nil) == (g.packed[1] == nil) {
		g.packed = [2]*packedFactor{} // neither, or what a compiler could compute
		return
	}
	other, t, r, n := g.W, g.X, g.rows, 0
	if g.packed[1] != nil {
		other, t, r, n = g.X, g.W, g.columns, 1
	}
	alone := func(a te.Axis) bool {
		for _, e := range other.Load.Index {
			if v, is := e.AsVar(); is && v == a.Var {
				return !slices.ContainsFunc(other.Load.Guard, func(w te.Within) bool { return w.E.Uses(a.Var) })
			}
		}
		return false
	}
	m := *g.Match
	m.Reduce = slices.Clone(m.Reduce)
	slices.SortStableFunc(m.Reduce, func(a, b te.Axis) int {
		switch x, y := alone(a), alone(b); {
		case x && !y:
			return 1
		case y && !x:
			return -1
		}
		return 0
	})
	own := *g.Roles
	own.Match = &m
	g.Roles = &own
	g.packed[n] = g.packs(t, r)
}

// packs is a factor packed; nil where it is no constant whose elements are so far apart along each axis, or others than its run have.
func (g *groupTiles) packs(t *match.Term, r Run) *packedFactor {
	n := t.Load.Source.N
	v := g.r.Operands[n]
	if !t.Constant || t.Computed != nil || v.Const == nil || len(t.Load.Guard) > 0 {
		return nil
	}
	off := layout.Flat(v.Shape, t.Load.Index)
	p := &packedFactor{madeOperand: madeOperand{operand: n}}
	zero := map[string]sym.Expr{}
	axes := func(of []te.Axis) ([]steps, bool) {
		var out []steps
		for _, a := range of {
			e, linear := sym.Coefficient(off, a.Var, nil)
			step, known := e.Const()
			extent, counted := a.Extent.Const()
			if !linear || !known || !counted {
				return nil, false
			}
			zero[a.Var] = sym.Const(0)
			out = append(out, steps{extent, step})
		}
		return out, true
	}
	var ok, ok1, ok2 bool
	p.sum, ok = axes(g.Reduce)
	p.points, ok1 = axes(r.Axes)
	for _, a := range g.batch {
		if off.Uses(a.Var) {
			each, known := axes([]te.Axis{a})
			ok = ok && known
			p.batch, p.own = append(p.batch, each...), append(p.own, a.Var)
		}
	}
	p.base, ok2 = off.Subst(zero, nil).Const()
	if !ok || !ok1 || !ok2 {
		return nil
	}
	return p.inGroups(v, 1)
}

// inGroups is the factor of which so many neighbours along the sum lie together, the last of them maybe zeros.
func (p *packedFactor) inGroups(v *ir.Value, group int64) *packedFactor {
	out := *p
	out.group = group
	out.value = &ir.Value{Name: v.Name, Type: v.Type, Shape: ir.Dims(out.dims()...), HasShape: true, Const: v.Const}
	out.madeOperand.of = out.pack
	return &out
}

// index is where the element of a point of the sum and one of the run lies.
func (p *packedFactor) index(k, point sym.Expr, f sym.Facts) []sym.Expr {
	if p.group == 1 {
		return []sym.Expr{k, point}
	}
	return []sym.Expr{sym.FloorDiv(k, sym.Const(p.group), f), point, sym.Mod(k, sym.Const(p.group), f)}
}

// dims are those of the packed constant.
func (p *packedFactor) dims() []int64 {
	var out []int64
	for _, s := range p.batch {
		out = append(out, s.extent)
	}
	if p.group == 1 {
		return append(out, counted(p.sum), counted(p.points))
	}
	return append(out, (counted(p.sum)+p.group-1)/p.group, counted(p.points), p.group)
}

// counted is how many points axes have together.
func counted(all []steps) int64 {
	n := int64(1)
	for _, s := range all {
		n *= s.extent
	}
	return n
}

// placesOf are where the points of axes lie, the last axis fastest.
func placesOf(all []steps) []int64 {
	out := []int64{0}
	for _, s := range all {
		var next []int64
		for _, at := range out {
			for k := range s.extent {
				next = append(next, at+k*s.step)
			}
		}
		out = next
	}
	return out
}

// pack is a constant as it is stored.
func (p *packedFactor) pack(v *ir.Value) *ir.Value {
	batch, sum, points, size := placesOf(p.batch), placesOf(p.sum), placesOf(p.points), int64(v.Type.Size())
	name, whole := v.Name+".packed", (int64(len(sum))+p.group-1)/p.group*p.group
	if p.group > 1 {
		name += fmt.Sprint(p.group)
	}
	n := int64(len(batch)) * whole * int64(len(points))
	// Its elements come from everywhere: all are computed at once.
	return ir.ConstValue(name, ir.Computed(v.Type, p.dims(), n, func(b []byte, _ int64) error {
		raw, err := v.Const.Bytes()
		if err != nil {
			return err
		}
		to := b
		for _, of := range batch {
			for first := int64(0); first < whole; first += p.group {
				for _, at := range points {
					for k := first; k < first+p.group; k++ {
						if k < int64(len(sum)) {
							from := (p.base + of + sum[k] + at) * size
							copy(to[:size], raw[from:from+size])
						} else {
							clear(to[:size])
						}
						to = to[size:]
					}
				}
			}
		}
		return nil
	}))
}
