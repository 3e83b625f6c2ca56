package quant

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// Report describes the result of quantizing a network.
type Report struct {
	// The network's nodes, in order.
	Nodes []Node `json:"nodes"`
	// The distance of each quantized output from the float network's, over all inputs.
	Outputs []Output `json:"outputs,omitempty"`
	// The accuracy on labelled inputs; absent if there are none.
	Accuracy *Accuracy `json:"accuracy,omitempty"`

	results map[*ir.Value]int // by value of the quantized network: the node whose first result it represents
}

// Node is a node of the network.
type Node struct {
	Name string `json:"name"` // the node's name
	Op   string `json:"op"`   // its ONNX operator
	// The reason why the node is not quantized; absent if it is.
	Float string `json:"float,omitempty"`
	// The element type of the first result; absent if that is not quantized.
	Type string `json:"type,omitempty"`
	// The scale of the first result: a real value is scale * (integer - zero_point).
	Scale float32 `json:"scale,omitempty"`
	// The integer that represents 0.
	ZeroPoint int64 `json:"zero_point,omitempty"`
	// The bits of the weights if only the weights are quantized.
	WeightBits int `json:"weight_bits,omitempty"`
	// The lower end of the observed range of the first result.
	Lo float64 `json:"lo,omitempty"`
	// The upper end of that range.
	Hi float64 `json:"hi,omitempty"`
	// The signal-to-noise ratio of the first result in the quantized network, in dB.
	SQNR *float64 `json:"sqnr_db,omitempty"`
	// The signal-to-noise ratio of the network's outputs if only this node is quantized, in dB.
	Alone *float64 `json:"alone_sqnr_db,omitempty"`
}

// Output describes the quantization error of an output.
type Output struct {
	Name string `json:"name"` // the output's name
	// The signal-to-noise ratio in dB. It is absent if the output has another size in the quantized
	// network, for example if it lists points above a bound.
	SQNR *float64 `json:"sqnr_db,omitempty"`
}

// Accuracy compares the fractions of labelled inputs that the networks classify correctly.
type Accuracy struct {
	Inputs    int64   `json:"inputs"`    // the number of labelled inputs
	Float     float64 `json:"float"`     // the float network's fraction of correct answers, 0 to 1
	Quantized float64 `json:"quantized"` // the quantized network's fraction, 0 to 1
}

