// Package hvxtest compiles programs that package hvx printed and runs them under qemu-hexagon,
// without a C library. Only tests import it.
package hvxtest

import (
	"fmt"
	"path"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx"
)

// Counts of a result, in the order in which the machine counts.
const (
	Packets = iota
	Instructions
	VectorInstructions
	counters
)

// Machine is a Hexagon processor of the chip's facts, which flags of a run give.
var Machine = cpptest.Machine{
	Language:  hvx.C,
	Compilers: []string{"clang"},
	Flags: []string{"--target=hexagon-unknown-elf", "-ffreestanding", "-nostdlibinc", "-fno-builtin-memset", "-fno-builtin-memcpy",
		"-ffp-contract=off", "-DDRIVER_COUNTERS=3", "-Wno-pass-failed"},
	Linker:   []string{"ld.lld"},
	Runner:   []string{"qemu-hexagon"},
	Packages: "clang, lld and qemu-user",
	Files:    files(),
	Counters: counters,
}

// files are what a program has beside what is printed: the runtime's part for DSPs, and what stands in for a C library, by the repository's
// folder, in which compilers look.
func files() map[string]string {
	out := map[string]string{}
	for _, from := range []string{
		"runtime/dsp/dnn_builtins.c", "runtime/dsp/dnn_f64.c", "runtime/dsp/dnn_f64_exact.c", "runtime/dsp/dnn_float.c", "runtime/dsp/dnn_wide.c",
		"runtime/dsp/dnn_wide_functions.c", "toolchains/qemu/hexagon/libc.c",
		"toolchains/qemu/hexagon/stdio.h", "toolchains/qemu/hexagon/stdlib.h", "toolchains/qemu/hexagon/string.h",
	} {
		out[path.Base(from)] = fmt.Sprintf("#include \"%s\"\n", from)
	}
	return out
}
