package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestGraphs: what is written is a graph, of the types that the names say.
func TestGraphs(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range products {
		g, err := ir.Parse(strings.NewReader(p.graph()), nil)
		require.NoError(t, err, p.graph())
		assert.Equal(t, p.x, g.Inputs[0].Type.String())
		assert.Equal(t, p.w, g.Inputs[1].Type.String())
		assert.False(t, seen[p.String()], p)
		seen[p.String()] = true
	}
}

// TestTable: shares are of the peak that was measured beside them, and bytes are compared with
// float32 of the same chip and size.
func TestTable(t *testing.T) {
	of := func(ms, products, gflops float64) *figures {
		f := &figures{}
		text := fmt.Sprintf(`{"machine": {"gflops": %g}, "blocks": [{"kernel": "product", "products": %g, "ms": {"least": %g}}]}`, gflops, products, ms)
		require.NoError(t, json.Unmarshal([]byte(text), f))
		return f
	}
	var x table
	x.add("a", product{x: "f32", w: "f32", size: 100}, of(1, 1e6, 4))
	x.add("a", product{x: "u8", w: "i8", size: 100}, of(0.25, 1.2e6, 4))
	x.add("b", product{x: "u8", w: "i8", size: 100}, of(0.25, 1e6, 4))
	assert.Equal(t, []string{
		"| chip | product | kernel | least ms | peak GFLOP/s | nominal % | executed % | times f32 |",
		"| --- | --- | --- | --- | --- | --- | --- | --- |",
		"| a | f32_100 | product | 1.000 | 4.0 | 50.0 | 50.0 |  |",
		"| a | u8i8_100 | product | 0.250 | 4.0 | 200.0 | 240.0 | 4.00 |",
		"| b | u8i8_100 | product | 0.250 | 4.0 | 200.0 | 200.0 |  |",
	}, strings.Split(strings.TrimSpace(x.text()), "\n"))
}
