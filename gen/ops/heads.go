package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// heads is an operand of several heads: [batch, head, position, element], or packed as
// [batch, position, head * element].
type heads struct {
	operand                int
	typ                    ir.DType
	batch, n, length, size sym.Expr
	packed                 bool
}

// heads reads operand i; the attribute holds the number of heads where they are packed.
func (c *Ctx) heads(i int, attr string) (heads, error) {
	s, err := c.Shape(i)
	if err != nil {
		return heads{}, err
	}
	h := heads{operand: i, typ: c.Type(i)}
	n := c.Node.Int(attr, 0)
	switch {
	case len(s) == 4 && c.Node.Has(attr) && c.Version >= 25:
		return h, fmt.Errorf("attribute %s is set, but operand %d of rank 4 has the number of heads in its shape; leave out the attribute", attr, i)
	case len(s) == 4:
		h.batch, h.n, h.length, h.size = s[0], s[1], s[2], s[3]
		if !c.Node.Has(attr) {
			return h, nil
		}
		return h, c.require(SameDim, h.n, sym.Const(n), "heads of operand %d and attribute %s", i, attr)
	case len(s) != 3:
		return h, fmt.Errorf("operand %d has rank %d; want rank 3 or 4", i, len(s))
	}
	return c.packedHeads(i, s, attr, n)
}

// atLeastOne is a number of parts to divide by, which is 0 where there is nothing to divide.
func (c *Ctx) atLeastOne(n sym.Expr) sym.Expr { return sym.Max(n, sym.Const(1), c.Facts) }

func (c *Ctx) packedHeads(i int, s ir.Shape, attr string, n int64) (heads, error) {
	if n < 1 {
		return heads{}, fmt.Errorf("attribute %s is %d; operand %d of rank 3 needs the number of heads, at least 1", attr, n, i)
	}
	size := sym.FloorDiv(s[2], sym.Const(n), c.Facts)
	h := heads{operand: i, typ: c.Type(i), batch: s[0], n: sym.Const(n), length: s[1], size: size, packed: true}
	return h, c.require(SameDim, sym.Scale(size, n), s[2], "attribute %s must divide the last dimension of operand %d", attr, i)
}

// at loads element k of a head at a position.
func (h heads) at(batch, head, position, k sym.Expr) te.Load {
	if h.packed {
		return te.Operand(h.operand, h.typ, batch, position, sym.Add(sym.Mul(head, h.size), k))
	}
	return te.Operand(h.operand, h.typ, batch, head, position, k)
}
