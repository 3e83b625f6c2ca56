package nest

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// splitLanes cuts the innermost axis in two where one of them runs in vectors, and the whole axis does not.
func (n *Nest) splitLanes() {
	last := len(n.Axes) - 1
	if n.lanes == 1 || n.target.WorkItems() || last < 0 || n.onImages() {
		return
	}
	if n.Combiner != nil {
		n.splitSums()
		return
	}
	whole := *n
	whole.within = nil // is asked once a block
	if whole.vectorises(n.Axes[last], 1) {
		return
	}
	if !n.splitRuns(last) {
		n.splitPhases(last)
	}
}

// splitSums cuts the innermost axis of sums of operands that lie in blocks along it, as of those of a pool of everything, whose
// results are a row: a block is one vector of accumulators. Axes of one point within it are of no account.
func (n *Nest) splitSums() {
	axis := len(n.Axes) - 1
	for axis > 0 && n.Axes[axis].Extent.Is(1) {
		axis--
	}
	if n.vectorises(n.Axes[axis], 1) {
		return
	}
	for width := n.lanes; loop.IsVector(width, n.lanes); width /= 2 {
		s := n.split(axis, width)
		if s == nil || s.Axes[axis].Extent.Is(1) || !s.vectorises(s.Axes[axis+1], 1) {
			continue
		}
		s.Axes = slices.Concat(s.Axes[:axis+1], s.Axes[axis+2:], s.Axes[axis+1:axis+2])
		*n = *s
		return
	}
}

// splitRuns cuts the axis into runs along which every access moves by one element or none, and every condition
// has one value: channels of a block that come from several operands of a concatenation, or from several places
// of a DepthToSpace. All runs of one kind are computed before those of the next one.
func (n *Nest) splitRuns(axis int) bool {
	for width := n.lanes; loop.IsVector(width, n.lanes); width /= 2 {
		s := n.split(axis, width)
		if s == nil || s.Axes[axis].Extent.Is(1) || !s.vectorises(s.Axes[axis+1], 1) {
			continue
		}
		*n = *s
		n.together, n.before = 2, n.Axes[axis].Var
		return true
	}
	return false
}

// splitPhases cuts the axis into groups of as many points as indices are divided by, of which each iteration computes all: results of a
// Resize to a multiple of the size, or of a DepthToSpace, then come from neighbours, and those of all lanes lie together.
func (n *Nest) splitPhases(axis int) {
	for _, width := range n.divisors(n.Axes[axis].Var) {
		if s := n.split(axis, width); s != nil && width <= n.lanes && s.inPhases(axis, width) {
			*n = *s
			return
		}
	}
}

// longestPeriod is how many points are written out at most so that nothing is divided.
const longestPeriod = 16

// splitPeriod does the same for points whose neighbours lie too far apart for vectors, as those of a Resize by an odd fraction, where that leaves no division.
// Squares that are turned come first.
func (n *Nest) splitPeriod() {
	axis := len(n.Axes) - 1
	if n.lanes == 1 || n.target.WorkItems() || axis < 0 || n.onImages() || n.Combiner != nil || n.together > 0 {
		return
	}
	whole := *n
	whole.within = nil                                                                                             // is asked once a block
	if whole.vectorises(n.Axes[axis], 1) || n.phase.Var != "" || n.binds() || n.alone().stretches(n.Axes) != nil { // points would bind one integer each, of one name
		return
	}
	for _, by := range n.divisors(n.Axes[axis].Var) {
		for width := int64(2); width <= min(by, longestPeriod); width++ {
			if by%width > 0 {
				continue
			}
			if s := n.split(axis, width); s != nil && s.periodic(axis, width) {
				*n = *s
				return
			}
		}
	}
}

// periodic writes out the points of the axis behind one whose variable then is not divided.
func (n *Nest) periodic(axis int, width int64) bool {
	p := *n
	p.phase, p.Axes = p.Axes[axis+1], slices.Concat(p.Axes[:axis+1], p.Axes[axis+2:])
	if !n.mayWrite(width) {
		return false
	}
	for k := range width {
		if len(p.with(p.phase.Var, sym.Const(k)).divisors(p.Axes[axis].Var)) > 0 {
			return false
		}
	}
	*n = p
	return true
}

// inPhases writes out the points of the axis behind one that then runs in vectors, which are stored so far apart, if it does.
func (n *Nest) inPhases(axis int, stride int64) bool {
	if n.phase.Var != "" || !n.mayWrite(stride) {
		return false
	}
	p := *n
	p.phase, p.Axes = p.Axes[axis+1], slices.Concat(p.Axes[:axis+1], p.Axes[axis+2:])
	if p.bindsBy(p.phase.Var) || !p.vectorises(p.Axes[axis], stride) { // phases would bind one integer each, of one name
		return false
	}
	p.stride = stride
	*n = p
	return true
}

// mostWritten is how many nodes of expressions are written out for what is one expression otherwise: of those with thousands of operands, one is enough.
const mostWritten = 4096

// mayWrite reports whether the results may be written out so often.
func (n *Nest) mayWrite(times int64) bool {
	nodes := int64(0)
	for _, r := range n.Results {
		te.Walk(r, func(te.Expr) { nodes++ })
	}
	return nodes*times <= mostWritten
}

