package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/onnx"
)

// TestLayers: the layers are VGG-16's thirteen convolutions, and what is pruned of them is what was
// asked for.
func TestLayers(t *testing.T) {
	times, macs := 0, 0.0
	for _, l := range layers {
		times += l.times
		macs += float64(l.times) * l.macs()
	}
	assert.Equal(t, 13, times)
	assert.InDelta(t, 15.35e9, macs, 1e7)
	l := layers[1]
	for _, share := range []int{1, 4, 16} {
		w, kept, err := l.weights(pruning{8, 3.6, share}, 0)
		require.NoError(t, err)
		left := 0
		for _, x := range w {
			if x != 0 {
				left++
			}
		}
		assert.Equal(t, kept, left)
		assert.InDelta(t, 8.1, float64(len(w))/float64(left), 0.1, "share %d", share)
	}
	path := filepath.Join(t.TempDir(), "l.onnx")
	kept, err := network{"small", layers[:3]}.write(path, pruning{})
	require.NoError(t, err)
	assert.Equal(t, []int{3 * 64 * 9, 64 * 64 * 9, 64 * 128 * 9}, kept)
	assert.Len(t, whole().layers, 13)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(text), Size: int64(len(text))}, nil, onnx.Options{})
	require.NoError(t, err)
	assert.Len(t, g.Nodes, 7, "of each its Relu, and a pooling")
}

// TestStructure: FKW's arrays take less than CSR's, more so of fewer kernels a filter.
func TestStructure(t *testing.T) {
	for _, l := range layers[1:4] {
		csr, ours, values, err := l.structure(pruning{8, 3.6, 1})
		require.NoError(t, err)
		assert.Equal(t, values, csr-4*(l.out+1), "a column of 32 bits for each weight of as many")
		assert.Greater(t, saved(csr, ours), 75.0, l.String())
	}
}

// TestTasks: what each task multiplies is that of its rows and of the filters that are dealt out to
// it.
func TestTasks(t *testing.T) {
	l, p := layer{"L", 16, 8, 16, 1}, pruning{8, 3.6, 1}
	w, kept, err := l.weights(p, 0)
	require.NoError(t, err)
	x := tensor("w", l.shape(), w)
	e, err := fkw.Find(&ir.Tensor{Type: ir.F32, Shape: l.shape(), Data: x.RawData}, 1, 0)
	require.NoError(t, err)
	b := manifest.Block{Tasks: "8", Results: []manifest.Tensor{{Shape: []string{"1", "8", "16", "16"}, Layout: "row-major"}}, Schedule: `stage 0
  split i1 = j0 j1*2
  join j3 = r0 r1 r2
  tile fma_f32x16 vec
  task p0 = i0
  task tb = i2
  task tc = j1 stored
  serial cg = j0 stored
  rows tr = i2*5 peel
  lanes cl = i3
  sum ks = j3 stored
value operand 1: 0 1 2 3 in arena, encoding ` + e.String() + "\n"}
	work, err := l.work(b, p, 0)
	require.NoError(t, err)
	require.Len(t, work, 8)
	sum := 0.0
	for i, n := range work {
		sum += n
		rows := []float64{5, 5, 5, 1}[i/2]
		assert.InDelta(t, work[i%2]*rows/5, n, 1e-9, "task %d", i)
	}
	assert.InDelta(t, float64(16*kept/4), sum, 1e-9, "rows times kernels of four taps")
	b.Tasks = "4"
	_, err = l.work(b, p, 0)
	require.ErrorContains(t, err, "4 tasks, but 8 are known")
	b.Schedule = "stage 0\n  task p0 = i0\n"
	_, err = l.work(b, p, 0)
	require.ErrorContains(t, err, "sums all weights")
}

// TestOptions: mistakes are told.
func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"--patterns 8,x":              "--patterns 8,x: want numbers",
		"--share 0":                   "--share 0: want numbers",
		"--threads 1,0":               "--threads 1,0: want numbers",
		"--rounds 0":                  "want 1 round",
		"--precision x":               "--precision x: want fp32",
		"more":                        "more: there are only options",
		"--only (":                    "--only",
		"--emulator qemu --threads 2": "want one thread",
		"--emulator qemu --ablation":  "no --ablation",
	} {
		_, err := parse(strings.Fields(text), io.Discard)
		require.ErrorContains(t, err, want, text)
	}
	o, err := parse([]string{"--patterns", "6,12", "--share", "1,16", "--ablation"}, io.Discard)
	require.NoError(t, err)
	var names []string
	for _, w := range o.ways() {
		names = append(names, w.name)
	}
	assert.Equal(t, []string{"dense, direct", "dense",
		"own patterns, 6, as given", "own patterns, 6, reordered", "own patterns, 6", "own patterns, 6, tuned", "own patterns, 6, poolings by themselves",
		"own patterns, 12, as given", "own patterns, 12, reordered", "own patterns, 12", "own patterns, 12, tuned", "own patterns, 12, poolings by themselves",
		"shared by 16, 6", "shared by 16, 6, poolings by themselves", "shared by 16, 12", "shared by 16, 12, poolings by themselves"}, names)
	assert.Equal(t, regexp.MustCompile(""), o.only)
	o, err = parse([]string{"--share", "1", "--precision", "fp32,bf16"}, io.Discard)
	require.NoError(t, err)
	ways := o.ways()
	assert.Equal(t, []string{"dense, direct", "dense", "own patterns", "own patterns, bf16"}, []string{ways[0].name, ways[1].name, ways[2].name, ways[3].name})
	assert.Equal(t, []string{"fp32", "bf16"}, []string{ways[2].precision, ways[3].precision})
}

