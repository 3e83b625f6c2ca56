package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// LimitError tells that an evaluation would exceed a limit of Interp.
type LimitError struct{ what string }

func (e *LimitError) Error() string { return e.what }

func limitf(format string, args ...any) error { return &LimitError{fmt.Sprintf(format, args...)} }

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
	for _, extents := range loops {
		n, err := ir.Len(extents)
		if err != nil || n > r.MaxPoints-r.points {
			return limitf("loops of extents %v are more than the limit of %d evaluations", extents, r.MaxPoints)
		}
		r.points += n
	}
	return nil
}
