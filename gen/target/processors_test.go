package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProcessors: a chip that stands for others has their rates, and vectors of its own.
func TestProcessors(t *testing.T) {
	facts := func(name, cpu string, bits int, more string) string {
		return fmt.Sprintf(`{"name": %q, "cpu": %q, "vector_bits": %d, "vector_registers": 16%s}`, name, cpu, bits, more)
	}
	wide := facts("wide", "x86_64", 512, `, "fma_per_cycle": 3`)
	c, err := Parse([]byte(facts("level", "x86_64", 256, `, "runs_on": [`+wide+`]`)))
	require.NoError(t, err)
	require.Len(t, c.Processors(), 1)
	p := c.Processors()[0]
	assert.Equal(t, "wide", p.Name)
	assert.InDelta(t, 3, p.FMAPerCycle, 0)
	assert.Equal(t, 256, p.VectorBits)

	without, err := Parse([]byte(facts("level", "x86_64", 256, "")))
	require.NoError(t, err)
	assert.Same(t, without, without.Processors()[0])
	assert.NotEqual(t, without.Digest(), c.Digest(), "what is chosen depends on them")

	for _, bad := range []string{
		facts("arm", "arm64", 256, ""), facts("narrow", "x86_64", 128, ""), facts("level too", "x86_64", 256, `, "runs_on": [`+wide+`]`), `{}`,
	} {
		_, err := Parse([]byte(facts("level", "x86_64", 256, `, "runs_on": [`+bad+`]`)))
		assert.ErrorContains(t, err, "chip level: runs_on: ")
	}
}
