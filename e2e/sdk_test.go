package e2e_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sdk is a synthetic Hexagon SDK. Its compiler runs this machine's clang and lld with the
// directories that clang searches beside hexagon-clang. Its libraries are empty.
type sdk struct {
	dir   string
	tools string // the compiler's folder
}

// sdkHeaders has those headers of the C library that clang's own headers include.
var sdkHeaders = map[string]string{
	"stdint.h": `#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
typedef __INTPTR_TYPE__ intptr_t; typedef __UINTPTR_TYPE__ uintptr_t;
#define INT32_MIN (-INT32_MAX - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-INT64_MAX - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT32_MAX 4294967295u
#define UINT64_MAX 18446744073709551615ULL
#define SIZE_MAX UINT32_MAX
#define UINT32_C(x) x##U
#define INT64_C(x) x##LL
#define UINT64_C(x) x##ULL
`,
	"limits.h": "",
}

// writeSDK writes an SDK with libraries for some Hexagon versions to a new directory. The
// directory is not in /tmp, because actions cannot read that.
func writeSDK(t *testing.T, name string, versions ...string) *sdk {
	s := &sdk{dir: filepath.Join(os.Getenv("TEST_TMPDIR"), "sdk-"+name)}
	require.NoError(t, os.RemoveAll(s.dir))
	s.tools = filepath.Join(s.dir, "tools/HEXAGON_Tools/8.7.06/Tools")
	older := filepath.Join(s.dir, "tools/HEXAGON_Tools/8.4.11/Tools/bin/hexagon-clang") // it must not be used
	s.write(t, older, "#!/bin/sh\nexit 1\n", 0o755)
	resources := run(t, "", "clang", "-print-resource-dir")
	s.tool(t, "hexagon-clang", "clang", `--target=hexagon-unknown-elf -ccc-install-dir "$here" -resource-dir="$here/../lib/clang/19" -nostdlibinc -isystem "$here/../target/hexagon/include" "$@"`)
	// clang passes options for Qualcomm's linker that lld does not support.
	s.tool(t, "hexagon-link", "ld.lld", `$(for word in "$@"; do case $word in --no-threads | -march=* | -mcpu=* | -G0) ;; *) printf '%s\n' "$word" ;; esac; done)`)
	s.tool(t, "hexagon-ar", "llvm-ar", `"$@"`)
	s.write(t, filepath.Join(s.tools, "lib/clang/19/.keep"), "", 0o644)
	require.NoError(t, os.Symlink(filepath.Join(resources, "include"), filepath.Join(s.tools, "lib/clang/19/include")))
	for file, text := range sdkHeaders {
		s.write(t, filepath.Join(s.tools, "target/hexagon/include", file), text, 0o644)
	}
	for _, folder := range []string{"incs/stddef", "ipc/fastrpc/incs"} {
		s.write(t, filepath.Join(s.dir, folder, "AEEStdDef.h"), "", 0o644)
	}
	for _, v := range versions {
		for _, folder := range []string{"include", "include/qurt", "include/posix"} {
			s.write(t, filepath.Join(s.dir, "rtos/qurt/compute"+v, folder, "qurt.h"), "", 0o644)
		}
		s.libraries(t, v)
	}
	return s
}

func (s *sdk) write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
}

func (s *sdk) tool(t *testing.T, name, program, args string) {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	s.write(t, filepath.Join(s.tools, "bin", name), fmt.Sprintf("#!/bin/sh\nhere=${0%%/*}\nexec %s %s\n", path, args), 0o755)
}

// libraries writes the files that clang links into each shared library, and an empty C library.
func (s *sdk) libraries(t *testing.T, version string) {
	t.Helper()
	dir := filepath.Join(s.tools, "target/hexagon/lib", version, "G0/pic")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initS.o", "finiS.o"} {
		run(t, "", "clang", "--target=hexagon-unknown-elf", "-m"+version, "-x", "assembler", "-c", "/dev/null", "-o", filepath.Join(dir, name))
	}
	run(t, "", "ld.lld", "-m", "hexagonelf", "-shared", "-soname", "libc.so", filepath.Join(dir, "initS.o"), "-o", filepath.Join(dir, "libc.so"))
	run(t, "", "llvm-ar", "crs", filepath.Join(dir, "libgcc.a"))
}

