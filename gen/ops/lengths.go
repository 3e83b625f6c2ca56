package ops

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Lengths is the compiler's own operator whose result is its first operand, how long each of several
// sequences is. A run refuses a length below 0, and one above operand 1, how long the longest may be.
const Lengths = "lengths"

var lengthsRow = &Row{
	Name: Lengths, Versions: []int{1}, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "lengths", Types: indexing}, structural("most", int64s)}, Build: lengths,
}

func lengths(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	most, err := c.scalarOperand(1)
	if err != nil {
		return nil, err
	}
	as := axes(x)
	return one("lengths", as, c.length(0, most, te.AxisVars(as)...)), nil
}

// length is an element of operand i, a length of at most so many.
func (c *Ctx) length(i int, most sym.Expr, at ...sym.Expr) te.Expr {
	t := c.Type(i)
	return te.Let{
		Var: gv(0).String(), Value: te.Operand(i, t, at...), Lo: sym.Const(0), Hi: most,
		Body: te.Index{Type: t, E: gv(0)},
	}
}
