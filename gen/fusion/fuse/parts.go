package fuse

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// A task computes whole results of a reduction, and whole rows of a chain. Where there are few of them, and each is made of many
// points, as a normalisation over all channels is, most threads would have nothing to do. Then a chain is not formed, and a reduction is
// cut in two: a block computes one partial accumulator of each part of the points, and another one joins those of each result, in
// order. What the parts are depends on shapes and on the chip alone, so that results do not depend on threads.

// fewTasks is the most tasks that are too few for threads to share.
const fewTasks = 15

// scarce reports whether so many rows are few tasks, and what they are made of is work for the whole chip.
func (f *fuser) scarce(rows, points sym.Expr) bool {
	n, known := rows.Const()
	least, _ := points.Bounds(f.g.Facts)
	return f.o.Tasks > 0 && known && n > 0 && n <= fewTasks && least >= (f.o.Tasks*f.o.TaskElements+n-1)/n
}

// scarceRows reports whether a chain at so many common axes would have few rows of many points.
func (f *fuser) scarceRows(p pair, depth int) bool {
	return slices.ContainsFunc(append(p.first.Stages(), p.second.Stages()...), func(s *te.Stage) bool {
		return f.scarce(points(s.Axes[:depth]), sym.Mul(points(s.Axes[depth:]), points(s.Reduce)))
	})
}

func points(axes []te.Axis) sym.Expr {
	n := sym.Const(1)
	for _, a := range axes {
		n = sym.Mul(n, a.Extent)
	}
	return n
}

// inParts returns a block that computes partial accumulators, and one that joins them, or nil.
func (f *fuser) inParts(b *block.Block) []*block.Block {
	s := b.Stage
	if s == nil || s.Combine == nil || s.Update != nil || len(b.Placed) > 0 || contracts(b) {
		return nil
	}
	results, _ := points(s.Axes).Const()
	lanes := max(min(f.o.Lanes, results), 1)
	tasks := sym.CeilDiv(points(s.Axes), sym.Const(lanes), f.g.Facts)
	if !f.scarce(tasks, sym.Scale(points(s.Reduce), lanes)) {
		return nil
	}
	few, _ := tasks.Const()
	axis, n := cut(s.Reduce, (f.o.Tasks+few-1)/few)
	if n == 0 {
		return nil
	}
	return f.cutAt(b, axis, n)
}

// cutAt returns a block as two. An axis of its reduction is cut into n parts, and axes before it are parts as a whole.
func (f *fuser) cutAt(b *block.Block, axis int, n int64) []*block.Block {
	s := b.Stage
	parts := &block.Block{Stage: f.partial(s, axis, n), Operands: b.Operands, Origins: b.Origins, Models: b.Models, Ops: b.Ops}
	for k, r := range parts.Stage.Results {
		name := fmt.Sprintf("%s.parts%d", b.Results[0].Name, k)
		parts.Results = append(parts.Results, &ir.Value{Name: name, Type: r.DType(), Shape: parts.Stage.Shape(), HasShape: true})
	}
	join := &block.Block{Stage: joining(s, axis, n), Operands: slices.Concat(parts.Results, b.Operands), Results: b.Results, Origins: b.Origins, Models: b.Models, Ops: b.Ops}
	return []*block.Block{onlyRead(parts), onlyRead(join)}
}

// cut is where axes of a reduction are cut so that there are as many parts as are wanted, or not many more: those before the axis are
// parts as a whole, of that one n parts of equal length are; 0: there is no such place.
func cut(reduce []te.Axis, wanted int64) (axis int, n int64) {
	before := int64(1)
	for i, r := range reduce {
		extent, known := r.Extent.Const()
		if !known {
			return 0, 0
		}
		if before*extent < wanted {
			before *= extent
			continue
		}
		most := int64(1)
		for d := int64(1); d <= extent && before*d <= 4*wanted; d++ {
			if extent%d == 0 {
				if most = d; before*d >= wanted {
					break
				}
			}
		}
		if before*most < 2 {
			return 0, 0
		}
		return i, most
	}
	return 0, 0
}

// partial is the stage of partial accumulators: the parts are its leading axes.
func (f *fuser) partial(s *te.Stage, axis int, n int64) *te.Stage {
	out := &te.Stage{Name: s.Name, Combine: s.Combine}
	m := map[string]sym.Expr{}
	next := func(extent sym.Expr) sym.Expr {
		v := fmt.Sprintf("i%d", len(out.Axes))
		out.Axes = append(out.Axes, te.Axis{Var: v, Extent: extent})
		return sym.Var(v)
	}
	for _, r := range s.Reduce[:axis] {
		m[r.Var] = next(r.Extent)
	}
	whole := s.Reduce[axis]
	extent, _ := whole.Extent.Const()
	m[whole.Var] = sym.Add(sym.Scale(next(sym.Const(n)), extent/n), sym.Var(whole.Var))
	for _, a := range s.Axes {
		m[a.Var] = next(a.Extent)
	}
	out.Reduce = slices.Concat([]te.Axis{{Var: whole.Var, Extent: sym.Const(extent / n)}}, s.Reduce[axis+1:])
	facts := stageFacts(out, f.g.Facts)
	for k, v := range s.Values {
		out.Values = append(out.Values, te.SubstIndices(v, m, facts))
		out.Results = append(out.Results, te.Acc{N: k, Type: v.DType()})
	}
	return out
}

// joining is the stage that joins partial accumulators, its first operands, in the order of the parts.
func joining(s *te.Stage, axis int, n int64) *te.Stage {
	out := *s
	out.Reduce = slices.Clone(s.Reduce[:axis+1])
	out.Reduce[axis].Extent = sym.Const(n)
	var at []sym.Expr
	for _, a := range slices.Concat(out.Reduce, s.Axes) {
		at = append(at, sym.Var(a.Var))
	}
	to := make([]int, 0)
	block.Loads(s, func(l te.Load) {
		for len(to) <= l.Source.N {
			to = append(to, len(to)+len(s.Values))
		}
	})
	out.Values = nil
	for k, v := range s.Values {
		out.Values = append(out.Values, te.Load{Source: te.Source{N: k}, Type: v.DType(), Index: at})
	}
	out.Results = renumber(&te.Stage{Results: s.Results}, to).Results
	return &out
}

// onlyRead is a block of the operands that it reads.
func onlyRead(b *block.Block) *block.Block {
	to := make([]int, len(b.Operands))
	b.Loads(func(l te.Load) { to[l.Source.N] = 1 })
	var read []*ir.Value
	for i, v := range b.Operands {
		if to[i] == 1 {
			to[i], read = len(read), append(read, v)
		}
	}
	b.Operands, b.Stage = read, renumber(b.Stage, to)
	return b
}
