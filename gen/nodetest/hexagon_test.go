package nodetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/print/hvx/hvxtest"
	"rules_dnn/gen/target/chips"
)

// TestHexagonNodes compiles cases for Hexagon and runs them under qemu-hexagon: by default a part of
// those with integers, which are what its vectors hold.
func TestHexagonNodes(t *testing.T) {
	s := cases(t)
	chip, err := chips.Target(repository, "hexagon_v68")
	require.NoError(t, err)
	want := func(c *Case) bool { return *every || *only != "" || integers(c) }
	b := chooseCases(t, s, chip, false, nil, 3, want)
	if *only == "" {
		require.Greater(t, len(b.programs), leastHexagon)
	}
	b.run(t, &hvxtest.Machine)
}

// leastHexagon guards against cases that vanish.
const leastHexagon = 100

// integers reports whether a case has tensors of integers.
func integers(c *Case) bool {
	for _, t := range slices.Concat(c.Inputs, c.Outputs) {
		if t != nil && (t.Type.IsInteger() || t.Type == ir.Bool) {
			return true
		}
	}
	return false
}
