package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// microsoftAttentionRows are ONNX Runtime's own operators of attention, in terms of ONNX's Attention and RotaryEmbedding.
func microsoftAttentionRows() []*Row {
	t := func(name string) Param { return in(name, shortFloats) }
	ints := func(name string) Param { return opt(Param{Name: name, Types: []ir.DType{ir.I32}}) }
	half := func(name string) Param { return Param{Name: name, Types: []ir.DType{ir.F16, ir.F32}, Like: "T3"} }
	attrs := []AttrSpec{floatAttr("scale"), floatAttr("mask_filter_value"), intAttr("unidirectional"), intAttr("num_heads").required()}
	return []*Row{
		groupedRow(),
		{
			Name: Microsoft + "Attention", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 2,
			Inputs: []Param{
				t("input").shaped("batch sequence input"), t("weights").shaped("input columns"), opt(t("bias").shaped("columns")), ints("mask_index").shaped("batch | batch sequence+past | batch sequence sequence+past"),
				opt(t("past").shaped("2 batch heads past size")), opt(t("attention_bias").shaped("batch? heads? sequence sequence+past")), ints("past_sequence_length"),
			},
			Attrs: append([]AttrSpec{
				intAttr("do_rotary"), intAttr("past_present_share_buffer"), intsAttr("qkv_hidden_sizes"), intAttr("rotary_embedding_dim"),
			}, attrs...),
			Sizes: attentionSizes(4), Compose: selfAttention,
		},
		{
			Name: Microsoft + "QAttention", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 2,
			Inputs: []Param{
				byteParam("input").shaped("batch sequence input"), Param{Name: "weight", Types: quantized8, Like: "T2"}.shaped("input columns"), half("bias").shaped("columns"),
				half("input_scale").shaped(oneNumber), half("weight_scale").shaped("scalar | 1 | columns"), ints("mask_index").shaped("batch | batch sequence+past | batch sequence sequence+past"),
				opt(byteParam("input_zero_point").shaped(oneNumber)), opt(Param{Name: "weight_zero_point", Types: quantized8, Like: "T2"}.shaped("scalar | 1 | columns")),
				opt(half("past").shaped("2 batch heads past size")),
			},
			Attrs: append([]AttrSpec{intAttr("do_rotary"), intAttr("past_present_share_buffer")}, attrs...),
			Sizes: attentionSizes(8), Compose: quantizedAttention,
		},
		{
			Name: Microsoft + "MultiHeadAttention", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 4,
			Inputs: []Param{
				t("query").shaped("batch sequence _"), opt(t("key").shaped("batch keys _ | batch heads keys _")), opt(t("value").shaped("batch keys _ | batch heads keys _")), opt(t("bias").shaped("_")),
				ints("key_padding_mask").shaped("batch | batch keys+past | batch sequence keys+past"), opt(t("attention_bias").shaped("batch? heads? sequence keys+past")),
				opt(t("past_key").shaped("batch heads past _")), opt(t("past_value").shaped("batch heads past _")), ints("past_sequence_length"), ints("cache_indirection"),
			},
			Attrs: attrs, Sizes: manyHeads, Compose: multiHeadAttention,
		},
		{
			Name: Microsoft + "RotaryEmbedding", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				t("input").shaped("batch sequence _ | batch _ sequence _"), Param{Name: "position_ids", Types: int64s}.shaped("scalar | 1 | batch sequence"), t("cos_cache").shaped("rows half"), t("sin_cache").shaped("rows half"),
			},
			Attrs: []AttrSpec{
				intAttr("num_heads"), intAttr("rotary_embedding_dim"), intAttr("interleaved"), intAttr("is_packed_batching"), floatAttr("scale"),
			},
			Compose: rotated,
		},
	}
}

