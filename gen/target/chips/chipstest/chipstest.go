// Package chipstest reads chips and devices of platforms for tests.
package chipstest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// Target returns the facts of a chip or a device by its name.
func Target(t testing.TB, name string) *target.Target {
	t.Helper()
	devices, err := chips.Devices()
	require.NoError(t, err)
	read := chips.Facts
	if slices.Contains(devices, name) {
		read = chips.DeviceFacts
	}
	facts, err := read(name)
	require.NoError(t, err)
	found, err := target.Parse(facts)
	require.NoError(t, err)
	return found
}
