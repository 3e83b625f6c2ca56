package main

import (
	"fmt"

	"rules_dnn/gen/pipeline"
)

// warningTexts say when the compiler warns, and what to do. A kind without text is an error.
var warningTexts = map[string][2]string{
	pipeline.Untiled: {
		"contractions (convolutions, GEMM) of 1 % or more of the network's operations have no register tile. The warning names the node, its type and the reason. It leaves out what nobody can change, such as depthwise convolutions.",
		"Change the node's type or shapes, or accept the warning.",
	},
	pipeline.Baseline: {
		"the library has kernels for SSE2 only, as with `variants = []`. With AVX2 or AVX-512 a network takes a fraction of the time. The rules warn only with `-c opt`.",
		"Name a platform with a level, or keep the default variants.",
	},
	"declared": {
		"a shape that the model declares for an output differs from the computed one, which the header and the manifest have.",
		"Correct the model, or accept the warning.",
	},
	"default": {
		"an input has a default value (an initializer of the same name), so it is a constant.",
		"`dnnc_opts = [\"--keep-input=NAME\"]` makes it an input of each run; or accept the warning.",
	},
	"range": {
		"with `precision = \"fp16\"`, a value leaves the range of f16 on the calibration's inputs and stays in f32. The warning has the numbers.",
		"Accept the warning; or scale the value in the model, or use `bf16`.",
	},
	pipeline.Pruning: {
		"weights were pruned without training, so accuracy is probably lost.",
		"Train with `dnn_prune`, or use the masks of a trained network.",
	},
}

// warningsPage lists the kinds of warnings.
func warningsPage(*repository) (map[string]string, error) {
	p := newPage("Warnings", "`gen/pipeline`")
	p.text("The compiler warns if a network will be slow or wrong and something can be done about it.")
	var rows [][]string
	for _, kind := range pipeline.WarningKinds {
		text, ok := warningTexts[kind]
		if !ok {
			return nil, fmt.Errorf("warnings of kind %s are not described in tools/docs/warnings.go", kind)
		}
		rows = append(rows, []string{quoted(kind), text[0], text[1]})
	}
	p.table([]string{"kind", "when", "what to do"}, rows)
	p.heading(2, "What becomes of them")
	p.items(
		"`--@rules_dnn//rules:warnings=print` prints them (the default), `error` makes them errors, and `none` prints nothing.",
		"`dnnc_opts = [\"--accept=KIND\"]` accepts those of one network.",
		"The manifest always lists them (`warnings`).",
	)
	return map[string]string{"warnings.md": p.String()}, nil
}
