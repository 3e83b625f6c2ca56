package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// skipEpsilon is the epsilon of the operators that add before they normalize, where nodes have none.
const skipEpsilon = 1e-12

// skipNormRow is a layer normalization, or with no beta a RMSNormalization, of the sum of two tensors and a bias, which is a result, too.
func skipNormRow(name string, beta ...Param) *Row {
	t := func(name, signature string) Param { return in(name, shortFloats).shaped(signature) }
	inputs := append([]Param{t("input", "batch sequence hidden | sequence hidden"), t("skip", "batch? sequence hidden | sequence hidden"), t("gamma", "hidden")}, beta...)
	bias := len(inputs)
	return &Row{
		Name: Microsoft + name, Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 4,
		Inputs: append(inputs, opt(t("bias", "hidden"))), Attrs: []AttrSpec{floatAttr("epsilon")},
		Compose: func(b *composer) ([]*ir.Value, error) {
			sum, attrs := b.sum(0, 1, bias), ir.Attrs{"epsilon": b.Node.Float("epsilon", skipEpsilon)}
			if len(beta) > 0 {
				return append(b.ops("LayerNormalization", 3, attrs, present(sum, b.operands[2], b.operands[3])...), sum), nil
			}
			if b.wants(1) || b.wants(2) {
				return nil, fmt.Errorf("results 1 and 2 (mean and inv_std_var, for training) are not supported; supported are 0 and 3")
			}
			return []*ir.Value{b.op("RMSNormalization", attrs, sum, b.operands[2]), nil, nil, sum}, nil
		},
	}
}

// Numbers of EmbedLayerNormalization's operands.
const (
	embedIDs = iota
	embedSegments
	embedWords
	embedPositions
	embedSegmentTable
	embedGamma
	embedBeta
	embedMask
	embedPositionIDs
)

// embedNormRow is the layer normalization of the sum of what words, places and segments are looked up as; its second result is how many
// words of each batch have a 1 in the mask.
func embedNormRow() *Row {
	ids := func(name string) Param { return Param{Name: name, Types: []ir.DType{ir.I32}} }
	table := func(name string) Param { return in(name, []ir.DType{ir.F16, ir.F32}) }
	return &Row{
		Name: Microsoft + "EmbedLayerNormalization", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 3,
		Inputs: []Param{
			ids("input_ids").shaped("batch sequence"), opt(ids("segment_ids").shaped("batch sequence")), table("word_embedding").shaped("_ hidden"),
			table("position_embedding").shaped("_ hidden"), opt(table("segment_embedding").shaped("_ hidden")), table("gamma").shaped("hidden"), table("beta").shaped("hidden"),
			opt(ids("mask").shaped("batch sequence")), opt(ids("position_ids").shaped("batch? sequence")),
		},
		Attrs: []AttrSpec{floatAttr("epsilon"), intAttr("mask_index_type")}, Compose: embedNorm,
	}
}

// lookedUp are rows of a table. A run refuses negative numbers, which count from the end in ONNX's own operators alone.
func (b *composer) lookedUp(table, rows *ir.Value) *ir.Value {
	last := b.sub(b.squeeze(b.dim(table, 0), 0), b.integer(1))
	return b.op("Gather", nil, table, b.op(Lengths, nil, rows, last))
}

// embedShapes are the shapes of the words and of the table of places.
func (b *composer) embedShapes() (ids, rows ir.Shape, err error) {
	if ids, err = b.Shape(embedIDs); err == nil {
		rows, err = b.Shape(embedPositions)
	}
	return
}

func embedNorm(b *composer) ([]*ir.Value, error) {
	o := b.operands
	if (o[embedSegments] == nil) != (o[embedSegmentTable] == nil) {
		return nil, fmt.Errorf("only one of segment_ids and segment_embedding is present; want both or neither")
	}
	ids, rows, err := b.embedShapes()
	if err != nil {
		return nil, err
	}
	sum := b.lookedUp(o[embedWords], o[embedIDs])
	if o[embedPositionIDs] != nil {
		sum = b.add(sum, b.lookedUp(o[embedPositions], o[embedPositionIDs]))
	} else {
		if err := b.require(AtLeast, rows[0], ids[1], "rows of operand %d (position_embedding), one for each word", embedPositions); err != nil {
			return nil, err
		}
		sum = b.add(sum, b.op("Slice", nil, o[embedPositions], b.ints(0), b.dim(o[embedIDs], 1), b.ints(0)))
	}
	if o[embedSegments] != nil {
		sum = b.add(sum, b.lookedUp(o[embedSegmentTable], o[embedSegments]))
	}
	y := b.op("LayerNormalization", ir.Attrs{"epsilon": b.Node.Float("epsilon", skipEpsilon)}, sum, o[embedGamma], o[embedBeta])
	var kept *ir.Value
	switch {
	case !b.wants(1):
	case o[embedMask] == nil:
		kept = b.zeros(ir.I32, b.dim(o[embedIDs], 0))
	default:
		one := b.cast(b.op("Equal", nil, o[embedMask], b.cast(b.integer(1), ir.I64, ir.I32)), ir.Bool, ir.I32)
		kept = b.op("ReduceSum", ir.Attrs{"keepdims": int64(0)}, one, b.ints(1))
	}
	return []*ir.Value{y, kept, sum}, nil
}
