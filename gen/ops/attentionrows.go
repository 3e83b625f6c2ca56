package ops

// Attend is the compiler's own operator for Attention in which several queries have one place among the keys, so that heads of queries that share one
// of keys are queries of one head: attribute together says how many. There are as many keys as operand 7 says, and the first ones of operands 1 and 2 are these.
// Attribute padded says that the last queries may be padding, which is behind all keys.
const Attend = "attend"

var attendRow = &Row{
	Name: Attend, Versions: []int{1}, MinOutputs: 1, MaxOutputs: 1,
	Inputs: append(attentionOperands(), Param{Name: "nonpad_kv_seqlen", Types: int64s}, structural("keys", int64s)),
	Attrs: []AttrSpec{
		intAttr("is_causal"), floatAttr("scale"), floatAttr("softcap"), intAttr("left_window_size"), intAttr("right_window_size"), intAttr("together"), intAttr("padded"),
	},
	Build: attentionOf,
}

func attentionOperands() []Param {
	key := func(p Param) Param { p.Like = "T1"; return p }
	value := func(p Param) Param { p.Like = "T2"; return p }
	return []Param{
		key(in("Q", floats)), key(in("K", floats)), value(in("V", floats)), opt(Param{Name: "attn_mask", Types: anyType}),
		opt(key(in("past_key", floats))), opt(value(in("past_value", floats))),
	}
}

// attentionRows are the operators of transformers and of their caches.
func attentionRows() []*Row {
	return []*Row{{
		Name: "Attention", Versions: []int{23, 24, 25}, MinOutputs: 1, MaxOutputs: 4,
		Inputs: append(attentionOperands(), opt(since(24, Param{Name: "nonpad_kv_seqlen", Types: int64s}))),
		Attrs: []AttrSpec{
			intAttr("is_causal"), intAttr("kv_num_heads"), intAttr("q_num_heads"), intAttr("qk_matmul_output_mode"),
			floatAttr("scale"), floatAttr("softcap"), intAttr("softmax_precision"),
			intAttr("left_window_size").from(25), intAttr("right_window_size").from(25),
		},
		Build: attentionOf,
	}, {
		Name: "TensorScatter", Versions: []int{24}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("past_cache", anyType), in("update", anyType), opt(Param{Name: "write_indices", Types: int64s})},
		Attrs:  []AttrSpec{intAttr("axis"), strAttr("mode")}, Build: tensorScatter,
	}}
}
