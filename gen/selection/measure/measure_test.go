package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/fusion/tuning"
)

// fake is the environment's variable with which this test's own program stands in for one that measures.
const fake = "MEASURE_TEST_FAKE"

func TestMain(m *testing.M) {
	if os.Getenv(fake) != "" {
		os.Exit(bench(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// bench writes down its arguments and prints a report. --weights=FILE names a file with the milliseconds of blocks, one of
// which is taken away for each run; where it has no more, the program fails.
func bench(args []string) int {
	var path string
	for _, a := range args {
		if at, ok := strings.CutPrefix(a, "--weights="); ok {
			path = at
		}
	}
	var runs [][]float64
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &runs)
	}
	if err != nil || len(runs) == 0 {
		fmt.Fprintf(os.Stderr, "no more runs: %v\n", err)
		return 1
	}
	rest, _ := json.Marshal(runs[1:])
	if err := os.WriteFile(path, rest, 0o666); err != nil {
		return 1
	}
	if err := os.WriteFile(path+".args", []byte(strings.Join(args, " ")), 0o666); err != nil {
		return 1
	}
	var blocks []string
	for i, ms := range runs[0] {
		blocks = append(blocks, fmt.Sprintf(`{"block": %d, "calls": 2, "ms": {"median": %g, "p5": %g}}`, i, ms, ms*0.75))
	}
	fmt.Printf(`{"ms": {"median": 5}, "blocks": [%s]}`, strings.Join(blocks, ", "))
	return 0
}

// programs are three of a model: a convolution of three kernels, one that the model has twice, of two, a block that has one
// only, and one that runs graphs.
func programs(t *testing.T, runs ...[][]float64) []Program {
	t.Helper()
	t.Setenv(fake, "1")
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	var out []Program
	cycles := func(i int, of ...int64) int64 { // of the kernel, the first where there is no i-th
		if i < len(of) {
			return of[i]
		}
		return of[0]
	}
	for i, times := range runs {
		p := Program{self, filepath.Join(dir, fmt.Sprintf("%d.json", i)), filepath.Join(dir, fmt.Sprintf("%d.times", i))}
		pick := func(key string, names ...string) *manifest.Tuning {
			k := names[0]
			if i < len(names) {
				k = names[i]
			}
			return &manifest.Tuning{Key: key, What: "Op " + key, Kernel: k, Kernels: names}
		}
		m := manifest.Manifest{Chip: "mine", Blocks: []manifest.Block{
			{Tuning: pick("a", "a0", "a1", "a2"), Cycles: cycles(i, 100, 120, 130)}, {Tuning: pick("b", "b0", "b1"), Cycles: cycles(i, 50, 60)},
			{Tuning: pick("c", "c0"), Cycles: 70}, {Tuning: pick("b", "b0", "b1"), Cycles: cycles(i, 50, 60)}, {},
		}}
		write(t, p.Manifest, m)
		write(t, p.Weights, times)
		out = append(out, p)
	}
	return out
}

func write(t *testing.T, path string, x any) {
	t.Helper()
	data, err := json.Marshal(x)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

func record(t *testing.T, path string) *tuning.Chip {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := tuning.Parse(data)
	require.NoError(t, err)
	require.Len(t, r.Chips, 1)
	return &r.Chips[0]
}

// times of the blocks in milliseconds, of two calls each.
func ms(a, b, again float64) []float64 { return []float64{a, b, 1, again, 1} }

func TestRun(t *testing.T) {
	ps := programs(t,
		[][]float64{ms(6, 2, 2), ms(8, 2, 2), ms(7, 2, 2), ms(1, 1, 1)},
		[][]float64{ms(4, 3, 5), ms(4, 3, 5), ms(4, 3, 5)},
		[][]float64{ms(9, 2, 2), ms(9, 2, 2), ms(9, 4, 4)})
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 3, Seconds: 0.25, Threads: 2, Args: []string{"--dims=N=8"}}
	var log strings.Builder
	require.NoError(t, Run(ps, o, &log))
	c := record(t, o.Record)
	assert.Equal(t, "mine", c.Chip)
	assert.Equal(t, 2, c.Threads)
	assert.Equal(t, []tuning.Block{
		{Key: "a", What: "Op a", Kernels: []tuning.Kernel{{Name: "a0", Micros: 3500, Rounds: 3}, {Name: "a1", Micros: 2000, Rounds: 3}, {Name: "a2", Micros: 4500, Rounds: 3}}},
		{Key: "b", What: "Op b", Kernels: []tuning.Kernel{{Name: "b0", Micros: 1000, Rounds: 3}, {Name: "b1", Micros: 2000, Rounds: 3}}},
	}, c.Blocks, "medians of a call; of b's two blocks the mean")
	assert.Contains(t, log.String(), "round 1 of 3, candidates 1 of 3: 5 ms\nround 1 of 3, candidates 2 of 3: 5 ms\nround 1 of 3, candidates 3 of 3: 5 ms\nround 2 of 3, candidates 2 of 3")
	assert.Contains(t, log.String(), "blocks with several kernels: 5.5 ms with estimated kernels, 4 ms with the fastest\n 1.75    3500.0 us a0, 2000.0 us a1: 1 x Op a\n")
	args, err := os.ReadFile(ps[0].Weights + ".args")
	require.NoError(t, err)
	assert.Equal(t, "--json=- --probe-seconds=0 --probe-bytes=1000000 --runs=5 --threads=2 --seconds=0.25 --weights="+ps[0].Weights+" --dims=N=8", string(args))

	log.Reset()
	require.NoError(t, Run(ps, o, &log), "no program runs: those of the second and third candidates would fail")
	assert.Contains(t, log.String(), "has 3 rounds of all kernels already; --again measures them again")

	o.Threads = 1
	assert.ErrorContains(t, Run(ps, o, &log), "has times of 2 threads for mine, which cannot be compared with times of 1 threads: measure with --threads=2, or everything again with --again")
	o.Again = true
	assert.ErrorContains(t, Run(ps, o, &log), "no more runs", "all programs run again")
}

// TestDevice: blocks of a device have the numbers after the chip's, and a part of their own in the record, whatever number of threads runs the others.
func TestDevice(t *testing.T) {
	ps := programs(t, [][]float64{append(ms(6, 2, 2), 10), append(ms(6, 2, 2), 10)}, [][]float64{append(ms(4, 3, 3), 8), append(ms(4, 3, 3), 8)})
	there := func(p Program, kernel, device string) {
		var m manifest.Manifest
		data, err := os.ReadFile(p.Manifest)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &m))
		m.Device = &manifest.Device{Name: device, Blocks: []manifest.Block{{Tuning: &manifest.Tuning{Key: "d", What: "Op d", Kernel: kernel, Kernels: []string{"d0", "d1"}}}}}
		write(t, p.Manifest, m)
	}
	there(ps[0], "d0", "gpu")
	there(ps[1], "d1", "other")
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 1, Threads: 2}
	var log strings.Builder
	assert.ErrorContains(t, Run(ps, o, &log), "the programs are of two models")
	there(ps[1], "d1", "gpu")
	require.NoError(t, Run(ps, o, &log))
	parts := func() map[string]tuning.Chip {
		data, err := os.ReadFile(o.Record)
		require.NoError(t, err)
		r, err := tuning.Parse(data)
		require.NoError(t, err)
		out := map[string]tuning.Chip{}
		for _, c := range r.Chips {
			out[c.Chip] = c
		}
		return out
	}
	got := parts()
	require.Len(t, got, 2)
	assert.Equal(t, tuning.Chip{Chip: "gpu", Device: true, Threads: 1, Blocks: []tuning.Block{
		{Key: "d", What: "Op d", Kernels: []tuning.Kernel{{Name: "d0", Micros: 5000, Rounds: 1}, {Name: "d1", Micros: 4000, Rounds: 1}}}}}, got["gpu"])
	assert.Equal(t, 2, got["mine"].Threads)
	assert.Len(t, got["mine"].Blocks, 2)
	assert.Contains(t, log.String(), " 1.25    5000.0 us d0, 4000.0 us d1: 1 x Op d\n")

	log.Reset()
	require.NoError(t, Run(ps, o, &log))
	assert.Contains(t, log.String(), "has 1 rounds of all kernels already")
	got["gpu"].Blocks[0].Kernels[0].Rounds = 9
	r := &tuning.Record{Chips: []tuning.Chip{got["gpu"], got["mine"]}}
	require.NoError(t, os.WriteFile(o.Record, r.Text(), 0o666))
	o.Again = true
	require.NoError(t, Run(ps, o, &log))
	assert.Equal(t, 1, parts()["gpu"].Blocks[0].Kernels[0].Rounds, "--again drops what is known of the device, too")
}

