// Package chipstest reads chips and devices of platforms for tests, in whatever folder of the repository these run.
package chipstest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// mostDeep bounds how many folders a package is below the repository's root.
const mostDeep = 8

// Target is a chip's facts, or a device's.
func Target(t testing.TB, name string) *target.Target {
	t.Helper()
	platforms := root(t)
	if data, err := os.ReadFile(filepath.Join(platforms, "platforms", "devices", name+".json")); err == nil {
		d, err := target.Parse(data)
		require.NoError(t, err)
		return d
	}
	c, err := chips.Target(platforms, name)
	require.NoError(t, err)
	return c
}

// root is the repository's, as far as a test finds platforms there: under Bazel it has no other files.
func root(t testing.TB) string {
	t.Helper()
	up := ""
	for range mostDeep {
		up = filepath.Join(up, "..")
		if _, err := os.Stat(filepath.Join(up, "platforms")); err == nil {
			return up
		}
	}
	require.FailNow(t, "no folder above this one has platforms")
	return ""
}
