// Command fill adds weights to an ONNX model whose own were removed. A formula computes the
// numbers from the model's description of each tensor, so they are the same on every machine.
package main

import (
	"fmt"
	"os"

	"rules_dnn/tools/command"
	"rules_dnn/tools/fill/fill"
)

const usage = `usage: fill IN.onnx OUT.onnx [DATA]

Weights go to OUT.onnx or, if they have more than 1 GB, to OUT.onnx.data beside it. With DATA, a path in the
same folder, all weights go there. OUT.onnx names that file: keep both in one folder.
`

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	data := ""
	if len(os.Args) == 4 {
		data = os.Args[3]
	}
	if err := fill.File(command.Path(os.Args[1]), command.Path(os.Args[2]), command.Path(data)); err != nil {
		fmt.Fprintf(os.Stderr, "fill: %v\n", err)
		os.Exit(1)
	}
}
