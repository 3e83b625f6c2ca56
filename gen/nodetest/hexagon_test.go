package nodetest

import (
	"regexp"
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

// TestHexagonFloats: functions of floats that are C of their own on Hexagon: remainders count leading zeros of 32 bits, and of double nothing is a C library's.
func TestHexagonFloats(t *testing.T) {
	if *only != "" {
		t.Skip("TestHexagonNodes runs what -only says")
	}
	chip, err := chips.Target(repository, "hexagon_v66") // without products of double
	require.NoError(t, err)
	names := regexp.MustCompile(`^test_(mod_mixed_sign_float32|pow_types_int64_float32|pow_types_float|top_k|round|erf)(@|$)`)
	b := chooseCases(t, cases(t), chip, false, nil, 1, func(c *Case) bool { return names.MatchString(c.Name) })
	require.GreaterOrEqual(t, len(b.programs), 4)
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
