package ops

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Summed is what the names of the compiler's own operators begin with that are an operator of ONNX, such as GlobalAveragePool, of what
// DequantizeLinear makes of a tensor. They add its integers, and their sum becomes a float: it is exact, and the order is all one. Their
// first three operands are DequantizeLinear's, with one scale and one zero point, which are there, and the others the operator's.
const Summed = "summed."

// Sums reports whether a meaning adds elements of operand 0, and makes its result of the sum.
func Sums(m *Meaning) bool {
	if m.Call != nil || len(m.Stages) != 1 {
		return false
	}
	s := m.Stages[0]
	if s.Combine == nil || s.Combine.Name != "sum" || s.Update != nil || len(s.Values) != 1 || s.Values[0].DType() != ir.F32 {
		return false
	}
	l, ok := s.Values[0].(te.Load)
	return ok && l.Source == te.Source{} && (l.Default == nil || isZero(l.Default)) && !slices.ContainsFunc(s.Results, loads)
}

func isZero(e te.Expr) bool {
	c, ok := e.(te.Const)
	return ok && c.Bits == 0
}

func loads(e te.Expr) bool {
	found := false
	te.Walk(e, func(e te.Expr) {
		_, ok := e.(te.Load)
		found = found || ok
	})
	return found
}

// summedRow is the row of such an operator; nil where the name is of none.
func summedRow(name string) *Row {
	op, ok := strings.CutPrefix(name, Summed)
	of := Lookup(op)
	if !ok || of == nil || of.Build == nil || len(of.Inputs) == 0 || of.MaxOutputs != 1 {
		return nil
	}
	quantized := []Param{{Name: "x", Types: quantized8, Like: "Q"}, {Name: "x_scale", Types: single}, {Name: "x_zero_point", Types: quantized8, Like: "Q"}}
	row := *of
	row.Name, row.Inputs = name, slices.Concat(quantized, of.Inputs[1:])
	row.Build = func(c *Ctx) (*Meaning, error) { return c.summed(op) }
	return &row
}

func (c *Ctx) summed(op string) (*Meaning, error) {
	x := c.Node.Inputs[0]
	of := *c.Node
	of.Op, of.Inputs = op, slices.Clone(c.Node.Inputs[2:])
	of.Inputs[0] = &ir.Value{Name: x.Name, Type: ir.F32, Shape: x.Shape, HasShape: x.HasShape}
	m, err := Build(&of, c.Facts)
	if err != nil {
		return nil, err
	}
	if !Sums(m) {
		return nil, fmt.Errorf("operator %s does not add elements", op)
	}
	n, err := c.numberOperands(1, 2)
	if err != nil {
		return nil, err
	}
	s := *m.Stages[0]
	l := s.Values[0].(te.Load)
	if l.Type = x.Type; l.Default != nil {
		l.Default = n[1]
	}
	s.Combine, s.Values = te.Sum(ir.I32), []te.Expr{sub(cast(ir.I32, l), cast(ir.I32, n[1]))}
	s.Results = slices.Clone(s.Results)
	for i, r := range s.Results {
		s.Results[i] = te.Map(r, func(e te.Expr) te.Expr {
			if _, ok := e.(te.Acc); ok {
				return mul(cast(ir.F32, te.Acc{Type: ir.I32}), n[0])
			}
			return e
		})
	}
	m.Stages[0] = &s
	return m, nil
}
