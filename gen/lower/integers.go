package lower

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// integers is a contraction of integers of 8 bits, each minus a zero point: X, of which a tile has rows, and W, which has its lanes. Stages
// pack what an instruction does not read as it is stored; stages of constants are computed by the compiler.
type integers struct {
	b    *block.Block
	r    *reshaped
	x, w *term
	// row and column are the axes of the result that only X, or only W, has, the innermost ones. Without rows there is no tile, and no instruction.
	row, column te.Axis
	instr       *instr.Row
	// group is the axis of the reduction of which the instruction takes neighbours in at a time; windows are read from one copy of what they share.
	group   string
	windows []window
	// packX: a stage packs X, or the compiler does.
	packX bool
	tile
	// chunk is how many tiles of rows share what a task packs of X.
	chunk int64
}

// term is one factor: what is loaded, minus a zero point.
type term struct {
	load te.Load
	zero te.Expr // of i32; nil: 0
	// constant: the compiler knows all its elements.
	constant bool
}

// Integers proposes a schedule for a contraction of integers, and follows it; none where the block is no such thing.
func Integers(b *block.Block, env *Env) (*Lowered, error) {
	p := newIntegers(b, env)
	if p == nil {
		return nil, nil
	}
	plan, name, family := (*schedules)(nil), windowAnchor, windowAnchor
	if p.instr == nil {
		plan = p.slide(env)
	} else {
		plan = p.schedule(env)
		name, family = fmt.Sprintf("%s %s", productAnchor, p.tile), fmt.Sprintf("%s x%d", productAnchor, p.vectors)
	}
	if plan == nil {
		return nil, nil
	}
	anchor := productAnchor
	if p.instr == nil {
		anchor = windowAnchor
	}
	l, err := env.followed(anchor, &plan.work, &plan.sched, plan.args(b))
	if errors.As(err, new(*follow.TileError)) {
		return nil, nil // it is read in steps that no micro-kernel has
	}
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	}
	l.Name, l.Family = name, family
	return l, nil
}

// newIntegers is nil where the block is no contraction of integers that tiles compute.
func newIntegers(b *block.Block, env *Env) *integers {
	rows := env.Target.Dots(ir.I32)
	s := b.Stage
	if len(rows) == 0 || env.Target.StoresDots() || env.Target.WorkItems() || !env.Contractions || !env.wants(productAnchor) && !env.wants(windowAnchor) || len(b.Placed) > 0 || s.Update != nil ||
		s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1 || s.Values[0].DType() != ir.I32 || !static(s.Reduce) || hasEmpty(s) {
		return nil
	}
	for _, v := range slices.Concat(b.Operands, b.Results) {
		if env.Layouts(v) != layout.RowMajor {
			return nil
		}
	}
	p := &integers{b: b, r: reshape(s, b.Operands, env.Symbols)}
	mul, ok := p.r.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" || len(p.r.Reduce) == 0 {
		return nil
	}
	t0, t1 := p.term(mul.Args[0]), p.term(mul.Args[1])
	if t0 == nil || t1 == nil {
		return nil
	}
	for range 2 {
		if p.x, p.w = t0, t1; p.roles() && p.row.Var != "" {
			p.choose(env, rows)
			return p
		}
		t0, t1 = t1, t0
	}
	for range 2 { // without rows it is a window of its own for each channel
		if p.x, p.w = t0, t1; p.roles() && env.Windows && !p.w.constant {
			return p
		}
		t0, t1 = t1, t0
	}
	return nil
}

func hasEmpty(s *te.Stage) bool {
	return slices.ContainsFunc(slices.Concat(s.Axes, s.Reduce), func(a te.Axis) bool { return a.Extent.Is(0) })
}

// term reads cast(load), or cast(load) - zero, where the zero point is the same along the sum; nil where it is something else.
func (p *integers) term(e te.Expr) *term {
	t := &term{}
	if sub, ok := e.(te.Call); ok && sub.Fn == "sub" {
		e, t.zero = sub.Args[0], sub.Args[1]
		for _, a := range p.r.Reduce {
			if exprUses(t.zero, a.Var) {
				return nil
			}
		}
	}
	cast, ok := e.(te.Call)
	if !ok || cast.Fn != "cast" || cast.Type != ir.I32 {
		return nil
	}
	if t.load, ok = cast.Args[0].(te.Load); !ok || t.load.Source.Stage || t.load.Type.Size() != 1 || !t.load.Type.IsInteger() {
		return nil
	}
	if d := t.load.Default; d != nil {
		for _, a := range slices.Concat(p.r.Axes, p.r.Reduce) {
			if exprUses(d, a.Var) {
				return nil
			}
		}
	}
	if n, known := p.number(t.zero); known {
		t.zero = nil
		if n != 0 {
			t.zero = te.Int(ir.I32, n)
		}
	}
	t.constant = p.isConstant(t.load) && (t.zero == nil || p.isConstant(t.zero))
	return t
}

