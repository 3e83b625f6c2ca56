package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Reads are all reads of operands that some stages make, of which loads of stages are of earlier ones.
// Fusion asks them of blocks, which stand for several operators.
type Reads struct{ byPart []map[int][]access }

// ReadsOf follows the results of the last stage down to the operands.
func ReadsOf(stages []*te.Stage) *Reads {
	m := &Meaning{Stages: stages}
	r := &Reads{}
	last := len(stages) - 1
	for part := range stages[last].Results {
		r.byPart = append(r.byPart, byOperand(m, te.Source{Stage: true, N: last, Part: part}))
	}
	return r
}

// Mapping is the mapping type of an operand to the results.
func (r *Reads) Mapping(operand int, shape ir.Shape) MappingType {
	t := Unread
	for _, of := range r.byPart {
		t = max(t, together(of[operand], shape))
	}
	return t
}
