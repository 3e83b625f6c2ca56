package sel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// kept are weights of 3x3 of which some are zero.
func kept(name string, channels int, keep func(filter, channel, tap int) bool) string {
	var vs []string
	for f := range channels {
		for c := range channels {
			for tap := range 9 {
				if keep(f, c, tap) {
					vs = append(vs, "0.5")
				} else {
					vs = append(vs, "0")
				}
			}
		}
	}
	return fmt.Sprintf("  const @%s f32[%d, %[2]d, 3, 3] = {%s}\n", name, channels, strings.Join(vs, ", "))
}

// TestSearchOfOtherWeights: blocks that are equal up to what they keep are one in a record, but have spaces of their own.
func TestSearchOfOtherWeights(t *testing.T) {
	text := kept("a", 16, func(f, c, tap int) bool { return (f*7+c*3)%4 == 0 && tap/3 == 1 }) +
		kept("b", 16, func(f, c, tap int) bool { return (f*5+c*3)%4 == 0 && tap%3 == 1 }) + `
  input %x f32[1, 16, 31, 33]
  %p f32[1, 16, 31, 33] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %y f32[1, 16, 31, 33] = Conv.11(%p, @b) {pads = [1, 1, 1, 1]}
  output %y
`
	o := tuned
	o.Layouts, o.Winograd, o.Candidate = false, false, 1
	times := tuning.Times{}
	for range 3 {
		o.History, o.Pruned = times, weights.NewEncodings()
		c, err := Run(fused(t, text), chipstest.Target(t, "x86_64_v3"), o)
		require.NoError(t, err)
		for _, k := range c.Kernels {
			if k.Tuning == nil {
				continue
			}
			for i, n := range k.Tuning.Kernels {
				times[k.Tuning.Key] = append(times[k.Tuning.Key], tuning.Kernel{Name: n, Micros: float64(10 + i), Rounds: 1, Params: k.Tuning.Params[i]})
			}
		}
	}
}

// TestFiltersOfOtherTypes: of two equal convolutions one's filters by Winograd fit 16 bits, and the other's do not: each has a kernel.
func TestFiltersOfOtherTypes(t *testing.T) {
	half := func(name, v string) string {
		return fmt.Sprintf("  const @%s f16[64, 64, 3, 3] = {%s}\n", name, strings.TrimSuffix(strings.Repeat(v+", ", 64*64*9), ", "))
	}
	text := half("a", "0.5") + half("b", "40000") + `
  input %x f16[1, 64, 14, 14]
  %p f16[1, 64, 14, 14] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %y f16[1, 64, 14, 14] = Conv.11(%p, @b) {pads = [1, 1, 1, 1]}
  output %y
`
	o := tuned
	o.Magnitudes = weights.NewMagnitudes()
	g := fused(t, text)
	c, err := Run(g, chipstest.Target(t, "x86_64_v4"), o)
	require.NoError(t, err)
	for _, b := range g.Blocks {
		require.NotNil(t, c.Kernels[b].Args, b.Label())
		_, err := c.Kernels[b].Args()
		assert.NoError(t, err)
	}
}

// TestDirectOfOtherParameters: a kernel whose name does not say its parameters is not taken for one of other parameters.
func TestDirectOfOtherParameters(t *testing.T) {
	text := filters("a", 32, 1, 3, 3) + `
  input %x f32[1, 32, 28, 28]
  %p f32[1, 32, 28, 28] = Conv.11(%x, @a) {group = 32, pads = [1, 1, 1, 1]}
  output %p
`
	o := tuned
	o.Candidate = 1
	c, err := Run(fused(t, text), chipstest.Target(t, "x86_64_v4"), o)
	require.NoError(t, err)
	found := false
	for _, k := range c.Kernels {
		if k.Tuning == nil || k.Tuning.Kernels[0] != "direct" {
			continue
		}
		found = true
		o := tuned
		o.Times = tuning.Times{k.Tuning.Key: {{Name: "direct", Micros: 1, Params: "direct pixels=3 band=1"}}}
		c, err := Run(fused(t, text), chipstest.Target(t, "x86_64_v4"), o)
		require.NoError(t, err)
		require.Len(t, c.Stale, 1)
		assert.Contains(t, c.Stale[0], `no kernel is "direct"`)
	}
	require.True(t, found)
}

// TestVariantOfParameters: a record's parameters of which no kernel reads the widest chip's weights are no error, and what was measured stays known.
func TestVariantOfParameters(t *testing.T) {
	library, err := target.Library([]*target.Target{chipstest.Target(t, "x86_64_v3"), chipstest.Target(t, "x86_64_v4")})
	require.NoError(t, err)
	narrow := func(k *tuning.Choice) tuning.Times { // a tile of one vector, whose weights lie in groups of 16
		for i, n := range k.Kernels {
			if strings.HasPrefix(n, "contraction tile ") && strings.Contains(n, "x1 ") {
				return tuning.Times{k.Key: {{Name: n, Micros: 1, Params: k.Params[i]}}}
			}
		}
		return nil
	}
	list := tuned
	list.Candidate = 1
	c, err := Run(fused(t, twoConvolutions()), library[1], list)
	require.NoError(t, err)
	own := tuned
	own.Times = tuning.Times{}
	for _, k := range c.Kernels {
		if k.Tuning != nil {
			for key, times := range narrow(k.Tuning) {
				own.Times[key] = times
			}
		}
	}
	require.NotEmpty(t, own.Times)
	g := fused(t, twoConvolutions())
	c, err = Run(g, library[1], own)
	require.NoError(t, err)
	require.NoError(t, c.Variant(g, library[0], list, false))
	tried := 0
	for b, k := range c.Others[0] {
		if k.Tuning == nil || !strings.HasPrefix(k.Tuning.Kernels[0], "contraction") {
			continue
		}
		for i, n := range k.Tuning.Kernels[:min(6, len(k.Tuning.Kernels))] {
			g := fused(t, twoConvolutions())
			c, err := Run(g, library[1], own)
			require.NoError(t, err)
			o := tuned
			o.Times = tuning.Times{k.Tuning.Key: {{Name: n, Micros: 1, Params: k.Tuning.Params[i]}}}
			require.NoError(t, c.Variant(g, library[0], o, true), n)
			for x, k := range c.Others[0] {
				if strings.Join(x.Ops, " ") == strings.Join(b.Ops, " ") {
					tried++
					assert.NotNil(t, k.Tuning, n)
				}
			}
		}
	}
	assert.Positive(t, tried)
}
