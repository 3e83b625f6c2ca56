package a64count

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const counted = `b 0 400000 4e22cc20 3dc00020
b 1 400008 d65f03c0
m 0*3
b 2 500000 4e22cc20
m 0*10 2*1
m 1*1
b 3 50`

func TestRead(t *testing.T) {
	blocks, intervals, err := read(strings.NewReader(counted))
	require.NoError(t, err)
	assert.Equal(t, []block{
		{0x400000, Counts{2, 4, 1, 0, 2}}, {0x400008, Counts{1, 0, 0, 0, 1}}, {0x500000, Counts{1, 4, 0, 0, 1}},
	}, blocks)
	assert.Equal(t, []interval{{0: 3}, {0: 10, 2: 1}, {1: 1}}, intervals)
	assert.Equal(t, []Function{{"f", Counts{20, 40, 10, 0, 20}}, {"g", Counts{1, 4, 0, 0, 1}}},
		byFunction(blocks, intervals[1], symbols{{Name: "f", Value: 0x400000}, {Name: "g", Value: 0x500000}}))
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"x\n":                         `line 1: want a block or a mark, found "x`,
		"b 0 40 d65f03c0\nb 2 40 0\n": `line 2: want block 1, found "2"`,
		"b 0 zz 0\n":                  "line 1: ",
		"b 0 40 zz\n":                 "line 1: ",
		"m 0*1\n":                     `want one of 0 blocks, found "0*1"`,
		"b 0 40 0\nm 0*x\n":           "line 2: ",
	} {
		_, _, err := read(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestSymbols(t *testing.T) {
	s := symbols{{Name: "f", Value: 16}, {Name: "_ZL1gPKfl", Value: 32}}
	for address, want := range map[uint64]string{15: "", 16: "f", 31: "f", 32: "g", 100: "g"} {
		assert.Equal(t, want, s.at(address), address)
	}
	for _, name := range []string{"", "_", "_Z", "_Z9short", "_ZL", "_ZN1a1bE", "main", "_Z99999999999999999999f"} {
		assert.Equal(t, name, plainName(name))
	}
	file, err := os.Executable()
	require.NoError(t, err)
	if f, err := elf.Open(file); err == nil && f.Machine == elf.EM_X86_64 {
		_, err = symbolsOf(file)
		assert.ErrorContains(t, err, "is for EM_X86_64")
	}
}

// TestCount counts a program of known instructions.
func TestCount(t *testing.T) {
	const compiler = "aarch64-linux-gnu-gcc"
	for _, tool := range []string{"qemu-aarch64", compiler, "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(source, []byte(`#include <time.h>
void kernel(const float* x, long n);
__asm__(".globl kernel\n.type kernel, %function\nkernel:\n1: ldp q0, q1, [x0]\nfmla v2.4s, v0.4s, v1.4s\nsubs x1, x1, #1\nb.ne 1b\nret\n.size kernel, .-kernel");
int main() {
  float x[8] = {0};
  struct timespec t;
  for (int i = 0; i < 2; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    kernel(x, 1000);
    clock_gettime(CLOCK_MONOTONIC, &t);
  }
}
`), 0o666))
	said, err := exec.Command(compiler, "-static", "-o", program, source).CombinedOutput()
	require.NoError(t, err, "%s", said)
	c, command, err := New(dir, program, []string{"qemu-aarch64", "-cpu", "max"})
	if err != nil {
		t.Skip(err)
	}
	said, err = exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	functions, err := c.LastRun(func(name string) bool { return name == "kernel" })
	require.NoError(t, err)
	assert.Equal(t, Function{"kernel", Counts{4001, 4000, 2000, 0, 5001}}, functions[0])
	_, err = c.LastRun(func(name string) bool { return name == "other" })
	assert.ErrorContains(t, err, "none of the kernels ran")
}

func TestNewRefuses(t *testing.T) {
	_, _, err := New(t.TempDir(), "x", nil)
	assert.ErrorContains(t, err, "no emulator")
	_, _, err = New(t.TempDir(), "x", []string{"/bin/echo"})
	assert.ErrorContains(t, err, "has no plugins")
	_, _, err = New(t.TempDir(), "x", []string{"./absent"})
	assert.ErrorContains(t, err, "absent")
}
