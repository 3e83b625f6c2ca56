package nodetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/inline"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// TestSymbolicNodes runs the cases with symbols for the inputs' dimensions: the
// shapes inferred, evaluated for the case's dimensions, must be the expected
// outputs', and the stages built for symbols must compute the same as those built
// for numbers. Cases whose operator wants numbers are only counted.
func TestSymbolicNodes(t *testing.T) {
	s := cases(t)
	run, symbolic, unknown := 0, 0, map[string]int{}
	for _, c := range s.Cases {
		g, err := c.Graph()
		var skip *Skip
		if errors.As(err, &skip) {
			continue
		}
		require.NoError(t, err, c.Label())
		t.Run(c.Label(), func(t *testing.T) {
			_, inputs := c.Bind(g)
			env := symbolize(g, c)
			var u *shape.UnknownError
			if err := inferAndExpand(g); errors.As(err, &u) {
				unknown[g.Nodes[0].Op]++
				t.Skip(err)
			} else {
				require.NoError(t, err)
			}
			run++
			if len(g.Symbols) > 0 {
				symbolic++
			}
			require.NoError(t, checkShapes(g, c, env))
			require.NoError(t, checkStages(g, c, inputs, env))
		})
	}
	t.Logf("run %d, %d of them with symbols left after inference; left because their structure depends on numbers: %v",
		run, symbolic, unknown)
	atLeast(t, 1000, symbolic)
}

// inferAndExpand replaces compositions, which have no stages of their own.
func inferAndExpand(g *ir.Graph) error {
	if err := shape.Infer(g); err != nil {
		return err
	}
	if expanded, err := inline.Expand(g); err != nil || !expanded {
		return err
	}
	if err := ir.Verify(g); err != nil {
		return err
	}
	return shape.Infer(g)
}

// symbolize makes each dimension above 1 of the inputs the symbol of its size.
func symbolize(g *ir.Graph, c *Case) map[string]int64 {
	env := map[string]int64{}
	g.Symbols = nil
	for _, v := range g.Inputs {
		dims, ok := v.Static()
		if !ok {
			continue
		}
		v.Shape = append(ir.Shape{}, v.Shape...)
		for i, d := range dims {
			if d < 2 {
				continue
			}
			name := fmt.Sprintf("D%d", d)
			if _, known := env[name]; !known {
				g.Symbols = append(g.Symbols, ir.Symbol{Name: name, Lo: 1, Hi: sym.MaxDim})
			}
			env[name], v.Shape[i] = d, sym.Var(name)
		}
	}
	for _, n := range g.Nodes { // what the model declares speaks of numbers
		for _, v := range n.Outputs {
			if v != nil {
				v.Shape, v.HasShape = nil, false
			}
		}
	}
	return env
}

func checkShapes(g *ir.Graph, c *Case, env map[string]int64) error {
	for i, want := range c.Outputs {
		v := g.Outputs[i]
		if len(v.Shape) != len(want.Shape) {
			return fmt.Errorf("output %q is %v, want %v", v.Name, v.Shape, want.Shape)
		}
		for k, d := range v.Shape {
			d, bounded := ir.Most(d, g.Symbols, shape.Facts(g))
			if !bounded {
				continue // the run alone knows
			}
			if x, err := d.Eval(env); err == nil && x >= want.Shape[k] && !d.Equal(v.Shape[k]) {
				continue // a run computes the rest
			}
			if x, err := d.Eval(env); err != nil || x != want.Shape[k] {
				return fmt.Errorf("dimension %d of output %q is %s = %d (%v), want %d", k, v.Name, d, x, err, want.Shape[k])
			}
		}
	}
	return nil
}

// checkStages runs the nodes as built for symbols.
func checkStages(g *ir.Graph, c *Case, inputs map[string]*ir.Tensor, env map[string]int64) error {
	facts := shape.Facts(g)
	tensors := map[*ir.Value]*ir.Tensor{}
	for _, v := range g.Inputs {
		tensors[v] = inputs[v.Name]
	}
	of := func(v *ir.Value) *ir.Tensor {
		if v != nil && v.Const != nil {
			return v.Const
		}
		return tensors[v]
	}
	for _, n := range g.Nodes {
		operands := make([]*ir.Tensor, len(n.Inputs))
		for i, v := range n.Inputs {
			operands[i] = of(v)
		}
		results, err := runStages(n, operands, facts, env)
		if err != nil {
			return err
		}
		for i, v := range n.Outputs {
			if v == nil {
				continue
			}
			tensors[v] = results[i]
			for k, d := range v.Shape {
				if name, ok := d.AsVar(); ok && slices.Contains(n.Computes, name) {
					env[name] = results[i].Shape[k]
				}
			}
		}
	}
	for i, want := range c.Outputs {
		if err := Compare(of(g.Outputs[i]), want); err != nil {
			return fmt.Errorf("output %q: %w", g.Outputs[i].Name, err)
		}
	}
	return nil
}

// runStages runs a node as built for symbols; one with regions has no stages.
func runStages(n *ir.Node, operands []*ir.Tensor, facts sym.Facts, env map[string]int64) ([]*ir.Tensor, error) {
	if ops.IsControl(n) {
		return interp.Interp{}.Node(n, operands)
	}
	m, err := ops.Build(n, facts)
	if err != nil {
		return nil, err
	}
	if m.Call != nil {
		results, _, err := m.Call.Run(env, operands)
		return results, err
	}
	results, err := interp.Eval(m.Stages, m.Outputs, operands, env)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	return results, nil
}
