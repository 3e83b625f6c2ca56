package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/fusion/tuning"
)

// smallConv is a block of which several kernels can be measured.
var smallConv = fmt.Sprintf(`
  const @w f32[32, 32, 1, 1] = {%s0.5}
  input %%x f32[1, 32, 20, 20]
  %%p f32[1, 32, 20, 20] = Conv.11(%%x, @w)
  output %%p
`, strings.Repeat("0.5, ", 1023))

// compiled is the manifest of the model in the working directory.
func compiled(t *testing.T, chip string, more ...string) *manifest.Manifest {
	t.Helper()
	mustRun(t, compileArgs("model.onnx", chip, more...)...)
	data, err := os.ReadFile("net.manifest.json")
	require.NoError(t, err)
	m := &manifest.Manifest{}
	require.NoError(t, json.Unmarshal(data, m))
	return m
}

// TestTuning: candidates are named in the manifest, a record of them decides, the same bytes come of the same record, and
// no build mentions what it was not asked for.
func TestTuning(t *testing.T) {
	chip := factsFile(t, "x86_64_v4")
	t.Chdir(t.TempDir())
	tiny(t, smallConv)
	mustRun(t, graphArgs("model.onnx")...)
	assert.Nil(t, compiled(t, chip).Blocks[0].Tuning)
	plain := tree(t)

	first := compiled(t, chip, "--candidate=1").Blocks[0].Tuning
	require.Greater(t, len(first.Kernels), 1, first)
	assert.Equal(t, first.Kernels[0], first.Kernel)
	for path, text := range tree(t) {
		if path != "net.manifest.json" {
			assert.Equal(t, plain[path], text, "%s: the first candidate is what estimates choose", path)
		}
	}
	second := compiled(t, chip, "--candidate=2").Blocks[0].Tuning
	assert.Equal(t, first.Kernels[1], second.Kernel)

	r := &tuning.Record{}
	r.On("x86_64_v4", 1).Set(first.Key, first.What, tuning.Kernel{Name: first.Kernels[0], Micros: 20, Rounds: 1})
	r.On("x86_64_v4", 1).Set(first.Key, first.What, tuning.Kernel{Name: first.Kernels[1], Micros: 10, Rounds: 1})
	r.On("x86_64_v4", 1).Set(first.Key, first.What, tuning.Kernel{Name: "removed", Micros: 5, Rounds: 1})
	require.NoError(t, os.WriteFile("net.tune.json", r.Text(), 0o666))
	note := mustRun(t, compileArgs("model.onnx", chip, "--tuning=net.tune.json")...)
	assert.Contains(t, note, `net.tune.json is stale, measure again: Conv f32[1 32 20 20]`)
	assert.Contains(t, note, `no kernel is "removed"`)
	tuned := tree(t)
	m := compiled(t, chip, "--tuning=net.tune.json")
	assert.Equal(t, &manifest.Tuning{Key: first.Key, What: first.What, Kernel: first.Kernels[1], Micros: 10}, m.Blocks[0].Tuning)
	assert.Len(t, m.Select.StaleTuning, 1)
	assert.Equal(t, tuned, tree(t))
}

// TestSearched: candidates of a block that a record knows are others than those, which the manifest names with their parameters; a record that has
// them chooses them.
func TestSearched(t *testing.T) {
	chip := factsFile(t, "x86_64_v4")
	t.Chdir(t.TempDir())
	tiny(t, smallConv)
	mustRun(t, graphArgs("model.onnx")...)
	first := compiled(t, chip, "--candidate=1").Blocks[0].Tuning
	r := &tuning.Record{}
	require.NoError(t, os.WriteFile("net.tune.json", r.Text(), 0o666))
	args := []string{"--tuning=net.tune.json", "--candidate=1"}
	assert.Equal(t, first, compiled(t, chip, args...).Blocks[0].Tuning, "an empty record leads nowhere")
	for i, name := range first.Kernels {
		r.On("x86_64_v4", 1).Set(first.Key, first.What, tuning.Kernel{Name: name, Micros: float64(20 + i), Rounds: 1, Params: first.Params[i]})
	}
	require.NoError(t, os.WriteFile("net.tune.json", r.Text(), 0o666))
	next := compiled(t, chip, args...).Blocks[0].Tuning
	require.Greater(t, len(next.Kernels), 4)
	assert.Equal(t, first.Kernels[0], next.Kernels[0], "all are compared with the estimates' choice")
	for _, name := range next.Kernels[1:] {
		assert.NotContains(t, first.Kernels, name)
	}
	assert.Equal(t, next, compiled(t, chip, args...).Blocks[0].Tuning)

	last := len(next.Kernels) - 1
	r.On("x86_64_v4", 1).Set(next.Key, next.What, tuning.Kernel{Name: next.Kernels[last], Micros: 10, Rounds: 1, Params: next.Params[last]})
	require.NoError(t, os.WriteFile("net.tune.json", r.Text(), 0o666))
	m := compiled(t, chip, "--tuning=net.tune.json")
	assert.Equal(t, next.Kernels[last], m.Blocks[0].Tuning.Kernel)
	assert.Empty(t, m.Select.StaleTuning)

	other := &tuning.Record{}
	other.On("arm64", 1)
	require.NoError(t, os.WriteFile("arm64.json", other.Text(), 0o666))
	assert.Equal(t, first, compiled(t, chip, "--tuning=arm64.json", "--candidate=1").Blocks[0].Tuning, "of this chip nothing is known yet")
}

