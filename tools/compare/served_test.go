package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/tools/a64count"
)

// TestCheckBare: options that mean nothing for a chip are refused.
func TestCheckBare(t *testing.T) {
	processor, dsp := library{{Name: "x86_64_v3", CPU: "x86_64"}}, library{{Name: "hexagon_v68", CPU: "hexagon"}}
	for _, c := range []struct {
		args  string
		chips library
		want  string
	}{
		{"--rounds=2 --threads=2", processor, ""},
		{"--executed", dsp, ""},
		{"--executed", processor, "--executed: only an emulator of a DSP counts packets, and x86_64_v3 is not a DSP"},
		{"--rounds=2", dsp, "--rounds=2: times of an emulator mean nothing"},
		{"--layers", dsp, "--layers: layers are compared only on processors, and hexagon_v68 is a DSP"},
		{"--threads=2", dsp, "--threads=2: a DSP's program has one thread"},
		{"--tune=a", dsp, "a measures kernels on the processor that runs them, and hexagon_v68 is under an emulator"},
	} {
		o, err := parse(append([]string{"a.onnx"}, strings.Fields(c.args)...))
		require.NoError(t, err)
		if err = o.checkBare(c.chips); c.want == "" {
			assert.NoError(t, err, c.args)
		} else {
			assert.ErrorContains(t, err, c.want, c.args)
		}
	}
}

// TestCheckCount: options that mean nothing for counting are refused.
func TestCheckCount(t *testing.T) {
	processor, dsp := library{{Name: "arm64", CPU: "arm64"}}, library{{Name: "hexagon_v68", CPU: "hexagon"}}
	for _, c := range []struct {
		args  string
		chips library
		want  string
	}{
		{"", processor, ""},
		{"", dsp, ""},
		{"--count --emulator=qemu", processor, ""},
		{"--count --emulator=qemu", dsp, "--count: only programs for 64-bit ARM are counted, and hexagon_v68 is a DSP"},
		{"--count", processor, "--count: want --emulator"},
		{"--count-json=x.json", processor, "--count-json=x.json: want --count"},
		{"--count --emulator=qemu --threads=2", processor, "--count: want one thread, found --threads=2"},
		{"--count --emulator=qemu --rounds=1", processor, "--count: an emulator's times mean nothing"},
		{"--count --emulator=qemu --peers=all --rounds=1", processor, "--count: an emulator's times mean nothing"},
	} {
		o, err := parse(append([]string{"a.onnx"}, strings.Fields(c.args)...))
		require.NoError(t, err)
		if err = o.checkCount(c.chips); c.want == "" {
			assert.NoError(t, err, c.args)
		} else {
			assert.ErrorContains(t, err, c.want, c.args)
		}
	}
}

// TestBlocksOf finds the blocks of kernels that only one variant has, too.
func TestBlocksOf(t *testing.T) {
	m := &manifest.Manifest{
		Blocks:   []manifest.Block{{Kernel: "k", Nodes: []string{"a", "b"}}, {Kernel: "k", Nodes: []string{"c"}}},
		Variants: []manifest.Variant{{Kernels: []string{"own", "k"}}, {Kernels: []string{"k", "k"}}},
	}
	assert.Equal(t, map[string][]string{"k": {"a, b", "c"}, "own": {"a, b"}}, blocksOf(m))
}

// TestCountReport prints kernels with their blocks, and small functions together.
func TestCountReport(t *testing.T) {
	var out bytes.Buffer
	c := &counter{blocks: map[string][]string{"k": {"Conv a", "Conv b"}}}
	require.NoError(t, c.print(&out, []a64count.Function{
		{Name: "k", Counts: a64count.Counts{Instructions: 2e6, MultiplyAdds: 4e6, Loads: 5e5, Stores: 1e5, Spread: 3e6}},
		{Name: "memcpy", Counts: a64count.Counts{Instructions: 1e4, Spread: 1e4}}, {Name: "x", Counts: a64count.Counts{Instructions: 100, Spread: 100}},
	}))
	assert.Contains(t, out.String(), "executed 2.010 M instructions (3.010 with one register for each load and store), 4.000 M multiply-adds, 0.500 M loads, 0.100 M stores\n")
	assert.Regexp(t, ` +2\.000 +99\.50 +4\.000 +0\.500 +0\.100 +k; Conv a; Conv b\n`, out.String())
	assert.Contains(t, out.String(), "  memcpy\n")
	assert.NotContains(t, out.String(), "  x\n")
	assert.Contains(t, out.String(), "  other functions\n")
	require.NoError(t, (*counter)(nil).report(nil), "without --count")
}
