package ops

import (
	"slices"

	"rules_dnn/gen/ir"
)

// Range is what an operator does to the size of numbers, which decides what floats of 16 bits can hold: f16 ends at 65504 and has 11 digits
// of the binary system, bf16 ends where f32 does and has 8.
type Range uint8

// Ranges.
const (
	// Follows: results are about as large as operands.
	Follows Range = iota
	// Settles: results are of moderate size whatever the operands are: normalisations, functions with bounds.
	Settles
	// Weighs: results are contractions, as large as weights make them; what such an operator sums, it sums in f32.
	Weighs
	// Grows: results may be far larger or smaller than operands, or are positions, of which 16 bits tell few apart.
	Grows
)

// settles are operators of which no result is as large as its operands may be.
var settles = []string{
	"BatchNormalization", "Cos", "Erf", "GroupNormalization", "HardSigmoid", "Hardmax", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax",
	"LpNormalization", "MeanVarianceNormalization", "RMSNormalization", "Sigmoid", "Sin", "Softmax", "Softsign", "Tanh",
}

// bounded are those of them whose results are at most about 1: any type holds these.
var bounded = []string{"Cos", "Erf", "HardSigmoid", "Hardmax", "LpNormalization", "Sigmoid", "Sin", "Softmax", "Softsign", "Tanh"}

// IsBounded reports whether no result of an operator is beyond what any type of floats holds, whatever its operands are.
func IsBounded(op string) bool { return slices.Contains(bounded, op) }

// weighs are operators that multiply and sum, besides those with weights.
var weighs = []string{Attend, "Attention", "Einsum"}

// grows are operators whose results 16 bits may not hold, by the reason.
var grows = map[string]string{
	"AffineGrid": whyCoordinates, "MaxRoiPool": whyCoordinates, "RoiAlign": whyCoordinates,
	"Cosh": whySteep, "Exp": whySteep, "Pow": whySteep, "Reciprocal": whySteep, "Sinh": whySteep, "Tan": whySteep,
	"CumProd": whySums, "CumSum": whySums, "GlobalLpPool": whySums, "LpPool": whySums, "ReduceL1": whySums, "ReduceL2": whySums, "ReduceLogSum": whySums, "ReduceLogSumExp": whySums, "ReduceProd": whySums, "ReduceSum": whySums,
	"ReduceSumSquare": whySums,
	"DFT":             whySpectra, "STFT": whySpectra,
	"MelWeightMatrix": whySpectra,
	"Range":           whyCounted, "EyeLike": whyCounted, "ConstantOfShape": whyCounted,
	"NegativeLogLikelihoodLoss": whyLosses, "SoftmaxCrossEntropyLoss": whyLosses,
}

const (
	whyCoordinates = "its coordinates need more digits than 16 bits have"
	whySteep       = "its results may leave the range of 16 bits even if its operands do not"
	whySums        = "sums and products of many elements may leave the range of 16 bits"
	whySpectra     = "spectra span more than the range of 16 bits"
	whyCounted     = "it converts integers to floats, and 16 bits have few distinct ones"
	whyConverted   = "the model converts floats to this type"
	whyLosses      = "losses are sums of many elements"
	whySquares     = "squares may leave the range of 16 bits even if the operand does not"
	whyHost        = "it sorts, searches or counts, and rounding to 16 bits would make more numbers equal"
	whySteps       = "it adds to stored results, and sums in 16 bits would lose digits or leave the range"
	whyDigits      = "sums, squares and steep functions need more digits than bf16 has"
	whyRegions     = "it is control flow; values of its graphs keep their types"
)

// scaledIntegers are the operators of networks whose floats are integers with scales.
var scaledIntegers = []string{"ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul", "QuantizeLinear"}

// IsQuantized reports whether an operator computes with, or makes, integers that stand for floats by a scale.
func IsQuantized(op string) bool { return slices.Contains(scaledIntegers, op) }

// bySize are the reasons that are of numbers' size alone.
var bySize = []string{whySteep, whySums, whySpectra, whyLosses, whySquares}

// RangeOf is what a node does to the size of numbers, and of one that Grows the reason for which its results are not stored in a type of 16 bits.
func RangeOf(n *ir.Node, to ir.DType) (r Range, why string) {
	r, why = rangeOf16(n)
	if to == ir.BF16 && slices.Contains(bySize, why) {
		why = whyDigits
	}
	return r, why
}

// Squares reports whether a node's results are squares, or sums of some, which leave the range of f16 long before the numbers do that are
// squared.
func Squares(n *ir.Node) bool {
	_, why := rangeOf16(n)
	return why == whySquares || why == whySpectra || n.Op == "Pow" || n.Op == "ReduceSumSquare"
}

func rangeOf16(n *ir.Node) (r Range, why string) {
	row := lookup(n.Op)
	switch {
	case row == nil || row.Form == Control || len(n.Regions) > 0:
		return Grows, whyRegions
	case row.Form == Opaque:
		return Grows, whyHost
	case grows[n.Op] != "":
		return Grows, grows[n.Op]
	case n.Op == "Mul" && n.Input(0) == n.Input(1):
		return Grows, whySquares
	case (n.Op == "Cast" || n.Op == "CastLike") && len(n.Inputs) > 0 && n.Inputs[0].Type.IsFloat():
		return Grows, whyConverted
	case n.Op == "Cast" || n.Op == "CastLike":
		return Grows, whyCounted
	case slices.Contains(settles, n.Op):
		return Settles, ""
	case row.Weights != nil && row.Weights.Linear || slices.Contains(weighs, n.Op):
		return Weighs, ""
	}
	return Follows, ""
}

// Sharers are the operands that change their type with the node's first float that may be of type t: those of its type variable. None: the
// operator takes no such float.
func Sharers(n *ir.Node, t ir.DType) []int {
	row := lookup(n.Op)
	if row == nil {
		return nil
	}
	c := &Ctx{Node: n, Row: row, Version: row.newest()}
	if n.Version != 0 {
		c.Version = row.Definition(n.Version)
	}
	ps := c.params()
	var first *Param
	var out []int
	for i, v := range n.Own() {
		if v == nil || len(ps) == 0 {
			continue
		}
		p := &ps[min(i, len(ps)-1)]
		if p.Structural || !v.Type.IsFloat() || !slices.Contains(p.Types, t) {
			continue
		}
		if first == nil {
			first = p
		}
		if p == first || p.Like != "" && p.Like == first.Like {
			out = append(out, i)
		}
	}
	return out
}
