package ops

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestOnlyAdds: of all operators with several operands of floats, those that only add or choose are found by their expressions.
func TestOnlyAdds(t *testing.T) {
	var found []string
	for _, x := range examples() {
		floats := 0
		for _, v := range x.n.Inputs {
			if v != nil && v.Type.IsFloat() {
				floats++
			}
		}
		if m, err := Build(x.n, nil); floats > 1 && err == nil && OnlyAdds(m) && !slices.Contains(found, x.n.Op) {
			found = append(found, x.n.Op)
		}
	}
	assert.ElementsMatch(t, []string{"Add", "Sub", "Sum", "Where"}, found)
}

// TestOnlyAddsInStages: a sum of many operands is of several stages; a mean of them divides.
func TestOnlyAddsInStages(t *testing.T) {
	for op, want := range map[string]bool{"Sum": true, "Mean": false, "Max": false} {
		var in []*ir.Value
		for range 3*manyOperands + 1 {
			in = append(in, f32("N", 8))
		}
		m, err := Build(node(op, nil, in...), nil)
		require.NoError(t, err)
		require.Greater(t, len(m.Stages), 1, op)
		assert.Equal(t, want, OnlyAdds(m), op)
	}
}
