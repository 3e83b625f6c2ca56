package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

var (
	nets   = []ir.DType{ir.F16, ir.BF16, ir.F32} // types of operators of language models
	allNow = append(slices.Clone(bools), numbers...)
)

// sequenceRows are operators of networks that read sequences.
func sequenceRows() []*Row {
	return []*Row{
		{
			Name: "ReverseSequence", Versions: []int{10, 28}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", allNow), {Name: "sequence_lens", Types: int64s}},
			Attrs:  []AttrSpec{intAttr("batch_axis"), intAttr("time_axis")}, Build: reverseSequence,
		},
		{
			Name: "RotaryEmbedding", Versions: []int{23}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", nets), in("cos_cache", nets), in("sin_cache", nets), opt(Param{Name: "position_ids", Types: int64s})},
			Attrs:  []AttrSpec{intAttr("interleaved"), intAttr("num_heads"), intAttr("rotary_embedding_dim")},
			Build:  rotaryEmbedding,
		},
		{
			Name: "CausalConvWithState", Versions: []int{27}, MinOutputs: 2, MaxOutputs: 2,
			Inputs: []Param{in("input", nets), in("weight", nets), opt(in("bias", nets)), opt(in("past_state", nets))},
			Attrs:  []AttrSpec{strAttr("activation")}, Build: causalConv,
		},
	}
}

// reverseSequence reverses as many elements of each sequence as its length says.
func reverseSequence(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	batch, time := c.Node.Int("batch_axis", 1), c.Node.Int("time_axis", 0)
	if len(x) < 2 || batch+time != 1 || batch*time != 0 {
		return nil, fmt.Errorf("attributes batch_axis and time_axis are %d and %d with rank %d; want 0 and 1 in either order, and a rank of at least 2", batch, time, len(x))
	}
	if err := c.isVector(1, x[batch]); err != nil {
		return nil, err
	}
	as := axes(x)
	index := te.AxisVars(as)
	back := slices.Clone(index)
	back[time] = sym.Sub(sym.Sub(gv(0), sym.Const(1)), index[time])
	reversed := te.Select{
		Cond: []te.Within{{E: index[time], Lo: sym.Const(0), Hi: gv(0)}},
		Then: c.load0(back...), Else: c.load0(index...),
	}
	return one("ReverseSequence", as, te.Let{
		Var: gv(0).String(), Value: te.Operand(1, ir.I64, index[batch]), Lo: sym.Const(0), Hi: x[time], Body: reversed,
	}), nil
}

// rotary is a RotaryEmbedding: pairs of a head's first elements turn by an angle of their
// position in the sequence.
type rotary struct {
	c           *Ctx
	x           ir.Shape
	as          []te.Axis
	at, head    sym.Expr // the element's place in its head, and the head's size
	turned      sym.Expr // how many elements turn
	interleaved bool
	batch, seq  sym.Expr // the point's place in batch and sequence
	t           ir.DType
}

func rotaryEmbedding(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	r := &rotary{c: c, x: x, as: axes(x), batch: iv(0), t: wide(c.Type(0))}
	heads := c.Node.Int("num_heads", 0)
	seq := 1
	switch {
	case len(x) == 4:
		r.head, r.at, seq = x[3], iv(3), 2
	case len(x) == 3 && heads > 0:
		r.head = sym.FloorDiv(x[2], sym.Const(heads), c.Facts)
		if err := c.require(SameDim, sym.Scale(r.head, heads), x[2], "hidden size must be a multiple of attribute num_heads"); err != nil {
			return nil, err
		}
		if err := c.require(AtLeast, r.head, sym.Const(1), "the size of a head"); err != nil {
			return nil, err
		}
		r.at = sym.Mod(iv(2), r.head, c.with(r.as))
	default:
		return nil, fmt.Errorf("operand 0 has rank %d and attribute num_heads is %d; want rank 4, or rank 3 and a number of heads", len(x), heads)
	}
	r.seq = iv(seq)
	if r.interleaved, err = c.flag("interleaved", 0); err != nil {
		return nil, err
	}
	if err := r.size(); err != nil {
		return nil, err
	}
	return r.build(x[0], x[seq])
}

