package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// accType is the type of memory that keeps accumulators of type t between joins:
// vectors of the class, so that nothing is converted.
func accType(t ir.DType) ir.DType {
	switch scalar.ClassOf(t) {
	case scalar.ClassF32:
		return ir.F32
	case scalar.ClassF64:
		return ir.F64
	}
	return ir.I64
}

// reduce computes a stage's accumulators for all points of its axes. Where the
// results are the accumulators themselves, they are written to out and accs is nil.
func (r *run) reduce(s *te.Stage, shape []int64, out []*ir.Tensor) (accs []*ir.Tensor, err error) {
	extents, err := r.extents(s.Reduce)
	if err != nil {
		return nil, err
	}
	direct := direct(s)
	for k, v := range s.Values {
		if s.Combine.Init[k].DType() != v.DType() || s.Combine.Join[k].DType() != v.DType() {
			return nil, fmt.Errorf("accumulator %d of %s has neutral type %s and join type %s", k, v.DType(),
				s.Combine.Init[k].DType(), s.Combine.Join[k].DType())
		}
		t := (*ir.Tensor)(nil)
		if direct {
			t = out[k]
		} else if t, err = r.make(accType(v.DType()), shape); err != nil {
			return nil, err
		}
		accs = append(accs, t)
	}
	if done, err := r.contract(s, shape, extents, accs); done || err != nil {
		return finished(accs, direct), err
	}
	return finished(accs, direct), r.foldAll(s, shape, extents, accs)
}

func finished(accs []*ir.Tensor, direct bool) []*ir.Tensor {
	if direct {
		return nil
	}
	return accs
}

// direct reports whether the stage's results are its accumulators, as they are in memory.
func direct(s *te.Stage) bool {
	if len(s.Results) != len(s.Values) {
		return false
	}
	for k, e := range s.Results {
		a, ok := e.(te.Acc)
		t := e.DType()
		if !ok || a.N != k || t != s.Values[k].DType() || t != ir.F32 && t != ir.F64 && t != ir.I64 && t != ir.U64 {
			return false
		}
	}
	return true
}
