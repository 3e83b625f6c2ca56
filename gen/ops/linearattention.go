package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

func linearAttentionRow() *Row {
	state := Param{Name: "past_state", Types: nets}
	return &Row{
		Name: "LinearAttention", Versions: []int{27}, Form: Composition, MinOutputs: 2, MaxOutputs: 2,
		Inputs: []Param{in("query", nets), in("key", nets), in("value", nets), opt(state), opt(in("decay", nets)), opt(in("beta", nets))},
		Attrs: []AttrSpec{
			intAttr("chunk_size"), // how an engine may cut the sequence; it changes no result
			intAttr("kv_num_heads").required(), intAttr("q_num_heads").required(), floatAttr("scale"), strAttr("update_rule"),
		},
		Compose: func(b *composer) ([]*ir.Value, error) {
			a, err := newLinearAttention(b)
			if err != nil {
				return nil, err
			}
			return a.results(), nil
		},
	}
}

// linearAttention keeps for each head the sum of outer products of keys and values, which
// queries read. It decays from step to step, and what a key already has is taken off the
// value, as attribute update_rule says.
type linearAttention struct {
	*composer
	heads, group  int64    // heads of keys and values, and queries for each
	batch, size   sym.Expr // size is that of a head of values
	decays, delta bool
}

// Numbers of operands.
const (
	linearQuery = iota
	linearKey
	linearValue
	linearPast
	linearDecay
	linearBeta
)

func newLinearAttention(b *composer) (*linearAttention, error) {
	rule, err := b.choice("update_rule", "gated_delta", "linear", "gated", "delta")
	if err != nil {
		return nil, err
	}
	a := &linearAttention{
		composer: b, heads: b.Node.Int("kv_num_heads", 0),
		decays: rule == "gated" || rule == "gated_delta", delta: rule == "delta" || rule == "gated_delta",
	}
	for _, x := range []struct {
		operand int
		wanted  bool
	}{{linearDecay, a.decays}, {linearBeta, a.delta}} {
		if b.Has(x.operand) != x.wanted {
			verb := map[bool]string{true: "needs", false: "has no use for"}[x.wanted]
			return nil, fmt.Errorf("attribute update_rule is %q, which %s operand %d (%s)", rule, verb, x.operand, b.Row.Inputs[x.operand].Name)
		}
	}
	queries := b.Node.Int("q_num_heads", 0)
	if a.heads < 1 || queries < 1 || queries%a.heads != 0 {
		return nil, fmt.Errorf("attributes q_num_heads and kv_num_heads are %d and %d; want both at least 1, and the first a multiple of the second", queries, a.heads)
	}
	a.group = queries / a.heads
	return a, a.checkShapes(queries)
}

func (a *linearAttention) checkShapes(queries int64) error {
	q, err := a.heads3(linearQuery, queries)
	if err != nil {
		return err
	}
	k, err := a.heads3(linearKey, a.heads)
	if err != nil {
		return err
	}
	v, err := a.heads3(linearValue, a.heads)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		a, b sym.Expr
		what string
	}{
		{q.batch, k.batch, "batches of query and key"}, {q.batch, v.batch, "batches of query and value"},
		{q.length, k.length, "lengths of query and key"}, {q.length, v.length, "lengths of query and value"},
		{q.size, k.size, "sizes of a head of query and key"},
	} {
		if err := a.require(SameDim, x.a, x.b, "%s", x.what); err != nil {
			return err
		}
	}
	a.batch, a.size = q.batch, v.size
	heads := sym.Const(a.heads)
	if a.Has(linearPast) {
		if err := a.hasShape(linearPast, ir.Shape{q.batch, heads, k.size, v.size}); err != nil {
			return err
		}
	}
	if err := a.perHead(linearDecay, q, heads, a.Node.Inputs[linearKey].Shape[2]); err != nil {
		return err
	}
	return a.perHead(linearBeta, q, heads, sym.Const(1))
}

// heads3 are the packed heads of an operand.
func (a *linearAttention) heads3(i int, n int64) (heads, error) {
	s, err := a.Shape(i)
	if err != nil {
		return heads{}, err
	}
	if len(s) != 3 {
		return heads{}, fmt.Errorf("operand %d has rank %d; want rank 3", i, len(s))
	}
	size := sym.FloorDiv(s[2], sym.Const(n), a.Facts)
	h := heads{batch: s[0], length: s[1], size: size}
	return h, a.require(SameDim, sym.Scale(size, n), s[2], "the number of heads must divide the last dimension of operand %d", i)
}

