package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// masked is a score, or -inf where the query does not attend to the key.
func (a *attention) masked(score te.Expr) (te.Expr, error) {
	score, err := a.maskOperand(score)
	if err != nil {
		return nil, err
	}
	if a.c.Has(6) {
		if err := a.c.isVector(6, a.q.batch); err != nil {
			return nil, err
		}
		most := a.total
		if a.c.Node.Int("padded", 0) != 0 { // the last queries may be behind all keys
			most = sym.Add(most, a.q.length)
		}
		a.kept = a.add(&te.Stage{
			Name: "nonpad_kv_seqlen", Axes: axes(ir.Shape{a.q.batch}), Results: []te.Expr{a.c.length(6, most, iv(0))},
		})
		score = a.where(test("lt", index64(iv(3)), a.valid()), score)
	}
	return a.within(score)
}

func index64(e sym.Expr) te.Expr { return te.Index{Type: ir.I64, E: e} }

// valid is how many keys of the batch are no padding, of which a run refuses more than there are, unless queries may be padding.
func (a *attention) valid() te.Expr { return te.FromStage(a.kept, ir.I64, iv(0)) }

// where keeps the score where the condition holds.
func (a *attention) where(cond, score te.Expr) te.Expr {
	a.masks = true
	return sel(cond, score, te.Float(a.t, math.Inf(-1)))
}

// maskOperand applies operand 3: a bool that tells where to attend, or a number to add. Its
// last axis may be short, unless operand 7 tells how many keys there are: the keys behind it are not attended to.
func (a *attention) maskOperand(score te.Expr) (te.Expr, error) {
	c := a.c
	if !c.Has(3) {
		return score, nil
	}
	s, err := c.Shape(3)
	if err != nil {
		return nil, err
	}
	typ := c.Type(3)
	load := te.Operand(3, typ, []sym.Expr{}...)
	if n := len(s) - 1; n >= 0 {
		rows := te.Stage{Axes: a.scores[:3]}
		if n > 3 {
			return nil, fmt.Errorf("operand 3 has rank %d; want at most 4", len(s))
		}
		joined, err := c.broadcast(rows.Shape(), s[:n])
		if err != nil {
			return nil, fmt.Errorf("operand 3 (attn_mask): %w", err)
		}
		if err := c.sameShape(rows.Shape(), joined); err != nil {
			return nil, fmt.Errorf("operand 3 (attn_mask): %w", err)
		}
		load.Index = append(c.broadcastIndex(s[:n], rows.Shape(), te.AxisVars(rows.Axes)), iv(3))
		switch {
		case s[n].Equal(a.total):
		case c.Has(7):
			if err := c.require(SameDim, s[n], a.total, "the last dimension of operand 3 (attn_mask), and the number of keys"); err != nil {
				return nil, err
			}
		default:
			if err := c.require(AtLeast, a.total, s[n], "the number of keys, and the last dimension of operand 3"); err != nil {
				return nil, err
			}
			load.Guard, load.Default = []te.Within{{E: iv(3), Lo: sym.Const(0), Hi: s[n]}}, te.Number(typ, 0)
		}
	}
	if typ == ir.Bool {
		return a.where(load, score), nil
	}
	a.masks = true
	sum := add(score, cast(a.t, load))
	if load.Guard != nil {
		return te.Select{Cond: load.Guard, Then: sum, Else: te.Float(a.t, math.Inf(-1))}, nil
	}
	return sum, nil
}

// within keeps the scores of keys from `left` before to `right` behind the query's own
// position, where attributes bound them.
func (a *attention) within(score te.Expr) (te.Expr, error) {
	causal, err := a.c.flag("is_causal", 0)
	if err != nil {
		return nil, err
	}
	left, right := a.c.Node.Int("left_window_size", -1), a.c.Node.Int("right_window_size", -1)
	if left < -1 || right < -1 {
		return nil, fmt.Errorf("attributes left_window_size and right_window_size are %d and %d; want at least 0, or -1 for no bound", left, right)
	}
	left, right = min(left, sym.MaxDim), min(right, sym.MaxDim)
	if causal {
		right = 0
	}
	if left < 0 && right < 0 {
		return score, nil
	}
	a.masks = true
	if a.c.Has(6) {
		return a.withinValid(score, left, right), nil
	}
	own := sym.Add(iv(2), a.past)
	w := te.Within{E: iv(3), Lo: sym.Const(0), Hi: a.total}
	if left >= 0 {
		w.Lo = sym.Sub(own, sym.Const(left))
	}
	if right >= 0 {
		w.Hi = sym.Add(own, sym.Const(right), sym.Const(1))
	}
	return te.Select{Cond: []te.Within{w}, Then: score, Else: te.Float(a.t, math.Inf(-1))}, nil
}

// withinValid is within where the queries are the last of the valid keys.
func (a *attention) withinValid(score te.Expr, left, right int64) te.Expr {
	// Key j and query i of n are j - (i + valid - n) positions apart.
	facts, each := a.c.with(a.scores), sym.Const(a.together)
	apart := index64(sym.Add(sym.Sub(iv(3), sym.FloorDiv(iv(2), each, facts)), sym.FloorDiv(a.q.length, each, facts)))
	if left >= 0 {
		score = a.where(test("ge", add(apart, te.Int(ir.I64, left)), a.valid()), score)
	}
	if right >= 0 {
		score = a.where(test("le", sub(apart, te.Int(ir.I64, right)), a.valid()), score)
	}
	return score
}
