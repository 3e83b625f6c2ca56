package hvx

import (
	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// lines is loops that copy four lines at a time whose elements are stored in turns, as packings of images for products of four neighbours are. Loops but
// the one over groups are around; a group's lines are copied by a function of its own for all groups (packed.Lines), but where what it reads, whole vectors,
// is not the operand's, or conditions do not hold for all groups.
type lines struct {
	w     *ckernel.Kernel
	outer []loop.For
	group loop.For
	lane  loop.For // around the loop over the lines
	turns string
	store loop.Store
	value te.Expr
	read  loop.Mem
}

// fourLines are a group's.
const fourLines = 4

// findLines recognises such loops, or gives nil.
func findLines(x loop.For, w *ckernel.Kernel) *lines {
	l := &lines{w: w}
	all := []loop.For{x}
	for len(x.Body) == 1 {
		inner, ok := plainFor(x.Body[0])
		if !ok || x.Lanes > 0 || inner.Lanes > 0 {
			break
		}
		all, x = append(all, inner), inner
	}
	n := len(all)
	if n < 3 || x.Lanes > 0 || len(x.Body) != 1 {
		return nil
	}
	var ok bool
	l.lane, l.turns = all[n-2], x.Var
	if l.store, ok = x.Body[0].(loop.Store); !ok || l.store.Buf.Image != nil || l.store.Buf.Holds || !l.store.Buf.Type.IsInteger() || l.store.Buf.Type.Size() != 1 {
		return nil
	}
	l.value, l.lane.Body = l.store.Value, []loop.Stmt{x}
	for e := l.value; ; {
		s, ok := e.(te.Select)
		if !ok {
			l.read, ok = e.(loop.Mem)
			if !ok || l.read.Buf.Type != l.store.Buf.Type || l.read.Buf.Image != nil || l.read.Buf == l.store.Buf {
				return nil
			}
			break
		}
		if _, ok := s.Else.(te.Const); !ok {
			return nil
		}
		e = s.Then
	}
	turns, known := x.Extent.Const()
	if !known || turns != fourLines || !l.choose(all[:n-2]) {
		return nil
	}
	return l
}

// plainFor is a loop; what stores one of two values by a condition stores the choice of them.
func plainFor(s loop.Stmt) (loop.For, bool) {
	if f, ok := s.(loop.For); ok {
		return f, true
	}
	c, ok := s.(loop.If)
	if !ok || len(c.Then) != 1 || len(c.Else) != 1 {
		return loop.For{}, false
	}
	a, ok := c.Then[0].(loop.For)
	b, also := c.Else[0].(loop.For)
	if !ok || !also || len(a.Body) != 1 || len(b.Body) != 1 || a.Var != b.Var || !a.Extent.Equal(b.Extent) || b.Lanes != a.Lanes {
		return loop.For{}, false
	}
	x, ok := a.Body[0].(loop.Store)
	y, also := b.Body[0].(loop.Store)
	if !ok || !also || x.Buf != y.Buf || !x.Index.Equal(y.Index) {
		return loop.For{}, false
	}
	x.Value = te.Select{Cond: c.Cond, Then: x.Value, Else: y.Value}
	a.Body = []loop.Stmt{x}
	return a, true
}

// choose takes the longest loop over which lanes' conditions are the same as that over groups.
func (l *lines) choose(loops []loop.For) bool {
	best, most := -1, int64(1)
	for i, f := range loops {
		if n, known := f.Extent.Const(); known && n > most && l.uniform(f.Var) {
			if _, ok := l.parts(f); ok {
				best, most = i, n
			}
		}
	}
	if best < 0 {
		return false
	}
	l.group = loops[best]
	l.outer = append(append(l.outer, loops[:best]...), loops[best+1:]...)
	for _, f := range loops {
		for _, g := range loops {
			if f.Extent.Uses(g.Var) {
				return false // their order has a meaning
			}
		}
	}
	return true
}

// uniform reports whether no lane's condition depends on a variable.
func (l *lines) uniform(of string) bool {
	f := l.w.Facts()
	for _, c := range l.conditions() {
		if !c.E.Uses(of) && !c.Lo.Uses(of) && !c.Hi.Uses(of) {
			continue
		}
		lane, known := stepOf(c.E, l.lane.Var, f)
		turn, also := stepOf(c.E, l.turns, f)
		step, affine := stepOf(c.E, of, f)
		if !known || !also || !affine || lane != 0 || turn != 0 || step == 0 || c.Lo.Uses(of) || c.Hi.Uses(of) {
			return false
		}
	}
	return true
}

// conditions are all that a value depends on.
func (l *lines) conditions() []te.Within {
	var out []te.Within
	for e := l.value; ; {
		s, ok := e.(te.Select)
		if !ok {
			return out
		}
		out, e = append(out, s.Cond...), s.Then
	}
}

// segment is the lanes from one on, and the function that copies them.
type segment struct {
	first int64
	packed.Lines
}

// parts divide the lanes; false where there is no function for one. The last one may have lanes of the one before.
func (l *lines) parts(group loop.For) ([]segment, bool) {
	f := l.w.Facts()
	n, known := l.lane.Extent.Const()
	groups, _ := group.Extent.Const()
	steps := func(e sym.Expr) (lane, turn, each int64) {
		var ok [3]bool
		lane, ok[0] = stepOf(e, l.lane.Var, f)
		turn, ok[1] = stepOf(e, l.turns, f)
		each, ok[2] = stepOf(e, group.Var, f)
		known = known && ok[0] && ok[1] && ok[2]
		return lane, turn, each
	}
	lane, turn, each := steps(l.read.Index)
	toLane, toTurn, to := steps(l.store.Index)
	if !known || toLane != fourLines || toTurn != 1 || to < fourLines*n {
		return nil, false
	}
	const most = bytesWide / 2
	var out []segment
	for first := int64(0); first < n; first += most {
		p := segment{first, packed.Lines{Stride: lane, Lanes: min(most, n-first), Groups: groups, LineStep: turn, GroupStep: each, ToStep: to, Masked: len(l.conditions()) > 0}}
		if p.Lanes < lanes && first > 0 {
			p.first, p.Lanes = n-lanes, lanes
		}
		p.Aligned = p.Stored()%bytesWide == 0 && to%bytesWide == 0 && wholeVectors(l.store.Index.Subst(map[string]sym.Expr{l.lane.Var: sym.Const(p.first), l.turns: sym.Const(0)}, f))
		if !p.Supported() {
			return nil, false
		}
		out = append(out, p)
	}
	return out, true
}

// wholeVectors reports whether an index of bytes is a multiple of a vector's.
func wholeVectors(e sym.Expr) bool {
	terms, c := e.Terms()
	for _, t := range terms {
		if t.Coef%bytesWide != 0 {
			return false
		}
	}
	return c%bytesWide == 0
}
