package ops

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
)

// Numbers of GroupQueryAttention's operands.
const (
	groupedQuery = iota
	groupedKey
	groupedValue
	groupedPastKey
	groupedPastValue
	groupedLast // of each batch, the place of its last key
	groupedTotal
	groupedCos
	groupedSin
	groupedPlaces
	groupedBias
	groupedValid = 16 // of each batch, how many of the queries are no padding
)

// groupedRow is attention of language models, in which several heads of queries share one of keys and values, with the cache of earlier steps.
func groupedRow() *Row {
	t := func(name string) Param { return in(name, shortFloats) }
	ints := func(name string) Param { return Param{Name: name, Types: []ir.DType{ir.I32}} }
	scale := func(name string) Param { return opt(Param{Name: name, Types: single}) }
	cache := func(name string) Param {
		return opt(Param{Name: name, Types: slices.Concat(quantized8, shortFloats)})
	}
	return &Row{
		Name: Microsoft + "GroupQueryAttention", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 4,
		Inputs: []Param{
			t("query").shaped("batch sequence _"), opt(t("key").shaped("batch sequence _")), opt(t("value").shaped("batch sequence _")), cache("past_key").shaped("batch _ past _"), cache("past_value").shaped("batch _ past _"),
			ints("seqlens_k").shaped("batch | batch 1 | 1 batch"), ints("total_sequence_length").shaped(oneNumber),
			opt(t("cos_cache").shaped("rows half")), opt(t("sin_cache").shaped("rows half")), opt(Param{Name: "position_ids", Types: int64s}.shaped("batch sequence")),
			opt(t("attention_bias").shaped("batch? _ sequence _")), opt(t("head_sink")),
			scale("k_scale"), scale("v_scale"), opt(t("q_norm_weight")), opt(t("k_norm_weight")), opt(ints("query_seqlens").shaped("batch")),
		},
		Attrs: []AttrSpec{
			intAttr("num_heads").required(), intAttr("kv_num_heads").required(), floatAttr("scale"), floatAttr("softcap"), intAttr("causal"),
			intAttr("local_window_size"), intAttr("do_rotary"), intAttr("rotary_interleaved"), intAttr("smooth_softmax"), intAttr("qk_output"),
			intAttr("sliding_window_cache"), intAttr("kv_cache_bit_width"), strAttr("k_quant_type"), strAttr("v_quant_type"),
			floatAttr("qk_norm_epsilon"), floatAttr("q_norm_epsilon"), floatAttr("k_norm_epsilon"),
		},
		Compose: groupQueryAttention,
	}
}

// cures are what to do about what a GroupQueryAttention asks for that is not done, by its attribute or operand.
var cures = []struct{ name, cure string }{
	{"qk_output", "export the model without the scores as a result"},
	{"sliding_window_cache", "export the model with a cache of all keys; only local_window_size is supported"},
	{"kv_cache_bit_width", "export the model with a cache of floats"},
	{"k_quant_type", "export the model with a cache of floats"},
	{"v_quant_type", "export the model with a cache of floats"},
	{"k_scale", "export the model with a cache of floats"},
	{"v_scale", "export the model with a cache of floats"},
	{"smooth_softmax", "export the model with the softmax as nodes of its own"},
	{"head_sink", "export the model with the softmax as nodes of its own"},
	{"q_norm_weight", "export the model for CPUs, with these normalizations as nodes of their own"},
	{"k_norm_weight", "export the model for CPUs, with these normalizations as nodes of their own"},
}

// refused is an error where the node asks for what is not done.
func (g *grouped) refused() error {
	for _, x := range cures {
		i := slices.IndexFunc(g.Row.Inputs, func(p Param) bool { return p.Name == x.name })
		switch {
		case i >= 0 && g.Has(i):
			return fmt.Errorf("operand %d (%s) is not supported; it must be absent: %s", i, x.name, x.cure)
		case i < 0 && strings.HasSuffix(x.name, "_type") && g.Node.Str(x.name, "NONE") != "NONE":
			return fmt.Errorf("attribute %s is %q; supported is \"NONE\": %s", x.name, g.Node.Str(x.name, ""), x.cure)
		case i < 0 && g.Node.Int(x.name, 0) > 0:
			return fmt.Errorf("attribute %s is %d; supported is 0: %s", x.name, g.Node.Int(x.name, 0), x.cure)
		}
	}
	if g.wants(3) {
		return fmt.Errorf("result 3 (output_qk) is not supported; supported are 0 to 2: export the model without the scores as a result")
	}
	for _, i := range []int{groupedPastKey, groupedPastValue} {
		if g.Has(i) && g.Type(i) != g.Type(groupedQuery) {
			return fmt.Errorf("operand %d (%s) has type %s; supported is %s, the type of operand 0: export the model with a cache of floats", i, g.Row.Inputs[i].Name, g.Type(i), g.Type(groupedQuery))
		}
	}
	for _, pair := range [][2]int{{groupedKey, groupedValue}, {groupedPastKey, groupedPastValue}, {groupedCos, groupedSin}} {
		if g.Has(pair[0]) != g.Has(pair[1]) {
			return fmt.Errorf("only one of %s and %s is present; want both or neither", g.Row.Inputs[pair[0]].Name, g.Row.Inputs[pair[1]].Name)
		}
	}
	return nil
}
