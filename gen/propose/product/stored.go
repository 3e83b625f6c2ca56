package product

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/reshape"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// DotLayout is the layout in which a tile instruction reads a value in its lanes: GCD2's for the
// instruction, with the axis of lanes and the one that is summed, of which there are 1, 2 or 4 columns side by side (Figure 4.2).
func DotLayout(r *instr.Row, lanes, summed int) layout.Layout {
	if r.Group == 1 {
		return layout.Blocked(lanes, r.Lanes)
	}
	return layout.Of(layout.Part{Axis: lanes, Size: r.Lanes}, layout.Part{Axis: summed, Size: r.Group})
}

// groupLayout is the layout in which X's groups are whole.
func groupLayout(r *instr.Row, summed int) layout.Layout {
	return layout.Blocked(summed, r.Group)
}

// Layouts calls want for the layouts, besides row-major, in which the chip's instructions read the
// factors of a contraction of integers.
func Layouts(b *block.Block, env *lower.Env, want func(*ir.Value, layout.Layout)) error {
	switch {
	case len(b.Placed) > 0:
	case env.Target.StoresDots():
		wantStored(b, env.Target, want)
	default:
		wantChannelsLast(b, env.Target, want)
	}
	return nil
}

// wantStored calls want for layouts of groups and lanes of an instruction.
func wantStored(b *block.Block, t *target.Target, want func(*ir.Value, layout.Layout)) {
	r := reshape.Plain(b.Stage, b.Operands, nil)
	m, _ := match.Find(&r.Stage, r.Operands, nil)
	if m == nil || m.Empty() {
		return
	}
	for _, row := range instructions(m, t) {
		for x := range m.Factors {
			p := &product{b: b, Roles: m.Roles(x), instr: row}
			if p.findColumn(); p.column.Var == "" {
				continue
			}
			p.findWindows()
			p.findGroup()
			w, sum := p.W.Load, p.groupDim(p.W.Load)
			if lanes := match.DimOf(w, p.column.Var); w.Type == row.W && lanes >= 0 && (sum >= 0 || row.Group == 1) && len(w.Guard) == 0 {
				want(p.Operands[w.Source.N], DotLayout(row, lanes, sum))
			}
			if row.Group == 1 {
				continue // there is nothing to be whole
			}
			n, _ := p.axis(p.group).Extent.Const()
			if d := p.groupDim(p.X.Load); p.X.Load.Type == row.X && d >= 0 && n%row.Group != 0 && len(p.X.Load.Guard) == 0 {
				want(p.Operands[p.X.Load.Source.N], groupLayout(row, d))
			}
		}
	}
}

// groupDim is the dimension that the instruction's neighbours walk alone, or -1.
func (p *product) groupDim(l te.Load) int {
	d := match.DimOf(l, p.group)
	for i, e := range l.Index {
		if i != d && e.Uses(p.group) {
			return -1
		}
	}
	return d
}

// grouped is a load with the groups and the neighbours of one in place of the axis that they are made of.
func (p *product) grouped(l te.Load) te.Load {
	if p.group == "" {
		return l
	}
	n := sym.Add(sym.Scale(p.groupVar(), p.instr.Group), p.dotVar())
	return te.SubstIndices(l, map[string]sym.Expr{p.group: n}, p.Facts).(te.Load)
}

func (p *product) groupVar() sym.Expr { return sym.Var(p.group + "q") }
func (p *product) dotVar() sym.Expr   { return sym.Var(p.group + "d") }

// readsW reports whether the instruction reads a W that is computed where it is stored.
func (p *product) readsW() bool {
	l := p.W.Load
	if p.W.Constant || l.Type != p.instr.W || len(l.Guard) > 0 || p.group == "" && p.instr.Narrow == 0 {
		return false
	}
	lanes, sum := match.DimOf(l, p.column.Var), -1
	if p.group != "" {
		sum = p.groupDim(l)
	}
	return lanes >= 0 && (sum >= 0 || p.group == "") && p.lay(p.b.Operands[l.Source.N]) == DotLayout(p.instr, lanes, sum)
}

