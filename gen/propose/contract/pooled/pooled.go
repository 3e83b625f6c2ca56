// Package pooled proposes kernels of contractions at which a pooling is placed, once their layouts are chosen.
package pooled

import (
	"errors"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
	"rules_dnn/gen/propose/lower"
)

// mostTaps is how many results a pooling may read for each of its own: they are written out.
const mostTaps = 16

// pooling is a contraction of images, and a pooling of what it gives by windows that lie side by side: tasks and tiles that have whole windows keep
// their results in the worker's memory, which the near caches hold, and store what is left of them.
type pooling struct {
	b       *block.Block
	sums    *block.Block // the contraction, of the value between
	windows [2]int64     // rows and columns of a window
	stored  layout.Layout
}

// Pooled proposes schedules for a block of a pooling that has a contraction placed at it, one for each of the contraction's own that has whole
// windows.
func Candidates(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	only, mine := strings.CutSuffix(lower.Unhashed(env.Only), lower.PooledMark)
	if env.Varies() || env.Target.WorkItems() || env.Only != "" && !mine {
		return nil, nil
	}
	p := newPooling(b, env.Layouts)
	if p == nil {
		return nil, nil
	}
	own := *env
	own.Only, own.Pooling = only, p.windows
	own.Layouts = func(v *ir.Value) layout.Layout {
		if v == p.sums.Results[0] {
			return p.stored
		}
		return env.Layouts(v)
	}
	var out []*lower.Lowered
	for _, x := range []struct {
		anchor  string
		on      bool
		propose func(*block.Block, *lower.Env) ([]*lower.Lowered, error)
		pooled  func(*lower.Lowered, *lower.Env) (*lower.Lowered, error)
	}{
		{pruned.Anchor, env.Pruned.On(), pruned.Filters, p.kernel},
		{pruned.PixelsAnchor, env.Pruned.On(), pruned.Apart, p.kernel},
		{tiled.Anchor, true, tiled.Candidates, p.kernel},
		{winograd.Anchor, env.Winograd, winograd.Kept, p.ofTiles},
		{winograd.Anchor, env.Winograd, winograd.Candidates, p.ofTiles},
	} {
		if !x.on || !own.Wants(x.anchor) {
			continue
		}
		all, err := x.propose(p.sums, &own)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			pooled, err := x.pooled(l, env)
			if errors.As(err, new(*follow.TileError)) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if pooled != nil && pooled.Check() == nil {
				out = append(out, pooled)
			}
		}
	}
	return out, nil
}

// newPooling is nil where the block is none.
func newPooling(b *block.Block, lay lower.Layouts) *pooling {
	p := &pooling{b: b}
	if !p.side() {
		return nil
	}
	p.sums = sumsOf(b)
	l, result := lay(b.Results[0]), b.Results[0]
	of, apart := pruned.CutOf(l, result.Shape)
	channels, _ := result.Shape[1].Const()
	switch {
	case apart && p.placed(): // its axes are those of blocks
		return nil
	case apart:
		of.Rows, of.Columns = of.Rows*p.windows[0], of.Columns*p.windows[1]
		p.stored = of.Layout()
	case l == layout.RowMajor:
	case l == layout.Blocked(1, l.Along(1)) && channels%l.Along(1) == 0:
		p.stored = l
	default:
		return nil
	}
	return p
}

// placed reports whether what the pooling computes depends on where in the image it is, besides what it loads there.
func (p *pooling) placed() bool {
	st, found := p.b.Stage, false
	uses := func(all ...sym.Expr) {
		for _, a := range st.Axes[pruned.RowDim:] {
			found = found || slices.ContainsFunc(all, func(e sym.Expr) bool { return e.Uses(a.Var) })
		}
	}
	for _, e := range slices.Concat(st.Values, st.Results) {
		te.Walk(e, func(e te.Expr) {
			switch x := e.(type) {
			case te.Index:
				uses(x.E)
			case te.Select:
				for _, w := range x.Cond {
					uses(w.E, w.Lo, w.Hi)
				}
			case te.Let:
				uses(x.Lo, x.Hi)
			}
		})
	}
	return found
}

// sumsOf is the contraction that is placed at a pooling.
func sumsOf(b *block.Block) *block.Block {
	st := b.Placed[0]
	v := &ir.Value{Name: b.Results[0].Name + ".pooled", Type: st.Results[0].DType(), Shape: st.Shape(), HasShape: true}
	return &block.Block{Stage: st, Operands: b.Operands, Results: []*ir.Value{v}, Origins: b.Origins, Models: b.Models, Ops: b.Ops}
}

// side reports whether the block reduces windows of images that lie side by side and cover what one stage gives, and finds how large they are.
func (p *pooling) side() bool {
	b, st := p.b, p.b.Stage
	if len(b.Placed) != 1 || b.Depth != pruned.ImageRank-2 || len(b.Results) != 1 || st.Combine == nil || len(st.Values) != 1 || len(st.Axes) != pruned.ImageRank {
		return false
	}
	sums := b.Placed[0]
	if len(sums.Results) != 1 || sums.Update != nil || len(sums.Axes) != pruned.ImageRank {
		return false
	}
	ok, loads := true, 0
	te.Walk(st.Values[0], func(e te.Expr) {
		switch l, is := e.(te.Load); {
		case is && l.Source.Stage:
			loads++
			ok = ok && len(l.Guard) == 0 && p.windowed(l.Index)
		case is:
			ok = ok && p.sameInImage(l)
		}
	})
	te.Walk(st.Results[0], func(e te.Expr) {
		_, is := e.(te.Load)
		ok = ok && !is
	})
	return ok && loads > 0 && p.windows[0]*p.windows[1] <= mostTaps
}

