package chips_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
)

// flags reads the copts that the BUILD file has for each chip, as a rule wrote them down:
// Bazel does not read JSON, so the flags stand in two places.
func flags(t *testing.T) map[string][]string {
	data, err := os.ReadFile("copts.json")
	if os.IsNotExist(err) {
		t.Skip("copts.json is made by Bazel: run bazel test //rules/tests/chips:chips_test")
	}
	require.NoError(t, err)
	var all map[string][]string
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

func facts(t *testing.T) map[string]*target.Target {
	files, err := filepath.Glob("../../../platforms/chips/*.json")
	require.NoError(t, err)
	all := map[string]*target.Target{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		chip, err := target.Parse(data)
		require.NoError(t, err, file)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = chip
	}
	return all
}

func TestFacts(t *testing.T) {
	all := facts(t)
	require.Len(t, all, 5)
	for name, chip := range all {
		assert.Equal(t, name, chip.Name)
	}
}

func TestFlagsAreTheSameInBothPlaces(t *testing.T) {
	declared := flags(t)
	all := facts(t)
	require.Len(t, declared, len(all))
	for name, chip := range all {
		assert.Equal(t, chip.Copts, declared[name], name)
	}
}
