package fastrpctest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hexagon is the command that compiles for the DSP, as in toolchains/cc:hexagon. C++ initializes
// values without a C++ library's locks.
var hexagon = []string{"--target=hexagon-unknown-elf", "-mcpu=hexagonv68", "-ffreestanding", "-nostdlibinc", "-Wall", "-Wextra",
	"-Wno-missing-field-initializers", "-Werror", "-fPIC", "-fvisibility=hidden", "-I" + root, "-Itestdata", "-I" + root + "/toolchains/qemu/hexagon"}

var (
	hexagonC   = []string{"-std=c11", "-O2", "-fno-builtin", "-ffp-contract=off"}
	hexagonCXX = []string{"-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"}
)

// dsp compiles files for the DSP separately, and returns the objects.
func dsp(t *testing.T, dir, prefix string, flags []string, patterns ...string) (out []string) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			language := hexagonCXX
			if strings.HasSuffix(file, ".c") {
				language = hexagonC
			}
			object := filepath.Join(dir, prefix+filepath.Base(file)+".o")
			text, err := exec.Command("clang", slices.Concat(hexagon, language, flags, []string{"-c", file, "-o", object})...).CombinedOutput()
			require.NoError(t, err, "%s", text)
			out = append(out, object)
		}
	}
	return out
}

// linkDSP links objects for the DSP.
func linkDSP(t *testing.T, to string, objects []string, flags ...string) {
	text, err := exec.Command("ld.lld", slices.Concat(flags, []string{"-o", to}, objects)...).CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// emulatedDSP builds the process on the DSP, and the libraries that it finds in the folder:
// skeletons of the fake model for Hexagon.
func emulatedDSP(t *testing.T, dir string) (program string) {
	builtins := dsp(t, dir, "dsp_", nil, root+"/runtime/dsp/dnn_*.c")
	program = filepath.Join(dir, "dsp")
	linkDSP(t, program, append(dsp(t, dir, "dsp_", nil, "testdata/dsp.c", "testdata/elf.c", root+"/toolchains/qemu/hexagon/libc.c"), builtins...), "-static")
	runtime := append(dsp(t, dir, "dsp_", nil, root+"/runtime/dnn_*.cc", root+"/runtime/fastrpc/far.cc", root+"/runtime/fastrpc/skeleton.cc"), builtins...)
	for name, flags := range map[string][]string{"fake_v68_skel": nil, "copy": nil, "graph": {"-DGRAPH=kOther"}, "weights": {"-DWEIGHTS=kOther"}} {
		skeleton := dsp(t, dir, "dsp_"+name, flags, "testdata/far.cc")
		linkDSP(t, filepath.Join(dir, "lib"+name+".so"), append(skeleton, runtime...), "-shared")
	}
	linkDSP(t, filepath.Join(dir, "libempty.so"), dsp(t, dir, "dsp_", nil, "testdata/empty.cc"), "-shared")
	return program
}

// TestEmulated runs the tests with a skeleton for the DSP, in a separate process under
// qemu-hexagon, which may also crash in a call. Sanitizers check the stub; the process on the DSP
// counts the memory of its libraries.
func TestEmulated(t *testing.T) {
	for _, tool := range []string{"clang", "ld.lld", "qemu-hexagon"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	b := &build{t, "clang++", []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize=function", "-fno-sanitize-recover=all"}, t.TempDir()}
	t.Setenv("FAKE_DSP_PROGRAM", "exec qemu-hexagon "+emulatedDSP(t, b.dir))
	b.broken()
	b.fake("emulated.cc")
	b.runs(b.driver(b.objects()), "emulated")
}
