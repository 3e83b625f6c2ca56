package hostile

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/testing/modeltest"
)

// namesModel checks that all that a run of the case may refuse is told by the model's nodes, never by those that the
// compiler makes of them: whoever runs the model knows no others.
func (a *attempt) namesModel() {
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(a.Model, m); err != nil || len(m.Functions) > 0 {
		return // nodes of functions have names of their calls
	}
	known := map[string]bool{}
	labels(m.Graph, known)
	p, err := a.program(modeltest.Config{Chip: chipName})
	if err != nil {
		return // which interpret tells
	}
	var told []string
	for _, c := range p.Checks {
		told = append(told, c.Node)
	}
	refusals(p.Steps, &told)
	slices.Sort(told)
	for _, label := range slices.Compact(told) {
		if !known[label] {
			a.fail("a run refuses by %s, which is no node of the model", label)
		}
	}
}

// labels adds the labels of a graph's nodes, and of those of their graphs, to a set.
func labels(g *onnxpb.GraphProto, known map[string]bool) {
	for _, n := range g.GetNode() {
		op := n.GetOpType()
		if d := n.GetDomain(); d != "" && d != "ai.onnx" {
			op = d + "." + op
		}
		known[fmt.Sprintf("%s %s", op, ir.Show(n.GetName()))] = true
		for _, out := range n.GetOutput() {
			known[fmt.Sprintf("%s (result %s)", op, ir.Show(out))] = true
		}
		for _, a := range n.GetAttribute() {
			labels(a.GetG(), known)
		}
	}
}

// refusals adds the labels by which steps refuse values.
func refusals(steps []plan.Step, told *[]string) {
	for _, s := range steps {
		switch {
		case s.Call != nil && loop.Refuses(s.Kernel.Body):
			*told = append(*told, strings.Split(s.Block.Model(), " + ")...)
		case s.Check != nil:
			*told = append(*told, s.Check.Node)
		case s.Carry != nil:
			*told = append(*told, s.Carry.Label)
		case s.If != nil:
			refusals(s.If.Then, told)
			refusals(s.If.Else, told)
		case s.Loop != nil:
			if s.Loop.Made != "" {
				*told = append(*told, s.Loop.Label)
			}
			refusals(s.Loop.Body, told)
		case s.Choose != nil:
			for _, v := range s.Choose.Versions {
				refusals(v.Steps, told)
			}
		}
	}
}
