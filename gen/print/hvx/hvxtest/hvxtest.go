// Package hvxtest compiles programs that package hvx printed and runs them under qemu-hexagon,
// without a C library. Only tests import it.
package hvxtest

import (
	"embed"
	"path"
	"regexp"

	"rules_dnn/gen/loop"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/cpp/cpptest"
	"rules_dnn/gen/print/hvx"
)

//go:embed libc
var libc embed.FS

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
	Flags: []string{"--target=hexagon-unknown-linux-musl", "-ffreestanding", "-nostdlib", "-fno-builtin-memset", "-fno-builtin-memcpy",
		"-ffp-contract=off", "-DDRIVER_COUNTERS=3", "-Wno-pass-failed"},
	Linker:   []string{"ld.lld"},
	Runner:   []string{"qemu-hexagon"},
	Packages: "clang, lld and qemu-user",
	Files:    files(),
	Counters: counters,
}

// missing are functions of double that come from a C library, which these programs have none of.
var missing = regexp.MustCompile(`__builtin_(pow|exp|expm1|log|log1p|erf|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|asinh|acosh|atanh|sqrt|ceil|trunc)\(`)

// Missing is what a program calls and does not have: a function of a C library, or an operator that is
// C++ for the host; or "".
func Missing(p *plan.Program) (string, error) {
	for _, s := range p.Calls() {
		for _, x := range s.Kernel.Body {
			if call, ok := x.(loop.Call); ok {
				return call.Name, nil
			}
		}
	}
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

func files() map[string]string {
	out := map[string]string{}
	entries, err := libc.ReadDir("libc")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, e := range entries {
		text, err := libc.ReadFile(path.Join("libc", e.Name()))
		if err != nil {
			panic(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}
