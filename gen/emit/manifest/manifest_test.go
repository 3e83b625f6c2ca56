package manifest

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

var update = flag.Bool("update", false, "write the golden file")

const network = `graph "tiny" opset 17 {
  symbol N 1..64
  symbol M 1..8
  const @b f32[3] = {1, 2, 3}
  input %x f32[N, 3]
  input %scale f32[M, 1]
  %y ?[*] = Add.14(%x, @b) "add <bias>"
  %z ?[*] = Mul.14(%y, %scale) "scale"
  output %z
}
`

func manifest(t *testing.T) string {
	t.Helper()
	g, err := ir.Parse(strings.NewReader(network), nil)
	require.NoError(t, err)
	s := &pipeline.State{Graph: g, Target: &target.Target{Name: "chip", CPU: "x86_64", VectorBits: 128, VectorRegisters: 16,
		FMAPerCycle: 1, LoadsPerCycle: 1, IssuePerCycle: 1, L1D: 1 << 15, L2: 1 << 18, BytesPerCycle: 4, L2BytesPerCycle: 16, Tasks: 64, TaskElements: 4096, LoadCycles: 0.5}}
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{Disable: []string{"fuse", "anchors", "vectors"}})
	require.NoError(t, err)
	s.Program.Estimate.Cycles, s.Program.Estimate.Bound = 201, 200
	for i, c := range s.Program.Calls() {
		c.Cycles = float64(100 + i) // estimates change with the model of costs
	}
	out, err := JSON(s.Program, "dnnc test", "models/tiny", "chip")
	require.NoError(t, err)
	return string(out)
}

// TestGolden states the manifest of a small network.
func TestGolden(t *testing.T) {
	const golden = "testdata/tiny.json"
	got := manifest(t)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./gen/emit/manifest -update writes the file anew")
	for range 3 {
		assert.Equal(t, got, manifest(t), "the same each time")
	}
}

// TestReadable: what the package writes, it reads: tools in Go can use the types.
func TestReadable(t *testing.T) {
	var m Manifest
	d := json.NewDecoder(strings.NewReader(manifest(t)))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&m))
	assert.Equal(t, Symbol{Name: "M", Min: 1, Max: 8}, m.Symbols[1])
	assert.Equal(t, []string{`Add "add <bias>"`}, m.Blocks[0].Nodes)
	assert.Equal(t, []string{"N", "3"}, m.Inputs[0].Shape)
	assert.NotEmpty(t, m.Checks)
}
