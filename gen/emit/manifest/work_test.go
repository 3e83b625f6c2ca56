package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

// vectors is a chip whose kernels are register tiles of four floats.
const vectors = `{"name": "vectors", "cpu": "arm64", "vector_bits": 128, "vector_registers": 32, "instructions": ["fma_f32x4"]}`

// compiled is the manifest of a graph for a chip.
func compiled(t *testing.T, text string) Manifest {
	t.Helper()
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	chip, err := target.Parse([]byte(vectors))
	require.NoError(t, err)
	s := &pipeline.State{Graph: g, Target: chip}
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{})
	require.NoError(t, err)
	out, err := JSON(s.Program, "dnnc test", "net", "vectors")
	require.NoError(t, err)
	var m Manifest
	require.NoError(t, json.Unmarshal(out, &m))
	return m
}

// TestWork: what blocks compute and move follows from the network, and what micro-kernels
// multiply from their loops, whatever edges those have.
func TestWork(t *testing.T) {
	numbers := strings.TrimSuffix(strings.Repeat("1, ", 64*32), ", ")
	for name, c := range map[string]struct{ graph, flops, products, bytes string }{
		"a product of matrices whose edges fill no tile": {`graph "g" opset 17 {
  input %x f32[37, 64]
  const @w f32[64, 32] = {` + numbers + `}
  %y ?[*] = MatMul.13(%x, @w) "m"
  output %y
}`, "151552", "75776", "22400"}, // 2 and 1 times 37 * 64 * 32; 4 * (37*64 + 64*32 + 37*32)
		"a symbol": {`graph "g" opset 17 {
  symbol N 1..64
  input %x f32[N, 37, 64]
  const @w f32[64, 32] = {` + numbers + `}
  %y ?[*] = MatMul.13(%x, @w) "m"
  output %y
}`, "151552*N", "-1", "14208*N + 8192"}, // rows are in tiles: how many, only the run knows
		"a symbol beside the tiles": {`graph "g" opset 17 {
  symbol N 1..64
  input %x f32[N, 16, 9, 9]
  const @w f32[8, 16, 4, 4] = {` + numbers + `}
  %y ?[*] = Conv.11(%x, @w) "c"
  output %y
}`, "147456*N", "73728*N", "6336*N + 8192"}, // 2 and 1 times 8 * 6*6 * 16 * 4*4
		"few rows of a large table": {`graph "g" opset 17 {
  input %x f32[50000, 16]
  input %i i64[2]
  %y ?[*] = Gather.13(%x, %i) "g"
  output %y
}`, "0", "0", "272"}, // two rows read and written, and the indices
		"the same operand twice": {`graph "g" opset 17 {
  input %x f32[10]
  %y ?[*] = Mul.14(%x, %x) "square"
  output %y
}`, "10", "0", "80"},
		"an opaque operator": {`graph "g" opset 17 {
  input %x f32[10]
  const @k i64[1] = {3}
  %v ?[*], %i ?[*] = TopK.11(%x, @k) "top"
  output %v
  output %i
}`, "-1", "0", "76"},
	} {
		t.Run(name, func(t *testing.T) {
			m := compiled(t, c.graph)
			require.NotEmpty(t, m.Blocks[0].Nodes)
			b := m.Blocks[0] // others change layouts
			assert.Equal(t, []string{c.flops, c.products, c.bytes}, []string{b.FLOPs, b.Products, b.Bytes}, "%s, FLOPs, products and bytes", b.Anchor)
		})
	}
}

// TestSchedule: what a kernel follows is there, as package sched reads it.
func TestSchedule(t *testing.T) {
	m := compiled(t, `graph "g" opset 17 {
  input %x f32[37, 64]
  const @w f32[64, 2] = {`+strings.TrimSuffix(strings.Repeat("1, ", 128), ", ")+`}
  %p ?[*] = MatMul.13(%x, @w) "m"
  %y ?[*] = ReduceMax.13(%p) "r"
  output %y
}`)
	var with []string
	for _, b := range m.Blocks {
		if b.Schedule == "" {
			continue
		}
		with = append(with, b.Nodes[0])
		s, err := sched.Parse(b.Schedule)
		require.NoError(t, err, b.Schedule)
		assert.Equal(t, "fma_f32x4", s.Stages[0].Tile.Row)
	}
	assert.Equal(t, []string{`MatMul "m"`}, with)
}
