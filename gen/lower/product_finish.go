package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
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
			l.lies(te.Source{N: at[n]}, v)
		}
	}
	for i, v := range l.b.Results {
		l.lies(te.Source{Stage: true, N: len(l.stages), Part: i}, v)
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

// lies says where a value lies that is not row-major.
func (l *plan) lies(of te.Source, v *ir.Value) {
	if to := l.lay(v); to != layout.RowMajor {
		l.sched.Values = append(l.sched.Values, sched.Value{Of: of, Parts: layout.PartsOf(to, len(v.Shape))})
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
	read := map[int]*ir.Value{}
	name := ""
	for _, e := range k.Exprs() {
		te.Walk(e, func(e te.Expr) {
			if x, ok := e.(te.Load); ok {
				read[x.Source.N] = l.operands[x.Source.N]
				if name == "" {
					name = read[x.Source.N].Name
				}
			}
		})
	}
	count := len(l.operands)
	stage := k.Stage
	return ir.ConstValue(name+"."+k.Name, ir.Computed(k.Results[0].DType(), dims, size, func(b []byte, _ int64) error {
		in := make([]*ir.Tensor, count)
		for n, v := range read {
			data, err := v.Const.Bytes()
			if err != nil {
				return err
			}
			shape, _ := v.Static()
			in[n] = &ir.Tensor{Type: v.Type, Shape: shape, Data: data}
		}
		out, err := interp.Eval([]*te.Stage{&stage}, []te.Source{{Stage: true}}, in, nil)
		if err != nil {
			return fmt.Errorf("constant %q: %w", name, err)
		}
		copy(b, out[0].Data)
		return nil
	}))
}
