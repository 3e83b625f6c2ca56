package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// operatorsPage makes the table of operators from gen/ops.
func operatorsPage(*repository) (map[string]string, error) {
	p := newPage("Operators", "`gen/ops`")
	p.text(
		"ONNX opsets from 1 to the newest are read; nodes of opsets 1 to 6 are upgraded on import. "+
			"An operator that is not supported is an error that names every such node.",
		"If, Loop and Scan run with the values of the run, and dimensions may depend on data: memory is planned for their maximum. "+
			"If nothing limits a dimension, the error names the bound to add to `dims`. "+
			"Axes known only at run time are refused, except for Slice. Values whose rank changes between iterations of a Loop are refused, too.",
		"Operators that draw random numbers use Philox4x32-10, a counter-based generator: the same seed produces the same bits on every chip, with any number of threads. "+
			"A node's attribute `seed` sets its seed; the others follow `dnnc graph --seed=NUMBER` (default 0). "+
			"`--seed=input` (in `dnnc_opts`) adds an input `seed` (int64, a scalar; the last one), so that each run sets its own. ONNX Runtime draws other numbers.",
		"Sequences work if lengths and positions are known when code is generated; inputs and outputs of a network cannot be sequences. "+
			"An input or output of INT4 or UINT4 has a byte for each element; its lower 4 bits are the value.",
	)
	p.heading(2, "Columns")
	p.items(
		"**opsets**: the versions of the operator's definition that are read.",
		"**types**: element types of the first operand with a type variable, and of others if they differ.",
		"**limits**: \"shapes from\" names operands that decide shapes: their elements are constants, or numbers of the run that become symbols, which `dims` limits; \"dims of the run\" if only the run knows the shapes of results.",
		"**cpu**: how the processor computes it. \"code\" is generated code, in vectors if accesses allow; \"call\" is a C++ function of the runtime; \"control\" is control flow of the host program; \"parts\" is a graph of other operators.",
		"**opencl**: \"device\", or \"host\" if only the processor computes it.",
		"**hvx**: \"integers\" if kernels for 8-bit integers use vectors of the DSP; other types and operators are scalar code.",
	)
	var onnx, microsoft, internal [][]string
	for _, row := range ops.Table() {
		switch {
		case strings.HasPrefix(row.Name, ops.Microsoft):
			microsoft = append(microsoft, operatorCells(row, strings.TrimPrefix(row.Name, ops.Microsoft)))
		case unicode.IsLower(rune(row.Name[0])):
			internal = append(internal, operatorCells(row, row.Name))
		default:
			onnx = append(onnx, operatorCells(row, row.Name))
		}
	}
	head := []string{"operator", "opsets", "types", "limits", "cpu", "opencl", "hvx"}
	p.heading(2, "ai.onnx")
	p.table(head, onnx)
	p.heading(2, "com.microsoft")
	p.text("Operators of ONNX Runtime that its quantizer, its optimizers and exporters of language models write.",
		"GroupQueryAttention is refused if its cache is quantized or a sliding buffer, and with a sink (`smooth_softmax`, `head_sink`), "+
			"normalizations of its own (`q_norm_weight`) or scores as a result. A cache that is both past and present is read and written as two tensors.")
	p.table(head, microsoft)
	p.heading(2, "Internal operators")
	p.text("Passes of the compiler make these; no ONNX model has them.")
	p.table(head, internal)
	return map[string]string{"operators.md": p.String()}, nil
}

func operatorCells(row *ops.Row, name string) []string {
	return []string{quoted(name), opsets(row), operatorTypes(row), limits(row), onProcessor(row), onDevice(row), onDSP(row)}
}

// opsets returns the versions that a row covers.
func opsets(row *ops.Row) string {
	out := make([]string, len(row.Versions))
	for i, v := range row.Versions {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ", ")
}

// operatorTypes returns the types of each type variable.
func operatorTypes(row *ops.Row) string {
	var out []string
	for _, in := range row.Inputs {
		if in.Structural || len(in.Types) == 0 {
			continue
		}
		if text := typeNames(in.Types); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return "—"
	}
	return strings.Join(out, "; ")
}

// typeSets are names of sets of types, the largest first.
var typeSets = []struct {
	name  string
	types []ir.DType
}{
	{"integers", []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64}},
	{"floats", []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64}},
}

// typeNames writes a set of types in few words.
func typeNames(types []ir.DType) string {
	rest := slices.Clone(types)
	var out []string
	for _, set := range typeSets {
		if !slices.ContainsFunc(set.types, func(t ir.DType) bool { return !slices.Contains(rest, t) }) {
			out = append(out, set.name)
			rest = slices.DeleteFunc(rest, func(t ir.DType) bool { return slices.Contains(set.types, t) })
		}
	}
	for _, t := range rest {
		out = append(out, t.String())
	}
	return strings.Join(out, " ")
}

// limits names operands that decide shapes, and reports whether the run decides them.
func limits(row *ops.Row) string {
	var known []string
	for _, in := range row.Inputs {
		if in.Structural {
			known = append(known, quoted(in.Name))
		}
	}
	var out []string
	if len(known) > 0 {
		out = append(out, "shapes from "+strings.Join(known, ", "))
	}
	if row.Executed {
		out = append(out, "dims of the run")
	}
	return strings.Join(out, "; ")
}

func onProcessor(row *ops.Row) string {
	switch row.Form {
	case ops.Opaque:
		return "call"
	case ops.Control:
		return "control"
	case ops.Composition:
		return "parts"
	}
	return "code"
}

func onDevice(row *ops.Row) string {
	switch row.Form {
	case ops.Opaque, ops.Control:
		return "host"
	case ops.Composition:
		return "parts"
	}
	return "device"
}

func onDSP(row *ops.Row) string {
	eight := func(in ops.Param) bool {
		return slices.Contains(in.Types, ir.I8) || slices.Contains(in.Types, ir.U8)
	}
	switch {
	case row.Form == ops.Opaque || row.Form == ops.Control:
		return "scalar"
	case row.Form == ops.Composition:
		return "parts"
	case slices.ContainsFunc(row.Inputs, eight):
		return "integers"
	}
	return "scalar"
}