// TestThreads: ways of several numbers of threads are beside each other, and compared with those of
// as many, and with those of the first number.
func TestThreads(t *testing.T) {
	o, err := parse(strings.Fields("--only L6 --share 1 --threads 1,2"), io.Discard)
	require.NoError(t, err)
	var out strings.Builder
	measure := func(_ network, ways []way) (all []*timed, err error) {
		for i, w := range ways {
			all = append(all, &timed{macs: 30, ms: []float64{12, 8, 6, 4, 3, 1.5}[i], threads: w.threads})
		}
		return all, nil
	}
	require.NoError(t, (&table{o: o, measure: measure, peak: func() float64 { return 10 }, out: &out, ways: o.ways()}).print())
	lines := strings.Split(out.String(), "\n")
	assert.Contains(t, lines[0], "| own patterns, threads: 1, ms (share of the peak) | own patterns, threads: 2, ms")
	assert.Contains(t, lines[2], " 3.000 (100 %) | 1.500 (100 %) |")
	assert.Equal(t, "| times as fast as dense, direct (the faster dense one) | 1.00 (0.50) | 1.00 (0.50) | 2.00 (1.00) | 2.00 (1.00) | 4.00 (2.00) | 5.33 (2.67) |", lines[4])
	assert.Equal(t, "| times as fast as with as many threads as 1 | 1.00 | 1.50 | 1.00 | 1.50 | 1.00 | 2.00 |", lines[5])
}

// TestCounts: the columns of an emulator are instructions of one run.
func TestCounts(t *testing.T) {
	o, err := parse(strings.Fields("--only L6 --share 1 --emulator qemu"), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 1, o.rounds)
	var out strings.Builder
	measure := func(_ network, ways []way) (all []*timed, err error) {
		for i := range ways {
			all = append(all, &timed{macs: 30e6, ms: []float64{12, 24, 8}[i]})
		}
		return all, nil
	}
	require.NoError(t, (&table{o: o, measure: measure, peak: func() float64 { return peakCounted }, out: &out, ways: o.ways()}).print())
	lines := strings.Split(out.String(), "\n")
	assert.Contains(t, lines[0], "| own patterns, M instructions (multiply-adds) |")
	assert.Contains(t, lines[2], " 12.000 (62 %) | 24.000 (31 %) | 8.000 (94 %) |")
	assert.Equal(t, "| instructions of dense, direct over these (of the smaller dense one) | 1.00 (1.00) | 0.50 (0.50) | 1.50 (1.50) |", lines[4])
}

// TestTables: what is not asked for has no rows, and none are of no number.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		only string
		rows []string // their beginnings
	}{
		{"", []string{"| layer", "| ---", "| L1", "| L2", "| L3", "| L4", "| L5", "| L6", "| L7", "| L8", "| L9", "| all", "| times", "| thirteen", "| times"}},
		{"L6", []string{"| layer", "| ---", "| L6", "| all", "| times"}},
		{"network", []string{"| layer", "| ---", "| thirteen", "| times"}},
		{"nothing", nil},
	} {
		t.Run(c.only, func(t *testing.T) {
			var out strings.Builder
			peak := 0.0 // which the first program measures
			measure := func(_ network, ways []way) (all []*timed, err error) {
				peak = 20
				for i := range ways {
					all = append(all, &timed{macs: 10, ms: float64(1 + i)})
				}
				return all, nil
			}
			o := &options{only: regexp.MustCompile(c.only), patterns: []int{8}, shares: []int{1}, threads: []int{1}, precisions: []string{"fp32"}, connectivity: 3.6}
			require.NoError(t, (&table{o: o, measure: measure, peak: func() float64 { return peak }, out: &out, ways: o.ways()}).print())
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if c.rows == nil {
				assert.Empty(t, out.String())
				return
			}
			require.Len(t, lines, len(c.rows), out.String())
			for i, want := range c.rows {
				assert.True(t, strings.HasPrefix(lines[i], want), lines[i])
			}
			assert.NotContains(t, out.String(), "NaN")
			assert.Contains(t, out.String(), " 1.000 (50 %) | 2.000 (25 %) |")
		})
	}
}
