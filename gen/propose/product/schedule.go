package product

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
)

// plan is a schedule that is being made.
type plan struct {
	*product
	*lower.Proposal
	width   int64
	columns sym.Expr // that are packed, whole registers
	places  map[string]place
	stages  []*packing
	folded  []*packing // of constants: they are operands
	inner   string     // the loop within which tiles are
	serials int        // loops of stages that pack
	fetch   int64      // how many elements ahead tiles fetch X
	apart   bool       // weights of tiles may lie apart
	packedX *te.Load   // X in a task's copy, or nil
	// sets is how many tasks share the columns of each block of rows, of which each has so many groups of its own; 0: a task has all.
	sets, own int64
}

// schedule is the stages and where they are computed. A task packs what its tiles read of W for a group of columns, and computes all rows
// of it; where X is packed, too, tasks are blocks of rows, and pack W for each group of columns if it is no constant.
func (p *product) schedule(env *lower.Env) *lower.Proposal {
	l := &plan{product: p, Proposal: lower.NewProposal(env.Symbols), width: p.Vectors * p.instr.Lanes, places: map[string]place{},
		apart: env.Target.PrefetchBytes > 0}
	l.columns = sym.Scale(sym.CeilDiv(p.column.Extent, sym.Const(l.width), env.Symbols), l.width)
	l.shareColumns()
	st := *p.Stage
	c := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: p.instr.Name, X: p.choice.X, Block: contract.BlockOf(p.instr, p.choice.Steps)}}
	c.Loops = l.outer()
	st.Values = []te.Expr{l.multiplied()}
	st.Results = l.corrected()
	var sum lower.LoopList
	st.Reduce, sum = l.sumLoops()
	c.Loops = append(c.Loops, sum...)
	if p.W.Constant && p.dots && p.instr.Matrix == 0 {
		c.Tile.Ahead, _ = micro.Prefetch(env.Target, p.instr, p.instr.W, p.choice.Steps, p.Vectors, false, nil)
	}
	l.fetch = l.fetchX(env.Target)
	l.finish(&st, c)
	return l.Proposal
}

// multiplied is the product of what tiles read of X and of W, each packed by a stage or as it is stored.
func (l *plan) multiplied() te.Expr {
	w := te.Expr(l.grouped(l.W.Load))
	if !l.storedW {
		w = l.packW()
	}
	x := te.Expr(l.grouped(l.X.Load))
	switch {
	case l.beside && l.group == "":
		x = l.packFloats()
	case l.beside:
		x = l.packBeside()
	case l.slides != nil:
		x = l.add(l.packLines(), l.X, l.task())
	case l.product.packX:
		x = l.packX()
	}
	if copied, ok := x.(te.Load); ok && copied.Source.Stage && !l.beside {
		l.packedX = &copied
	}
	wide := func(e te.Expr) te.Expr {
		if e.DType() == l.Sum() {
			return e
		}
		return te.Fn(l.Sum(), "cast", e)
	}
	return te.Fn(l.Sum(), "mul", wide(x), wide(w))
}

// sumLoops are the axes of the sum and their loops: groups of neighbours outermost, or, where channels are last, within the others, so that lines of
// channels are whole; neighbours innermost.
func (l *plan) sumLoops() (axes []te.Axis, loops lower.LoopList) {
	add := func(k sched.Kind, a te.Axis) {
		loops.Add(k, vars.K(len(axes)), a.Var, 0, sched.Exact)
		axes = append(axes, a)
	}
	groups := func() {
		if l.group != "" {
			n, _ := l.axis(l.group).Extent.Const()
			add(sched.Sum, te.Axis{Var: l.group + "q", Extent: sym.Const((n + l.instr.Group - 1) / l.instr.Group)})
		}
	}
	if !l.last {
		groups()
	}
	for _, a := range l.Reduce {
		if a.Var != l.group {
			add(sched.Sum, a)
		}
	}
	if l.last {
		groups()
	}
	if l.group != "" {
		add(sched.Dot, te.Axis{Var: l.group + "d", Extent: sym.Const(l.instr.Group)})
	}
	return axes, loops
}

// add adds a stage that is computed at a loop, or, of a constant, a value that is; it is how the contraction reads it.
func (l *plan) add(k *packing, t *match.Term, at string) te.Expr {
	typ := k.Results[0].DType()
	if t.Constant {
		l.folded = append(l.folded, k)
		return te.Operand(len(l.Operands)+len(l.folded)-1, typ, k.read...)
	}
	if k.sched.Loops == nil {
		for i, a := range k.Axes {
			if !k.once(a.Var) {
				k.sched.Loops = append(k.sched.Loops, l.serial(k, i))
			}
		}
	}
	k.sched.At.Loop = at
	l.stages = append(l.stages, k)
	return te.FromStage(len(l.stages)-1, typ, k.read...)
}