// attentionSizes binds names in signatures of attention whose queries, keys and values are columns of one product: how many heads there
// are, how large those of keys are, and, without the operand past, that keys of the past are none.
func attentionSizes(past int) func(b *binding) error {
	return func(b *binding) error {
		heads := b.Node.Int("num_heads", 0)
		if heads < 1 || heads > sym.MaxDim {
			return fmt.Errorf("attribute num_heads is %d; want 1 to %d", heads, int64(sym.MaxDim))
		}
		w, err := b.Shape(1)
		if err != nil {
			return err
		}
		columns := sym.Const(0)
		if sizes := b.Node.Ints("qkv_hidden_sizes"); len(sizes) == 3 {
			columns = sym.Const(sizes[1])
		} else if len(w) == 2 {
			columns = sym.FloorDiv(w[1], sym.Const(3), b.Facts)
		}
		b.is("heads", heads)
		b.names["size"] = sym.FloorDiv(columns, sym.Const(heads), b.Facts)
		if !b.Has(past) {
			b.is("past", 0)
		}
		return nil
	}
}

// manyHeads binds how many heads MultiHeadAttention has, and that keys of the past are none without the operand.
func manyHeads(b *binding) error {
	if !b.Has(1) || !b.Has(2) {
		return fmt.Errorf("operands 1 and 2 (key and value) are absent; query, key and value packed in one operand are not supported")
	}
	heads := b.Node.Int("num_heads", 0)
	if heads < 1 || heads > sym.MaxDim {
		return fmt.Errorf("attribute num_heads is %d; want 1 to %d", heads, int64(sym.MaxDim))
	}
	b.is("heads", heads)
	if !b.Has(6) {
		b.is("past", 0)
	}
	return nil
}

// refuse is an error where an attribute is not what alone is supported.
func (b *composer) refuse(supported int64, attrs ...string) error {
	for _, name := range attrs {
		if x := b.Node.Int(name, supported); x != supported {
			return fmt.Errorf("attribute %s is %d; supported is %d", name, x, supported)
		}
	}
	return nil
}

// absent is an error where an operand is there.
func (b *composer) absent(operands ...int) error {
	for _, i := range operands {
		if b.Has(i) {
			return fmt.Errorf("operand %d (%s) is not supported; it must be absent", i, b.Row.Inputs[i].Name)
		}
	}
	return nil
}

// selfAttention is attention whose queries, keys and values are one product.
func selfAttention(b *composer) ([]*ir.Value, error) {
	if err := b.absent(6); err != nil {
		return nil, err
	}
	all := b.op("MatMul", nil, b.operands[0], b.operands[1])
	if b.Has(2) {
		all = b.add(all, b.operands[2])
	}
	return b.ofProduct(all, b.Type(0), attentionOperandsAt{mask: 3, past: 4, bias: 5})
}

// quantizedAttention is that of a product of integers.
func quantizedAttention(b *composer) ([]*ir.Value, error) {
	o, t := b.operands, b.Type(2)
	wide := func(v *ir.Value) *ir.Value { return b.cast(v, t, ir.F32) }
	all := b.floatProduct(o[0], o[1], o[6], o[7], b.mul(wide(o[3]), wide(o[4])), o[2], t)
	return b.ofProduct(b.cast(all, ir.F32, t), t, attentionOperandsAt{mask: 5, past: 8, bias: -1})
}

// attentionOperandsAt are numbers of operands that tell of padding, that hold earlier keys and values, and that are added to scores, -1 for none.
type attentionOperandsAt struct{ mask, past, bias int }

// ofProduct is attention of type t whose queries, keys and values are columns of one matrix; the cache of keys and values is one tensor, too.
func (b *composer) ofProduct(all *ir.Value, t ir.DType, at attentionOperandsAt) ([]*ir.Value, error) {
	if err := b.refuse(0, "do_rotary", "past_present_share_buffer"); err != nil {
		return nil, err
	}
	x, err := b.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want rank 3", len(x))
	}
	var parts []*ir.Value
	if sizes := b.Node.Ints("qkv_hidden_sizes"); len(sizes) > 0 {
		if len(sizes) != 3 {
			return nil, fmt.Errorf("attribute qkv_hidden_sizes has %d numbers; want 3", len(sizes))
		}
		parts = b.ops("Split", 3, ir.Attrs{"axis": int64(2)}, all, b.ints(sizes...))
	} else {
		parts = b.split(all, 2, 3)
	}
	cache := b.operands[at.past]
	past, total := []*ir.Value{nil, nil}, b.dim(b.operands[0], 1)
	if cache != nil {
		for i, v := range b.split(cache, 0, 2) {
			past[i] = b.squeeze(v, 0)
		}
		total = b.add(total, b.dim(cache, 3))
	}
	ys, err := b.attended(parts, past, t, at, x[0], total, b.wants(1))
	if err != nil || !b.wants(1) {
		return ys, err
	}
	return []*ir.Value{ys[0], b.join(0, b.unsqueeze(ys[1], 0), b.unsqueeze(ys[2], 0))}, nil
}

