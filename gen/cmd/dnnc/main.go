// Command dnnc compiles a neural network (ONNX) to C++ sources. The Bazel rules
// run it; `dnnc help` explains how to run it by hand.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"

	training "rules_dnn/gen/cmd/command"
	"rules_dnn/gen/pipeline"
)

const usage = `dnnc compiles a neural network to C++ sources.

  dnnc graph    reads ONNX and writes the network's graph as text, for any target
  dnnc compile  generates C++ for a chip from such a graph
  dnnc prune    makes the weights of an ONNX model sparse by patterns and connectivity
  dnnc quantize quantizes an ONNX model to 8-bit integers, with ranges measured on some inputs
  dnnc train    trains networks, and prunes them by ADMM
  dnnc tune     measures kernels on this machine, for the record that 'dnnc compile --tuning' reads
  dnnc passes   lists the passes, their order and the reasons for it, and which parts can be disabled

Example:
  dnnc graph --src=net.onnx --dim=N=1..64 --out=net.graph.txt --out-consts=net.consts
  dnnc compile --graph=net.graph.txt --consts=net.consts --src=net.onnx \
    --chip=arm64 --api=net --prefix=net --namespace=net \
    --out-header=net.h --out-kernels=kernels --out-weights=net.weights \
    --out-weights-asm=net.weights.S --out-manifest=net.manifest.json

Outputs appear together when all are written, also if several dnnc write the same ones. If dnnc fails, it leaves nothing. A dnnc that is
killed may leave files called .dnnc-*.tmp, which can be removed.

'dnnc graph --help', 'dnnc compile --help', 'dnnc prune --help', 'dnnc quantize --help', 'dnnc bench --help' and 'dnnc tune --help' list all options, with examples;
'dnnc train --help' lists its commands.
`

// softMemory is from where on garbage is collected before the heap has doubled: a network of 100,000 nodes has some
// hundred megabytes that live.
const softMemory = 880 << 20

func main() {
	debug.SetMemoryLimit(softMemory)
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "dnnc: %v\n", err)
	os.Exit(1)
}

// run runs a command. Help and lists go to out, times to log.
func run(args []string, out, log io.Writer) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = bug(x)
		}
		err = shorten(err)
	}()
	return dispatch(args, out, log)
}

// dispatch runs the command that the first argument names.
func dispatch(args []string, out, log io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n\n%s", usage)
	}
	switch args[0] {
	case "graph":
		return graphCommand(args[1:], out, log)
	case "compile":
		return compileCommand(args[1:], out, log)
	case "prune":
		return pruneCommand(args[1:], out, log)
	case "quantize":
		return quantizeCommand(args[1:], out, log)
	case "train":
		debug.SetMemoryLimit(math.MaxInt64) // what training keeps is as large as it is
		return training.Run(args[1:], out)
	case "bench":
		return benchCommand(args[1:], out, log)
	case "tune":
		return tuneCommand(args[1:], out)
	case "passes":
		if len(args) > 1 {
			return fmt.Errorf("unexpected argument %q: dnnc passes takes none", args[1])
		}
		listPasses(out)
		return nil
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return nil
	}
	return fmt.Errorf("no command %q\n\n%s", args[0], usage)
}

func listPasses(w io.Writer) {
	fmt.Fprintln(w, "dnnc graph:")
	printPasses(w, pipeline.GraphPasses)
	fmt.Fprintln(w, "dnnc compile:")
	printPasses(w, pipeline.CompilePasses)
	fmt.Fprintln(w, "parts of passes, for --disable:")
	for _, s := range pipeline.Switches {
		fmt.Fprintf(w, "  %-12s %s\n", s.Name, s.Doc)
	}
}

func printPasses(w io.Writer, ps []pipeline.Pass) {
	for _, p := range ps {
		note := ""
		if p.Required {
			note = " (required)"
		}
		fmt.Fprintf(w, "  %-12s %s%s\n", p.Name, p.Doc, note)
		for _, o := range p.After {
			fmt.Fprintf(w, "  %-12s after %s: %s\n", "", o.Pass, o.Why)
		}
	}
}