func (r *rotary) size() error {
	n := r.c.Node.Int("rotary_embedding_dim", 0)
	if n < 0 || n%2 != 0 {
		return fmt.Errorf("attribute rotary_embedding_dim is %d; want an even number of at least 0", n)
	}
	if r.turned = r.head; n > 0 {
		r.turned = sym.Const(n)
	}
	twice := sym.Scale(sym.FloorDiv(r.turned, sym.Const(2), r.c.Facts), 2)
	if err := r.c.require(SameDim, twice, r.turned, "the number of rotated elements must be even"); err != nil {
		return err
	}
	return r.c.require(AtLeast, r.head, r.turned, "the size of a head and attribute rotary_embedding_dim")
}

func (r *rotary) build(batch, seq sym.Expr) (*Meaning, error) {
	half := sym.FloorDiv(r.turned, sym.Const(2), r.c.Facts)
	want := ir.Shape{batch, seq, half}
	row := []sym.Expr{r.batch, r.seq}
	if r.c.Has(3) {
		want, row = ir.Shape{half}, []sym.Expr{gv(0)}
		if err := r.c.hasShape(3, ir.Shape{batch, seq}); err != nil {
			return nil, err
		}
	}
	var rows sym.Expr // of the caches
	for i := 1; i <= 2; i++ {
		s, err := r.c.Shape(i)
		if err != nil {
			return nil, err
		}
		full := want
		if r.c.Has(3) && len(s) > 0 {
			full = append(ir.Shape{s[0]}, want...)
			if i == 2 {
				full[0] = rows
			}
			rows = s[0]
		}
		if err := r.c.hasShape(i, full); err != nil {
			return nil, err
		}
	}
	e := r.element(half, row)
	if r.c.Has(3) {
		if err := r.c.require(AtLeast, rows, sym.Min(sym.Mul(batch, seq), sym.Const(1), r.c.Facts), "the caches must have a row for each position"); err != nil {
			return nil, err
		}
		// Negative places do not count from the end: ONNX Runtime refuses them.
		e = te.Let{Var: gv(0).String(), Value: te.Operand(3, ir.I64, r.batch, r.seq), Lo: sym.Const(0), Hi: sym.Sub(rows, sym.Const(1)), Body: e}
	}
	return one("RotaryEmbedding", r.as, cast(r.c.Type(0), e)), nil
}

// hasShape requires that operand i has the shape.
func (c *Ctx) hasShape(i int, want ir.Shape) error {
	s, err := c.Shape(i)
	if err != nil {
		return err
	}
	if len(s) != len(want) {
		return fmt.Errorf("operand %d has rank %d; want rank %d", i, len(s), len(want))
	}
	for k, d := range s {
		if err := c.require(SameDim, d, want[k], "dimension %d of operand %d", k, i); err != nil {
			return err
		}
	}
	return nil
}

// element is x*cos - y*sin of the first of a pair (x, y), and x*sin + y*cos of the second.
func (r *rotary) element(half sym.Expr, row []sym.Expr) te.Expr {
	f, zero := r.c.with(r.as), sym.Const(0)
	load := func(ahead sym.Expr) te.Expr {
		index := te.AxisVars(r.as)
		index[len(index)-1] = sym.Add(index[len(index)-1], ahead)
		return cast(r.t, r.c.load0(index...))
	}
	product := func(cache int, pair, ahead sym.Expr) te.Expr {
		return mul(cast(r.t, te.Operand(cache, r.c.Type(cache), append(slices.Clone(row), pair)...)), load(ahead))
	}
	first := []te.Within{{E: r.at, Lo: zero, Hi: half}}
	pairOfFirst, pairOfSecond, apart := r.at, sym.Sub(r.at, half), half
	if r.interleaved {
		pair := sym.FloorDiv(r.at, sym.Const(2), f)
		first = []te.Within{within(sym.Mod(r.at, sym.Const(2), f), 0)}
		pairOfFirst, pairOfSecond, apart = pair, pair, sym.Const(1)
	}
	e := te.Expr(te.Select{
		Cond: first,
		Then: sub(product(1, pairOfFirst, zero), product(2, pairOfFirst, apart)),
		Else: add(product(2, pairOfSecond, sym.Scale(apart, -1)), product(1, pairOfSecond, zero)),
	})
	if r.turned.Equal(r.head) {
		return e
	}
	return te.Select{Cond: []te.Within{{E: r.at, Lo: zero, Hi: r.turned}}, Then: e, Else: load(zero)}
}
