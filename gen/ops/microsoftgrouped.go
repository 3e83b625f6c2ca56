package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// grouped is a GroupQueryAttention. Its keys and values are those of the cache up to where each batch's queries begin, and then new ones.
type grouped struct {
	*composer
	heads, shared int64       // of queries, and of keys and values
	batch, length sym.Expr    // of queries
	size          int64       // of a head
	rows          []*ir.Value // queries, keys and values: [batch, place, head * element]
	total         *ir.Value   // how many keys there are, a vector of one element
	known         *ir.Value   // how many keys each batch has
	fresh         *ir.Value   // how many queries, and new keys, or how many of each batch are no padding
	begin         *ir.Value   // where the queries of each batch are among its keys
}

func groupQueryAttention(b *composer) ([]*ir.Value, error) {
	g := &grouped{composer: b, heads: b.Node.Int("num_heads", 0), shared: b.Node.Int("kv_num_heads", 0)}
	for _, step := range []func() error{g.refused, g.parts, g.lengths, g.rotate} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	k, v := g.cached(groupedPastKey, g.rows[1]), g.cached(groupedPastValue, g.rows[2])
	y, err := g.attended(k, v)
	return []*ir.Value{y, k, v, nil}, err
}

// parts are queries, keys and values, which may be one operand.
func (g *grouped) parts() error {
	for _, name := range []string{"num_heads", "kv_num_heads"} {
		if n := g.Node.Int(name, 0); n < 1 || n > sym.MaxDim {
			return fmt.Errorf("attribute %s is %d; want 1 to %d", name, n, int64(sym.MaxDim))
		}
	}
	if g.heads%g.shared != 0 {
		return fmt.Errorf("attributes num_heads and kv_num_heads are %d and %d; want a multiple", g.heads, g.shared)
	}
	q, err := g.Shape(groupedQuery)
	if err != nil {
		return err
	}
	if len(q) != 3 {
		return fmt.Errorf("operand 0 (query) has rank %d; want rank 3", len(q))
	}
	g.batch, g.length = q[0], q[1]
	packed, n := !g.Has(groupedKey), g.heads
	if packed {
		n += 2 * g.shared
	}
	columns, known := q[2].Const()
	if !known || columns < n || columns%n != 0 {
		return fmt.Errorf("operand 0 (query) has shape %s; want a constant last dimension, a multiple of its %d heads", q, n)
	}
	g.size = columns / n
	if err := g.caches(); err != nil {
		return err
	}
	if packed {
		sizes := g.ints(g.heads*g.size, g.shared*g.size, g.shared*g.size)
		g.rows = slices.Clone(g.ops("Split", 3, ir.Attrs{"axis": int64(2)}, g.operands[groupedQuery], sizes))
		return nil
	}
	for i := groupedQuery; i <= groupedValue; i++ {
		g.rows = append(g.rows, g.operands[i])
		if i == groupedQuery {
			continue
		}
		if err := g.hasShape(i, ir.Shape{g.batch, g.length, sym.Const(g.shared * g.size)}); err != nil {
			return err
		}
	}
	return nil
}

// caches holds that of values to the length of that of keys: new ones go to the same places.
func (g *grouped) caches() error {
	if !g.Has(groupedPastKey) {
		return nil
	}
	s, err := g.Shape(groupedPastKey)
	if err != nil {
		return err
	}
	if len(s) != 4 {
		return fmt.Errorf("operand %d (past_key) has rank %d; want rank 4: batch, head, position and element", groupedPastKey, len(s))
	}
	for _, i := range []int{groupedPastKey, groupedPastValue} {
		if err := g.hasShape(i, ir.Shape{g.batch, sym.Const(g.shared), s[2], sym.Const(g.size)}); err != nil {
			return err
		}
	}
	return nil
}

