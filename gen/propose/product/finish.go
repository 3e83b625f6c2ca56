package product

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// finish puts the stages and the operands that they read together.
func (l *plan) finish(st *te.Stage, c sched.Stage) {
	for _, k := range l.stages {
		k.sched.At.Stage = len(l.stages)
		l.AddStage(&k.Stage, k.sched)
	}
	l.AddStage(st, c)
	used := map[int]bool{}
	for _, s := range l.Work.Stages {
		for _, e := range s.Exprs() {
			te.Walk(e, func(e te.Expr) {
				if x, ok := e.(te.Load); ok && !x.Source.Stage {
					used[x.Source.N] = true
				}
			})
		}
	}
	at := map[int]int{}
	for n, v := range l.Operands {
		if used[n] {
			at[n] = l.AddOperand(v, func(b *block.Block) *ir.Value { return b.Operands[n] })
		}
	}
	lower.LayOut(&l.Sched, l.b, l.lay, func(i int) (sched.Value, bool) {
		x := sched.Value{Of: te.Source{N: at[i]}}
		if !used[i] {
			return x, false
		}
		if lay := l.lay(l.b.Operands[i]); lay != layout.RowMajor {
			x.Parts = layout.PartsOf(lay, len(l.Operands[i].Shape)) // axes may be joined
		}
		if l.fetch > 0 && i == l.X.Load.Source.N {
			x.Parts, x.Fetch = layout.PartsOf(layout.RowMajor, len(l.Operands[i].Shape)), l.fetch
		}
		return x, true
	}, len(l.Stage.Axes))
	for i, k := range l.folded {
		v := l.fold(k, 0)
		n := l.AddOperand(v, func(*block.Block) *ir.Value { return v })
		at[len(l.Operands)+i] = n
		if width := l.groupsApart(k); width > 0 {
			l.Values[n] = func(*block.Block) *ir.Value { return l.fold(k, width) }
			l.Sched.Values = append(l.Sched.Values, sched.Value{Of: te.Source{N: n}, Parts: k.grouped(width)})
		}
	}
	for i, s := range l.Work.Stages {
		l.Work.Stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			if x, ok := e.(te.Load); ok && !x.Source.Stage {
				x.Source.N = at[x.Source.N]
				return x
			}
			return e
		})
	}
}

// fetchX is how many elements on the X of the next tile lies, which comes to the second-level cache while one computes; 0 where it may
// still be there, or where rows do not lie one after the other. Each row is a stream of its own, so short that a processor has hardly found it when it ends.
func (l *plan) fetchX(t *target.Target) int64 {
	load := l.X.Load
	v := l.Operands[load.Source.N]
	if t.PrefetchBytes == 0 || l.dots || l.product.packX || l.row.Var == "" || len(l.Reduce) != 1 || l.lay(l.b.Operands[load.Source.N]) != layout.RowMajor {
		return 0
	}
	at := layout.Flat(v.Shape, load.Index)
	step := func(axis string) int64 {
		e := sym.Step(at, axis, l.Facts)
		n, _ := e.Const()
		return n
	}
	length, _ := l.Reduce[0].Extent.Const()
	least, _ := l.row.Extent.Bounds(l.Facts)
	if step(l.Reduce[0].Var) != 1 || step(l.row.Var) != length || length*int64(load.Type.Size()) <= t.L2/max(least, 1) {
		return 0
	}
	return l.Rows * length
}

// fold is the value of a stage that reads constants, stored row-major or, of a width, in groups of so many columns.
func (l *plan) fold(k *packing, width int64) *ir.Value {
	var dims []int64
	size := int64(1)
	for _, a := range k.Axes {
		n, _ := a.Extent.Const()
		dims, size = append(dims, n), size*n
	}
	name := ""
	for _, e := range k.Exprs() {
		te.Walk(e, func(e te.Expr) {
			if x, ok := e.(te.Load); ok && name == "" {
				name = l.Operands[x.Source.N].Name
			}
		})
	}
	stage := k.Stage
	return ir.ConstValue(name+"."+k.Name, ir.Computed(k.Results[0].DType(), dims, size, func(b []byte, _ int64) error {
		out, err := evaluate(&stage, l.Operands)
		switch {
		case err != nil:
		case width == 0:
			copy(b, out.Data)
		default:
			inGroups(b, out.Data, dims, k.columns, int(width)*k.Results[0].DType().Size())
		}
		return err
	}))
}

// evaluate is the value of a stage that reads constants among operands.
func evaluate(st *te.Stage, operands []*ir.Value) (*ir.Tensor, error) {
	in, name := make([]*ir.Tensor, len(operands)), ""
	var failed error
	for _, e := range st.Exprs() {
		te.Walk(e, func(e te.Expr) {
			x, ok := e.(te.Load)
			if !ok || in[x.Source.N] != nil || failed != nil {
				return
			}
			v := operands[x.Source.N]
			data, err := v.Const.Bytes()
			if failed = err; err == nil {
				shape, _ := v.Static()
				in[x.Source.N] = &ir.Tensor{Type: v.Type, Shape: shape, Data: data}
			}
			if name == "" {
				name = v.Name
			}
		})
	}
	if failed != nil {
		return nil, failed
	}
	out, err := interp.Eval([]*te.Stage{st}, []te.Source{{Stage: true}}, in, nil)
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", name, err)
	}
	return out[0], nil
}
