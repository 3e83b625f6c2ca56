package nodetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// TestEmpty runs the cases with dimensions of 0: all that have one size, of inputs and in what says shapes, and each by
// itself. The program computes what the interpreter does, or both refuse.
func TestEmpty(t *testing.T) {
	s := cases(t)
	o := &outcomes{host: hostChip(t)}
	for _, c := range newest(s) {
		var skip *Skip
		if _, err := c.Graph(); errors.As(err, &skip) {
			continue
		}
		for _, e := range emptied(c) {
			for _, given := range []string{structureConstant, constantWeights, symbolicDims, atRunTime} {
				v := &variant{Case: e.Case, label: e.label + ", " + given, given: given}
				if chosen(v.label, 16) {
					o.try(t, c, v)
				}
			}
		}
	}
	atLeast(t, 1000, o.ran)
	o.compileAndRun(t, 4)
}

// emptied are a case's variants with dimensions of 0.
func emptied(c *Case) []*variant {
	var out []*variant
	sizes := map[int64]bool{}
	for i, x := range c.Inputs {
		for k, d := range x.Shape {
			if d > 0 {
				shape := slices.Clone(x.Shape)
				shape[k] = 0
				label := fmt.Sprintf("%s with dimension %d of input %d 0", c.Label(), k, i)
				out = append(out, &variant{Case: c.withInputs(map[int]*ir.Tensor{i: ir.NewTensor(x.Type, shape...)}), label: label})
				sizes[d] = true
			}
		}
	}
	for d := int64(1); d < 64; d++ {
		if !sizes[d] {
			continue
		}
		changed := map[int]*ir.Tensor{}
		for i, x := range c.Inputs {
			if to := without(x, d); to != nil {
				changed[i] = to
			}
		}
		out = append(out, &variant{Case: c.withInputs(changed), label: fmt.Sprintf("%s with 0 for %d", c.Label(), d)})
	}
	return out
}

// without is a tensor whose dimensions d, and elements d of a short vector of integers, are 0; nil where it has none.
func without(x *ir.Tensor, d int64) *ir.Tensor {
	if slices.Contains(x.Shape, d) && x.Type != ir.I64 {
		shape := slices.Clone(x.Shape)
		for k := range shape {
			if shape[k] == d {
				shape[k] = 0
			}
		}
		return ir.NewTensor(x.Type, shape...)
	}
	if xs, err := x.Ints(); err == nil && x.Type == ir.I64 && len(x.Shape) == 1 && len(xs) <= 8 && slices.Contains(xs, d) {
		xs = slices.Clone(xs)
		for i := range xs {
			if xs[i] == d {
				xs[i] = 0
			}
		}
		return edit.IntTensor(x.Type, xs, x.Shape...)
	}
	return nil
}

// TestEmptied: the sizes of a product are emptied one by one.
func TestEmptied(t *testing.T) {
	c := &Case{Name: "test_matmul", Inputs: tensors(ir.NewTensor(ir.F32, 2, 3), ir.NewTensor(ir.F32, 3, 4))}
	var labels []string
	for _, v := range emptied(c) {
		labels = append(labels, fmt.Sprint(v.Inputs[0].Shape, v.Inputs[1].Shape))
	}
	require.Equal(t, []string{"[0 3] [3 4]", "[2 0] [3 4]", "[2 3] [0 4]", "[2 3] [3 0]", "[0 3] [3 4]", "[2 0] [0 4]", "[2 3] [3 0]"}, labels)
}