// lengths are how many keys there are, how many of them each batch knows, and where its queries are among these: they are the last ones, or, of
// more queries than keys, which are padding at the end, the first.
func (g *grouped) lengths() error {
	wide := func(i int) *ir.Value { return g.cast(g.operands[i], ir.I32, ir.I64) }
	g.total = g.op("Reshape", nil, wide(groupedTotal), g.ints(1))
	last := g.op("Reshape", nil, wide(groupedLast), g.ints(-1)) // one of each batch, as a vector or a row
	before := g.sub(g.squeeze(g.total, 0), g.integer(1))
	g.known = g.add(g.op(Lengths, nil, last, before), g.integer(1)) // a last key is one of the keys, and there is one
	g.fresh = g.dim(g.operands[groupedQuery], 1)
	if g.Has(groupedValid) {
		if err := g.isVector(groupedValid, g.batch); err != nil {
			return err
		}
		g.fresh = g.op(Lengths, nil, wide(groupedValid), g.squeeze(g.fresh, 0))
	}
	earlier := g.integer(0)
	if g.Has(groupedPastKey) {
		earlier = g.squeeze(g.dim(g.operands[groupedPastKey], 2), 0)
	}
	g.begin = g.op(Lengths, nil, g.op("Max", nil, g.sub(g.known, g.fresh), g.integer(0)), earlier)
	return nil
}

// rotate turns queries and new keys by the angles of their places.
func (g *grouped) rotate() error {
	turns, err := g.flag("do_rotary", 0)
	if err != nil || !turns {
		return err
	}
	if !g.Has(groupedCos) {
		return fmt.Errorf("attribute do_rotary is 1, but operands 7 and 8 (cos_cache and sin_cache) are absent")
	}
	cos, err := g.Shape(groupedCos)
	if err != nil {
		return err
	}
	if len(cos) != 2 {
		return fmt.Errorf("operand 7 (cos_cache) has rank %d; want rank 2", len(cos))
	}
	half, ok := cos[1].Const()
	if !ok || half < 1 {
		return fmt.Errorf("operand 7 (cos_cache) has shape %s; want a constant last dimension of at least 1", cos)
	}
	places := g.places()
	for i, heads := range []int64{g.heads, g.shared} {
		attrs := ir.Attrs{"interleaved": g.Node.Int("rotary_interleaved", 0), "rotary_embedding_dim": 2 * half, "num_heads": heads}
		g.rows[i] = g.op("RotaryEmbedding", attrs, g.rows[i], g.operands[groupedCos], g.operands[groupedSin], places)
	}
	return nil
}

// places are those of queries in the sequence. Where operand 9 has them, a prompt, which is all keys that there are, uses its first number alone, for all
// batches, unless operand 16 tells queries from padding.
func (g *grouped) places() *ir.Value {
	length := g.dim(g.operands[groupedQuery], 1)
	steps := g.op("Range", nil, g.integer(0), g.squeeze(length, 0), g.integer(1))
	own := g.operands[groupedPlaces]
	if own == nil {
		return g.add(g.unsqueeze(g.begin, 1), steps)
	}
	if g.Has(groupedValid) {
		return own
	}
	first := g.op("Gather", nil, g.op("Reshape", nil, own, g.ints(-1)), g.ints(0))
	return g.op("Where", nil, g.op("Equal", nil, g.total, length), g.add(first, steps), own)
}

// cached puts new keys or values behind those of the cache that their batch knows, and zeros behind them: what lies there may be no numbers, and is
// multiplied with weights of 0.
// Axes are batch, head, place and element.
func (g *grouped) cached(past int, rows *ir.Value) *ir.Value {
	fresh := g.op("Transpose", ir.Attrs{"perm": []int64{0, 2, 1, 3}}, g.op("Reshape", nil, rows, g.ints(0, 0, g.shared, g.size)))
	cache := g.operands[past]
	if cache == nil {
		cache = g.zeros(g.Type(0), g.dim(fresh, 0), g.ints(g.shared, 0, g.size))
	}
	more := g.op("Max", nil, g.sub(g.total, g.dim(cache, 2)), g.ints(0))
	room := g.op("Pad", nil, cache, g.join(0, g.ints(0), more), nil, g.ints(2))
	all, end := g.op("TensorScatter", nil, room, fresh, g.begin), g.add(g.begin, g.fresh)
	places := g.op("Range", nil, g.integer(0), g.squeeze(g.dim(all, 2), 0), g.integer(1))
	there := g.op("Less", nil, g.unsqueeze(places, 1), g.unsqueeze(end, 1, 2, 3))
	return g.op("Where", nil, there, all, g.cast(g.float(ir.F32, 0), ir.F32, g.Type(0)))
}

