package product

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// Sums of a few products of bytes are exact in f32, whose multiply-adds then take in what pairs of 16 bits take an instruction more for, and no
// neighbours beside each other. So depthwise convolutions are summed where no instruction multiplies bytes.

const (
	// mostOfBytes is the most that a product of two bytes is, each minus a zero point of its type.
	mostOfBytes = 255 * 255
	// mostExact is half of the numbers up to which floats have all integers: as much as all products may come to, and as much as is added to them.
	mostExact = 1 << 23
)

// sumsInFloats reports whether a chip's instructions multiply integers of 16 bits, and none bytes, and one multiplies floats and adds.
func sumsInFloats(t *target.Target) bool {
	for _, r := range t.Dots(ir.I32) {
		if r.X.Size() == 1 {
			return false
		}
	}
	row := t.Tile(ir.F32)
	return len(t.Dots(ir.I32)) > 0 && row != nil && row.Ops == 1 && row.Allows(instr.Vector)
}

// addable reports whether floats have all sums of a constant's elements, integers of 32 bits, and of as much again.
func addable(v *ir.Value) (bool, error) {
	if v.Const == nil || v.Type != ir.I32 {
		return false, nil
	}
	all, err := v.Const.Ints()
	for _, n := range all {
		if n < -mostExact || n > mostExact {
			return false, err
		}
	}
	return true, err
}

// floatTaps is a convolution of channels by themselves, which lie last, in floats; nil where floats do not have all sums.
func floatTaps(b *block.Block, m *match.Match, env *lower.Env) (*product, error) {
	points := int64(1)
	for _, a := range m.Reduce {
		n, _ := a.Extent.Const()
		points *= n
	}
	if !sumsInFloats(env.Target) || points > mostExact/mostOfBytes || !m.Factors[0].DiffersAsBytes() || !m.Factors[1].DiffersAsBytes() {
		return nil, nil
	}
	in, err := inFloats(m)
	if in == nil || err != nil {
		return nil, err
	}
	at := lower.ChannelsLast.Lane(len(m.Stage.Axes))
	for x := range in.Factors {
		p := &product{b: b, lay: env.Layouts, Roles: in.Roles(x), last: true, beside: true, instr: env.Target.Tile(ir.F32)}
		if !p.besideChannels(at, env) {
			continue
		}
		p.group = ""
		if p.lay(b.Operands[p.X.Load.Source.N]) == lower.ChannelsLast && p.tileBeside(env) {
			return p, nil
		}
	}
	return nil, nil
}

// inFloats is a contraction of bytes whose sum is of floats; nil where results take the sum otherwise than as a float, alone or with constants of the columns added.
func inFloats(m *match.Match) (*match.Match, error) {
	st, out := *m.Stage, *m
	var wrong error
	ok := true
	st.Results = make([]te.Expr, len(m.Stage.Results))
	for i, r := range m.Stage.Results {
		st.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			sum, err := inFloat(m, e)
			if wrong == nil {
				wrong = err
			}
			if err != nil || sum == nil {
				return e
			}
			return sum
		})
		te.Walk(st.Results[i], func(e te.Expr) {
			if acc, is := e.(te.Acc); is {
				ok = ok && acc.Type == ir.F32
			}
		})
	}
	if wrong != nil || !ok {
		return nil, wrong
	}
	st.Combine, st.Values = te.Sum(ir.F32), []te.Expr{te.Fn(ir.F32, "mul", te.Number(ir.F32, 0), te.Number(ir.F32, 0))} // of what is packed
	out.Stage = &st
	return &out, nil
}

// inFloat is the float that an expression makes of the sum, or of the sum and a constant; nil where it is no such thing.
func inFloat(m *match.Match, e te.Expr) (te.Expr, error) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || c.Type != ir.F32 {
		return nil, nil
	}
	sum := te.Acc{Type: ir.F32}
	if x, is := c.Args[0].(te.Acc); is && x.Type == ir.I32 {
		return sum, nil
	}
	bias, ok := biasOf(c.Args[0]).(te.Load)
	if !ok || len(bias.Guard) > 0 || !m.IsConstant(bias) {
		return nil, nil
	}
	if fits, err := addable(m.Operands[bias.Source.N]); !fits || err != nil {
		return nil, err
	}
	return te.Fn(ir.F32, "add", sum, te.Fn(ir.F32, "cast", bias)), nil
}

// packFloats is the lines that the windows of a task read, of a group of columns, as floats.
func (l *plan) packFloats() te.Expr {
	k := l.packing("lines")
	k.prefix = "j"
	l.walkX(func(w window) { l.packWindow(k, w) }, func(a te.Axis) {
		if a.Var == l.column.Var {
			k.names[a.Var] = k.axis(l.columns, sym.Var(a.Var), sym.Scale(sym.Var(vars.Group), l.width), l.width)
			return
		}
		l.packAxis(k, a)
	})
	k.columns = len(k.Axes) - 1
	e := l.X.Element(l.instr.X)
	if !l.columns.Equal(l.column.Extent) {
		e = l.untilColumns(e)
	}
	k.finish(e, l.Facts)
	k.columns = -1
	return l.add(k, l.X, vars.Group)
}
