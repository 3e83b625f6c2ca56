package measure

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"  ":                    nil,
		"qemu-aarch64 -L  /usr": {"qemu-aarch64", "-L", "/usr"},
		`a "b c"' d' ''`:        {"a", "b c d", ""},
	} {
		got, err := split(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	_, err := NewRunner(`a "b`)
	assert.ErrorContains(t, err, "a quote")
	r, err := NewRunner("")
	require.NoError(t, err)
	assert.Nil(t, r)
}

// script writes a program of the shell.
func script(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

func output(t *testing.T, r *Runner, program string, files []string, args ...string) string {
	c, err := r.Command(program, files, args...)
	require.NoError(t, err)
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func TestRunner(t *testing.T) {
	program := script(t, "program", `printf '%s|' program "$@"`)
	assert.Equal(t, "program|a b|c|", output(t, nil, program, nil, "a b", "c"))
	r, err := NewRunner(script(t, "board", `shift; exec "$@"`) + " -L")
	require.NoError(t, err)
	assert.Equal(t, "program|a b|c|", output(t, r, program, nil, "a b", "c"))
	t.Setenv("BUILD_WORKING_DIRECTORY", filepath.Dir(program))
	r, err = NewRunner("./program first")
	require.NoError(t, err)
	assert.Equal(t, "program|first|./program|x|", output(t, r, "./program", nil, "x"))
	assert.False(t, r.Adb())
	assert.False(t, r.Emulates())
}

// TestAdb brings the program and its weights to a device, once, and runs the program there.
func TestAdb(t *testing.T) {
	device := t.TempDir()
	t.Setenv("DEVICE", device)
	adb := script(t, "adb", `echo "$@" >>"$DEVICE/log"
[ "$1 $2" = "-s 1" ] || exit 1
shift 2
case $1 in
  push) mkdir -p "$DEVICE$(dirname "$3")" && cp "$2" "$DEVICE$3" ;;
  shell) cd "$DEVICE" && eval "$(printf '%s' "$2" | sed "s|/data/local|$DEVICE/data/local|g")" ;;
esac
`)
	program := script(t, "program", `printf '%s|' "$@"; cat "${1#--weights=}"`)
	weights := filepath.Join(t.TempDir(), "w")
	require.NoError(t, os.WriteFile(weights, []byte("numbers"), 0o644))
	r, err := NewRunner(adb + " -s 1")
	require.NoError(t, err)
	require.True(t, r.Adb())
	for range 2 {
		out := output(t, r, program, []string{weights}, "--weights="+weights, "it's")
		assert.Equal(t, "--weights="+device+"/data/local/tmp/rules_dnn/1_w|it's|numbers", out)
	}
	log, err := os.ReadFile(filepath.Join(device, "log"))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(log), " push "), "each file once")
	r, err = NewRunner(adb + " -s 2")
	require.NoError(t, err)
	_, err = r.Command(program, nil)
	assert.ErrorContains(t, err, "-s 2 shell mkdir")
}

// TestDescribe says what is measured, and refuses a program that this machine does not run.
func TestDescribe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs have another format")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	said, err := (*Runner)(nil).Describe("//app:model", "//:here", self)
	require.NoError(t, err)
	assert.Equal(t, "measuring //app:model for the platform //:here on this machine ("+runtime.GOOS+"/"+runtime.GOARCH+")", said)

	text, err := os.ReadFile(self)
	require.NoError(t, err)
	binary.LittleEndian.PutUint16(text[18:], uint16(elf.EM_QDSP6))
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, text, 0o755))
	_, err = (*Runner)(nil).Describe("//app:model", "@@rules_dnn~//platforms:hexagon", other)
	assert.ErrorContains(t, err, "//app:model for the platform @rules_dnn~//platforms:hexagon is built for QDSP6, and does not run on this machine")
	assert.ErrorContains(t, err, "--run_under='qemu-aarch64 -L /usr/aarch64-linux-gnu'")
	for command, want := range map[string]string{
		"qemu-aarch64 -L /usr": "in qemu-aarch64 -L /usr: an emulator's times do not apply to a processor",
		"adb -s 1":             "on a device, through adb -s 1",
		"./board.sh":           "through ./board.sh",
	} {
		r, err := NewRunner(command)
		require.NoError(t, err)
		said, err := r.Describe("//app:model", "", other)
		require.NoError(t, err)
		assert.Equal(t, "measuring //app:model "+want, said)
	}
	_, err = (*Runner)(nil).Describe("//app:model", "", "nowhere")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
