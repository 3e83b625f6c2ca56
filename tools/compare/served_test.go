package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		{"--executed", processor, "--executed: only an emulator of a DSP tells what it executes, and x86_64_v3 is none"},
		{"--rounds=2", dsp, "--rounds=2: times of an emulator mean nothing"},
		{"--layers", dsp, "--layers: layers are compared on processors, and hexagon_v68 is none"},
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