// TestSearched: kernels that a search found are beside the estimates' choice in programs of their own. What these take is noted as if they had run
// when the others of the block did; the summary compares the fastest of all, by their parameters, with the default.
func TestSearched(t *testing.T) {
	ps := programs(t, [][]float64{ms(12, 2, 2)}, [][]float64{ms(6, 3, 3)}, [][]float64{ms(18, 2, 2)})
	for i := range ps {
		var m manifest.Manifest
		data, err := os.ReadFile(ps[i].Manifest)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &m))
		m.Blocks[0].Tuning.Params = []string{"p rows=1", "p rows=2", "p rows=3"}
		m.Select.Models = []string{"performance model: learned"}
		write(t, ps[i].Manifest, m)
	}
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 1, Threads: 1}
	r := &tuning.Record{}
	r.On("mine", 1).Set("a", "Op a", tuning.Kernel{Name: "a0", Micros: 3000, Rounds: 4, Params: "p rows=1"})
	r.On("mine", 1).Set("a", "Op a", tuning.Kernel{Name: "found before", Micros: 1200, Rounds: 4, Params: "p rows=9"})
	r.On("mine", 1).Set("a", "Op a", tuning.Kernel{Name: "gone", Micros: 1, Rounds: 4})
	require.NoError(t, os.WriteFile(o.Record, r.Text(), 0o666))
	var log strings.Builder
	require.NoError(t, Run(ps, o, &log))
	c := record(t, o.Record)
	assert.Equal(t, tuning.Kernel{Name: "a0", Micros: 3000, Rounds: 5, Params: "p rows=1"}, c.Get("a", "a0"), "the machine takes twice as long today")
	assert.Equal(t, tuning.Kernel{Name: "a1", Micros: 1500, Rounds: 1, Params: "p rows=2"}, c.Get("a", "a1"))
	assert.Equal(t, tuning.Kernel{Name: "a2", Micros: 4500, Rounds: 1, Params: "p rows=3"}, c.Get("a", "a2"))
	assert.Contains(t, log.String(), "performance model: learned\n")
	assert.Contains(t, log.String(), " 2.50    3000.0 us a0, 1200.0 us found before: 1 x Op a\n")
	assert.Contains(t, log.String(), "untuned defaults take 56.2 % longer than tuned kernels; 1 of 2 different blocks at most 15 % longer; the maximum is 150.0 %: Op a\n")
}