// hexagonSDK builds skeletons with a synthetic SDK. All other tests run without an SDK.
func hexagonSDK(t *testing.T, w *workspace) {
	t.Run("NoSDK", func(t *testing.T) { noSDK(t, w) })
	t.Run("Skeleton", func(t *testing.T) { sdkSkeleton(t, w) })
}

// noSDK builds without a usable SDK. It checks that the application builds, and that the skeleton
// fails with an error that explains what to do.
func noSDK(t *testing.T, w *workspace) {
	none := writeSDK(t, "none", "v68")
	require.NoError(t, os.Remove(filepath.Join(none.tools, "bin/hexagon-clang")))
	for _, c := range []struct {
		name, dir string
		want      []string
	}{
		{"unset", "", []string{"no C++ toolchain builds for the platform", "toolchains/cc:hexagon", "HEXAGON_SDK_ROOT"}},
		{"another folder", t.TempDir(), []string{"is not an SDK: it has no directory tools/HEXAGON_Tools with a compiler", "leave HEXAGON_SDK_ROOT unset"}},
		{"no compiler", none.dir, []string{"/tools/HEXAGON_Tools/8.7.06/Tools/bin has no program hexagon-clang", "leave HEXAGON_SDK_ROOT unset"}},
		{"another version", writeSDK(t, "other", "v69", "v73").dir, []string{`has no libraries for v68, only for ["v69", "v73"]`, "hexagon_sdk.configure() in MODULE.bazel"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			use := "--repo_env=HEXAGON_SDK_ROOT=" + c.dir
			w.bazel(t, "build", use, "//:relu_hvx")
			_, said, err := w.try("build", use, "--output_groups=dsp", "//:relu_hvx")
			require.Error(t, err)
			for _, want := range append(c.want, c.dir) {
				assert.Contains(t, said, want)
			}
		})
	}
}

// sdkSkeleton links a skeleton, checks the functions that it needs, and compares the command
// lines with golden ones.
func sdkSkeleton(t *testing.T, w *workspace) {
	use := "--repo_env=HEXAGON_SDK_ROOT=" + writeSDK(t, "whole", "v66", "v68").dir
	spawns := w.logged(t, use, "--output_groups=dsp", "//:relu_hvx")
	const name = "librelu_hvx_v68_skel.so"
	i := slices.IndexFunc(spawns, func(s spawn) bool { return len(s.ListedOutputs) > 0 && filepath.Base(s.ListedOutputs[0]) == name })
	require.GreaterOrEqual(t, i, 0)
	library, err := elf.Open(filepath.Join(w.base, "execroot", "_main", spawns[i].ListedOutputs[0]))
	require.NoError(t, err)
	defer library.Close()
	needed, err := library.ImportedLibraries()
	require.NoError(t, err)
	assert.Equal(t, []string{"libc.so"}, needed)
	symbols, err := library.DynamicSymbols()
	require.NoError(t, err)
	var has, takes []string // beside the model's functions, which its header shows
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			takes = append(takes, s.Name)
		} else if !strings.HasPrefix(s.Name, "relu_hvx_") {
			has = append(has, s.Name)
		}
	}
	assert.Equal(t, []string{"dnn_skel_handle_invoke"}, has)
	for _, symbol := range takes {
		assert.Contains(t, []string{"__wrap_free", "__wrap_malloc", "memcmp", "memcpy", "memmove", "memset", "strcmp"}, symbol)
	}
	outputs := []string{"relu_hvx_kernels_0.pic.o", "skeleton.pic.o", "dnn_float.pic.o", "librelu_hvx.skeleton.model.a", name}
	compareCommands(t, w, "hexagon", strings.Split(spawns[i].ListedOutputs[0], "/")[1], outputs, spawns)
}
