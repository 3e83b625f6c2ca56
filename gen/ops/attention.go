package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// attention is scaled dot product attention: softmax of masked products of queries and
// keys, times the values.
type attention struct {
	c          *Ctx
	q, k, v    heads
	past       sym.Expr // how many keys the cache holds
	total      sym.Expr // keys, with the cache's
	group      sym.Expr // query heads for each head of keys
	t          ir.DType // of products before the softmax
	scores     []te.Axis
	together   int64 // queries, of one place
	masks      bool  // some row may have no key
	kept       int   // the stage of how many keys of a batch are no padding, with operand 6
	out        []*te.Stage
	keys, vals func(batch, head, position, k sym.Expr) te.Expr
	results    [4]te.Source
}

func attentionOf(c *Ctx) (*Meaning, error) {
	a := &attention{c: c, t: wide(c.Type(0)), together: c.Node.Int("together", 1)}
	for _, step := range []func() error{a.operands, a.cache, a.products, a.weights, a.sums} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m := &Meaning{Stages: a.out}
	for i := range max(1, len(c.Node.Outputs)) {
		m.Outputs = append(m.Outputs, a.results[0])
		if a.wants(i) {
			m.Outputs[i] = a.results[i]
		}
	}
	return m, nil
}

// wants reports whether the node has result i.
func (a *attention) wants(i int) bool {
	return i < len(a.c.Node.Outputs) && a.c.Node.Outputs[i] != nil
}

// add appends a stage and gives its number.
func (a *attention) add(s *te.Stage) int {
	a.out = append(a.out, s)
	return len(a.out) - 1
}

func (a *attention) operands() error {
	c := a.c
	var err error
	if a.q, err = c.heads(0, "q_num_heads"); err != nil {
		return err
	}
	if a.k, err = c.heads(1, "kv_num_heads"); err != nil {
		return err
	}
	if a.v, err = c.heads(2, "kv_num_heads"); err != nil {
		return err
	}
	if a.q.packed != a.k.packed || a.q.packed != a.v.packed {
		return fmt.Errorf("operands 0, 1 and 2 have different ranks; want all 3 or all 4")
	}
	if a.group = sym.Const(1); !a.q.n.Equal(a.k.n) {
		a.group = sym.FloorDiv(a.q.n, c.atLeastOne(a.k.n), c.Facts)
	}
	for _, x := range []struct {
		a, b sym.Expr
		what string
	}{
		{a.q.batch, a.k.batch, "batches of Q and K"}, {a.q.batch, a.v.batch, "batches of Q and V"},
		{a.q.size, a.k.size, "sizes of a head of Q and K"}, {a.k.n, a.v.n, "heads of K and V"},
		{a.k.length, a.v.length, "lengths of K and V"},
		{sym.Mul(a.group, a.k.n), a.q.n, "heads of K must divide those of Q"},
	} {
		if err := c.require(SameDim, x.a, x.b, "%s", x.what); err != nil {
			return err
		}
	}
	return nil
}

// cache puts keys and values behind those of earlier steps.
func (a *attention) cache() error {
	c := a.c
	if c.Has(4) != c.Has(5) {
		return fmt.Errorf("only one of past_key and past_value is present; want both or neither")
	}
	if c.Has(4) && c.Has(6) {
		return fmt.Errorf("nonpad_kv_seqlen and past_key exclude each other")
	}
	a.past = sym.Const(0)
	if c.Has(4) {
		s, err := c.Shape(4)
		if err != nil {
			return err
		}
		if len(s) != 4 {
			return fmt.Errorf("operand 4 has rank %d; want rank 4", len(s))
		}
		a.past = s[2]
	}
	a.total = sym.Add(a.past, a.k.length)
	var err error
	if c.Has(7) {
		if a.total, err = c.scalarOperand(7); err != nil {
			return err
		}
		if err = c.require(AtLeast, sym.Add(a.past, a.k.length), a.total, "the number of keys, and operand 7"); err != nil {
			return err
		}
	}
	if a.keys, err = a.present(4, 1, "present_key", a.k); err != nil {
		return err
	}
	a.vals, err = a.present(5, 2, "present_value", a.v)
	return err
}

