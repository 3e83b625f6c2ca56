package hvx

import (
	"fmt"
	"math"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// print prints the loops; false where conditions cannot be bounds of lanes.
func (l *lines) print() bool {
	all, _ := l.parts(l.group)
	for _, p := range all {
		if _, _, ok := l.masks(p); !ok {
			return false
		}
	}
	l.around(l.outer, func() {
		for _, p := range all {
			scope(l.w, func() { l.copy(p) })
		}
	})
	return true
}

func (l *lines) around(loops []loop.For, body func()) {
	if len(loops) == 0 {
		body()
		return
	}
	f := loops[0]
	l.w.Block(fmt.Sprintf("for (%s %s = 0; %s < %s; ++%s)", dialect{}.IndexType(), f.Var, f.Var, ckernel.Strip(l.w.Index(f.Extent)), f.Var), func() { l.around(loops[1:], body) })
}

// copy prints a segment: the call, or the loops where something is in its way.
func (l *lines) copy(p segment) {
	w, name, f := l.w, l.lane.Var, l.w.Facts()
	start := map[string]sym.Expr{name: sym.Const(p.first), l.turns: sym.Const(0), l.group.Var: sym.Const(0)}
	at := func(b *loop.Buffer, index sym.Expr) string {
		return fmt.Sprintf("%s + (%s)", b.Name, ckernel.Strip(w.Index(index.Subst(start, f))))
	}
	w.Line("const uint8_t* %s_from = (const uint8_t*)(%s);", name, at(l.read.Buf, l.read.Index))
	w.Line("uint8_t* %s_to = (uint8_t*)(%s);", name, at(l.store.Buf, l.store.Index))
	size, _ := l.read.Buf.Size.Bounds(f) // a kernel may not know the symbols of others' sizes
	holds := []string{fmt.Sprintf("dnn_hvx_within(%s_from, %d, %s, %d)", name, p.Reach(), l.read.Buf.Name, max(1, min(size, math.MaxInt32)))}
	if p.Aligned {
		holds = append(holds, fmt.Sprintf("dnn_hvx_whole(%s_to)", name))
	}
	holds = append(holds, l.holds()...)
	w.Line("if (%s) {", strings.Join(holds, " && "))
	w.Writer.Indent++
	args := fmt.Sprintf("%s_from, %s_to", name, name)
	if p.Masked {
		keep, fill, _ := l.masks(p)
		for _, m := range []struct {
			name string
			all  []string
		}{{"keep", keep}, {"fill", fill}} {
			for r, text := range m.all {
				if r == 0 || text != m.all[0] {
					w.Line("const HVX_Vector %s_%s%d = %s;", name, m.name, r, text)
				}
			}
			var turns []string
			for r, text := range m.all {
				if text == m.all[0] {
					r = 0
				}
				turns = append(turns, fmt.Sprintf("%s_%s%d", name, m.name, r))
			}
			w.Line("const HVX_VectorPair %s_%s = dnn_hvx_four_lines(%s);", name, m.name, strings.Join(turns, ", "))
		}
		for i := range p.Parts() {
			half := []string{"lo", "hi"}[i]
			args += fmt.Sprintf(", Q6_V_%s_W(%s_keep), Q6_V_%s_W(%s_fill)", half, name, half, name)
		}
	}
	w.Line("%s(%s);", p.Name(), args)
	w.Writer.Indent--
	w.Line("} else {")
	w.Writer.Indent++
	moved := map[string]sym.Expr{name: sym.Add(sym.Var(name), sym.Const(p.first))}
	s := l.store
	s.Index, s.Value = s.Index.Subst(moved, f), loop.SubstIndices(l.value, moved, f)
	turn := l.lane.Body[0].(loop.For)
	turn.Body = []loop.Stmt{s}
	group := l.group
	group.Body = []loop.Stmt{loop.For{Var: name, Extent: sym.Const(p.Lanes), Body: []loop.Stmt{turn}}}
	w.For(group)
	w.Writer.Indent--
	w.Line("}")
}

// holds are the conditions on groups: an affine one holds for all where it does for the first and the last.
func (l *lines) holds() []string {
	n, _ := l.group.Extent.Const()
	f := l.w.Facts()
	var out []string
	for _, c := range l.conditions() {
		if !c.E.Uses(l.group.Var) {
			continue
		}
		for _, g := range []int64{0, n - 1} {
			e := c.E.Subst(map[string]sym.Expr{l.group.Var: sym.Const(g)}, f)
			out = append(out, fmt.Sprintf("%s >= 0 && %s < 0", l.w.Index(sym.Sub(e, c.Lo)), l.w.Index(sym.Sub(e, c.Hi))))
		}
	}
	return out
}

// masks are, for each line, the bytes that are copied and what the others are; false where conditions are no bounds of lanes.
func (l *lines) masks(p segment) (keep, fill []string, ok bool) {
	for r := range int64(fourLines) {
		value := loop.SubstIndices(l.value, map[string]sym.Expr{l.turns: sym.Const(r)}, l.w.Facts())
		k, f, ok := l.mask(value, &copied{w: l.w, v: l.lane.Var, first: sym.Const(p.first), n: p.Lanes})
		if !ok {
			return nil, nil, false
		}
		keep, fill = append(keep, k), append(fill, f)
	}
	return keep, fill, true
}

func (l *lines) mask(e te.Expr, c *copied) (keep, fill string, ok bool) {
	s, isSelect := e.(te.Select)
	if !isSelect {
		return "Q6_V_vsplat_R(-1)", "Q6_V_vzero()", true
	}
	if keep, fill, ok = l.mask(s.Then, c); !ok {
		return "", "", false
	}
	least, most, bounded := "0", fmt.Sprint(c.n), false
	for _, g := range s.Cond {
		if g.E.Uses(l.group.Var) {
			continue // see holds
		}
		lo, hi, ok := c.bounds(g)
		if !ok {
			return "", "", false
		}
		least, most, bounded = fmt.Sprintf("dnn_max(%s, %s)", least, lo), fmt.Sprintf("dnn_min(%s, %s)", most, hi), true
	}
	if !bounded {
		return keep, fill, true
	}
	lanes := fmt.Sprintf("dnn_hvx_lanes(%s, %s)", least, most)
	other := splat(l.store.Buf.Type, int64(s.Else.(te.Const).Bits))
	return fmt.Sprintf("Q6_V_vmux_QVV(%s, %s, Q6_V_vzero())", lanes, keep), fmt.Sprintf("Q6_V_vmux_QVV(%s, %s, %s)", lanes, fill, other), true
}
