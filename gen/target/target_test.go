package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

const avx2 = `{"name": "mine", "cpu": "x86_64", "vector_bits": 256, "vector_registers": 16,
  "cpu_features": ["avx2", "fma"], "instructions": ["muladd_f32x4", "fma_f32x8"]}`

func TestWidestInstruction(t *testing.T) {
	c, err := Parse([]byte(avx2))
	require.NoError(t, err)
	assert.Equal(t, "fma_f32x8", c.Tile(ir.F32).Name)
	assert.Nil(t, c.Tile(ir.I32))
	assert.Equal(t, 8, c.Lanes(ir.F32))
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"fma_f32x8"`, `"fma_f32x9"`, `chip mine: instructions: there is no "fma_f32x9"; known: muladd_f32x4, `},
		{`"fma_f32x8"`, `"fma_f32x4"`, `chip mine: instructions: fma_f32x4 is of cpu "arm64", the chip of "x86_64"`},
		{`"fma_f32x8"`, `"fma_f32x16"`, `chip mine: instructions: fma_f32x16 needs "avx512f" among cpu_features`},
		{`256`, `128`, `chip mine: instructions: fma_f32x8 has 8 lanes of f32, more than vector_bits 128`},
		{`"mine"`, `""`, "chip facts: no name"},
		{`"vector_bits"`, `"vectors"`, `chip facts: json: unknown field "vectors"`},
		{`256`, `100`, "chip mine: vector_bits is 100; want a power of two from 32 to 4096"},
		{`16`, `2`, "chip mine: vector_registers is 2; want 4 to 256"},
		{`"cpu"`, `"loads_per_cycle": 0, "cpu"`, "chip mine: rates and cache sizes must be positive"},
	} {
		_, err := Parse([]byte(strings.Replace(avx2, c.from, c.to, 1)))
		assert.ErrorContains(t, err, c.want)
	}
}
