package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/te"
)

// schedules collects stages and where they are computed.
type schedules struct {
	work  sched.Work
	sched sched.Schedule
	// values are those of the work's operands, or what makes them.
	values []func() *ir.Value
	loops  int
}

// args are the values of the kernel's buffers.
func (s *schedules) args(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) {
		var out []*ir.Value
		for _, f := range s.values {
			out = append(out, f())
		}
		return append(out, b.Results...), nil
	}
}

// finish puts the stages and the operands that they read together.
func (l *plan) finish(st *te.Stage, c sched.Stage) {
	for _, k := range l.stages {
		k.sched.At.Stage = len(l.stages)
		l.work.Stages, l.sched.Stages = append(l.work.Stages, &k.Stage), append(l.sched.Stages, k.sched)
	}
	l.work.Stages, l.sched.Stages = append(l.work.Stages, st), append(l.sched.Stages, c)
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
	for n, v := range l.r.operands {
		if used[n] {
			at[n] = len(l.values)
			l.work.Operands = append(l.work.Operands, v)
			given := l.b.Operands[n]
			l.values = append(l.values, func() *ir.Value { return given })
		}
	}
	for i, k := range l.folded {
		at[len(l.r.operands)+i] = len(l.values)
		v := l.fold(k)
		l.work.Operands = append(l.work.Operands, v)
		l.values = append(l.values, func() *ir.Value { return v })
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
	read := map[int]*ir.Value{}
	name := ""
	for _, e := range k.Exprs() {
		te.Walk(e, func(e te.Expr) {
			if x, ok := e.(te.Load); ok {
				read[x.Source.N] = l.r.operands[x.Source.N]
				if name == "" {
					name = read[x.Source.N].Name
				}
			}
		})
	}
	count := len(l.r.operands)
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
