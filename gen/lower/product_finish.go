package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/te"
)

// finish puts the stages and the operands that they read together.
func (l *plan) finish(st *te.Stage, c sched.Stage) {
	for _, k := range l.stages {
		k.sched.At.Stage = len(l.stages)
		l.addStage(&k.Stage, k.sched)
	}
	l.addStage(st, c)
	used := map[int]bool{}
	for _, s := range l.work.Stages {
		for _, e := range s.Exprs() {
			te.Walk(e, func(e te.Expr) {
				if x, ok := e.(te.Load); ok && !x.Source.Stage {
					used[x.Source.N] = true
				}
			})
		}
	}
	at := map[int]int{}
	for n, v := range l.operands {
		if used[n] {
			at[n] = l.addOperand(v, func(b *block.Block) *ir.Value { return b.Operands[n] })
			l.place(te.Source{N: at[n]}, l.b.Operands[n])
		}
	}
	for i, v := range l.b.Results {
		l.place(te.Source{Stage: true, N: len(l.stages), Part: i}, v)
	}
	for i, k := range l.folded {
		v := l.fold(k)
		at[len(l.operands)+i] = l.addOperand(v, func(*block.Block) *ir.Value { return v })
	}
	for i, s := range l.work.Stages {
		l.work.Stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			if x, ok := e.(te.Load); ok && !x.Source.Stage {
				x.Source.N = at[x.Source.N]
				return x
			}
			return e
		})
	}
}

// fold is the value of a stage that reads constants.
func (l *plan) fold(k *packing) *ir.Value {
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
				name = l.operands[x.Source.N].Name
			}
		})
	}
	stage := k.Stage
	return ir.ConstValue(name+"."+k.Name, ir.Computed(k.Results[0].DType(), dims, size, func(b []byte, _ int64) error {
		out, err := evaluate(&stage, l.operands)
		if err == nil {
			copy(b, out.Data)
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
