package pooled

import (
	"slices"
	"strings"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/lower"
)

// ofTiles is the kernel of Winograd's algorithm with the pooling after it: its last stage, which reads tiles of results, reads the windows of each; nil
// where tiles have no whole windows.
func (p *pooling) ofTiles(l *lower.Lowered, env *lower.Env) (*lower.Lowered, error) {
	n := len(l.Work.Stages) - 1
	last, ok := p.lastOfTiles(l.Schedule.Stages[n], l.Work.Stages[n])
	if !ok {
		return nil, nil
	}
	w, s := *l.Work, *l.Schedule
	w.Stages, s.Stages = slices.Clone(w.Stages), slices.Clone(s.Stages)
	w.Stages[n], s.Stages[n] = p.stageOfTiles(n, l.Work.Stages[n], w.Facts), last
	s.Values = slices.Clone(s.Values)
	for i := range s.Values {
		if v := &s.Values[i]; v.Of == (te.Source{Stage: true, N: n}) { // as many tiles ahead, of which fewer results are left
			v.Fetch /= p.window(pruned.ColumnDim)
		}
	}
	anchor, _, _ := strings.Cut(lower.Unhashed(l.Name), " tile")
	return p.scheduled(l, env, anchor, &w, &s)
}

// stageOfTiles is the pooling's, of what the last stage makes of tiles.
func (p *pooling) stageOfTiles(n int, last *te.Stage, facts sym.Facts) *te.Stage {
	st := p.stage(n, nil)
	for i, r := range st.Results {
		st.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			x, is := e.(te.Load)
			if !is || !x.Source.Stage || x.Source.N != n {
				return e
			}
			at := map[string]sym.Expr{}
			for d, a := range last.Axes {
				at[a.Var] = x.Index[d]
			}
			return te.SubstIndices(last.Results[0], at, facts)
		})
	}
	return st
}

// lastOfTiles is the schedule of the last stage, whose loops over a tile's results are over its windows; false where windows are no whole part of a tile.
func (p *pooling) lastOfTiles(s sched.Stage, last *te.Stage) (sched.Stage, bool) {
	own := map[string]string{}
	for d, a := range last.Axes {
		own[a.Var] = p.b.Stage.Axes[d].Var
	}
	s.Splits, s.Loops = slices.Clone(s.Splits), slices.Clone(s.Loops)
	for i := range s.Splits {
		x := &s.Splits[i]
		d := slices.IndexFunc(last.Axes, func(a te.Axis) bool { return a.Var == x.Axis })
		if window := p.window(d); x.Size%window == 0 {
			x.Axis, x.Size = own[x.Axis], x.Size/window
		} else {
			return s, false
		}
	}
	for i := range s.Loops {
		if of, is := own[s.Loops[i].Axis]; is {
			s.Loops[i].Axis = of
		}
	}
	return s, true
}