// multiHeadAttention is attention of queries, keys and values of several heads in a row, or of keys and values a head apart.
func multiHeadAttention(b *composer) ([]*ir.Value, error) {
	if err := b.absent(8, 9); err != nil {
		return nil, err
	}
	if b.wants(3) {
		return nil, fmt.Errorf("result 3 (qk) is not supported; supported are 0 to 2")
	}
	if b.Has(6) != b.Has(7) {
		return nil, fmt.Errorf("only one of past_key and past_value is present; want both or neither")
	}
	var ranks [3]int
	var shapes [3]ir.Shape
	for i := range ranks {
		s, err := b.Shape(i)
		if err != nil {
			return nil, err
		}
		ranks[i], shapes[i] = len(s), s
	}
	if ranks[0] != 3 || ranks[1] != ranks[2] || ranks[1] != 3 && ranks[1] != 4 {
		return nil, fmt.Errorf("operands 0, 1 and 2 (query, key and value) have ranks %d, %d and %d; supported are 3, and key and value of both 3 or both 4", ranks[0], ranks[1], ranks[2])
	}
	q := shapes[0]
	if b.Node.Int("unidirectional", 0) != 0 { // the last query would see keys behind it, or not: engines differ
		if err := b.require(AtLeast, q[1], shapes[1][ranks[1]-2], "with attribute unidirectional, the number of queries and of keys outside the past"); err != nil {
			return nil, err
		}
	}
	parts := []*ir.Value{b.operands[0], b.operands[1], b.operands[2]}
	if ranks[1] == 4 { // heads before places: a row of heads for each place
		for i := 1; i < 3; i++ {
			turned := b.op("Transpose", ir.Attrs{"perm": []int64{0, 2, 1, 3}}, parts[i])
			parts[i] = b.op("Reshape", nil, turned, b.ints(0, 0, -1))
		}
	}
	length := b.dim(parts[1], 1)
	if bias := b.operands[3]; bias != nil {
		sizes := b.join(0, b.dim(parts[0], 2), b.dim(parts[1], 2), b.dim(parts[2], 2))
		for i, v := range b.ops("Split", 3, ir.Attrs{"axis": int64(0)}, bias, sizes) {
			if i == 0 || ranks[1] == 3 {
				parts[i] = b.add(parts[i], v)
			}
		}
	}
	past := []*ir.Value{b.operands[6], b.operands[7]}
	if past[0] != nil {
		length = b.add(length, b.dim(past[0], 2))
	}
	return b.attended(parts, past, b.Type(0), attentionOperandsAt{mask: 4, bias: 5}, q[0], length, b.wants(1) || b.wants(2))
}

// attended is ONNX's Attention of queries, keys and values of type t with a cache, of which past holds nil where there is none. Where they are cached there
// are three results.
func (b *composer) attended(qkv, past []*ir.Value, t ir.DType, at attentionOperandsAt, batch sym.Expr, total *ir.Value, cached bool) ([]*ir.Value, error) {
	heads := b.Node.Int("num_heads", 0)
	attrs := ir.Attrs{"q_num_heads": heads, "kv_num_heads": heads}
	causal, err := b.flag("unidirectional", 0)
	if err != nil {
		return nil, err
	}
	if causal {
		attrs["is_causal"] = int64(1)
	}
	if x := b.Node.Float("scale", 0); x != 0 {
		attrs["scale"] = x
	}
	added := b.operands[at.bias] // nil of -1, too
	if b.Has(at.mask) {
		hidden, err := b.padding(at.mask, batch, total)
		if err != nil {
			return nil, err
		}
		if hidden = b.cast(hidden, ir.F32, t); added != nil {
			hidden = b.add(hidden, added)
		}
		added = hidden
	}
	results := 1
	if cached {
		results = 3
	}
	return b.ops("Attention", results, attrs, present(qkv[0], qkv[1], qkv[2], added, past[0], past[1])...), nil
}

