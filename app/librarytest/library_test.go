// Package librarytest compares libraries that Bazel builds of the example's networks.
package librarytest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmaller checks that the library of the pruned network is smaller than the dense network's.
func TestSmaller(t *testing.T) {
	if os.Getenv("TEST_SRCDIR") == "" {
		t.Skip("./bazelw test //app/librarytest:librarytest_test builds what this test reads")
	}
	size := func(name string) int64 {
		f, err := os.Stat("../" + name + "/lib" + name + ".a")
		require.NoError(t, err)
		return f.Size()
	}
	dense, pruned := size("model_arm64"), size("model_arm64_pruned")
	t.Logf("%d bytes dense, %d pruned", dense, pruned)
	require.Less(t, pruned, dense)
}
