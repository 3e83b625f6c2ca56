package winograd

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// slide is a dimension of X that a window walks: index = result + point + constant.
type slide struct{ dim, axis, reduce int }

// findSlides finds the two dimensions of X that windows walk; false where there are others than two, the results' axes are no
// neighbours, whose tiles tasks walk as one, or a guard is not on an index of X.
func (w *filtering) findSlides() bool {
	var ok bool
	if w.along, ok = slidesOf(w.X, w.Block.Stage.Axes, w.Reduce, w.InReduce); !ok || w.along[1].axis != w.along[0].axis+1 {
		return false
	}
	for r := range w.Reduce {
		if r != w.InReduce && r != w.along[0].reduce && r != w.along[1].reduce {
			w.deep = append(w.deep, r)
		}
	}
	return true
}

// slidesOf are the two dimensions of a load that windows of three points walk, each along an axis of the result and one of the sum, none of them the
// input channels'; false where there are others than two, or a guard is not on an index of the load.
func slidesOf(x te.Load, axes, reduce []te.Axis, channels int) (along [2]slide, ok bool) {
	var found []slide
	used := map[int]bool{channels: true}
	for d, e := range x.Index {
		s := slide{d, onlyIn(e, axes), onlyIn(e, reduce)}
		if s.axis < 0 || s.reduce < 0 || !reduce[s.reduce].Extent.Is(filterTaps) || used[s.reduce] {
			continue
		}
		rest := sym.Sub(e, sym.Add(sym.Var(axes[s.axis].Var), sym.Var(reduce[s.reduce].Var)))
		if _, isConst := rest.Const(); isConst {
			used[s.reduce] = true
			found = append(found, s)
		}
	}
	if len(found) < 2 {
		return along, false
	}
	// Of three the innermost two: a transform along each costs more than it saves.
	copy(along[:], found[len(found)-2:])
	for _, s := range along {
		if walks(x, axes[s.axis].Var) != 1 || walks(x, reduce[s.reduce].Var) != 1 {
			return along, false
		}
	}
	return along, !slices.ContainsFunc(x.Guard, func(g te.Within) bool { return guarded(x, g) < 0 })
}

// onlyIn is the only one of some axes in an index; or -1.
func onlyIn(e sym.Expr, axes []te.Axis) int {
	found := -1
	for i, a := range axes {
		switch {
		case !e.Uses(a.Var):
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// walks is in how many dimensions of what is loaded a variable is.
func walks(x te.Load, v string) int {
	n := 0
	for _, e := range x.Index {
		if e.Uses(v) {
			n++
		}
	}
	return n
}

// guarded is the dimension of what is loaded whose index a guard is on, or -1.
func guarded(x te.Load, g te.Within) int {
	for d, e := range x.Index {
		if _, isConst := sym.Sub(g.E, e).Const(); isConst {
			return d
		}
	}
	return -1
}