// readsX reports whether the instruction reads X where it is stored: whole groups of neighbours, of its type.
func (p *product) readsX() bool {
	l := p.X.Load
	if l.Type != p.instr.X || len(l.Guard) > 0 {
		return false
	}
	if p.group == "" {
		return true
	}
	v, lay := p.Operands[l.Source.N], p.lay(p.b.Operands[l.Source.N])
	n, _ := p.axis(p.group).Extent.Const()
	if lay == layout.RowMajor && !p.instr.Aligned {
		c, ok := sym.Coefficient(layout.Flat(v.Shape, l.Index), p.group, p.Facts)
		return ok && c.Is(1) && n%p.instr.Group == 0
	}
	d := p.groupDim(l)
	if d < 0 || n%p.instr.Group != 0 && lay.Along(d)%p.instr.Group != 0 {
		return false
	}
	return p.walksGroups(layout.PartsOf(lay, len(v.Shape)).Offset(v.Shape, p.grouped(l).Index, p.withGroups(n)))
}

// withGroups are the facts with the ranges of groups of an axis of n points and of the points of one.
func (p *product) withGroups(n int64) sym.Facts {
	f := sym.Facts{p.group + "q": {Hi: (n+p.instr.Group-1)/p.instr.Group - 1}, p.group + "d": {Hi: p.instr.Group - 1}}
	for v, r := range p.Facts {
		f[v] = r
	}
	for _, a := range slices.Concat(p.Stage.Axes, p.Reduce) {
		_, hi := a.Extent.Bounds(p.Facts)
		f[a.Var] = sym.Range{Hi: max(hi, 1) - 1}
	}
	return f
}

// walksGroups reports whether an offset goes from a point of a group to the next one, and along rows and sums in constant steps, of whole
// groups where the instruction asks for that.
func (p *product) walksGroups(at sym.Expr) bool {
	n, _ := p.axis(p.group).Extent.Const()
	f := p.withGroups(n)
	if c, ok := sym.Coefficient(at, p.group+"d", f); !ok || !c.Is(1) {
		return false
	}
	walked := []string{p.group + "q", p.row.Var}
	for _, a := range p.Reduce {
		walked = append(walked, a.Var)
	}
	for _, v := range walked {
		c, ok := sym.Coefficient(at, v, f)
		if _, known := c.Const(); v != "" && (!ok || !known) {
			return false
		}
	}
	first := at.Subst(map[string]sym.Expr{p.group + "d": sym.Const(0)}, f)
	return !p.instr.Aligned || sym.Mod(first, sym.Const(p.instr.Group), f).Is(0)
}

// mostTogether is the most rows that a tile always has.
const mostTogether = 4

// resultsLie reports whether tiles can store the results in their layout: storage goes on beyond no axis but the lanes'. It finds how many
// rows lie together there.
func (p *product) resultsLie() bool {
	out := p.lay(p.b.Results[0])
	for _, r := range p.b.Results {
		if p.lay(r) != out || out.HasPads() {
			return false
		}
	}
	if out == layout.RowMajor {
		return true
	}
	for i := range p.Stage.Axes {
		if i != p.Lane && out.Pads(p.Stage.Shape(), i) {
			return false
		}
	}
	if _, known := p.row.Extent.Const(); p.Roles.Row >= 0 && known && out.Along(p.Roles.Row) <= mostTogether {
		p.together = out.Along(p.Roles.Row)
	}
	return true
}

// findExact finds the constants whose elements, minus their zero points, the instruction can hold. Where no value is packed in a run, what
// corrects the sums of others would be all that reads a factor twice.
func (p *product) findExact(t *target.Target) error {
	x, w := *p.X, *p.W
	p.X, p.W = &x, &w
	for i, f := range []*match.Term{&x, &w} {
		typ := []ir.DType{p.instr.X, p.instr.W}[i]
		if !t.StoresDots() || !f.Constant || len(f.Load.Guard) > 0 || f.Left(typ) == nil {
			continue
		}
		ok, err := fits(p.Roles.Match, f, typ)
		if err != nil {
			return err
		}
		f.Exact = ok
	}
	return nil
}

// fits reports whether a type has all elements of a constant, each minus its zero point.
func fits(m *match.Match, t *match.Term, typ ir.DType) (bool, error) {
	st := &te.Stage{Name: "difference", Results: []te.Expr{t.Difference()}}
	for _, a := range slices.Concat(m.Stage.Axes, m.Reduce) {
		if !t.Uses(a.Var) {
			continue
		}
		if _, known := a.Extent.Const(); !known {
			return false, nil
		}
		st.Axes = append(st.Axes, a)
	}
	all, err := evaluate(st, m.Operands)
	if err != nil {
		return false, err
	}
	numbers, err := all.Ints()
	lo, hi := int64(te.Lowest(typ).(te.Const).Bits), int64(te.Highest(typ).(te.Const).Bits)
	return !slices.ContainsFunc(numbers, func(n int64) bool { return n < lo || n > hi }), err
}
