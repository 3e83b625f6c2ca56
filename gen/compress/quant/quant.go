package quant

import (
	"errors"
	"fmt"
	"runtime"

	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// oldest is the opset from which on scales by channel are.
const oldest = 13

// oldestWide is that from which on activations may have 16 bits.
const oldestWide = 21

// Run quantizes a simplified graph whose batch norms are folded, by the ranges that its values have on the inputs; weights of 4 bits need none.
// It gives what became of each node, and of each what the outputs lose, on so many of the inputs, when it alone is quantized.
func Run(g *ir.Graph, s Settings, inputs []samples.Input, alone int) (*Report, error) {
	if s.WeightBits == 4 {
		return fourBits(g, &s, inputs, alone)
	}
	if len(inputs) == 0 {
		return nil, errors.New("there are no inputs for the calibration")
	}
	if g.Opset < oldestWide && (integers[s.Activations].Size() > 1 || len(s.Wide) > 0) {
		return nil, fmt.Errorf("activations of 16 bits need opset %d or later, and the model has opset %d; export it again, or use 8 bits", oldestWide, g.Opset)
	}
	if err := raise(g); err != nil {
		return nil, err
	}
	if err := Equalize(g, s); err != nil {
		return nil, err
	}
	p, err := newPlan(g, &s)
	if err != nil {
		return nil, err
	}
	if len(p.nodes) == 0 {
		return nil, errors.New("no node of the model can be quantized; want a product with float32 operands that the settings do not leave float")
	}
	if err := p.calibrate(inputs); err != nil {
		return nil, err
	}
	layers, err := p.layers()
	if err != nil {
		return nil, err
	}
	if s.CorrectBias {
		if err := p.correct(layers, inputs); err != nil {
			return nil, err
		}
	}
	r := p.report()
	if err := p.alone(r, valuesOf(layers), inputs[:min(alone, len(inputs))]); err != nil {
		return nil, err
	}
	return r, p.insert(layers, r)
}

// formed are the definitions since which operators have the form, and the meaning, of opset 13; those of others have only gained types
// and attributes since opset 7.
var formed = map[string]int{
	"BatchNormalization": 9, "Clip": 11, "Dropout": 12, "Hardmax": 13, "LogSoftmax": 13, "Pad": 11, "ReduceSum": 13, "Resize": 11, "Scan": 9,
	"Slice": 10, "Softmax": 13, "Split": 13, "Squeeze": 13, "TopK": 10, "Unsqueeze": 13, "Upsample": oldest + 1,
}

// raise makes the graph's opset new enough, which its nodes must allow.
func raise(g *ir.Graph) error {
	if g.Opset >= oldest {
		return nil
	}
	from := g.Opset
	g.Opset = oldest
	return raiseNodes(g, from)
}

func raiseNodes(g *ir.Graph, from int) error {
	for _, n := range g.Nodes {
		if n.Version < formed[n.Op] {
			return n.Errorf("the model has opset %d, in which this operator differs from opset %d, and scales by channel need the latter; export the model with opset %d or later", from, oldest, oldest)
		}
		if row := ops.Lookup(n.Op); row != nil {
			n.Version = row.Definition(oldest)
		}
		for _, r := range n.Regions {
			r.Opset = oldest
			if err := raiseNodes(r, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// workers are as many as run at once.
func workers() int { return runtime.GOMAXPROCS(0) }

// describe names a node in a report.
func describe(n *ir.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return fmt.Sprintf("%s %s", n.Op, n.Outputs0())
}
