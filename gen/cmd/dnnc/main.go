// Command dnnc compiles a neural network (ONNX) to C++ sources. The Bazel rules
// run it; `dnnc help` explains how to run it by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"rules_dnn/gen/pipeline"
)

const usage = `dnnc compiles a neural network to C++ sources.

  dnnc graph    reads ONNX and writes the network's graph as text; knows nothing of the target
  dnnc compile  makes C++ of such a graph for a chip
  dnnc passes   lists the passes and what can be switched off

Example:
  dnnc graph --src=net.onnx --dim=N=1..64 --out=net.graph.txt --out-consts=net.consts
  dnnc compile --graph=net.graph.txt --consts=net.consts --src=net.onnx \
    --chip=platforms/chips/arm64.json --api=net --prefix=net --namespace=net \
    --out-header=net.h --out-kernels=kernels --out-weights=net.weights \
    --out-weights-asm=net.weights.S --out-manifest=net.manifest.json

'dnnc graph --help' and 'dnnc compile --help' list all options.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		if err == flag.ErrHelp {
			return
		}
		fmt.Fprintf(os.Stderr, "dnnc: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n\n%s", usage)
	}
	switch args[0] {
	case "graph":
		return graphCommand(args[1:])
	case "compile":
		return compileCommand(args[1:])
	case "passes":
		listPasses()
		return nil
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	}
	return fmt.Errorf("no command %q\n\n%s", args[0], usage)
}

func listPasses() {
	fmt.Println("dnnc graph:")
	printPasses(pipeline.GraphPasses)
	fmt.Println("dnnc compile:")
	printPasses(pipeline.CompilePasses)
	fmt.Println("parts of passes, for --disable:")
	for _, s := range pipeline.Switches {
		fmt.Printf("  %-12s %s\n", s.Name, s.Doc)
	}
}

func printPasses(ps []pipeline.Pass) {
	for _, p := range ps {
		note := ""
		if p.Required {
			note = " (required)"
		}
		fmt.Printf("  %-12s %s%s\n", p.Name, p.Doc, note)
		for _, o := range p.After {
			fmt.Printf("  %-12s after %s: %s\n", "", o.Pass, o.Why)
		}
	}
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
