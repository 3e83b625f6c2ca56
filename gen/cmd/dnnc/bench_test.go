package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBench runs a program as NAME_bench does: what is measured comes first, on standard error, and all but the command's own options go on.
func TestBench(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o755)) }
	write("program", "#!/bin/sh\nprintf '%s|' \"$@\"\n")
	write("board", "#!/bin/sh\necho on board; exec \"$@\"\n")
	write("plan.json", `{"model": "//:net", "platform": "//:board", "program": "program", "weights": "w"}`)
	weights, err := filepath.Abs("w")
	require.NoError(t, err)
	bench := func(args ...string) (string, string, error) {
		out, log := &bytes.Buffer{}, &bytes.Buffer{}
		err := run(append([]string{"bench", "--plan=plan.json"}, args...), out, log)
		return out.String(), log.String(), err
	}
	out, log, err := bench("--dims=N=2", "--threads", "2", "--run_under", "./board", "x")
	require.NoError(t, err)
	assert.Equal(t, "on board\n--weights="+weights+"|--dims=N=2|--threads|2|x|", out)
	assert.Equal(t, "measuring //:net for the platform //:board through ./board\n", log)
	out, log, err = bench("--html=a")
	require.NoError(t, err)
	assert.Contains(t, out, "|--html=a|")
	assert.Contains(t, log, "on this machine")

	write("program", "#!/bin/sh\nexit 3\n")
	_, _, err = bench()
	assert.ErrorContains(t, err, "the program ended with exit status 3")
	require.NoError(t, os.Remove("program"))
	_, _, err = bench()
	assert.ErrorIs(t, err, os.ErrNotExist)
	out, _, err = bench("--help")
	require.NoError(t, err)
	assert.Contains(t, out, "--run_under=COMMAND")
	_, _, err = bench("--run_under='")
	assert.ErrorContains(t, err, "a quote")
}

// TestChipsByName compiles by names of chips and of a device, from any folder, as by their files.
func TestChipsByName(t *testing.T) {
	model := absolute(t, resnet)
	compiled := func(chip, variant string) map[string]string {
		t.Chdir(t.TempDir())
		mustRun(t, graphArgs(model)...)
		mustRun(t, compileArgs(model, chip, "--variant="+variant, "--out-variant=v")...)
		return tree(t)
	}
	assert.Equal(t, compiled(factsFile(t, "x86_64"), factsFile(t, "x86_64_v3")), compiled("x86_64", "x86_64_v3"))
	mustRun(t, compileArgs(model, "x86_64_v3", "--device=opencl_buffers", "--out-device-source=net.cl")...)
	_, err := dnnc(compileArgs(model, "z80")...)
	assert.ErrorContains(t, err, `there is no chip "z80"; want a JSON file, or one of platforms/chips/chips.bzl: x86_64, `)
	_, err = dnnc(compileArgs(model, "x86_64", "--device=abacus", "--out-device-source=net.cl")...)
	assert.ErrorContains(t, err, `there is no device "abacus"; want a JSON file, or one of platforms/devices: opencl_adreno_750, `)
}
