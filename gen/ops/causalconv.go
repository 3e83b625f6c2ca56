package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// causal is a CausalConvWithState: each channel is convolved with what was before; the last
// elements are the state of the next call.
type causal struct {
	*Ctx
	x, w       ir.Shape
	state      ir.Shape
	past       sym.Expr // elements of the state, for each channel
	activation string
}

func causalConv(c *Ctx) (*Meaning, error) {
	k := &causal{Ctx: c}
	var err error
	if k.activation, err = c.choice("activation", "none", "silu", "swish"); err != nil {
		return nil, err
	}
	if err := k.checkShapes(); err != nil {
		return nil, err
	}
	m := stages(k.convolution(), k.next())
	m.Outputs = []te.Source{{Stage: true}, {Stage: true, N: 1}}
	return m, nil
}

func (k *causal) checkShapes() (err error) {
	if k.x, k.w, err = k.shapes2(); err != nil {
		return err
	}
	if len(k.x) != 3 || len(k.w) != 3 {
		return fmt.Errorf("operands have ranks %d and %d; want rank 3", len(k.x), len(k.w))
	}
	if err := k.hasShape(1, ir.Shape{k.x[1], sym.Const(1), k.w[2]}); err != nil {
		return err
	}
	if err := k.require(AtLeast, k.w[2], sym.Const(1), "the length of the kernel"); err != nil {
		return err
	}
	k.past = sym.Sub(k.w[2], sym.Const(1))
	k.state = ir.Shape{k.x[0], k.x[1], k.past}
	if k.Has(2) {
		if err := k.isVector(2, k.x[1]); err != nil {
			return err
		}
	}
	if k.Has(3) {
		return k.hasShape(3, k.state)
	}
	return nil
}

// load is element `at` of the state and the operand after it.
func (k *causal) load(at sym.Expr, f sym.Facts) te.Load {
	now := sym.Sub(at, k.past)
	l := k.load0(iv(0), iv(1), now)
	if sym.AtLeast(now, 0, f) {
		return l
	}
	l.Guard, l.Default = []te.Within{{E: now, Lo: sym.Const(0), Hi: k.x[2]}}, te.Number(l.Type, 0)
	if k.Has(3) {
		l.Default = te.Operand(3, l.Type, iv(0), iv(1), at)
	}
	return l
}

func (k *causal) convolution() *te.Stage {
	typ, t := k.Type(0), wide(k.Type(0))
	as, red := axes(k.x), reduceAxes(ir.Shape{k.w[2]})
	sum := te.Expr(te.Acc{Type: t})
	if k.Has(2) {
		sum = add(sum, cast(t, te.Operand(2, typ, iv(1))))
	}
	if k.activation != "none" {
		sum = mul(sum, sigmoid(sum))
	}
	element := k.load(sym.Add(iv(2), rv(0)), k.with(as, red))
	factor := te.Operand(1, typ, iv(1), sym.Const(0), rv(0))
	return &te.Stage{
		Name: "CausalConvWithState", Axes: as, Reduce: red, Combine: te.Sum(t),
		Values: []te.Expr{mul(cast(t, element), cast(t, factor))}, Results: []te.Expr{cast(typ, sum)},
	}
}

// next is the stage of the next call's state.
func (k *causal) next() *te.Stage {
	as := axes(k.state)
	return &te.Stage{Name: "state", Axes: as, Results: []te.Expr{k.load(sym.Add(k.x[2], iv(2)), k.with(as))}}
}
