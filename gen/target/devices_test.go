package target

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sourceless are the fields that say what a device is, not how much of something it has.
var sourceless = []string{"name", "sources", "cpu", "vector_bits", "instructions", "opencl", "task_elements"}

// TestDeviceSources: the facts of each phone, board and card say of every number where it comes from, and of nothing else.
func TestDeviceSources(t *testing.T) {
	files, err := filepath.Glob("../../platforms/devices/*.json")
	require.NoError(t, err)
	told := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d, err := Parse(text)
		require.NoError(t, err, file)
		assert.Equal(t, filepath.Base(file), d.Name+".json")
		if d.Sources == nil {
			continue
		}
		told++
		assert.NotEmpty(t, d.Sources["device"], file)
		named := map[string]bool{"device": true}
		for fields, source := range d.Sources {
			assert.NotEmpty(t, source, "%s: %s", file, fields)
			for _, f := range strings.Split(fields, ", ") {
				named[f] = true
			}
		}
		numbers := fields(t, text)
		for f := range numbers {
			assert.True(t, named[f], "%s: no source of %s", file, f)
		}
		for f := range named {
			assert.True(t, numbers[f] || f == "device" || strings.HasPrefix(d.Sources[f], "none:") || f == "images" && d.Images == nil, "%s: a source of %s, which is not there", file, f)
		}
	}
	assert.GreaterOrEqual(t, told, 5)
}

// fields are the names of a facts file's numbers, those of the object "opencl" among them.
func fields(t *testing.T, text []byte) map[string]bool {
	all, inner := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(text, &all))
	require.NoError(t, json.Unmarshal(all["opencl"], &inner))
	out := map[string]bool{}
	for f := range all {
		out[f] = true
	}
	for f := range inner {
		out[f] = true
	}
	for _, f := range sourceless {
		delete(out, f)
	}
	return out
}
