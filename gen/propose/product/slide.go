package product

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vars"
)

// minSlide is the shortest line that is summed in vectors.
const minSlide = 4

// mostSums is how many sums a task keeps at most side by side.
const mostSums = 4096

// slide is the schedule of a contraction without rows, as a depthwise convolution is: a task copies what its windows read, minus the zero
// point and in 16 bits, and adds products of one tap after the other for a line of the result: in vectors that are registers where neighbours read
// neighbours, and else in memory. Nil where no windows overlap, where lines are too long, and where only the run knows how long they are.
func (p *product) slide(env *lower.Env) *lower.Proposal {
	n, known := p.column.Extent.Const()
	if !known || n > mostSums {
		return nil
	}
	if p.findWindows(); len(p.windows) == 0 {
		return nil
	}
	l := &plan{product: p, Proposal: lower.NewProposal(env.Symbols), places: map[string]place{}}
	c := sched.Stage{At: sched.Root}
	var within []sched.Loop
	last := ""
	for i, a := range p.Stage.Axes {
		if a.Var == p.column.Var || a.Extent.Is(1) {
			continue
		}
		last = vars.Axis(i)
		within = append(within, l.tasks(&c, last, a)...)
	}
	if last == "" {
		return nil
	}
	c.Loops = append(c.Loops, within...)
	lanes := sched.Loop{Kind: sched.Serial, Var: vars.Lane, Axis: p.column.Var}
	w, slides := l.windowOf(p.column)
	inRegisters := env.Lanes() > 1 && n >= minSlide && (!slides || w.stride == 1)
	if inRegisters {
		c.Loops = append(c.Loops, lanes)
	}
	for i, r := range p.Reduce {
		c.Loops = append(c.Loops, sched.Loop{Kind: sched.Serial, Var: vars.K(i), Axis: r.Var})
	}
	if !inRegisters {
		c.Loops = append(c.Loops, lanes)
	}
	st := *p.Stage
	x := te.Expr(te.Fn(ir.I32, "cast", p.X.Load))
	if p.X.Zero != nil {
		x = te.Fn(ir.I32, "sub", x, p.X.Zero)
	}
	st.Values = []te.Expr{te.Fn(ir.I32, "mul", te.Fn(ir.I32, "cast", l.lines(last)), x)}
	l.finish(&st, c)
	return l.Proposal
}

// lines is a stage that copies what the windows of a task read of W.
func (l *plan) lines(at string) te.Expr {
	k := l.packing("lines")
	for _, a := range l.Stage.Axes {
		if a.Extent.Is(1) || !l.W.Uses(a.Var) || a.Var == l.column.Var {
			continue
		}
		where := l.places[a.Var]
		if w, ok := l.windowOf(a); ok {
			span, _ := w.span(sym.Const(where.size)).Const()
			k.along = append(k.along, walked{w, k.axis(w.span(a.Extent), w.at(), sym.Scale(where.first(), w.stride), span)})
			continue
		}
		if where.task == "" { // all of it, as no loop around the stage goes along it
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0)
			continue
		}
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), where.first(), where.size)
	}
	for _, r := range l.Reduce {
		if !l.isTap(r.Var) {
			k.names[r.Var] = k.axis(r.Extent, sym.Var(r.Var), sym.Const(0), 0)
		}
	}
	if w, ok := l.windowOf(l.column); ok {
		k.along = append(k.along, walked{w, k.axis(w.span(l.column.Extent), w.at(), sym.Const(0), 0)})
	} else {
		k.names[l.column.Var] = k.axis(l.column.Extent, sym.Var(l.column.Var), sym.Const(0), 0)
	}
	k.finish(l.W.Element(ir.I16), l.Facts)
	return l.add(k, l.W, at)
}
