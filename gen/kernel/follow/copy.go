package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// copyRun walks what lies side by side in a copy and in what it copies.
const copyRun = "xr"

// copied are the loops of a stage that copies what a guard allows and stores a constant elsewhere: conditions of outer loops are
// evaluated once a row, and where those of the rows' points hold from one point to another, a row is a constant part, a copy, and a constant
// part. It is nil where that gains nothing.
func (f *follower) copied(c *stage) []loop.Stmt {
	hosts := slices.ContainsFunc(f.s.Stages, func(s sched.Stage) bool { return s.At != sched.Root && s.At.Stage == c.n })
	if hosts || len(c.te.Results) != 1 || !c.serial() {
		return nil
	}
	r := &row{f: f, c: c, at: len(c.sched.Loops) - 1, out: c.out[0]}
	if len(c.span(r.at).Loops) > 1 { // parts of blocks
		r.lane, r.at = []int{r.at}, r.at-1
	}
	if r.at < 0 || slices.ContainsFunc(c.spans, c.roundsUp) {
		return nil
	}
	v, wrap := f.guardedPart(c)
	if v == nil {
		return nil
	}
	r.name, r.wrap = c.sched.Loops[r.at].Var, wrap
	var above, cond []te.Within
	r.otherwise = v
	if s, guarded := v.(te.Select); guarded {
		v, r.otherwise = s.Then, s.Else
		if slices.ContainsFunc(s.Cond, r.inLanes) {
			return nil
		}
		for _, w := range s.Cond {
			if w.E.Uses(r.name) {
				cond = append(cond, w)
			} else {
				above = append(above, w)
			}
		}
	}
	extent := f.extent(c, r.at)
	_, known := extent.Const()
	lo, hi, together := r.inside(cond, extent)
	gains := cond != nil && together || above != nil || known && r.lane != nil
	if _, isMem := v.(loop.Mem); !isMem || !gains {
		return nil
	}
	r.to = f.position(c, r.out, nil)
	var body []loop.Stmt
	switch {
	case together:
		bound := r.bind(&lo, &hi)
		body = slices.Concat(bound, r.part(sym.Const(0), lo, r.otherwise), r.part(lo, hi, v), r.part(hi, extent, r.otherwise))
	default:
		body = repeat(r.name, extent, []loop.Stmt{loop.If{Cond: cond, Then: r.fill(v), Else: r.fill(r.otherwise)}})
	}
	if above != nil {
		body = []loop.Stmt{loop.If{Cond: above, Then: body, Else: r.part(sym.Const(0), extent, r.otherwise)}}
	}
	for i := r.at - 1; i >= 0; i-- {
		body = repeat(c.sched.Loops[i].Var, f.extent(c, i), body)
	}
	return body
}

// guardedPart is what a stage loads, and what it makes of that: nothing, a conversion, or, of an element with a guard, what else is computed from
// numbers that are the same for all of a row. It is nil where the stage is no such copy.
func (f *follower) guardedPart(c *stage) (te.Expr, func(te.Expr) te.Expr) {
	load, wide := converted(c.te.Results[0])
	if _, isLoad := load.(te.Load); isLoad {
		return f.flatten(c, load), func(v te.Expr) te.Expr {
			switch c, isConst := v.(te.Const); {
			case wide == ir.Invalid:
				return v
			case isConst && c.Bits == 0:
				return te.Number(wide, 0)
			}
			return te.Fn(wide, "cast", v)
		}
	}
	whole := f.flatten(c, c.te.Results[0])
	var part te.Expr
	alike := true
	te.Walk(whole, func(e te.Expr) {
		switch x := e.(type) {
		case te.Select:
			alike = alike && part == nil
			part = x
		case te.Let:
			alike = false
		}
	})
	if part == nil || !alike || !c.sameInRows(whole) {
		return nil, nil
	}
	return part, func(v te.Expr) te.Expr {
		return te.Map(whole, func(e te.Expr) te.Expr {
			if _, is := e.(te.Select); is {
				return v
			}
			return e
		})
	}
}

// sameInRows reports whether all that an expression reads, but for its choice, is the same in all of the stage's innermost two loops.
func (c *stage) sameInRows(e te.Expr) bool {
	same := true
	varies := func(at sym.Expr) {
		for _, l := range c.sched.Loops[max(len(c.sched.Loops)-2, 0):] {
			same = same && !at.Uses(l.Var)
		}
	}
	outside := te.Map(e, func(x te.Expr) te.Expr {
		if _, is := x.(te.Select); is {
			return te.Number(x.DType(), 0)
		}
		return x
	})
	loop.ExprIndices(outside, varies)
	return same
}