// phased computes the elements of all phases.
func (n *Nest) phased() []loop.Stmt {
	points, _ := n.phase.Extent.Const()
	body, all := n.unbound()
	for k := range points {
		one := all.with(n.phase.Var, sym.Const(k))
		one.phase = te.Axis{}
		body = append(body, one.point()...)
	}
	return body
}

// with is the nest with a value in the place of a variable; conditions that are certain then are gone.
func (n *Nest) with(v string, value sym.Expr) *Nest {
	s := *n
	s.Values, s.Results, s.within = slices.Clone(n.Values), slices.Clone(n.Results), slices.Clone(n.within)
	s.Subst(map[string]sym.Expr{v: value})
	for i, r := range s.Results {
		s.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			if x, ok := e.(te.Select); ok {
				return s.Choose(x.Cond, x.Then, x.Else)
			}
			return e
		})
	}
	return &s
}

// divisors are the constants that indices with the variable are divided by, the greatest first.
func (n *Nest) divisors(v string) []int64 {
	var out []int64
	var find func(sym.Expr)
	find = func(e sym.Expr) {
		terms, _ := e.Terms()
		for _, t := range terms {
			for _, a := range t.Atoms {
				if c, ok := a.B.Const(); ok && (a.Kind == sym.AtomDiv || a.Kind == sym.AtomMod) && a.A.Uses(v) && !slices.Contains(out, c) {
					out = append(out, c)
				}
				if a.Kind != sym.AtomVar {
					find(a.A)
					find(a.B)
				}
			}
		}
	}
	for _, r := range n.Results {
		loop.ExprIndices(r, find)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// reorder moves the axis that is to run around the one before it.
func (n *Nest) reorder(axes []te.Axis) []te.Axis {
	i := slices.IndexFunc(axes, func(a te.Axis) bool { return a.Var == n.before })
	if i < 1 {
		return axes
	}
	out := slices.Clone(axes)
	out[i-1], out[i] = out[i], out[i-1]
	return out
}

// strided gives the innermost loop, over the axis, the distance of its stores.
func (n *Nest) strided(body []loop.Stmt, a te.Axis) []loop.Stmt {
	return loop.Map(body, func(s loop.Stmt) loop.Stmt {
		if x, ok := s.(loop.For); ok && x.Var == a.Var {
			x.Stride = n.stride
			return x
		}
		return s
	})
}

func (n *Nest) onImages() bool {
	for _, b := range n.Out {
		if b.Image != nil {
			return true
		}
	}
	return false
}

// vectorises reports whether a loop over the axis, inside of all others, can run in vectors that are stored so far apart.
func (n *Nest) vectorises(a te.Axis, stride int64) bool {
	if n.lifts(a) {
		_, n = n.withoutBinds()
	}
	return loop.CanVectorise(loop.For{Var: a.Var, Extent: a.Extent, Body: n.point(), Stride: stride}, lower.Vectors(n.target), n.Facts)
}

// split is the nest with one axis as two: parts of so many points each, and the points of a part; nil where they
// do not come to the axis.
func (n *Nest) split(axis int, width int64) *Nest {
	a := n.Axes[axis]
	outer := te.Axis{Var: a.Var + "_div", Extent: sym.FloorDiv(a.Extent, sym.Const(width), n.Facts)}
	inner := te.Axis{Var: a.Var + "_mod", Extent: sym.Const(width)}
	if !sym.Scale(outer.Extent, width).Equal(a.Extent) {
		return nil
	}
	s := *n
	s.Axes = append(append(append([]te.Axis{}, n.Axes[:axis]...), outer, inner), n.Axes[axis+1:]...)
	s.Values, s.Results = append([]te.Expr{}, n.Values...), append([]te.Expr{}, n.Results...)
	s.within = append([]te.Within{}, n.within...)
	s.AddRanges([]te.Axis{outer, inner})
	s.Subst(map[string]sym.Expr{a.Var: sym.Add(sym.Scale(sym.Var(outer.Var), width), sym.Var(inner.Var))})
	for i, w := range s.within {
		s.within[i] = s.coarse(w, inner)
	}
	for i, r := range s.Results {
		s.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			x, ok := e.(te.Select)
			if !ok {
				return e
			}
			cond := make([]te.Within, len(x.Cond))
			for i, w := range x.Cond {
				cond[i] = s.coarse(w, inner)
			}
			return n.Choose(cond, x.Then, x.Else)
		})
	}
	return &s
}

// coarse is a condition asked once for all points of a part, where it has one value for them: its bounds, and
// where each part begins, are multiples of the part's length.
func (n *Nest) coarse(w te.Within, part te.Axis) te.Within {
	at := w.E.Subst(map[string]sym.Expr{part.Var: sym.Const(0)}, n.Facts)
	if !sym.Sub(w.E, at).Equal(sym.Var(part.Var)) {
		return w
	}
	for _, e := range []sym.Expr{at, w.Lo, w.Hi} {
		if !sym.Mod(e, part.Extent, n.Facts).Is(0) {
			return w
		}
	}
	return te.Within{E: at, Lo: w.Lo, Hi: w.Hi}
}