// perHead requires an operand, if it is present, to have the batch and the length of q, and
// one of two last dimensions; which of them decides the structure.
func (a *linearAttention) perHead(i int, q heads, one, other sym.Expr) error {
	if !a.Has(i) {
		return nil
	}
	s, err := a.Shape(i)
	if err != nil {
		return err
	}
	if len(s) != 3 {
		return fmt.Errorf("operand %d has rank %d; want rank 3", i, len(s))
	}
	last := s[2]
	_, known := last.Const()
	switch {
	case last.Equal(other):
		one = other
	case !last.Equal(one) && !known:
		return &UnknownError{fmt.Sprintf("whether dimension 2 (%s) of operand %d (%s) is %s or %s", last, i, a.Row.Inputs[i].Name, one, other)}
	}
	return a.hasShape(i, ir.Shape{q.batch, q.length, one})
}

// results are the output and the last state.
func (a *linearAttention) results() []*ir.Value {
	// the query's heads of one of the key's stand beside each other
	q := a.unpack(linearQuery, a.heads, a.group, -1)
	k, v := a.unpack(linearKey, a.heads, -1), a.unpack(linearValue, a.heads, -1)
	s := a.scan(1, false)
	state := s.state(a.first())
	qt, kt, vt := s.slice(q), s.slice(k), s.slice(v)
	if a.decays {
		decay := a.op("Exp", nil, a.unpack(linearDecay, a.heads, -1))
		state = s.mul(state, s.unsqueeze(s.slice(decay), -1))
	}
	kt, vt = s.unsqueeze(kt, -1), s.unsqueeze(vt, -2)
	if a.delta {
		beta := s.slice(a.unpack(linearBeta, -1, 1, 1))
		known := s.op("MatMul", nil, s.op("Transpose", ir.Attrs{"perm": []int64{0, 1, 3, 2}}, kt), state)
		vt = s.mul(beta, s.sub(vt, known))
	}
	next := s.add(state, s.mul(kt, vt))
	read := s.stack(s.op("MatMul", nil, qt, next), ir.F32, a.batch, sym.Const(a.heads), sym.Const(a.group), a.size)
	scanned := s.end([]*ir.Value{next}, []*ir.Value{read})
	y := a.op("Reshape", nil, a.mul(scanned[1], a.scale()), a.ints(0, 0, -1))
	t := a.Type(linearQuery)
	kept := t
	if a.Has(linearPast) {
		kept = a.Type(linearPast)
	}
	return []*ir.Value{a.cast(y, ir.F32, t), a.cast(scanned[0], ir.F32, kept)}
}

// unpack cuts the last axis of an operand, as f32.
func (a *linearAttention) unpack(i int, dims ...int64) *ir.Value {
	v := a.cast(a.operands[i], a.Type(i), ir.F32)
	return a.op("Reshape", nil, v, a.ints(append([]int64{0, 0}, dims...)...))
}

// first is the state before the first step.
func (a *linearAttention) first() *ir.Value {
	if a.Has(linearPast) {
		return a.cast(a.operands[linearPast], a.Type(linearPast), ir.F32)
	}
	size := func(i int) *ir.Value { return a.op("Div", nil, a.dim(a.operands[i], 2), a.ints(a.heads)) }
	return a.zeros(ir.F32, a.dim(a.operands[linearQuery], 0), a.ints(a.heads), size(linearKey), size(linearValue))
}

// scale is the attribute, or 1/sqrt of the size of a head.
func (a *linearAttention) scale() *ir.Value {
	if x := a.Node.Float("scale", 0); x != 0 {
		return a.float(ir.F32, float64(x))
	}
	size := a.op("Max", nil, a.op("Div", nil, a.dim(a.operands[linearKey], 2), a.ints(a.heads)), a.ints(1)) // a sum of nothing stays 0
	return a.op("Reciprocal", nil, a.op("Sqrt", nil, a.cast(size, ir.I64, ir.F32)))
}