// present reads keys or values; they are a stage where the cache, operand `past`, holds
// some, or where they are a result.
func (a *attention) present(past, result int, name string, h heads) (func(batch, head, position, k sym.Expr) te.Expr, error) {
	cached := a.c.Has(past)
	if !cached && !a.wants(result) {
		return func(b, n, p, k sym.Expr) te.Expr { return h.at(b, n, p, k) }, nil
	}
	as := axes(ir.Shape{h.batch, h.n, a.total, h.size})
	e := te.Expr(h.at(iv(0), iv(1), sym.Sub(iv(2), a.past), iv(3)))
	if cached {
		if err := a.c.hasShape(past, ir.Shape{h.batch, h.n, a.past, h.size}); err != nil {
			return nil, err
		}
		old := te.Within{E: iv(2), Lo: sym.Const(0), Hi: a.past}
		e = inside(old, a.c.with(as), te.Operand(past, h.typ, te.AxisVars(as)...), e)
	}
	n := a.add(&te.Stage{Name: name, Axes: as, Results: []te.Expr{e}})
	a.results[result] = te.Source{Stage: true, N: n}
	return func(b, head, p, k sym.Expr) te.Expr { return te.FromStage(n, h.typ, b, head, p, k) }, nil
}

// products adds the stage of the scores; a score's indices are batch, head, query and key.
func (a *attention) products() error {
	c, t := a.c, a.t
	a.scores = axes(ir.Shape{a.q.batch, a.q.n, a.q.length, a.total})
	red := reduceAxes(ir.Shape{a.q.size})
	head := sym.FloorDiv(iv(1), c.atLeastOne(a.group), c.with(a.scores))
	q, k := cast(t, a.q.at(iv(0), iv(1), iv(2), rv(0))), cast(t, a.keys(iv(0), head, iv(3), rv(0)))
	scale, err := a.scale()
	if err != nil {
		return err
	}
	mode := c.Node.Int("qk_matmul_output_mode", 0)
	if mode < 0 || mode > 3 {
		return fmt.Errorf("attribute qk_matmul_output_mode is %d; supported are 0 to 3", mode)
	}
	steps := [3]te.Expr{mul(te.Acc{Type: t}, scale)}
	steps[1] = steps[0]
	switch softcap := c.Node.Float("softcap", 0); {
	case softcap < 0:
		return fmt.Errorf("attribute softcap is %v; want at least 0", softcap)
	case softcap > 0:
		steps[1] = mul(call("tanh", div(steps[0], num(scale, float64(softcap)))), num(scale, float64(softcap)))
	}
	if steps[2], err = a.masked(steps[1]); err != nil {
		return err
	}
	s := &te.Stage{
		Name: "scores", Axes: a.scores, Reduce: red, Combine: te.Sum(t),
		Values: []te.Expr{mul(q, k)}, Results: []te.Expr{steps[2]},
	}
	if a.wants(3) && mode < 3 {
		s.Results = append(s.Results, cast(a.q.typ, steps[mode]))
	}
	a.results[3] = te.Source{Stage: true, N: a.add(s), Part: len(s.Results) - 1}
	return nil
}

// scale is the attribute, or 1/sqrt of the size of a head.
func (a *attention) scale() (te.Expr, error) {
	if x := a.c.Node.Float("scale", 0); a.c.Node.Has("scale") {
		if x < 0 || math.IsNaN(float64(x)) {
			return nil, fmt.Errorf("attribute scale is %v; want at least 0", x)
		}
		return te.Float(a.t, float64(x)), nil
	}
	if d, ok := a.q.size.Const(); ok {
		return te.Float(a.t, 1/math.Sqrt(float64(max(d, 1)))), nil
	}
	size := cast(a.t, te.Index{Type: ir.I64, E: a.c.atLeastOne(a.q.size)}) // a sum of nothing stays 0
	return div(num(size, 1), call("sqrt", size)), nil
}

