package pooled

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/lower"
)

// kernel is the contraction's with the pooling after it; nil where its tasks and tiles have no whole windows.
func (p *pooling) kernel(l *lower.Lowered, env *lower.Env) (*lower.Lowered, error) {
	if l.Schedule == nil {
		return nil, nil
	}
	n := len(l.Work.Stages) - 1
	var lane *te.Axis
	if axes := l.Work.Stages[n].Axes; len(axes) > pruned.ImageRank {
		lane = &axes[pruned.ImageRank]
	}
	w, s := *l.Work, sched.Schedule{Stages: slices.Clone(l.Schedule.Stages)}
	w.Stages = append(slices.Clone(w.Stages), p.stage(n, lane))
	around, ok := p.around(&w, &s, env.Layouts(p.b.Results[0]))
	if !ok {
		return nil, nil
	}
	s.Stages = append(s.Stages, around)
	p.values(&s, l.Schedule, n, lane != nil, env.Layouts(p.b.Results[0]))
	anchor, _, _ := strings.Cut(l.Name, " ")
	return p.scheduled(l, env, anchor, &w, &s)
}

// scheduled is the kernel of a schedule that a contraction's became.
func (p *pooling) scheduled(l *lower.Lowered, env *lower.Env, anchor string, w *sched.Work, s *sched.Schedule) (*lower.Lowered, error) {
	args := func() ([]*ir.Value, error) { return p.args(l.Args) }
	out, err := env.Scheduled(anchor, lower.Unhashed(l.Name)+lower.PooledMark, l.Family+lower.PooledMark, p.b, w, s, args)
	if err != nil {
		return nil, err
	}
	if out.Packing = l.Packing; l.ArgsOf != nil {
		out.ArgsOf = func(b *block.Block) func() ([]*ir.Value, error) {
			other := &pooling{b: b}
			return func() ([]*ir.Value, error) { return other.args(l.ArgsOf(sumsOf(b))) }
		}
	}
	return out, nil
}

// args are those of the contraction's kernel, with the pooling's result in place of its own.
func (p *pooling) args(of func() ([]*ir.Value, error)) ([]*ir.Value, error) {
	all, err := of()
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(all[:len(all)-1]), p.b.Results...), nil
}

// around is how the pooling is computed: the contraction's loops around those of its channels become the pooling's, where the contraction is placed then,
// of so many of its results. It is false where these are no whole windows.
func (p *pooling) around(w *sched.Work, s *sched.Schedule, lay layout.Layout) (out sched.Stage, ok bool) {
	n := len(s.Stages) - 1
	sums, axes, own := &s.Stages[n], w.Stages[n].Axes, w.Stages[n+1].Axes
	cut := slices.IndexFunc(sums.Loops, func(l sched.Loop) bool { return l.Axis == axes[1].Var })
	if cut < 1 || len(sums.Splits) > 0 || sums.At != sched.Root {
		return out, false
	}
	out.At = sched.Root
	inner := make([]int64, len(axes)) // points of the pooling for each iteration of the loops around; 0: there are none
	for i, l := range sums.Loops[:cut] {
		d := slices.IndexFunc(axes, func(a te.Axis) bool { return a.Var == l.Axis })
		if d < 0 || d == 1 || d > pruned.ColumnDim || l.Kind != sched.Task && l.Kind != sched.Serial || l.Edge != sched.Exact {
			return out, false
		}
		within, window := sums.Within(i), p.window(d)
		if all, known := axes[d].Extent.Const(); !known || within%window != 0 || all%within != 0 {
			return out, false
		}
		inner[d] = within / window // that of the last one stays
		l.Axis = own[d].Var
		out.Loops = append(out.Loops, l)
	}
	p.inside(&out, own, inner, lay)
	p.place(s, out, axes, inner, cut)
	return out, true
}

// window is how many results along a dimension the pooling reads for one of its own.
func (p *pooling) window(d int) int64 {
	if d < pruned.RowDim {
		return 1
	}
	return p.windows[d-pruned.RowDim]
}

// inside adds the pooling's loops within those around: blocks of channels are cut, as they lie.
func (p *pooling) inside(out *sched.Stage, own []te.Axis, inner []int64, lay layout.Layout) {
	block := int64(1)
	if len(own) == pruned.ImageRank {
		block = lay.Along(1)
	}
	for d, a := range own {
		if inner[d] != 1 {
			out.Loops = append(out.Loops, sched.Loop{Var: fmt.Sprintf("y%d", d), Axis: a.Var, Size: inner[d]})
		}
	}
	if block > 1 {
		out.Loops = append(out.Loops, sched.Loop{Var: "yl", Axis: own[1].Var, Size: block})
	}
}

// place puts the contraction at the last of the loops around, and what was placed at its loops there at the pooling's.
func (p *pooling) place(s *sched.Schedule, around sched.Stage, axes []te.Axis, inner []int64, cut int) {
	n := len(s.Stages) - 1
	sums := s.Stages[n]
	moved := map[string]bool{}
	first := make([]sym.Expr, len(axes))
	for i, l := range sums.Loops[:cut] {
		d := slices.IndexFunc(axes, func(a te.Axis) bool { return a.Var == l.Axis })
		first[d] = sym.Add(first[d], sym.Scale(sym.Var(l.Var), sums.Within(i)))
		moved[l.Var] = true
	}
	for d, a := range axes {
		if inner[d] > 0 {
			sums.Regions = append(sums.Regions, sched.Region{Axis: a.Var, First: first[d], Extent: inner[d] * p.window(d)})
		}
	}
	sums.At = sched.Ref{Stage: n + 1, Loop: sums.Loops[cut-1].Var}
	tile := *sums.Tile
	tile.Claims = false
	sums.Tile, sums.Loops = &tile, slices.Clone(sums.Loops[cut:])
	s.Stages[n] = sums
	for i := range n {
		if at := &s.Stages[i].At; at.Stage == n && moved[at.Loop] {
			at.Stage = n + 1
		}
	}
}

// values says how they lie: the contraction's results in the worker's memory.
func (p *pooling) values(s, of *sched.Schedule, n int, apart bool, lay layout.Layout) {
	for _, v := range of.Values {
		if v.Of.Stage && v.Of.N == n {
			v.Space, v.Claim, v.Fetch = sched.Worker, 0, 0
		}
		s.Values = append(s.Values, v)
	}
	x := sched.Value{Of: te.Source{Stage: true, N: n + 1}}
	switch {
	case apart:
		x.Parts = layout.PartsOf(layout.RowMajor, pruned.ImageRank+1)
	case lay != layout.RowMajor:
		x.Parts = layout.PartsOf(lay, pruned.ImageRank)
	default:
		return
	}
	s.Values = append(s.Values, x)
}
