package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// LimitError reports that an evaluation would exceed a limit of Interp.
type LimitError struct{ what string }

func (e *LimitError) Error() string { return e.what }

func limitf(format string, args ...any) error { return &LimitError{fmt.Sprintf(format, args...)} }

func (in Interp) mostBytes() int64 {
	if in.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return in.MaxBytes
}

func (in Interp) tooLarge(t ir.DType, shape []int64) error {
	return limitf("a tensor of type %s and shape %v takes more than the limit of %d bytes", t, shape, in.mostBytes())
}

// spend counts the points of a stage and refuses one that exceeds the limit.
func (r *run) spend(s *te.Stage, shape []int64) error {
	if r.MaxPoints == 0 {
		return nil
	}
	reduced, err := r.extents(s.Reduce)
	if err != nil {
		return err
	}
	loops := [][]int64{append(append([]int64{}, shape...), reduced...)}
	if s.Update != nil {
		updates, err := r.extents(s.Update.Axes)
		if err != nil {
			return err
		}
		loops = append(loops, updates)
	}
	each := weight(s)
	for _, extents := range loops {
		n, err := ir.Len(extents)
		if err != nil || n > (r.MaxPoints-r.points)/each {
			return limitf("loops of extents %v are more than the limit of %d evaluations", extents, r.MaxPoints)
		}
		r.points += n * each
	}
	return nil
}

// A function of float64 is computed in numbers of many digits, for the same result on each host,
// and counts as so many evaluations; it is one of those with so many operations.
const (
	wideWeight = 1000
	wideFLOPs  = 8
)

// weight is how many evaluations a point of the stage counts for.
func weight(s *te.Stage) int64 {
	n := int64(1)
	for _, e := range expressions(s) {
		te.Walk(e, func(e te.Expr) {
			c, ok := e.(te.Call)
			if !ok || c.Type != ir.F64 {
				return
			}
			if row := scalar.Lookup(c.Fn); row != nil && row.FLOPs >= wideFLOPs {
				n += wideWeight
			}
		})
	}
	return n
}