// TestRegret: a's least estimate is of the kernel that is second, b's of the fastest. Times are those of the shortest runs, and of the record where
// nothing is measured any more.
func TestRegret(t *testing.T) {
	ps := programs(t,
		[][]float64{ms(6, 2, 2), ms(8, 2, 2)},
		[][]float64{ms(4, 3, 5), ms(4, 3, 5)},
		[][]float64{ms(9, 2, 2), ms(9, 2, 2)})
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 2, Threads: 1, Regret: true}
	var log strings.Builder
	require.NoError(t, Run(ps, o, &log))
	assert.Contains(t, log.String(), `Op a: +50.0 %, a0 instead of a1, Spearman 0.50
           100 cycles      2250.0 us  a0
           120 cycles      1500.0 us  a1
           130 cycles      3375.0 us  a2
Op b: +0.0 %, b0 instead of b0, Spearman 1.00
            50 cycles       750.0 us  b0
            60 cycles      1500.0 us  b1
regret: 3.75 ms with estimates, 3 ms with the fastest kernels, +25.0 %; Spearman's correlation 0.75, the mean of 2 blocks
`)
	log.Reset()
	require.NoError(t, Run(ps, o, &log))
	assert.Contains(t, log.String(), "regret: 5.5 ms with estimates, 4 ms with the fastest kernels, +37.5 %")
	o.Regret = false
	log.Reset()
	require.NoError(t, Run(ps, o, &log))
	assert.NotContains(t, log.String(), "regret")
}

