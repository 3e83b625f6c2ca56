package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// frac is an exact quotient of dimensions and loop variables; den is above 0.
type frac struct{ num, den sym.Expr }

func (x frac) floor(f sym.Facts) sym.Expr { return sym.FloorDiv(x.num, x.den, f) }
func (x frac) ceil(f sym.Facts) sym.Expr  { return sym.CeilDiv(x.num, x.den, f) }

// plusHalf is x + n/2.
func (x frac) plusHalf(n int64) frac {
	return frac{sym.Add(sym.Scale(x.num, 2), sym.Scale(x.den, n)), sym.Scale(x.den, 2)}
}

// fraction is x - floor(x) as a number of type t.
func (x frac) fraction(t ir.DType, f sym.Facts) te.Expr {
	return quotient(t, sym.Mod(x.num, x.den, f), x.den)
}

// isOne reports whether the quotient is 1.
func (x frac) isOne() bool { return x.num.Equal(x.den) }

// quotient is a / b as a number of type t.
func quotient(t ir.DType, a, b sym.Expr) te.Expr {
	d, ok := b.Const()
	switch n, whole := a.Const(); {
	case ok && whole:
		return te.Number(t, float64(n)/float64(d))
	case ok && d == 1:
		return count(t, a)
	case ok:
		return mul(count(t, a), te.Number(t, 1/float64(d)))
	}
	return div(count(t, a), count(t, b))
}

// float is the value of a literal of a floating-point type.
func float(e te.Expr) float64 { return math.Float64frombits(e.(te.Const).Bits) }

// scaleFraction is a scale that is given as a float32, which stands for the simplest fraction that rounds
// to it.
func scaleFraction(v float32) (frac, error) {
	num, den, ok := opaque.Fraction(v)
	if !ok {
		return frac{}, fmt.Errorf("a scale is %v; supported are numbers from %v to %v", v, opaque.MinScale, opaque.MaxScale)
	}
	return frac{sym.Const(num), sym.Const(den)}, nil
}

var fractionsRow = &Row{
	Name: Fractions, Versions: []int{1}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "scales", Types: f32s}}, Build: fractions,
}

func fractions(c *Ctx) (*Meaning, error) {
	s, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(s) != 1 {
		return nil, fmt.Errorf("operand 0 has rank %d; want 1", len(s))
	}
	return c.calls(&opaque.Call{
		Name: "Fractions", Work: sym.Scale(s[0], 64), Args: append(pointers(1, 1, 0), opaque.Sizes(s[0])...),
		Results: []opaque.Tensor{{Type: ir.I64, Shape: ir.Shape{sym.Scale(s[0], 2)}}},
		Run: func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
			y, err := alone(opaque.Fractions(in[0]))
			return y, nil, err
		},
	}), nil
}
