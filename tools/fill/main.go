// Command fill gives weights to an ONNX model whose own were taken out: numbers
// that a formula makes of what the model says of each tensor, the same on every machine.
package main

import (
	"fmt"
	"os"

	"rules_dnn/gen/onnx"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fill IN.onnx OUT.onnx")
		os.Exit(2)
	}
	if err := fill(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "fill: %v\n", err)
		os.Exit(1)
	}
}

func fill(in, out string) error {
	model, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	filled, err := onnx.Fill(model)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return os.WriteFile(out, filled, 0o666)
}