// weights adds the stages of the softmax over keys.
func (a *attention) weights() error {
	t := a.q.typ
	if a.c.Node.Has("softmax_precision") {
		var err error
		if t, err = a.c.typeAttr("softmax_precision"); err != nil {
			return err
		}
		if !t.IsFloat() {
			return fmt.Errorf("attribute softmax_precision is %s; supported are %s", t, typeNames(floats))
		}
	}
	rows, red := a.scores[:3], reduceAxes(ir.Shape{a.total})
	w, score := wide(t), a.results[3].N
	at := func(last sym.Expr) []sym.Expr { return append(te.AxisVars(rows), last) }
	read := func(last sym.Expr) te.Expr {
		s := te.Expr(te.FromStage(score, a.t, at(last)...))
		if t != a.q.typ { // round to what the node names
			s = cast(t, s)
		}
		return cast(w, s)
	}
	row := func(n int) te.Expr { return te.FromStage(n, w, te.AxisVars(rows)...) }
	none := te.Float(w, math.Inf(-1))
	greatest := te.MaxNumber(w)
	if a.masks { // NaN tells a row from one without keys
		greatest = te.Max(w)
	}
	most := a.add(&te.Stage{
		Name: "max", Axes: rows, Reduce: red, Combine: greatest, Values: []te.Expr{read(rv(0))}, Results: []te.Expr{te.Acc{Type: w}},
	})
	e := call("exp", sub(read(iv(3)), row(most)))
	if a.masks { // a row without keys has no weights
		e = sel(test("eq", row(most), none), te.Float(w, 0), e)
	}
	exps := a.add(&te.Stage{Name: "exp", Axes: a.scores, Results: []te.Expr{e}})
	total := te.Expr(te.Acc{Type: w})
	if a.masks {
		total = sel(test("eq", total, te.Float(w, 0)), te.Float(w, 1), total)
	}
	sum := a.add(&te.Stage{
		Name: "sum", Axes: rows, Reduce: red, Combine: te.Sum(w),
		Values: []te.Expr{te.FromStage(exps, w, at(rv(0))...)}, Results: []te.Expr{total},
	})
	p := cast(a.q.typ, cast(t, div(te.FromStage(exps, w, at(iv(3))...), row(sum))))
	n := a.add(&te.Stage{Name: "weights", Axes: a.scores, Results: []te.Expr{p}})
	if a.c.Node.Int("qk_matmul_output_mode", 0) == 3 {
		a.results[3] = te.Source{Stage: true, N: n}
	}
	return nil
}

// sums adds the stage of the weighted values, of a head in a row, and what packs them where the operands are packed.
func (a *attention) sums() error {
	weights := len(a.out) - 1
	as := axes(ir.Shape{a.q.batch, a.q.n, a.q.length, a.v.size})
	kept := sym.FloorDiv(iv(1), a.c.atLeastOne(a.group), a.c.with(as))
	acc := wider(a.t, wide(a.v.typ))
	p := cast(acc, te.FromStage(weights, a.q.typ, iv(0), iv(1), iv(2), rv(0)))
	n := a.add(&te.Stage{
		Name: "Attention", Axes: as, Reduce: reduceAxes(ir.Shape{a.total}), Combine: te.Sum(acc),
		Values: []te.Expr{mul(p, cast(acc, a.vals(iv(0), kept, rv(0), iv(3))))}, Results: []te.Expr{cast(a.q.typ, te.Acc{Type: acc})},
	})
	if a.q.packed {
		as = axes(ir.Shape{a.q.batch, a.q.length, sym.Mul(a.q.n, a.v.size)})
		f, size := a.c.with(as), a.c.atLeastOne(a.v.size)
		e := te.FromStage(n, a.q.typ, iv(0), sym.FloorDiv(iv(2), size, f), iv(1), sym.Mod(iv(2), size, f))
		n = a.add(&te.Stage{Name: "Attention", Axes: as, Results: []te.Expr{e}})
	}
	a.results[0] = te.Source{Stage: true, N: n}
	return nil
}
