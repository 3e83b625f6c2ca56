package prune

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// role is how a node reads weights.
type role struct {
	operand int
	of      func(n *ir.Node, w *ir.Value) (filterAxis, groups int, err error)
}

// roles are those of operators whose weights can be pruned.
var roles = map[string]role{
	"Conv":   {1, convolution},
	"Gemm":   {1, gemm},
	"MatMul": {1, matMul},
}

// skippedRoles are operators with weights that pruning does not know, and the operand that they are.
var skippedRoles = map[string]int{
	"ConvTranspose": 1, "LSTM": 1, "GRU": 1, "RNN": 1, "ConvInteger": 1, "MatMulInteger": 1, "QLinearConv": 3, "QLinearMatMul": 3, "DeformConv": 1,
}

func convolution(n *ir.Node, w *ir.Value) (int, int, error) {
	groups := n.Int("group", 1)
	switch {
	case w.Rank() < 3:
		return 0, 0, fmt.Errorf("its weights have rank %d; want 3 or more", w.Rank())
	case groups < 1 || w.Const.Shape[0]%groups != 0:
		return 0, 0, fmt.Errorf("%d filters in %d groups", w.Const.Shape[0], groups)
	}
	return 0, int(groups), nil
}

func gemm(n *ir.Node, w *ir.Value) (int, int, error) {
	if n.Int("transB", 0) != 0 {
		return 0, 1, wantRank2(w)
	}
	return 1, 1, wantRank2(w)
}

func matMul(_ *ir.Node, w *ir.Value) (int, int, error) { return 1, 1, wantRank2(w) }

func wantRank2(w *ir.Value) error {
	if w.Rank() == 2 {
		return nil
	}
	return fmt.Errorf("its weights have rank %d; want 2", w.Rank())
}
