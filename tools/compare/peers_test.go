package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/onnx"
)

// TestPeers lets a model's own program stand for other engines: one that answers, one that fails to
// start, and one whose outputs are missing.
func TestPeers(t *testing.T) {
	if _, err := findCxx(&options{}); err != nil {
		t.Skip(err)
	}
	dnnc := ofTests(t)
	path := network(t)
	atRoot(t)
	keep := t.TempDir()
	// $2 is the engine, $3 the model, $4 its folder, $5 its inputs.
	python := filepath.Join(keep, "python")
	script := `#!/bin/sh
[ "$5" = '{"x": ["f32", [3,5]]}' ] || { echo "inputs: $5" >&2; exit 2; }
case $2 in
  onnxruntime) exec ` + keep + `/work/program --weights=` + keep + `/work/model.weights --serve ;;
  openvino) exit 3 ;;
esac
while read -r line; do
  case $line in *outputs*) echo '{"files":{}}' ;; *) echo '{"ms":[1],"version":"7"}' ;; esac
done
`
	require.NoError(t, os.WriteFile(python, []byte(script), 0o777))
	args := []string{path, "--dims=N=1..64", "--run=N=3", "--dnnc=" + dnnc, "--python=" + python, "--keep=" + keep + "/work",
		"--peers=onnxruntime,openvino,mnn", "--threads=1,2", "--rounds=2", "--seconds=0.001"}
	o, err := parse(args)
	require.NoError(t, err)
	var table, log strings.Builder
	require.NoError(t, comparePeers(o, args, &table, &log))
	for _, want := range []string{"net.onnx N=3, 1 thread(s)\n", "net.onnx N=3, 2 thread(s)\n", "openvino     left out: the model's program did not answer load", `mnn          left out: it has no output "y"`, "error 0  rules_dnn dnnc"} {
		assert.Contains(t, log.String(), want)
	}
	lines := strings.Split(table.String(), "\n")
	require.Len(t, lines, 2+2+2+1)
	assert.Regexp(t, `^\| net.onnx N=3 \| 1 \| [^|]+ \| [0-9][^|]+ \| - \| - \| onnxruntime \| [0-9.]+ \([0-9.]+, [0-9.]+\) \|$`, lines[2])
	assert.Regexp(t, `^\| geometric mean of 1 \| 2 \| \| \| \| \| \| [0-9.]+ \|$`, lines[5])

	o.tolerance = -1
	table.Reset()
	require.EqualError(t, comparePeers(o, args, &table, io.Discard), "1 of the list failed: net.onnx")
	assert.Contains(t, table.String(), "an output differs from ONNX Runtime's by 0 of its range; --tolerance is -1")
}

// TestPeerTable: the anchor is the peer whose median is least, and ratios are taken round by round.
func TestPeerTable(t *testing.T) {
	c := &contest{model: "net", threads: 2, entrants: []*entrant{
		{name: "ours", ms: []float64{10, 20, 10}, rel: -1},
		{name: "onnxruntime", ms: []float64{13, 13, 13}, rel: 2e-7, version: "1.2"},
		{name: "openvino", ms: []float64{12, 12, 90}, rel: 0, version: "3"},
		{name: "mnn", ms: []float64{1}, failure: "it ended"},
	}}
	assert.Equal(t, "openvino", c.fastest().name)
	peers := []string{"onnxruntime", "openvino", "mnn", "ncnn"}
	var table, log strings.Builder
	peerHead(&table, peers)
	peerRow(&table, peers, c)
	alone := &contest{model: "other", threads: 1, entrants: c.entrants[:1]}
	peerRow(&table, peers, alone)
	twice := &contest{model: "third", threads: 2, entrants: []*entrant{{name: "ours", ms: []float64{10}}, {name: "ncnn", ms: []float64{48}}}}
	peerMeans(&table, peers, []*contest{c, alone, twice})
	assert.Equal(t, `| model | threads | ours | onnxruntime | openvino | mnn | ncnn | fastest peer | its time over ours (quartiles) |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| net | 2 | 10 | 13 | 12 | - | - | openvino | 1.20 (0.60, 9.00) |
| other | 1 | 10 | - | - | - | - | - | - |
| geometric mean of 2 | 2 | | | | | | | 2.40 |
`, table.String())
	c.print(&log)
	assert.Equal(t, `  ours                10 ms                       
  onnxruntime         13 ms  1.30 (0.65, 1.30)   error 2e-07  1.2
  openvino            12 ms  1.20 (0.60, 9.00)   error 0  3
  mnn          left out: it ended
`, log.String())
}

// TestPrunedTable: our kernels of dense weights have a column, and a ratio of their own; they are
// no peer.
func TestPrunedTable(t *testing.T) {
	c := &contest{model: "net pruned", threads: 1, entrants: []*entrant{
		{name: "ours", ms: []float64{10, 20, 10}, rel: -1},
		{name: denseName, ms: []float64{22, 22, 22}, rel: 2e-7},
		{name: "onnxruntime", ms: []float64{33, 33, 33}, rel: 2e-7},
	}}
	columns := columns([]*options{{peers: []string{"onnxruntime"}}, {pruning: "{}"}})
	var table strings.Builder
	peerHead(&table, columns)
	peerRow(&table, columns, c)
	whole := &contest{model: "net", threads: 1, entrants: c.entrants[:1]}
	peerRow(&table, columns, whole)
	assert.Equal(t, `| model | threads | ours | dense | onnxruntime | fastest peer | its time over ours (quartiles) | dense over ours (quartiles) |
| --- | --- | --- | --- | --- | --- | --- | --- |
| net pruned | 1 | 10 | 22 | 33 | onnxruntime | 3.30 (1.65, 3.30) | 2.20 (1.10, 2.20) |
| net | 1 | 10 | - | - | - | - | - |
`, table.String())
}

// TestPeerOptions: what cannot be meant is refused.
func TestPeerOptions(t *testing.T) {
	for want, args := range map[string][]string{
		`there is no "tvm"; known: onnxruntime, openvino, mnn, ncnn, or all`: {"--peers=tvm", "--rounds=1"},
		"--peers wants --rounds from 1":                                      {"--peers=all"},
		"--threads=1,x: want a number from 1":                                {"--threads=1,x"},
		"--threads=0: want a number from 1":                                  {"--threads=0"},
		"--threads=1,2: several numbers are for --peers":                     {"--threads=1,2"},
	} {
		_, err := parse(append(args, "net.onnx"))
		assert.ErrorContains(t, err, want)
	}
	o, err := parse([]string{"net.onnx", "--peers=all", "--rounds=1", "--threads=2,1"})
	require.NoError(t, err)
	assert.Equal(t, engines, o.peers)
	assert.Equal(t, []int{2, 1}, o.threadCounts)
}

// TestLists: the lists of tests/models have what is said of them, and each line is understood and
// told from the others.
func TestLists(t *testing.T) {
	atRoot(t)
	for list, lines := range map[string]int{"peers": 12, "ablation": 4 * 5, "pruned": 4} {
		args := []string{"--peers=all", "--rounds=1", "--list=tests/models/" + list + ".txt"}
		o, err := parse(args)
		require.NoError(t, err)
		models, err := listed(o, args)
		require.NoError(t, err)
		names := map[string]bool{}
		for _, m := range models {
			names[m.name()] = true
			for _, d := range m.dims {
				_, _, err := onnx.ParseDim(d)
				assert.NoError(t, err)
			}
		}
		assert.Len(t, names, lines, list)
	}
}
