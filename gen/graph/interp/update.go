package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// update stores a stage's further elements into its result, one after the other.
func (r *run) update(u *te.Update, out *ir.Tensor) error {
	axes, err := r.extents(u.Axes)
	if err != nil {
		return err
	}
	values, err := r.over(u, u.Value)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	binds := make([][]int64, len(u.Binds))
	for i, b := range u.Binds {
		t, err := r.over(u, te.Let{Var: b.Var, Value: b.Value, Lo: b.Lo, Hi: b.Hi, Body: te.Index{Type: ir.I64, E: sym.Var(b.Var)}})
		if err != nil {
			return fmt.Errorf("index of an update: %w", err)
		}
		if binds[i], err = t.Ints(); err != nil {
			return err
		}
	}
	return r.storeUpdates(u, axes, binds, values, out)
}

// over evaluates an expression over the update's axes.
func (r *run) over(u *te.Update, e te.Expr) (*ir.Tensor, error) {
	ts, err := r.stage(&te.Stage{Name: "update", Axes: u.Axes, Results: []te.Expr{e}})
	if err != nil {
		return nil, err
	}
	return ts[0], nil
}

func (r *run) storeUpdates(u *te.Update, axes []int64, binds [][]int64, values, out *ir.Tensor) error {
	from, err := bufferOf(values)
	if err != nil {
		return err
	}
	to, err := bufferOf(out)
	if err != nil {
		return err
	}
	join, err := newJoin(u.Join)
	if err != nil {
		return err
	}
	env := map[string]int64{}
	for k, v := range r.env {
		env[k] = v
	}
	at := make([]int64, len(axes))
	for i := range values.Len() {
		for k, a := range u.Axes {
			env[a.Var] = at[k]
		}
		for k, b := range u.Binds {
			env[b.Var] = binds[k][i]
		}
		offset, err := offsetOf(u.At, out.Shape, env)
		if err != nil {
			return err
		}
		source, err := offsetOf(u.Source(), out.Shape, env)
		if err != nil {
			return err
		}
		join.one(from, i, to, source, offset)
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < axes[k] {
				break
			}
			at[k] = 0
		}
	}
	return nil
}

// offsetOf is the place of an element, which must lie inside.
func offsetOf(at []sym.Expr, shape []int64, env map[string]int64) (int64, error) {
	offset := int64(0)
	for k, e := range at {
		x, err := e.Eval(env)
		if err != nil {
			return 0, err
		}
		if x < 0 || x >= shape[k] {
			return 0, fmt.Errorf("an update stores at %d of axis %d, whose extent is %d", x, k, shape[k])
		}
		offset = offset*shape[k] + x
	}
	return offset, nil
}

// join is an update's Join for one element: a function of what is there and what comes, or
// what comes.
type join struct {
	fn       scalar.Func
	old, in  *scalar.Vec
	out      *scalar.Vec
	replaces bool
}

func newJoin(e te.Expr) (*join, error) {
	t := e.DType()
	j := &join{old: scalar.NewVec(t, 1), in: scalar.NewVec(t, 1), out: scalar.NewVec(t, 1)}
	switch x := e.(type) {
	case te.In:
		j.replaces = true
		return j, nil
	case te.Call:
		if len(x.Args) == 2 {
			_, isAcc := x.Args[0].(te.Acc)
			_, isIn := x.Args[1].(te.In)
			if isAcc && isIn {
				fn, err := scalar.Bind(x.Fn, t, []ir.DType{t, t})
				j.fn = fn
				return j, err
			}
		}
	}
	return nil, fmt.Errorf("the combiner of an update is not a function of the old and the new element")
}

func (j *join) one(from *buffer, i int64, to *buffer, source, at int64) {
	from.Load(j.in, i, 1)
	if j.replaces {
		to.Store(j.in, at, 1)
		return
	}
	to.Load(j.old, source, 1)
	j.fn(j.out, []*scalar.Vec{j.old, j.in})
	to.Store(j.out, at, 1)
}
