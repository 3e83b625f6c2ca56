package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Unpack is the compiler's own operator for a constant matrix of integers of 4 bits, in blocks along its first axis with a scale and a zero
// point for each block and column, as DequantizeLinear has them, or one that is a scalar for all. Two neighbours along the axis lie in a byte, the first in its low bits, so that
// the columns that lanes take are bytes beside each other. The attribute rows says how many the matrix has: the last byte may hold one.
// It is never folded: what it saves is memory.
const Unpack = "unpack"

var unpackRow = &Row{
	Name: Unpack, Versions: []int{1}, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "packed", Types: []ir.DType{ir.U8}}, {Name: "scale", Types: single}, {Name: "zero_point", Types: []ir.DType{ir.U8}}},
	Attrs:  []AttrSpec{intAttr("rows").required(), intAttr("block_size").required()}, Build: unpack,
}

func unpack(c *Ctx) (*Meaning, error) {
	packed, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	rows, block := c.Node.Int("rows", 0), c.Node.Int("block_size", 0)
	if len(packed) != 2 || rows < 1 || rows > sym.MaxDim || block < 1 || !packed[0].Is((rows+1)/2) {
		return nil, fmt.Errorf("operand 0 has shape %v, attributes rows and block_size are %d and %d; want two rows of the matrix in each row of operand 0", packed, rows, block)
	}
	x := ir.Shape{sym.Const(rows), packed[1]}
	var of [2]te.Expr // scale and zero point
	for i := range of {
		s, err := c.Shape(1 + i)
		if err != nil {
			return nil, err
		}
		if single, ok := c.soleElement(1+i, s); ok && len(s) == 0 {
			of[i] = single
		} else if of[i], err = c.blocked(1+i, s, x, 0, block); err != nil {
			return nil, err
		}
	}
	as := axes(x)
	row, column := iv(0), iv(1)
	facts := c.with(as)
	both := cast(ir.I32, te.Operand(0, ir.U8, sym.FloorDiv(row, sym.Const(2), facts), column))
	// The second one stays where it is in the byte, and is a sixteenth of that: vectors have no shifts, and floats of few bits are exact.
	second := sym.Mod(row, sym.Const(2), facts)
	bits := te.Index{Type: ir.I32, E: sym.Add(sym.Const(15), sym.Scale(second, 15*15))}
	sixteenths := te.Index{Type: ir.I32, E: sym.Sub(sym.Const(16), sym.Scale(second, 15))}
	own := mul(cast(ir.F32, call("bitand", both, bits)), mul(cast(ir.F32, sixteenths), te.Float(ir.F32, 1./16)))
	e := sub(own, cast(ir.F32, of[1]))
	return one("unpack", as, mul(e, of[0])), nil
}
