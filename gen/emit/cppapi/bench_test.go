package cppapi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBench: the program measures a model: what it counts follows from the symbols, and what it
// measures is there.
func TestBench(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	p := newProject(t)
	bin := p.program("app_fake", sanitize)
	quick := []string{"--runs=4", "--seconds=0", "--warmup=1", "--probe-seconds=0", "--probe-bytes=100000"}
	file := filepath.Join(p.dir, "r.json")
	text := p.run(bin, append(quick, "--dims=batch size=5", "--dims=H=4", "--threads=2", "--cores=all", "--json="+file, "--html="+p.dir+"/r.html")...)
	for _, want := range []string{"nets/fake.v1, made by rules_dnn test for any \"chip\": 2 threads, batch size=5, H=4", "of 4 runs, after 1 to warm up", `Sum "</script>*/\" (generic)`, "Add (window)"} {
		assert.Contains(t, text, want)
	}
	var r struct {
		Symbols map[string]int
		Machine struct{ Gflops, Gbs float64 }
		Ms      struct{ Runs, Median float64 }
		Blocks  []struct {
			Name                   string
			Calls                  int
			FLOPs, Products, Bytes *float64
			Ms                     struct{ Median float64 }
		}
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	assert.Equal(t, map[string]int{"batch size": 5, "H": 4}, r.Symbols)
	assert.Equal(t, 4.0, r.Ms.Runs)
	assert.Positive(t, r.Ms.Median)
	assert.Positive(t, r.Machine.Gflops)
	assert.Positive(t, r.Machine.Gbs)
	require.Len(t, r.Blocks, 2)
	assert.Equal(t, 3*5*4.0, *r.Blocks[0].FLOPs)
	assert.Equal(t, 8*5.0, *r.Blocks[0].Bytes)
	assert.Nil(t, r.Blocks[1].FLOPs, "not known")
	assert.Equal(t, 2.0, *r.Blocks[1].Products)
	assert.Equal(t, 2*5.0, *r.Blocks[1].Bytes)
	for _, b := range r.Blocks {
		assert.Equal(t, 1, b.Calls)
		assert.Positive(t, b.Ms.Median)
	}
	assert.JSONEq(t, `{"batch size":1,"H":1}`, symbols(t, p.run(bin, append(quick, "--json=-")...)), "the smallest allowed size that is at least 1")
	assert.FileExists(t, p.dir+"/r.html")
	help := p.run(bin, "--help")
	for _, want := range []string{"--threads=N", "--cores=CORES", "--dims=batch size=8", "--serve", "input image: f32 [batch size, 3, H]"} {
		assert.Contains(t, help, want)
	}
	for arg, want := range map[string]string{
		"--cores=4-": "--cores=4-: want all, big, a mask such as 0xf0", "--threads=0": "--threads=0: want a number from 1 to 1024", "--runs=1.5": "want a whole number", "--dims=N=1": "no symbol N; it has: batch size, H",
		"--dims=H": "want SYMBOL=NUMBER", "--dims=batch size=65": "the dimension batch size is 65; it must be 1 to 64", "--input=x": "want NAME=FILE.npy",
		"--input=x=y": "no input x", "--input=image=/nowhere": "cannot be read", "--sort=name": "want program or time", "--what": "unknown argument --what; --help",
		"--json": "--json wants a value", "--integers=-3": "running: ", "--html=/no/where": "/no/where: the file cannot be written",
	} {
		out, err := exec.Command(bin, append(quick, arg)...).CombinedOutput()
		assert.Error(t, err, arg)
		assert.Contains(t, string(out), want, arg)
	}
}

func symbols(t *testing.T, report string) string {
	var r struct{ Symbols json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(report), &r))
	return string(r.Symbols)
}