// attended is attention to the keys that each batch knows. Heads of queries that share one of keys are queries of one head, beside each other.
func (g *grouped) attended(k, v *ir.Value) (*ir.Value, error) {
	causal, err := g.flag("causal", 1)
	if err != nil {
		return nil, err
	}
	together := g.heads / g.shared
	attrs, window := ir.Attrs{"softcap": g.Node.Float("softcap", 0), "together": together}, g.Node.Int("local_window_size", -1)
	if x := g.Node.Float("scale", 0); x != 0 {
		attrs["scale"] = x
	}
	batch, places := g.dim(g.rows[0], 0), g.dim(g.rows[0], 1)
	seen := g.known
	switch {
	case window == 0:
		return nil, fmt.Errorf("attribute local_window_size is 0; want at least 1 key, or -1 for no window")
	case causal: // queries that are padding are behind all keys
		attrs["is_causal"], seen = int64(1), g.add(g.begin, places)
		if g.Has(groupedValid) {
			attrs["padded"] = int64(1)
		}
		if window > 0 {
			attrs["left_window_size"] = window - 1
		}
	case window > 0:
		return nil, fmt.Errorf("attributes causal and local_window_size are 0 and %d; without causal, local_window_size must be -1 (no window)", window)
	}
	bias, err := g.bias()
	if err != nil {
		return nil, err
	}
	turn := ir.Attrs{"perm": []int64{0, 2, 1, 3, 4}}
	q := g.op("Transpose", turn, g.op("Reshape", nil, g.rows[0], g.ints(0, 0, g.shared, together, g.size)))
	q = g.op("Reshape", nil, q, g.join(0, batch, g.ints(g.shared), g.mul(places, g.ints(together)), g.ints(g.size)))
	y := g.op(Attend, attrs, q, k, v, bias, nil, nil, seen, g.squeeze(g.total, 0))
	y = g.op("Reshape", nil, y, g.join(0, batch, g.ints(g.shared), places, g.ints(together, g.size)))
	return g.op("Reshape", nil, g.op("Transpose", turn, y), g.ints(0, 0, g.heads*g.size)), nil
}

// bias is what is added to scores, in their order, nil if nothing is.
func (g *grouped) bias() (*ir.Value, error) {
	if !g.Has(groupedBias) {
		return nil, nil
	}
	s, err := g.Shape(groupedBias)
	if err != nil {
		return nil, err
	}
	if len(s) != 4 || !s[1].Is(1) && !s[1].Is(g.heads) {
		return nil, fmt.Errorf("operand 10 (attention_bias) has shape %s; want rank 4, and 1 or %d heads", s, g.heads)
	}
	if err := g.require(SameDim, s[2], g.length, "queries of operand 10 (attention_bias) and of operand 0"); err != nil {
		return nil, err
	}
	v, shared, together := g.operands[groupedBias], int64(1), g.heads/g.shared
	batch, places, keys := g.dim(v, 0), g.dim(v, 2), g.dim(v, 3)
	each := int64(1)
	if s[1].Is(g.heads) {
		shared, each = g.shared, together
	}
	v = g.op("Transpose", ir.Attrs{"perm": []int64{0, 1, 3, 2, 4}}, g.op("Reshape", nil, v, g.join(0, batch, g.ints(shared, each), places, keys)))
	v = g.op("Expand", nil, v, g.ints(1, 1, 1, together, 1))
	return g.op("Reshape", nil, v, g.join(0, batch, g.ints(shared), g.mul(places, g.ints(together)), keys)), nil
}
