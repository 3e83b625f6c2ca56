package loop

import "rules_dnn/gen/ir/sym"

// races checks that no two tasks store to one place of a result: where a store runs for sure and its index is linear in an axis of the grid.
func (v *verifier) races(x Store) {
	if v.err != nil || v.unsure > 0 || !v.ranges || x.Buf.Local || x.Buf.Image != nil || !v.isResult(x.Buf) {
		return
	}
	at := x.Index.Subst(v.values, v.k.Facts)
	if !v.counted(at) {
		return
	}
	for _, a := range v.around {
		if a.task && sym.AtLeast(a.extent, 2, v.k.Facts) && !v.stretches(a.name) {
			v.apart(x.Buf, at, a)
		}
	}
}

func (v *verifier) isResult(b *Buffer) bool {
	for _, r := range v.k.Buffers {
		if r == b {
			return true
		}
	}
	return false
}

// counted reports whether an index has symbols and variables of axes and loops alone.
func (v *verifier) counted(e sym.Expr) bool {
	used := map[string]bool{}
	e.Vars(used)
	for _, a := range v.around {
		delete(used, a.name)
	}
	for n := range used {
		if _, ok := v.lookup(n).(symbol); !ok {
			return false
		}
	}
	return true
}

// stretches reports whether the extent of a loop depends on an axis.
func (v *verifier) stretches(axis string) bool {
	for _, a := range v.around {
		if a.extent.Uses(axis) {
			return true
		}
	}
	return false
}

// apart checks that points of an axis store to places of their own: not to the same one, nor to one that another loop or axis
// reaches from a neighbour's.
func (v *verifier) apart(b *Buffer, at sym.Expr, axis around) {
	far, ok := factor(at, axis.name)
	if !ok {
		return
	}
	if far == 0 {
		v.fail("all points of %q store to element %s of %q", axis.name, at, b.Name)
		return
	}
	for _, a := range v.around {
		step, ok := factor(at, a.name)
		if a.name == axis.name || !ok || step == 0 || far%step != 0 {
			continue
		}
		if n := max(far/step, -far/step); !v.stretches(a.name) && sym.AtLeast(a.extent, n+1, v.k.Facts) {
			v.fail("two points of %q store to one element of %q: %s reaches an element of the next point if %q = %d", axis.name, b.Name, at, a.name, n)
		}
	}
}

// factor is what an index grows by with a variable, 0 where it has none; false where it is not linear in it, or by no constant.
func factor(e sym.Expr, name string) (int64, bool) {
	terms, _ := e.Terms()
	by := int64(0)
	for _, t := range terms {
		if !uses(t, name) {
			continue
		}
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomVar {
			return 0, false
		}
		by += t.Coef
	}
	return by, true
}
