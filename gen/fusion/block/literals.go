package block

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Literals replaces loads of constants of one element by their value, so that the
// bounds of a Clip are numbers in the code.
func Literals(g *Graph) error {
	err := g.each(func(b *Block) error {
		values, err := b.literals()
		if err != nil {
			return fmt.Errorf("block %s: %w", b.Label(), err)
		}
		if len(values) > 0 {
			b.replaceLoads(values)
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.SyncOperands()
	return nil
}

func (b *Block) literals() (map[int]te.Expr, error) {
	out := map[int]te.Expr{}
	for i, v := range b.Operands {
		if v.Const == nil || v.Const.Len() != 1 {
			continue
		}
		e, err := literal(v.Const)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func literal(t *ir.Tensor) (te.Expr, error) {
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	if !t.Type.IsFloat() {
		xs, err := t.Ints()
		if err != nil {
			return nil, err
		}
		return te.Int(t.Type, xs[0]), nil
	}
	var bits uint64
	for k := len(data) - 1; k >= 0; k-- {
		bits = bits<<8 | uint64(data[k])
	}
	switch t.Type {
	case ir.F16:
		return te.Float(t.Type, ir.F16Float(uint16(bits))), nil
	case ir.BF16:
		return te.Float(t.Type, ir.BF16Float(uint16(bits))), nil
	case ir.F32:
		return te.Float(t.Type, float64(math.Float32frombits(uint32(bits)))), nil
	}
	return te.Float(t.Type, math.Float64frombits(bits)), nil
}

// replaceLoads puts expressions in the place of operands, and drops these.
func (b *Block) replaceLoads(values map[int]te.Expr) {
	to := make([]int, len(b.Operands))
	var kept []*ir.Value
	for i, v := range b.Operands {
		if values[i] == nil {
			to[i] = len(kept)
			kept = append(kept, v)
		}
	}
	b.Operands = kept
	b.MapExprs(func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok || l.Source.Stage {
			return e
		}
		v := values[l.Source.N]
		switch {
		case v == nil:
			l.Source.N = to[l.Source.N]
			return l
		case len(l.Guard) > 0:
			return te.Select{Cond: l.Guard, Then: v, Else: l.Default}
		}
		return v
	})
}
