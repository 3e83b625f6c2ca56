package schedtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// Target is a chip's facts, or a device's, for tests of packages two folders below the root.
func Target(t testing.TB, name string) *target.Target {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "platforms")); err != nil {
		root = filepath.Join("..", root) // of a package one deeper
	}
	if strings.HasPrefix(name, "opencl") {
		data, err := os.ReadFile(filepath.Join(root, "platforms", "devices", name+".json"))
		require.NoError(t, err)
		out, err := target.Parse(data)
		require.NoError(t, err)
		return out
	}
	out, err := chips.Target(root, name)
	require.NoError(t, err)
	return out
}
