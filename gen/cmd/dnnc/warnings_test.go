package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
)

// TestWarnings: they are printed, errors or not told, as asked for; the manifest has them.
func TestWarnings(t *testing.T) {
	src, chip := absolute(t, resnet), factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	// A dnn_model gives its dnnc_opts to both commands.
	mustRun(t, graphArgs(src, "--accept=untiled")...)
	_, err := dnnc(graphArgs(src, "--accept=x")...)
	require.ErrorContains(t, err, "--accept=x: want one of")
	const line = "resnet20_cifar10.onnx: warning (baseline): the chip x86_64 has only the vectors of baseline x86-64, 128 bits (SSE2): for processors with AVX2 build with"

	_, err = dnnc(compileArgs(src, chip, "--warnings=error")...)
	require.Error(t, err)
	assert.Contains(t, err.Error(), line)
	assert.Contains(t, err.Error(), "warnings are errors here (--warnings=error)")
	assert.NoFileExists(t, "net.h")

	for options, told := range map[string]bool{"": true, "--warnings=print": true, "--warnings=none": false, "--accept=baseline": false, "--accept=untiled": true} {
		var more []string
		if options != "" {
			more = []string{options}
		}
		out := mustRun(t, compileArgs(src, chip, more...)...)
		if told {
			assert.Contains(t, out, line, options)
		} else {
			assert.Empty(t, out, options)
		}
		text, err := os.ReadFile("net.manifest.json")
		require.NoError(t, err)
		var m manifest.Manifest
		require.NoError(t, json.Unmarshal(text, &m))
		require.Len(t, m.Warnings, 1, options)
		assert.Equal(t, "baseline", m.Warnings[0].Kind)
	}
	mustRun(t, compileArgs(src, chip, "--warnings=error", "--accept=baseline")...)

	for option, want := range map[string]string{"--warnings=all": "--warnings=all: want one of print, error, none", "--accept=x": "--accept=x: want one of baseline, declared, default, pruning, range, untiled"} {
		_, err := dnnc(compileArgs(src, chip, option)...)
		assert.ErrorContains(t, err, want)
	}
}
