package prune

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// pruned are the operators whose weights can be pruned.
var pruned = []string{"Conv", "Gemm", "MatMul"}

// prunes returns the description of a node's weights, or nil if they cannot be pruned.
func prunes(n *ir.Node) *ops.Weights {
	if !slices.Contains(pruned, n.Op) {
		return nil
	}
	return ops.WeightsOf(n)
}

// filtersOf returns the axis of filters of a node's weights, and the number of groups.
func filtersOf(n *ir.Node, w *ir.Value) (axis, groups int, err error) {
	of, rank := ops.WeightsOf(n), w.Rank()
	if !of.Kernel && rank != 2 {
		return 0, 0, fmt.Errorf("its weights have rank %d; want 2", rank)
	}
	if of.Kernel && rank < 3 {
		return 0, 0, fmt.Errorf("its weights have rank %d; want 3 or more", rank)
	}
	axis, _ = of.Axes(n, rank)
	each := n.Int("group", 1)
	if each < 1 || w.Const.Shape[axis]%each != 0 {
		return 0, 0, fmt.Errorf("%d filters in %d groups", w.Const.Shape[axis], each)
	}
	return axis, int(each), nil
}

// supported names the operators whose weights can be pruned, for people.
func supported() string {
	last := len(pruned) - 1
	return strings.Join(pruned[:last], ", ") + " and " + pruned[last]
}