// padding is what is added to scores of keys that are padding, of rank 4: attribute mask_filter_value where an operand's
// numbers are not above 0, or, of an operand that is a number for each batch, from that key on.
func (b *composer) padding(mask int, batch sym.Expr, total *ir.Value) (*ir.Value, error) {
	s, err := b.Shape(mask)
	if err != nil {
		return nil, err
	}
	m, kept := b.operands[mask], (*ir.Value)(nil)
	above := func() *ir.Value { return b.op("Greater", nil, m, b.cast(b.integer(0), ir.I64, ir.I32)) }
	switch len(s) {
	case 1:
		if err := b.hasShape(mask, ir.Shape{batch}); err != nil {
			return nil, fmt.Errorf("%w: a mask of rank 1 must have the number of keys without padding, for each batch", err)
		}
		places := b.op("Range", nil, b.integer(0), b.squeeze(total, 0), b.integer(1))
		known := b.op(Lengths, nil, m, b.integer(math.MaxInt32)) // not negative; more than there are is all
		kept = b.unsqueeze(b.op("Less", nil, places, b.unsqueeze(b.cast(known, ir.I32, ir.I64), 1)), 1, 2)
	case 2:
		kept = b.unsqueeze(above(), 1, 2)
	case 3:
		kept = b.unsqueeze(above(), 1)
	default:
		return nil, fmt.Errorf("operand %d (%s) has rank %d; supported are 1 to 3", mask, b.Row.Inputs[mask].Name, len(s))
	}
	hidden := b.float(ir.F32, float64(b.Node.Float("mask_filter_value", -10000)))
	return b.op("Where", nil, kept, b.float(ir.F32, 0), hidden), nil
}

// rotated is ONNX's RotaryEmbedding, whose places may be given by the first one.
func rotated(b *composer) ([]*ir.Value, error) {
	if err := b.refuse(0, "is_packed_batching"); err != nil {
		return nil, err
	}
	if x := b.Node.Float("scale", 1); x != 1 {
		return nil, fmt.Errorf("attribute scale is %v; supported is 1", x)
	}
	x, err := b.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 3 && len(x) != 4 {
		return nil, fmt.Errorf("operand 0 has rank %d; want rank 3 or 4", len(x))
	}
	ids, err := b.Shape(1)
	if err != nil {
		return nil, err
	}
	cos, err := b.Shape(2)
	if err != nil {
		return nil, err
	}
	attrs := b.attrsBut("is_packed_batching", "scale")
	if len(x) == 3 && b.Node.Int("num_heads", 0) == 0 {
		heads, ok := sym.Expr{}, false
		if len(cos) == 2 {
			heads = sym.FloorDiv(x[2], b.atLeastOne(sym.Scale(cos[1], 2)), b.Facts)
		}
		if attrs["num_heads"], ok = heads.Const(); !ok || len(cos) != 2 {
			return nil, fmt.Errorf("attribute num_heads is absent, and the shape %s of operand 2 does not determine the size of a head; add the attribute", cos)
		}
	}
	places := b.operands[1]
	if len(ids) < 2 { // the first place
		length := b.dim(b.operands[0], int64(len(x)-2)) // of [batch, length, heads], and of [batch, head, length, size]
		steps := b.op("Range", nil, b.integer(0), b.squeeze(length, 0), b.integer(1))
		places = b.op("Expand", nil, b.unsqueeze(b.add(steps, places), 0), b.join(0, b.dim(b.operands[0], 0), length))
	}
	return []*ir.Value{b.op("RotaryEmbedding", attrs, b.operands[0], b.operands[2], b.operands[3], places)}, nil
}
