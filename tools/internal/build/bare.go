package build

import (
	"fmt"
	"slices"
	"strings"
)

// A program for a DSP, which has no operating system and no C library, is compiled by clang, as
// toolchains/cc:hexagon does.

// bareCopts are of all that is compiled for a DSP.
var bareCopts = []string{"--target=hexagon-unknown-elf", "-mcpu=hexagonv66", "-ffreestanding", "-nostdlibinc"}

// withoutBuiltins are of C in which a loop that copies is to stay one.
var withoutBuiltins = []string{"-std=c11", "-O2", "-ffp-contract=off", "-fno-builtin"}

// KernelCOpts returns the options with which the rules compile kernels in C.
func KernelCOpts() []string {
	return append([]string{"-std=c11"}, slices.DeleteFunc(slices.Clone(KernelCopts), func(flag string) bool {
		return slices.Contains([]string{"-std=c++17", "-fno-exceptions", "-fno-rtti"}, flag)
	})...)
}

// DSP is where dnnc put what it made of a model for a DSP, and how kernels are compiled.
type DSP struct {
	// Work is the folder: kernels, kernels_c, weights.S and what that embeds, the header model.h.
	Work  string
	Copts []string
	// Compiler is clang and its options; nil: the one on the PATH.
	Compiler []string
}

// Program makes a program of the model, which check.StartEmulated runs under qemu-hexagon.
func (d *DSP) Program() (string, error) {
	clang := d.Compiler
	if clang == nil {
		clang = []string{"clang"}
	}
	served, err := WriteServed(d.Work)
	if err != nil {
		return "", err
	}
	var objects []string
	var jobs [][]string
	for n, part := range []struct {
		pattern string
		copts   []string
	}{
		{d.Work + "/kernels_c/*.[cS]", append(KernelCOpts(), d.Copts...)},
		{d.Work + "/kernels/*.cc", append(slices.Clone(KernelCopts), d.Copts...)},
		{d.Work + "/weights.S", []string{"-I" + d.Work}},
		{served, RuntimeCopts},
		{"runtime/dnn_*.cc", RuntimeCopts},
		{"runtime/dsp/dnn_*.c", withoutBuiltins},
		{"runtime/dsp/serve/*.cc", RuntimeCopts},
		{"toolchains/qemu/hexagon/*.c", withoutBuiltins},
	} {
		files, err := Sources(part.pattern)
		if err != nil {
			return "", err
		}
		for i, f := range files {
			o := fmt.Sprintf("%s/dsp_%d_%d.o", d.Work, n, i)
			objects = append(objects, o)
			jobs = append(jobs, slices.Concat(clang[1:], bareCopts, part.copts, []string{"-I.", "-I" + d.Work, "-Itoolchains/qemu/hexagon", "-c", f, "-o", o}))
		}
	}
	if err := Parallel(clang[0], jobs); err != nil {
		return "", fmt.Errorf("%w\n%s", err, needs)
	}
	program := d.Work + "/program"
	if err := Run(clang[0], slices.Concat(clang[1:], bareCopts[:1], objects, []string{"-fuse-ld=lld", "-nostdlib", "-static", "-o", program})...); err != nil {
		return "", fmt.Errorf("%w\n%s", err, needs)
	}
	return program, nil
}

const needs = "programs for Hexagon take clang and lld of LLVM with that target: install them, or run this command in ./bazelw exec"

// Emulator runs the programs; words of its command, before the program's.
func Emulator(given string) []string {
	if given != "" {
		return strings.Fields(given)
	}
	return []string{"qemu-hexagon"}
}
