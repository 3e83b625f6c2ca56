package cppapi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips/chipstest"
)

// kernelOptions are the options with which the rules compile a profile, as kernels.
func kernelOptions(t *testing.T) []string {
	text, err := os.ReadFile(filepath.Join(root, "rules/private/cc.bzl"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)_KERNEL_COPTS = \[(.*?)\n\]`).FindSubmatch(text)
	require.NotNil(t, list, "rules/private/cc.bzl has no list _KERNEL_COPTS")
	var out []string
	for _, m := range regexp.MustCompile(`"(.*?)"`).FindAllSubmatch(list[1], -1) {
		out = append(out, string(m[1]))
	}
	return out
}

var (
	label = regexp.MustCompile(`^(\.L\w+):`)
	jump  = regexp.MustCompile(`^\s+(?:j\w+|b|b\.?\w+|cbn?z\s+\w+,|tbn?z\s.*,)\s+(\.L\w+)$`)
)

// loops are the innermost loops of a function in assembly: the lines between a label and a jump back to it.
func loops(function string) [][]string {
	lines := strings.Split(function, "\n")
	var out [][]string
	at, seen := map[string]int{}, -1
	for i, l := range lines {
		l, _, _ = strings.Cut(l, "//") // what assemblers take for a comment
		l, _, _ = strings.Cut(l, "# ")
		lines[i] = l
		if m := label.FindStringSubmatch(l); m != nil {
			at[m[1]] = i
		}
		if m := jump.FindStringSubmatch(l); m != nil {
			if start, back := at[m[1]]; back && start > seen {
				out = append(out, instructions(lines[start+1:i+1]))
				seen = start
			}
		}
	}
	return out
}

// instructions are the lines that are neither empty nor comments nor directives.
func instructions(lines []string) (out []string) {
	for _, l := range lines {
		if word := strings.TrimSpace(l); word != "" && word[0] != '#' && word[0] != '.' {
			out = append(out, l)
		}
	}
	return out
}

// function is the assembly of the function whose symbol has a part.
func function(t *testing.T, asm, part string) string {
	start := regexp.MustCompile(`(?m)^\w*` + part + `\w*:`).FindStringIndex(asm)
	require.NotNil(t, start, "no function %s", part)
	text, _, _ := strings.Cut(asm[start[0]:], ".cfi_endproc")
	return text
}

func countLines(lines []string, re *regexp.Regexp) int {
	n := 0
	for _, l := range lines {
		if re.MatchString(l) {
			n++
		}
	}
	return n
}

var (
	multiplies = regexp.MustCompile(`^\s+(v?mul[ps]s|vfn?m(add|sub)\w+|fmla|fmul|fmadd)\s`)
	adds       = regexp.MustCompile(`^\s+(v?addps|fadd)\s`)
	memory     = regexp.MustCompile(`[(\[]`)
	stack      = regexp.MustCompile(`rsp|\[sp`)
	stores     = regexp.MustCompile(`^\s+(v?mov\w+\s.*\)|st\w+\s.*)$`)
)

// TestProbe reads what compilers make of the loops with which a chip is measured: the sums are in registers, or
// the peak that blocks are compared with would be that of the stack.
func TestProbe(t *testing.T) {
	x86 := []string{"g++", "g++-12", "g++-13", "g++-14", "g++-15", "clang++"}
	compiled := 0
	arm64 := []string{"aarch64-linux-gnu-g++", "clang++ --target=aarch64-linux-gnu"}
	for name, compilers := range map[string][]string{"x86_64": x86, "x86_64_v3": x86, "x86_64_v4": x86, "arm64": arm64} {
		chip := chipstest.Target(t, name)
		for _, compiler := range compilers {
			command := strings.Fields(compiler)
			if path, err := exec.LookPath(command[0]); err != nil || !compiles(t, path, append(command[1:], chip.Copts...)) {
				continue
			}
			compiled++
			t.Run(name+" "+compiler, func(t *testing.T) {
				m := fake()
				profile := &m.Variants[0].Profile
				profile.VectorBytes, profile.VectorRegisters = chip.VectorBits/8, chip.VectorRegisters
				f, err := Print(m)
				require.NoError(t, err)
				p := &project{t: t, dir: t.TempDir()}
				p.write(m.InternalName(), f.Internal)
				p.write(m.ProfileName(), f.Profile)
				out := filepath.Join(p.dir, "profile.s")
				args := append(append(append(command[1:], kernelOptions(t)...), chip.Copts...), "-S", "-I"+root, "-I"+p.dir, "-o", out, filepath.Join(p.dir, m.ProfileName()))
				p.run(command[0], args...)
				asm, err := os.ReadFile(out)
				require.NoError(t, err)
				checkMultiply(t, function(t, string(asm), "dnn_probe_multiply"), chains(profile.VectorRegisters))
				checkRead(t, function(t, string(asm), "dnn_probe_read"))
			})
		}
	}
	if compiled == 0 {
		t.Skip("no C++ compiler on this machine")
	}
}

// compiles reports whether a compiler has the target and its headers.
func compiles(t *testing.T, compiler string, flags []string) bool {
	file := filepath.Join(t.TempDir(), "one.cc")
	require.NoError(t, os.WriteFile(file, []byte("#include <stdint.h>\n#include <string.h>\n"), 0o644))
	return exec.Command(compiler, append(flags, "-fsyntax-only", file)...).Run() == nil
}

func checkMultiply(t *testing.T, text string, chains int) {
	var loop []string
	for _, l := range loops(text) {
		if countLines(l, multiplies) >= chains {
			loop = l // the last: numbers are made before
		}
	}
	require.NotNil(t, loop, "no loop multiplies %d times:\n%s", chains, text)
	require.Equal(t, chains, countLines(loop, multiplies), strings.Join(loop, "\n"))
	require.Zero(t, countLines(loop, memory), "the loop reads or writes memory:\n%s", strings.Join(loop, "\n"))
	require.LessOrEqual(t, len(loop), 2*chains+4, "the loop does more than to multiply and to add:\n%s", strings.Join(loop, "\n"))
}

func checkRead(t *testing.T, text string) {
	const sums = 8
	var loop []string
	for _, l := range loops(text) {
		if countLines(l, adds) >= sums {
			loop = l
		}
	}
	require.NotNil(t, loop, "no loop adds %d times:\n%s", sums, text)
	shown := fmt.Sprintf("the loop uses the stack:\n%s", strings.Join(loop, "\n"))
	require.Zero(t, countLines(loop, stack), shown)
	require.Zero(t, countLines(loop, stores), shown)
}