// TestSpearman: equal values share their places, and where all are equal there is no order.
func TestSpearman(t *testing.T) {
	of := func(pairs ...float64) []rated {
		var out []rated
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, rated{cycles: pairs[i], micros: pairs[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		of    []rated
		want  float64
		known bool
	}{
		{of(1, 10, 2, 20, 3, 30), 1, true},
		{of(1, 30, 2, 20, 3, 10), -1, true},
		{of(1, 10, 1, 20, 3, 30), 0.866, true},
		{of(1, 10, 1, 20), 0, false},
	} {
		got, known := spearman(c.of)
		assert.InDelta(t, c.want, got, 1e-3)
		assert.Equal(t, c.known, known)
	}
}

// TestNoChoice: a record without blocks, so that a build can name it.
func TestNoChoice(t *testing.T) {
	ps := programs(t, nil)
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 3, Threads: 1}
	var log strings.Builder
	require.NoError(t, Run(ps, o, &log))
	assert.Equal(t, "no block of the model has a choice of kernels\n", log.String())
	assert.Empty(t, record(t, o.Record).Blocks)
}

// TestResume: a run that fails in its second round leaves the first one's times; the next one measures what is missing.
func TestResume(t *testing.T) {
	ps := programs(t, [][]float64{ms(6, 2, 2), ms(6, 2, 2), ms(12, 2, 2), ms(12, 2, 2)}, [][]float64{ms(4, 3, 3)})
	o := Options{Record: filepath.Join(t.TempDir(), "net.tune.json"), Rounds: 3, Threads: 1}
	var log strings.Builder
	assert.ErrorContains(t, Run(ps, o, &log), "candidates 2: ")
	c := record(t, o.Record)
	assert.Equal(t, tuning.Kernel{Name: "a0", Micros: 3000, Rounds: 1}, c.Get("a", "a0"))

	write(t, ps[1].Weights, [][]float64{ms(4, 3, 3), ms(4, 3, 3)})
	write(t, ps[0].Weights, [][]float64{ms(12, 2, 2), ms(12, 2, 2)})
	log.Reset()
	require.NoError(t, Run(ps, o, &log))
	assert.True(t, strings.HasPrefix(log.String(), "round 2 of 3"), log.String())
	assert.Equal(t, tuning.Kernel{Name: "a0", Micros: 5000, Rounds: 3}, record(t, o.Record).Get("a", "a0"), "one round of 3000 us, two of 6000")
}

func TestErrors(t *testing.T) {
	ps := programs(t, [][]float64{ms(1, 1, 1)}, [][]float64{ms(1, 1, 1)})
	dir := t.TempDir()
	changed := func(change func(*manifest.Manifest)) []Program {
		var m manifest.Manifest
		data, err := os.ReadFile(ps[1].Manifest)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &m))
		change(&m)
		out := slices.Clone(ps)
		out[1].Manifest = filepath.Join(t.TempDir(), "changed.json")
		write(t, out[1].Manifest, m)
		return out
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("{"), 0o666))
	long := slices.Clone(ps)
	long[0].Weights = filepath.Join(dir, "long")
	write(t, long[0].Weights, [][]float64{{1, 1, 1, 1, 1, 1}})
	for _, c := range []struct {
		programs []Program
		record   string
		want     string
	}{
		{nil, "r", "there are no programs"},
		{[]Program{{Manifest: "none"}}, "r", "none: no such file"},
		{[]Program{{Manifest: filepath.Join(dir, "broken")}}, "r", "broken: unexpected end"},
		{ps, "broken", "broken: tuning record"},
		{long, "r", "the program reports block 5; its manifest has 5 blocks"},
		{changed(func(m *manifest.Manifest) { m.Chip = "other" }), "r", "5 blocks for mine, and 5 for other: the programs are of two models"},
		{changed(func(m *manifest.Manifest) { m.Blocks[0].Tuning.Key = "x" }), "r", "block 0 differs: the programs are of two models"},
		{changed(func(m *manifest.Manifest) { m.Blocks = m.Blocks[4:] }), "r", "changed.json names no candidates: compile the model with --candidate"},
	} {
		err := Run(c.programs, Options{Record: filepath.Join(dir, c.record), Rounds: 1, Threads: 1}, &strings.Builder{})
		assert.ErrorContains(t, err, c.want)
	}
}
