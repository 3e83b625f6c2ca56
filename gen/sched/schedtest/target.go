package schedtest

import (
	"testing"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// Target is a chip's facts, or a device's.
func Target(t testing.TB, name string) *target.Target {
	t.Helper()
	return chipstest.Target(t, name)
}
