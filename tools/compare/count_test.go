package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/tools/a64count"
)

const generated = `DNN_LEAF void fma_5x4(const float* x, float* acc) {
  acc[0] = x[0];
}
static void helper(float* y) {
  fma_5x4(y, y);
}
void k2(const float* a0, float* y0) {
  for (int i = 0; i < 3; ++i) fma_5x4(a0, y0);
}
void k1(const float* a0, float* y0) {
  helper(y0);
}
`

// TestCountJSON writes kernels with their blocks, and helpers with the blocks of their callers.
func TestCountJSON(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("objects of this system are not ELF files")
	}
	work := t.TempDir()
	program, err := os.ReadFile(must(os.Executable()))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(work+"/kernels", 0o777))
	for name, data := range map[string]string{
		"kernels/model_kernels_0.cc": generated, "kernels/model_profile.cc": "", "0_0.o": string(program),
		"model.manifest.json": `{"blocks":[{"kernel":"k1","nodes":["a","b"]},{"kernel":"k2","nodes":["c"]},{"kernel":"k1","nodes":["d"]}]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(data), 0o666))
	}
	m, err := readManifest(work)
	require.NoError(t, err)
	c := &counter{blocks: blocksOf(m), work: work, json: work + "/counts.json"}
	function := func(name string, n int64) a64count.Function {
		return a64count.Function{Name: name, Counts: a64count.Counts{Instructions: n, Spread: n}}
	}
	require.NoError(t, c.write([]a64count.Function{function("fma_5x4", 9), function("k1", 5), function("memcpy", 2)}))
	data, err := os.ReadFile(c.json)
	require.NoError(t, err)
	var r a64count.Record
	require.NoError(t, json.Unmarshal(data, &r))
	assert.Greater(t, r.CodeBytes, int64(10000))
	assert.Equal(t, []a64count.Recorded{
		{Function: function("fma_5x4", 9), Blocks: []string{"a, b", "c", "d"}},
		{Function: function("k1", 5), Kernel: true, Blocks: []string{"a, b", "d"}},
		{Function: function("memcpy", 2)},
	}, r.Functions)

	require.NoError(t, os.Remove(work+"/0_0.o"))
	require.ErrorContains(t, c.write(nil), "object of model_kernels_0.cc: ")
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// TestCounted: code that was counted is known by its digest, and only the same code is.
func TestCounted(t *testing.T) {
	work := t.TempDir()
	require.NoError(t, os.Mkdir(work+"/kernels", 0o777))
	source := work + "/kernels/model_kernels_0.cc"
	require.NoError(t, os.WriteFile(source, []byte(generated), 0o666))
	o := &options{cxx: "g++", countJSON: work + "/counts.json"}
	chips := library{{Name: "arm64", Copts: []string{"-mcpu=a"}}}
	known, err := o.counted(chips, work)
	require.NoError(t, err)
	assert.False(t, known, "nothing was counted before")
	o.countedCode, err = codeDigest(o, chips, work)
	require.NoError(t, err)
	known, err = o.counted(chips, work)
	require.NoError(t, err)
	assert.True(t, known)
	data, err := os.ReadFile(o.countJSON)
	require.NoError(t, err)
	var r a64count.Record
	require.NoError(t, json.Unmarshal(data, &r))
	assert.Equal(t, a64count.Record{Code: o.countedCode}, r)

	other := *o
	other.cxx = "clang++"
	for name, change := range map[string]func() (bool, error){
		"compiler": func() (bool, error) { return other.counted(chips, work) },
		"options":  func() (bool, error) { return o.counted(library{{Name: "arm64", Copts: []string{"-mcpu=b"}}}, work) },
		"sources": func() (bool, error) {
			require.NoError(t, os.WriteFile(source, []byte(generated+"\n"), 0o666))
			return o.counted(chips, work)
		},
	} {
		known, err := change()
		require.NoError(t, err, name)
		assert.False(t, known, name)
	}
}
