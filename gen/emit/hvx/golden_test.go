package hvx_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are products, each by one instruction.
var samples = []struct {
	instruction string
	product     modeltest.Products
}{
	// Rows of X lie side by side in lanes, and again in what is computed.
	{"vrmpy_i8u8", modeltest.Products{Name: "columns", Rows: 64, Inner: 32, Columns: []int64{8, 16}, X: ir.U8, W: ir.I8, XZero: 3, Scaled: true}},
	// Columns of W lie side by side; X has a tail.
	{"vrmpy_u8i8", modeltest.Products{Name: "rows", Rows: 5, Inner: 6, Columns: []int64{40}, X: ir.U8, W: ir.I8, XZero: 3}},
}

// TestGolden compares printed kernels with testdata.
func TestGolden(t *testing.T) {
	for _, s := range samples {
		t.Run(s.instruction, func(t *testing.T) {
			c, err := modeltest.Hexagon(s.instruction)
			require.NoError(t, err)
			g, _ := s.product.Graph()
			p, err := modeltest.CompileFor(g, c, nil)
			require.NoError(t, err)
			files, err := hvx.Print(p, "g", 1)
			require.NoError(t, err)
			for _, f := range files {
				if f.Name != "g_kernels_0.c" {
					continue
				}
				golden := filepath.Join("testdata", s.instruction+".c.golden")
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(f.Text), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), f.Text, "%s differs; if it should, run: go test ./gen/emit/hvx -run Golden -update", golden)
			}
		})
	}
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	assert.Len(t, files, len(samples), "testdata has a golden file of no sample")
}
