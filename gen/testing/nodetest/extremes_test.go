package nodetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// extremes are integers at the ends of their types, and about 0.
var extremes = []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt32, math.MinInt32 + 1, -1, 0, 1, math.MaxInt32 - 1, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64}

// TestExtremes runs the cases with an extreme in the place of an integer: of an attribute, or of a short vector among the
// inputs. The program computes what the interpreter does, or both refuse.
func TestExtremes(t *testing.T) {
	s := cases(t)
	o := &outcomes{host: hostChip(t)}
	for _, c := range newest(s) {
		g, err := c.Graph()
		var skip *Skip
		if errors.As(err, &skip) {
			continue
		}
		require.NoError(t, err, c.Label())
		for _, e := range slices.Concat(extremeAttributes(c, g), extremeElements(c)) {
			for _, given := range []string{structureConstant, symbolicDims, atRunTime} {
				v := &variant{Case: e.Case, label: e.label + ", " + given, change: e.change, given: given}
				if chosen(v.label, 160) {
					o.try(t, c, v)
				}
			}
		}
	}
	atLeast(t, 150, o.ran)
	atLeast(t, 400, o.refused)
	o.compileAndRun(t, 2)
}

// extremeAttributes have an extreme for an integer of an attribute of the model's own nodes.
func extremeAttributes(c *Case, g *ir.Graph) []*variant {
	var out []*variant
	for i, n := range g.Nodes {
		for _, name := range n.Attrs.Names() {
			places := 0
			switch x := n.Attrs[name].(type) {
			case int64:
				places = 1
			case []int64:
				places = min(len(x), 8)
			}
			for k := range places {
				for _, e := range extremes {
					label := fmt.Sprintf("%s with %d for %s[%d] of node %d", c.Label(), e, name, k, i)
					out = append(out, &variant{Case: c, label: label, change: func(g *ir.Graph) { setAttribute(g.Nodes[i], name, k, e) }})
				}
			}
		}
	}
	return out
}

func setAttribute(n *ir.Node, name string, k int, e int64) {
	if xs, list := n.Attrs[name].([]int64); list {
		xs = slices.Clone(xs)
		xs[k] = e
		n.Attrs[name] = xs
		return
	}
	n.Attrs[name] = e
}

// extremeElements have an extreme for an element of an input of few integers, as far as its type holds it.
func extremeElements(c *Case) []*variant {
	var out []*variant
	for i, x := range c.Inputs {
		xs, err := x.Ints()
		if err != nil || x.Type != ir.I64 && x.Type != ir.I32 || len(xs) > 8 {
			continue
		}
		for k := range xs {
			for _, e := range extremes {
				if x.Type == ir.I32 && e != int64(int32(e)) {
					continue
				}
				changed := slices.Clone(xs)
				changed[k] = e
				label := fmt.Sprintf("%s with %d for element %d of input %d", c.Label(), e, k, i)
				out = append(out, &variant{Case: c.withInputs(map[int]*ir.Tensor{i: edit.IntTensor(x.Type, changed, x.Shape...)}), label: label})
			}
		}
	}
	return out
}