// sameInImage reports whether a load is of a number for all pixels of a channel, as what is added before a Relu.
func (p *pooling) sameInImage(l te.Load) bool {
	st := p.b.Stage
	varies := func(a te.Axis) bool {
		return slices.ContainsFunc(l.Index, func(e sym.Expr) bool { return e.Uses(a.Var) })
	}
	return l.Type == ir.F32 && p.b.Operands[l.Source.N].Type == ir.F32 && len(l.Guard) == 0 && !slices.ContainsFunc(slices.Concat(st.Axes[pruned.RowDim:], st.Reduce), varies)
}

// windowed reports whether an index walks the windows, which it finds.
func (p *pooling) windowed(index []sym.Expr) bool {
	st, sums := p.b.Stage, p.b.Placed[0]
	if !index[0].Equal(sym.Var(st.Axes[0].Var)) || !index[1].Equal(sym.Var(st.Axes[1].Var)) {
		return false
	}
	taps := int64(1)
	for d := pruned.RowDim; d <= pruned.ColumnDim; d++ {
		n, known := st.Axes[d].Extent.Const()
		all, known1 := sums.Axes[d].Extent.Const()
		k, linear := sym.Coefficient(index[d], st.Axes[d].Var, nil)
		step, isConst := k.Const()
		if !known || !known1 || !linear || !isConst || step < 1 || n*step != all {
			return false
		}
		left := sym.Sub(index[d], sym.Scale(sym.Var(st.Axes[d].Var), step))
		i := slices.IndexFunc(st.Reduce, func(a te.Axis) bool { return left.Equal(sym.Var(a.Var)) })
		if i >= 0 && !st.Reduce[i].Extent.Is(step) || i < 0 && (!left.Is(0) || step > 1) {
			return false
		}
		p.windows[d-pruned.RowDim], taps = step, taps*step
	}
	all := int64(1)
	for _, a := range st.Reduce {
		n, _ := a.Extent.Const()
		all *= n
	}
	return all == taps && taps > 1
}

// stage is the pooling's, with its windows written out, of what stage n gives, whose pixels may have a lane besides.
func (p *pooling) stage(n int, lane *te.Axis) *te.Stage {
	st := *p.b.Stage
	sum := st.Combine.Init[0]
	for tap := range p.windows[0] * p.windows[1] {
		sum = te.Map(st.Combine.Join[0], func(e te.Expr) te.Expr {
			switch e.(type) {
			case te.Acc:
				return sum
			case te.In:
				return p.tap(n, tap, lane)
			}
			return e
		})
	}
	st.Results = []te.Expr{te.Map(st.Results[0], func(e te.Expr) te.Expr {
		if _, is := e.(te.Acc); is {
			return sum
		}
		return e
	})}
	st.Name, st.Reduce, st.Combine, st.Values = "pooled", nil, nil, nil
	if lane != nil {
		st.Axes = slices.Clone(st.Axes)
		for d, cut := range p.cutAxes() {
			st.Axes[pruned.RowDim+d].Extent = cut
		}
		st.Axes = append(st.Axes, *lane)
	}
	return &st
}

// cutAxes are the rows and columns of the blocks of results in which pixels lie apart.
func (p *pooling) cutAxes() [2]sym.Expr {
	of, _ := pruned.CutOf(p.stored, p.sums.Results[0].Shape)
	return [2]sym.Expr{sym.Const(of.Rows / p.windows[0]), sym.Const(of.Columns / p.windows[1])}
}

// tap is a value of a window, of what stage n gives.
func (p *pooling) tap(n int, tap int64, lane *te.Axis) te.Expr {
	at := map[string]sym.Expr{}
	for d := pruned.ColumnDim; d >= pruned.RowDim; d-- {
		size := p.windows[d-pruned.RowDim]
		for _, a := range p.b.Stage.Reduce {
			te.Walk(p.b.Stage.Values[0], func(e te.Expr) {
				if l, is := e.(te.Load); is && l.Source.Stage && l.Index[d].Uses(a.Var) {
					at[a.Var] = sym.Const(tap % size)
				}
			})
		}
		tap /= size
	}
	for _, a := range p.b.Stage.Reduce {
		if _, walked := at[a.Var]; !walked {
			at[a.Var] = sym.Const(0)
		}
	}
	return te.Map(te.SubstIndices(p.b.Stage.Values[0], at, nil), func(e te.Expr) te.Expr {
		l, is := e.(te.Load)
		if !is || !l.Source.Stage {
			return e
		}
		l.Source.N = n
		if lane != nil {
			l.Index = append(slices.Clone(l.Index), sym.Var(lane.Var))
		}
		return l
	})
}
