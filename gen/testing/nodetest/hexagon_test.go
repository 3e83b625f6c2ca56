package nodetest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestHexagonNodes compiles cases for Hexagon and runs them under qemu-hexagon: those with integers, which are what its vectors hold, and
// those of floats alone, which are scalar code there. By default a part of each; -whole takes all.
func TestHexagonNodes(t *testing.T) {
	for _, v := range []struct {
		name, chip string
		want       func(*Case) bool
		stride     int
		least      int // guards against cases that vanish
	}{
		{"integers on v68", "hexagon_v68", integers, 3, 100},
		{"integers on v66", "hexagon_v66", integers, 16, 20},
		{"integers on v73", "hexagon_v73", integers, 16, 20},
		{"floats on v68", "hexagon_v68", func(c *Case) bool { return !integers(c) }, 16, 30},
	} {
		t.Run(v.name, func(t *testing.T) {
			chip := chipstest.Target(t, v.chip)
			b := chooseCases(t, cases(t), chip, false, nil, v.stride, v.want)
			atLeast(t, v.least, len(b.programs))
			b.run(t, &hvxtest.Machine)
		})
	}
}

// TestHexagonFloats: functions of floats that are C of their own on Hexagon: remainders count leading zeros of 32 bits, and of double nothing is a C library's.
func TestHexagonFloats(t *testing.T) {
	if *only != "" {
		t.Skip("TestHexagonNodes runs what -only says")
	}
	chip, err := chips.Target("hexagon_v66") // without products of double
	require.NoError(t, err)
	names := regexp.MustCompile(`^test_(mod_mixed_sign_float32|pow_types_int64_float32|pow_types_float|top_k|round|erf)(@|$)`)
	b := chooseCases(t, cases(t), chip, false, nil, 1, func(c *Case) bool { return names.MatchString(c.Name) })
	require.GreaterOrEqual(t, len(b.programs), 4)
	b.run(t, &hvxtest.Machine)
}

// integers reports whether a case has tensors of integers.
func integers(c *Case) bool {
	for _, t := range slices.Concat(c.Inputs, c.Outputs) {
		if t != nil && (t.Type.IsInteger() || t.Type == ir.Bool) {
			return true
		}
	}
	return false
}