func TestTuningErrors(t *testing.T) {
	chip := factsFile(t, "x86_64_v4")
	t.Chdir(t.TempDir())
	tiny(t, smallConv)
	mustRun(t, graphArgs("model.onnx")...)
	r := &tuning.Record{}
	r.On("arm64", 1)
	require.NoError(t, os.WriteFile("arm64.json", r.Text(), 0o666))
	require.NoError(t, os.WriteFile("broken.json", []byte("{"), 0o666))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tuning=arm64.json"}, "arm64.json: the tuning record has times of arm64, but the model is compiled for x86_64_v4: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))"},
		{[]string{"--tuning=broken.json"}, "broken.json: tuning record: its JSON is cut off at line 1"},
		{[]string{"--tuning=none.json"}, "none.json: no such file"},
		{[]string{"--candidate=-1"}, "--candidate=-1: want a number from 1"},
		{[]string{"--candidate=1", "--tuning=broken.json"}, "broken.json: tuning record: its JSON is cut off at line 1"},
	} {
		_, err := dnnc(compileArgs("model.onnx", chip, c.args...)...)
		assert.ErrorContains(t, err, c.want)
	}
}

// TestTune: the record is found beside the user's sources, and what it has is not measured.
func TestTune(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", dir)
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write("m.json", `{"chip": "mine", "blocks": [{"tuning": {"key": "k", "what": "Conv", "kernel": "a", "kernels": ["a", "b"]}}]}`)
	write("plan.json", `{"record": "its/net.tune.json", "programs": [{"program": "none", "manifest": "m.json"}, {"program": "none", "manifest": "m.json"}]}`)
	_, err := dnnc("tune", "--plan=plan.json")
	assert.ErrorContains(t, err, "candidates 1: none: ", "there is no program")
	r := &tuning.Record{}
	r.On("mine", 1).Set("k", "Conv", tuning.Kernel{Name: "a", Micros: 1, Rounds: 20})
	write(filepath.Join(dir, "its/net.tune.json"), string(r.Text()))
	_, err = dnnc("tune", "--plan=plan.json")
	assert.ErrorContains(t, err, "candidates 1: none: ", "kernel b was not measured")
	r.On("mine", 1).Set("k", "Conv", tuning.Kernel{Name: "b", Micros: 2, Rounds: 20})
	write(filepath.Join(dir, "its/net.tune.json"), string(r.Text()))
	said := mustRun(t, "tune", "--plan=plan.json")
	assert.Contains(t, said, "has 20 rounds of all kernels already")
	assert.Contains(t, said, "wrote "+filepath.Join(dir, "its/net.tune.json"))
	assert.Contains(t, mustRun(t, "tune", "--plan=plan.json", "--candidates=1", "--rounds=21"), "wrote", "one kernel is no choice")

	write("empty.json", `{}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--plan is missing"},
		{[]string{"--plan=none.json"}, "none.json: no such file"},
		{[]string{"--plan=empty.json"}, "empty.json: want a record and programs"},
		{[]string{"--plan=plan.json", "--rounds=0"}, "--rounds=0"},
		{[]string{"--plan=plan.json", "--threads=0"}, "--threads=0"},
		{[]string{"--plan=plan.json", "--seconds=-1"}, "want rounds and threads >= 1"},
	} {
		_, err := dnnc(append([]string{"tune"}, c.args...)...)
		assert.ErrorContains(t, err, c.want)
	}
}
