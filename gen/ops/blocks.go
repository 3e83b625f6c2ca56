package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// StagesMapping is the mapping type of an operand to the results of the last of some
// stages, whose loads of stages are of earlier ones. Fusion asks it of blocks, which stand for
// several operators.
func StagesMapping(stages []*te.Stage, operand int, shape ir.Shape) MappingType {
	m := &Meaning{Stages: stages}
	t := Unread
	last := len(stages) - 1
	for part := range stages[last].Results {
		t = max(t, mappingTo(m, te.Source{Stage: true, N: last, Part: part}, operand, shape))
	}
	return t
}
