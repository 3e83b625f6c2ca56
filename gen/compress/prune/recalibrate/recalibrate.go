// Package recalibrate gives BatchNormalizations the mean and variance that their operands have once weights are pruned: those that
// training left are of the dense network. The interpreter runs the network on inputs, so the numbers are the same on every machine.
package recalibrate

import (
	"errors"
	"fmt"
	"math"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Operands of BatchNormalization.
const (
	mean = 3
	vari = 4
)

// Run gives each BatchNormalization of a graph the mean and the (population) variance of its operand's channels over all inputs, one after the
// other, so that each sees what those before it make of their new ones. It gives the constants that changed, by name.
func Run(g *ir.Graph, inputs []samples.Input) (map[string]*ir.Tensor, error) {
	c := &calibration{g: g, uses: edit.Uses(g), changed: map[string]*ir.Tensor{}}
	if err := c.check(); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		values := map[*ir.Value]*ir.Tensor{}
		for _, v := range g.Inputs {
			values[v] = in[v.Name]
		}
		c.runs = append(c.runs, values)
	}
	last := map[*ir.Value]int{}
	for i, n := range g.Nodes {
		for _, v := range n.Inputs {
			last[v] = i
		}
	}
	for i, n := range g.Nodes {
		if err := c.node(n); err != nil {
			return nil, err
		}
		if c.left == 0 {
			break
		}
		for _, v := range n.Inputs {
			if v != nil && last[v] == i {
				for _, values := range c.runs {
					delete(values, v)
				}
			}
		}
	}
	return c.changed, nil
}

// calibration is a graph that runs on several inputs, node by node.
type calibration struct {
	g       *ir.Graph
	uses    map[*ir.Value]int
	runs    []map[*ir.Value]*ir.Tensor
	left    int // BatchNormalizations
	changed map[string]*ir.Tensor
}

func normalises(n *ir.Node) bool {
	return ops.NormalisesByChannel(n) && n.Int("training_mode", 0) == 0
}

// check refuses a graph whose statistics cannot be replaced.
func (c *calibration) check() error {
	for _, n := range c.g.Nodes {
		if !normalises(n) {
			continue
		}
		c.left++
		for _, i := range []int{mean, vari} {
			switch v := n.Input(i); {
			case v == nil || v.Const == nil || !v.Const.Type.IsFloat() || len(v.Const.Shape) != 1:
				return n.Errorf("its mean and variance are not constants of the model, so they cannot be recalibrated")
			case c.uses[v] != 1:
				return n.Errorf("its statistics %s have other readers, so they cannot be recalibrated; store separate statistics for each reader", ir.Show(v.Name))
			}
		}
	}
	if c.left == 0 {
		return errors.New("the model has no BatchNormalization to recalibrate; export it before BatchNormalizations are folded into weights, or leave the calibration out")
	}
	return nil
}

// node runs a node on all inputs.
func (c *calibration) node(n *ir.Node) error {
	operands := make([][]*ir.Tensor, len(c.runs))
	for r, values := range c.runs {
		operands[r] = make([]*ir.Tensor, len(n.Inputs))
		for i, v := range n.Inputs {
			switch {
			case v == nil:
			case v.Const != nil:
				operands[r][i] = v.Const
			default:
				operands[r][i] = values[v]
			}
		}
	}
	if normalises(n) {
		if err := c.replace(n, operands); err != nil {
			return n.Errorf("%w", err)
		}
		c.left--
	}
	for r, values := range c.runs {
		results, err := interp.Interp{}.Node(n, operands[r])
		if err != nil {
			return err
		}
		for i, v := range n.Outputs {
			if v != nil && c.uses[v] > 0 {
				values[v] = results[i]
			}
		}
	}
	return nil
}

// replace gives a BatchNormalization the statistics of its operand.
func (c *calibration) replace(n *ir.Node, operands [][]*ir.Tensor) error {
	m, v, err := statistics(operands, int(n.Inputs[mean].Const.Len()))
	if err != nil {
		return err
	}
	for i, values := range map[int][]float64{mean: m, vari: v} {
		x := n.Inputs[i]
		x.Const = edit.FloatTensor(x.Const.Type, values, x.Const.Shape...)
		c.changed[x.Name] = x.Const
		for r := range operands {
			operands[r][i] = x.Const
		}
	}
	return nil
}

// statistics are the mean and variance of channels, by two passes in double precision.
func statistics(operands [][]*ir.Tensor, channels int) (m, v []float64, err error) {
	m, v = make([]float64, channels), make([]float64, channels)
	count := 0.0
	sum := func(to []float64, f func(c int, x float64) float64) error {
		for _, o := range operands {
			x := o[0]
			if len(x.Shape) < 2 || x.Shape[1] != int64(channels) {
				return fmt.Errorf("its operand has shape %v, but its statistics have %d channels", x.Shape, channels)
			}
			elements, err := edit.Floats(x)
			if err != nil {
				return err
			}
			inner := max(len(elements)/max(int(x.Shape[0])*channels, 1), 1)
			for i, e := range elements {
				c := i / inner % channels
				to[c] += f(c, e)
			}
		}
		return nil
	}
	if err := sum(m, func(c int, x float64) float64 {
		if c == 0 {
			count++
		}
		return x
	}); err != nil {
		return nil, nil, err
	}
	if count == 0 {
		return nil, nil, errors.New("its operand has no elements")
	}
	for c := range m {
		m[c] /= count
	}
	if err := sum(v, func(c int, x float64) float64 { d := x - m[c]; return float64(d * d) }); err != nil {
		return nil, nil, err
	}
	for c := range v {
		if v[c] /= count; math.IsNaN(v[c]) || math.IsInf(v[c], 0) {
			return nil, nil, fmt.Errorf("channel %d of its operand has values that are not finite on these inputs", c)
		}
	}
	return m, v, nil
}
