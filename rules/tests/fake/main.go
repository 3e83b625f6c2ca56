// Command fake has dnnc's command line and writes the smallest outputs that
// the rules can compile and link: a model whose C API adds numbers. It lets
// tests of the rules run without the compiler.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// options maps an option's name to its values.
type options map[string][]string

func parse(args []string) options {
	o := options{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		o[name] = append(o[name], value)
	}
	return o
}

func (o options) one(name string) (string, error) {
	if len(o[name]) != 1 {
		return "", fmt.Errorf("fake: --%s is given %d times, want once", name, len(o[name]))
	}
	return o[name][0], nil
}

// digest reads an input, so that a sandbox without it fails, and shortens it to a number.
func digest(paths ...string) (int, error) {
	sum := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		for _, b := range data {
			sum = (sum*31 + int(b)) % 1000
		}
	}
	return sum, nil
}

// inputs lists all files that the options name.
func (o options) inputs() []string {
	var paths []string
	for _, name := range []string{"src", "graph", "consts", "chip", "device", "variant"} {
		paths = append(paths, o[name]...)
	}
	for _, pair := range o["external"] {
		at := strings.LastIndex(pair, "=")
		paths = append(paths, pair[at+1:])
	}
	return paths
}

func (o options) write(name, text string) error {
	path, err := o.one(name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func graph(o options) error {
	sum, err := digest(o.inputs()...)
	if err != nil {
		return err
	}
	if err := o.write("out", fmt.Sprintf("graph %d %v\n", sum, o["dim"])); err != nil {
		return err
	}
	return o.write("out-consts", "")
}

func kernels(o options, prefix, header string, answer int) error {
	dir, err := o.one("out-kernels")
	if err != nil {
		return err
	}
	weight := "static int weight() { return 1; }\n"
	if len(o["out-weights-asm"]) > 0 {
		weight = fmt.Sprintf("extern \"C\" const unsigned char %s_weights[];\nstatic int weight() { return %s_weights[0]; }\n", prefix, prefix)
	}
	files := map[string]string{
		"kernel.h":    fmt.Sprintf("int %s_kernel(int x);\n", prefix),
		"kernel_0.cc": fmt.Sprintf("#include \"kernel.h\"\nint %s_kernel(int x) { return x + %d; }\n", prefix, answer),
		"api.cc": fmt.Sprintf("#include %q\n#include \"kernel.h\"\n#include \"runtime/dnn_runtime.h\"\n%sint %s_answer(int x) { return %s_kernel(x) * weight(); }\n",
			filepath.Base(header), weight, prefix, prefix),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compile(o options) error {
	answer, err := digest(o.inputs()...)
	if err != nil {
		return err
	}
	prefix, err := o.one("prefix")
	if err != nil {
		return err
	}
	header, err := o.one("out-header")
	if err != nil {
		return err
	}
	if err := kernels(o, prefix, header, answer); err != nil {
		return err
	}
	if len(o["out-weights-asm"]) > 0 {
		weights, err := o.one("out-weights")
		if err != nil {
			return err
		}
		asm := fmt.Sprintf(".section .rodata\n.globl %s_weights\n%s_weights:\n.incbin \"%s\"\n.section .note.GNU-stack,\"\",%%progbits\n", prefix, prefix, filepath.Base(weights))
		if err := o.write("out-weights-asm", asm); err != nil {
			return err
		}
	}
	if len(o["device"]) > 0 {
		if err := o.write("out-device-source", "__kernel void nothing(void) {}\n"); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"out-header":   fmt.Sprintf("#pragma once\n#ifdef __cplusplus\nextern \"C\"\n#endif\nint %s_answer(int x);\n", prefix),
		"out-weights":  "\x02",
		"out-manifest": "{}\n",
	} {
		if err := o.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("fake: want graph or compile")
	}
	o := parse(args[1:])
	switch args[0] {
	case "graph":
		return graph(o)
	case "compile":
		return compile(o)
	}
	return fmt.Errorf("fake: unknown command %s, want graph or compile", args[0])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