// number is a zero point that the compiler knows and that is one for all.
func (p *integers) number(e te.Expr) (int64, bool) {
	if e == nil {
		return 0, true
	}
	if n, ok := literalOf(e); ok {
		return n, true
	}
	cast, ok := e.(te.Call)
	if !ok || cast.Fn != "cast" {
		return 0, false
	}
	l, ok := cast.Args[0].(te.Load)
	if !ok || l.Source.Stage || len(l.Guard) > 0 || p.r.operands[l.Source.N].Const == nil {
		return 0, false
	}
	all, err := p.r.operands[l.Source.N].Const.Ints()
	if err != nil || len(all) == 0 || slices.ContainsFunc(all, func(n int64) bool { return n != all[0] }) {
		return 0, false
	}
	return all[0], true
}

// isConstant reports whether an expression reads constants alone.
func (p *integers) isConstant(e te.Expr) bool {
	known := true
	te.Walk(e, func(e te.Expr) {
		if l, ok := e.(te.Load); ok {
			known = known && !l.Source.Stage && p.r.operands[l.Source.N].Const != nil
		}
	})
	return known
}

// uses reports whether a term has an axis.
func (t *term) uses(v string) bool { return uses(t.load, v) || t.zero != nil && exprUses(t.zero, v) }

// roles finds the row, if there is one, and the column: the innermost axis of the result is one of W alone.
func (p *integers) roles() bool {
	p.row, p.column = te.Axis{}, te.Axis{}
	for _, a := range p.r.Axes {
		switch inX, inW := p.x.uses(a.Var), p.w.uses(a.Var); {
		case a.Extent.Is(1):
		case inW && !inX:
			p.column = a
		case inX && !inW:
			p.row = a
			p.column = te.Axis{}
		default:
			p.column = te.Axis{}
		}
	}
	for _, a := range p.r.Reduce {
		if !uses(p.x.load, a.Var) || !uses(p.w.load, a.Var) {
			return false
		}
	}
	return p.column.Var != ""
}

// choose finds the instruction, what it takes neighbours of, what stages pack, and the tile.
func (p *integers) choose(env *Env, rows []*instr.Row) {
	best := -1
	for _, r := range rows {
		fit := 0
		if r.X == p.x.load.Type {
			fit += 2
		}
		if r.W == p.w.load.Type {
			fit++
		}
		if fit > best {
			best, p.instr = fit, r
		}
	}
	p.findWindows()
	p.findGroup()
	p.packX = p.x.constant || !p.readsX()
	rowsN, known := p.extent(p.row)
	columns, _ := p.extent(p.column)
	steps := int64(1)
	for _, a := range p.r.Reduce {
		n, _ := a.Extent.Const()
		if a.Var == p.group {
			n = (n + p.instr.Group - 1) / p.instr.Group
		}
		steps *= n
	}
	choice := tiled{t: env.Target, instr: p.instr, x: p.instr.Broadcaster(0), pixels: rowsN, groups: (columns + p.instr.Lanes - 1) / p.instr.Lanes, perBlock: 1, steps: steps}
	if !known {
		choice.most = mostRows
	}
	p.tile = choice.choose()
	p.chunk = 0
	if p.packX && !p.x.constant {
		p.chunk = max(1, rowsOfTask/p.rows)
		p.windows = nil
	}
}

// rowsOfTask is about how many rows share what a task packs of W, where it packs X too.
const rowsOfTask = 96

// extent is an axis' points, or how many it is taken to have where only the run knows.
func (p *integers) extent(a te.Axis) (n int64, known bool) {
	if n, known = a.Extent.Const(); !known {
		return usualPixels, false
	}
	return n, true
}

// readsX reports whether the instruction reads X where it is stored: whole groups of neighbours, of its type.
func (p *integers) readsX() bool {
	l := p.x.load
	if l.Type != p.instr.X || len(l.Guard) > 0 {
		return false
	}
	c, ok := sym.Coefficient(layout.Flat(p.r.operands[l.Source.N].Shape, l.Index), p.group, p.r.facts)
	n, _ := p.extent(p.axis(p.group))
	return ok && c.Is(1) && n%p.instr.Group == 0
}

// axis is that of the reduction of this name.
func (p *integers) axis(v string) te.Axis {
	i := slices.IndexFunc(p.r.Reduce, func(a te.Axis) bool { return a.Var == v })
	return p.r.Reduce[i]
}

// ZeroPoints are the operands that are subtracted from the factors of a contraction: what its kernels are depends on the elements of constant ones.
func ZeroPoints(b *block.Block) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	if b.Stage == nil {
		return out
	}
	for _, v := range b.Stage.Values {
		te.Walk(v, func(e te.Expr) {
			sub, ok := e.(te.Call)
			if !ok || sub.Fn != "sub" {
				return
			}
			te.Walk(sub.Args[1], func(e te.Expr) {
				if l, ok := e.(te.Load); ok && !l.Source.Stage {
					out[b.Operands[l.Source.N]] = true
				}
			})
		})
	}
	return out
}
