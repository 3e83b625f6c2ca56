package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/tests/android/androidtest"
)

// ndk is a synthetic Android NDK. Its tools run this machine's LLVM, and androidtest provides its
// headers and libraries. It has no C++ headers, and its C++ library is empty.
type ndk struct {
	dir      string
	prebuilt string // the folder of tools
	clang    string // the folder of clang's own headers and libraries
}

// writeNDK writes an NDK to a new directory. The directory is not in /tmp, because actions cannot
// read that.
func writeNDK(t *testing.T, revision, apiLevel string) *ndk {
	n := &ndk{dir: filepath.Join(os.Getenv("TEST_TMPDIR"), "ndk-"+revision)}
	require.NoError(t, os.RemoveAll(n.dir))
	n.prebuilt = filepath.Join(n.dir, "toolchains/llvm/prebuilt/linux-x86_64")
	n.clang = filepath.Join(n.prebuilt, "lib/clang/19")
	n.write(t, filepath.Join(n.dir, "source.properties"), "Pkg.Desc = Android NDK\nPkg.Revision = "+revision+"\n", 0o644)
	androidtest.WriteHeaders(t, filepath.Join(n.prebuilt, "sysroot/usr/include"))
	own := run(t, "", "clang", "-print-resource-dir")
	require.NoError(t, os.MkdirAll(n.clang, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(own, "include"), filepath.Join(n.clang, "include")))
	// These are defaults of the NDK's clang: its own linker and libraries, and the NDK's C++ library.
	n.tool(t, "clang", `-resource-dir="$here/../lib/clang/19" --ld-path="$here/ld.lld" --rtlib=compiler-rt --unwindlib=libunwind -stdlib=libc++`)
	for _, name := range []string{"ld.lld", "llvm-ar", "llvm-objcopy", "llvm-strip"} {
		n.tool(t, name, "")
	}
	for _, abi := range androidtest.ABIs {
		n.libraries(t, abi, apiLevel, own)
	}
	return n
}

func (n *ndk) write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
}

// tool writes a script that runs one of this machine's programs.
func (n *ndk) tool(t *testing.T, name, flags string) {
	t.Helper()
	program, err := exec.LookPath(name)
	require.NoError(t, err)
	n.write(t, filepath.Join(n.prebuilt, "bin", name), fmt.Sprintf("#!/bin/sh\nhere=${0%%/*}\nexec %s %s \"$@\"\n", program, flags), 0o755)
}

// libraries writes the libraries for an ABI: empty functions with the names of Android's C
// library.
func (n *ndk) libraries(t *testing.T, abi androidtest.ABI, apiLevel, own string) {
	t.Helper()
	dir := filepath.Join(n.prebuilt, "sysroot/usr/lib", abi.Triple)
	level := filepath.Join(dir, apiLevel)
	builtins := filepath.Join(n.clang, "lib/linux")
	for _, d := range []string{level, builtins} {
		require.NoError(t, os.MkdirAll(d, 0o755))
	}
	assemble := func(out, visibility string, functions []string, flags ...string) {
		var text strings.Builder
		for _, f := range functions {
			fmt.Fprintf(&text, ".globl %s\n.%s %s\n.type %s,%%function\n%s:\n", f, visibility, f, f, f)
		}
		args := append([]string{"clang", "--target=" + abi.Triple + apiLevel, "-nostdlib", "-fuse-ld=lld", "-x", "assembler", "-", "-o", out}, flags...)
		run(t, text.String(), args...)
	}
	for _, library := range androidtest.Libraries {
		file := "lib" + library + ".so"
		assemble(filepath.Join(level, file), "protected", androidtest.Functions(t, library), "-shared", "-Wl,-soname,"+file)
	}
	// Objects for the start and the end of libraries and programs.
	for name, functions := range map[string][]string{"crtbegin_so": nil, "crtend_so": nil, "crtbegin_dynamic": {"_start"}, "crtend_android": nil} {
		assemble(filepath.Join(level, name+".o"), "hidden", functions, "-c")
	}
	n.write(t, filepath.Join(level, "libc++.a"), "INPUT(-lc++_static -lc++abi)\n", 0o644)
	for _, name := range []string{"libc++_static.a", "libc++abi.a", "libunwind.a"} {
		run(t, "", "llvm-ar", "crs", filepath.Join(dir, name))
	}
	library := filepath.Join(builtins, "libclang_rt.builtins-"+abi.CPU+"-android.a")
	if abi.Builtins == nil {
		// The library is not the NDK's, but it is from the same compiler for the same processor.
		require.NoError(t, os.Symlink(filepath.Join(own, "lib/linux/libclang_rt.builtins-"+abi.CPU+".a"), library))
		return
	}
	object := filepath.Join(n.dir, "builtins.o")
	assemble(object, "hidden", abi.Builtins, "-c")
	run(t, "", "llvm-ar", "crs", library, object)
}