// JSON is the report's text.
func (r *Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// report says of each node what the plan has made of it.
func (p *plan) report() *Report {
	r := &Report{}
	for _, n := range p.g.Nodes {
		x := Node{Name: describe(n), Op: n.Op, Float: p.why(n)}
		if g := p.group[result(n)]; g != nil {
			x.Type, x.Scale, x.ZeroPoint, x.Lo, x.Hi = g.param.t.String(), g.param.scale, g.param.zero, g.seen.lo, g.seen.hi
		}
		r.Nodes = append(r.Nodes, x)
	}
	return r
}

// why says why a node stays float.
func (p *plan) why(n *ir.Node) string {
	r, known := of(n)
	_, named := rules[n.Op]
	switch _, ok := p.nodes[n]; {
	case ok:
		return ""
	case p.settings.float(n):
		return "the settings leave it float"
	case !floats(n):
		return "its result is not f32"
	case named && !known:
		return "integers do not support the factors in its attributes"
	case !known:
		return "no rule for the operator"
	case r.moves:
		return "it moves floats"
	}
	return "no operand is quantized"
}

// ratio gathers signal and noise, of values of the same shapes.
type ratio struct {
	signal, noise float64
	resized       bool
}

func (r *ratio) add(want, got *ir.Tensor) error {
	if want == nil || got == nil || !want.Type.IsFloat() {
		return nil
	}
	if !slices.Equal(want.Shape, got.Shape) {
		r.resized = true
		return nil
	}
	a, err := edit.Floats(want)
	if err != nil {
		return err
	}
	b, err := edit.Floats(got)
	if err != nil {
		return err
	}
	for i, x := range a {
		if x == b[i] || math.IsNaN(x) && math.IsNaN(b[i]) { // infinite ones, too
			if !math.IsInf(x, 0) && !math.IsNaN(x) {
				r.signal += float64(x * x)
			}
			continue
		}
		r.signal += float64(x * x)
		d := x - b[i]
		r.noise += float64(d * d)
	}
	return nil
}

// decibels are those of a ratio of e.
const decibels = 10 / math.Ln10

// mostDB is of a ratio without noise.
const mostDB = 200

// db is the ratio in decibels, nil where shapes differ.
func (r *ratio) db() *float64 {
	db := 0.0
	switch {
	case r.resized:
		return nil
	case r.noise == 0:
		db = mostDB
	case r.signal == 0 || math.IsNaN(r.noise) || math.IsInf(r.noise, 0) || math.IsInf(r.signal, 0) || math.IsNaN(r.signal):
	default:
		db = math.Round(100*min(decibels*scalar.Log(r.signal/r.noise), mostDB)) / 100
	}
	return &db
}

// Compare runs both networks on inputs and fills in how far the quantized one is from the float one, at each node's first result and at the
// outputs; with labels, of the first output's rows, how many both classify rightly.
func (r *Report) Compare(float, quantized *ir.Graph, inputs []samples.Input, labels []int64) error {
	c := &comparison{r: r, nodes: make([]ratio, len(r.Nodes)), outputs: make([]ratio, len(float.Outputs)), labels: labels}
	for _, in := range inputs {
		if err := c.input(float, quantized, in); err != nil {
			return err
		}
	}
	for i, x := range c.nodes {
		if x.signal > 0 {
			r.Nodes[i].SQNR = x.db()
		}
	}
	r.Outputs = nil
	for i, v := range float.Outputs {
		r.Outputs = append(r.Outputs, Output{Name: v.Name, SQNR: c.outputs[i].db()})
	}
	if n := float64(c.rows); labels != nil && n > 0 {
		r.Accuracy = &Accuracy{Inputs: c.rows, Float: float64(c.right[0]) / n, Quantized: float64(c.right[1]) / n}
	}
	return nil
}

// comparison is of two networks.
type comparison struct {
	r              *Report
	nodes, outputs []ratio
	labels         []int64
	rows           int64
	right          [2]int64
}

func (c *comparison) input(float, quantized *ir.Graph, in samples.Input) error {
	index := map[*ir.Node]int{}
	for i, n := range float.Nodes {
		index[n] = i
	}
	compared, kept := map[int]bool{}, map[int]*ir.Tensor{}
	for _, i := range c.r.results {
		compared[i] = true
	}
	want, err := samples.Run(float, in, func(n *ir.Node, _, results []*ir.Tensor) error {
		if i := index[n]; compared[i] {
			kept[i] = results[slices.Index(n.Outputs, result(n))]
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := samples.Run(quantized, in, func(n *ir.Node, _, results []*ir.Tensor) error {
		if i, ok := c.r.results[n.Outputs[0]]; ok {
			return c.nodes[i].add(kept[i], results[0])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, v := range float.Outputs {
		if err := c.outputs[i].add(want[v], got[quantized.Outputs[i]]); err != nil {
			return err
		}
	}
	if c.labels == nil {
		return nil
	}
	var rows int64
	for i, t := range []*ir.Tensor{want[float.Outputs[0]], got[quantized.Outputs[0]]} {
		classes, err := classes(t)
		if err != nil {
			return err
		}
		rows = int64(len(classes))
		for k, class := range classes {
			if at := c.rows + int64(k); at < int64(len(c.labels)) && class == c.labels[at] {
				c.right[i]++
			}
		}
	}
	c.rows += rows
	return nil
}

// classes are the places of the greatest elements of a tensor's rows.
func classes(t *ir.Tensor) ([]int64, error) {
	if len(t.Shape) != 2 || t.Shape[1] == 0 {
		return nil, fmt.Errorf("the first output has shape %v; labels need a row of scores for each image", t.Shape)
	}
	xs, err := edit.Floats(t)
	if err != nil {
		return nil, err
	}
	width := int(t.Shape[1])
	var out []int64
	for at := 0; at < len(xs); at += width {
		best := 0
		for i, x := range xs[at : at+width] {
			if x > xs[at+best] {
				best = i
			}
		}
		out = append(out, int64(best))
	}
	return out, nil
}