// converted is what an expression converts, and to what type; Invalid: to none.
func converted(e te.Expr) (te.Expr, ir.DType) {
	if c, ok := e.(te.Call); ok && c.Fn == "cast" {
		return c.Args[0], c.Type
	}
	return e, ir.Invalid
}

// serial reports whether the stage has loops, and their iterations run one after the other.
func (c *stage) serial() bool {
	return len(c.sched.Loops) > 0 && !slices.ContainsFunc(c.sched.Loops, func(l sched.Loop) bool { return l.Kind != sched.Serial || l.Stored })
}

// row is of a copy: the points of loop at, and the lanes of each.
type row struct {
	f         *follower
	c         *stage
	at        int
	name      string
	lane      []int
	out       *stored
	to        sym.Expr // of an element
	otherwise te.Expr
	wrap      func(te.Expr) te.Expr // what is stored of an element
}

// inLanes reports whether a condition differs between lanes of a point.
func (r *row) inLanes(w te.Within) bool {
	return slices.ContainsFunc(r.lane, func(i int) bool {
		v := r.c.sched.Loops[i].Var
		return w.E.Uses(v) || w.Lo.Uses(v) || w.Hi.Uses(v)
	})
}

// store stores what becomes of an element.
func (r *row) store(to sym.Expr, v te.Expr) []loop.Stmt {
	return []loop.Stmt{loop.Store{Buf: r.out.buf, Index: to, Value: r.wrap(v)}}
}

// inside is from where to where, of the n points, all conditions hold; false where they hold of others besides.
func (r *row) inside(cond []te.Within, n sym.Expr) (lo, hi sym.Expr, together bool) {
	lo, hi = sym.Const(0), n
	for _, w := range cond {
		shift := sym.Sub(w.E, sym.Var(r.name))
		if shift.Uses(r.name) || w.Lo.Uses(r.name) || w.Hi.Uses(r.name) {
			return lo, hi, false
		}
		lo = sym.Max(lo, sym.Sub(w.Lo, shift), r.f.facts)
		hi = sym.Min(hi, sym.Sub(w.Hi, shift), r.f.facts)
	}
	lo = sym.Min(lo, n, r.f.facts)
	return lo, sym.Max(lo, hi, r.f.facts), true
}

// bind gives variables to bounds that are no constants.
func (r *row) bind(bounds ...*sym.Expr) []loop.Stmt {
	var out []loop.Stmt
	for _, e := range bounds {
		if _, known := e.Const(); known || r.whole(*e) {
			continue
		}
		name := fmt.Sprintf("x%d_%d", r.c.n, len(out))
		out = append(out, loop.Index{Var: name, Value: *e})
		from, to := e.Bounds(r.f.facts)
		r.f.facts[name] = sym.Range{Lo: max(from, 0), Hi: max(to, 0)}
		*e = sym.Var(name)
	}
	return out
}

// whole reports whether a bound is the end of the row.
func (r *row) whole(e sym.Expr) bool { return e.Equal(r.f.extent(r.c, r.at)) }

func (r *row) fill(v te.Expr) []loop.Stmt {
	body := r.store(r.to, v)
	for _, i := range r.lane {
		body = repeat(r.c.sched.Loops[i].Var, r.f.extent(r.c, i), body)
	}
	return body
}

// part fills the points [lo, hi) with v: as one run where points are as many elements apart as they have.
func (r *row) part(lo, hi sym.Expr, v te.Expr) []loop.Stmt {
	n, facts := sym.Sub(hi, lo), r.f.facts
	if sym.AtMost(n, 0, facts) {
		return nil
	}
	from, copies := v.(loop.Mem)
	at := map[string]sym.Expr{r.name: sym.Add(sym.Var(r.name), lo)}
	run := r.name
	if n.Is(1) { // no loop: its variable would be declared once for each part
		at, run = map[string]sym.Expr{r.name: lo}, ""
	}
	inner, size := "", int64(1)
	for _, i := range r.lane {
		inner = r.c.sched.Loops[i].Var
		size, _ = r.f.extent(r.c, i).Const()
		if r.steps(r.to) == size && (!copies || r.steps(from.Index) == size) {
			at = map[string]sym.Expr{r.name: lo, inner: sym.Var(copyRun)}
			run, n, inner = copyRun, sym.Scale(n, size), ""
		}
	}
	if copies {
		from.Index = from.Index.Subst(at, facts)
		v = from
	}
	body := r.store(r.to.Subst(at, facts), v)
	if inner != "" {
		body = repeat(inner, sym.Const(size), body)
	}
	if run == "" {
		return body
	}
	return repeat(run, n, body)
}

// steps is how many elements apart the row's points are; 0 where that varies.
func (r *row) steps(index sym.Expr) int64 {
	e, linear := sym.Coefficient(index, r.name, r.f.facts)
	if n, isConst := e.Const(); linear && isConst {
		return n
	}
	return 0
}
