package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLibrary: what values look like in memory is a matter of the library, and not of a chip.
func TestLibrary(t *testing.T) {
	chip := func(name, cpu string, bits int) *Target {
		c, err := Parse(fmt.Appendf(nil, `{"name": %q, "cpu": %q, "vector_bits": %d, "vector_registers": 16, "integers_only": %t}`, name, cpu, bits, cpu == "hexagon"))
		require.NoError(t, err)
		return c
	}
	narrow, wide := chip("narrow", "x86_64", 128), chip("wide", "x86_64", 512)
	alone, err := Library([]*Target{narrow})
	require.NoError(t, err)
	assert.Equal(t, []*Target{narrow}, alone)
	for _, order := range [][]*Target{{narrow, wide}, {wide, narrow}} {
		both, err := Library(order)
		require.NoError(t, err)
		for i, x := range both {
			assert.Equal(t, order[i].Name, x.Name)
			assert.Equal(t, order[i].VectorBits, x.VectorBits)
			assert.EqualValues(t, 16, x.ChannelBlock())
			assert.EqualValues(t, 64, x.VectorBytes())
		}
	}
	assert.EqualValues(t, 8, narrow.ChannelBlock(), "the chip itself is as it was")
	assert.EqualValues(t, 16, narrow.VectorBytes())
	_, err = Library([]*Target{narrow, chip("other", "arm64", 128)})
	assert.ErrorContains(t, err, `chip other has cpu "arm64"; variants must be processors that run the library's host program, with the same cpu as narrow, "x86_64"`)
	_, err = Library([]*Target{narrow, chip("narrow", "x86_64", 256)})
	assert.ErrorContains(t, err, "chip narrow is given twice")
	dsp := chip("dsp", "hexagon", 1024)
	_, err = Library([]*Target{dsp, chip("other", "hexagon", 1024)})
	assert.ErrorContains(t, err, "chip dsp has cpu \"hexagon\"")
	_, err = Library([]*Target{dsp})
	assert.NoError(t, err)
}
