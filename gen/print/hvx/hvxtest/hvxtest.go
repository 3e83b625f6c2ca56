// Package hvxtest compiles programs that package hvx printed and runs them under qemu-hexagon,
// without a C library. Only tests import it.
package hvxtest

import (
	"fmt"
	"regexp"

	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/cpp/cpptest"
	"rules_dnn/gen/print/hvx"
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

// missing are functions of double that come from a C library, which these programs have none of.
var missing = regexp.MustCompile(`__builtin_(pow|exp|expm1|log|log1p|erf|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|asinh|acosh|atanh|sqrt|ceil|trunc)\(`)

// Missing is a function of a C library that a program calls and does not have; or "".
func Missing(p *plan.Program) (string, error) {
	files, err := hvx.Print(p, "p", 1)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if m := missing.FindStringSubmatch(f.Text); m != nil {
			return m[1], nil
		}
	}
	return "", nil
}

// files are what a program has beside what is printed: the runtime's part for DSPs, and what stands in for a C library, by the repository's
// folder, in which compilers look.
func files() map[string]string {
	out := map[string]string{}
	for to, from := range map[string]string{
		"dsp_builtins.c": "runtime/dsp/dnn_builtins.c", "dsp_float.c": "runtime/dsp/dnn_float.c", "libc.c": "toolchains/qemu/hexagon/libc.c",
		"stdio.h": "toolchains/qemu/hexagon/stdio.h", "stdlib.h": "toolchains/qemu/hexagon/stdlib.h", "string.h": "toolchains/qemu/hexagon/string.h",
	} {
		out[to] = fmt.Sprintf("#include \"%s\"\n", from)
	}
	return out
}
