package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// blockMode reads what DepthToSpace and SpaceToDepth share: an operand of rank 4, the
// block's size, and whether channels are ordered (depth, place in the block), as CRD,
// or (place, depth), as DCR.
func (c *Ctx) blockMode() (x ir.Shape, b int64, crd bool, err error) {
	if x, err = c.Shape(0); err != nil {
		return
	}
	if len(x) != 4 {
		return x, 0, false, fmt.Errorf("operand 0 has rank %d; want 4", len(x))
	}
	if b = c.Node.Int("blocksize", 0); b < 1 || b > 1<<15 {
		return x, 0, false, fmt.Errorf("attribute blocksize is %d; want 1 to %d", b, 1<<15)
	}
	mode, err := c.choice("mode", "DCR", "CRD")
	return x, b, mode == "CRD", err
}

// blockChannel is the channel that holds depth d of the element at place (i, j) of
// its block, when there are `depth` of them.
func blockChannel(d, i, j, depth sym.Expr, b int64, crd bool) sym.Expr {
	place := sym.Add(sym.Scale(i, b), j)
	if crd {
		return sym.Add(sym.Scale(d, b*b), place)
	}
	return sym.Add(sym.Mul(place, depth), d)
}

func depthToSpace(c *Ctx) (*Meaning, error) {
	x, b, crd, err := c.blockMode()
	if err != nil {
		return nil, err
	}
	size := sym.Const(b)
	depth := sym.FloorDiv(x[1], sym.Const(b*b), c.Facts)
	if err := c.require(SameDim, sym.Scale(depth, b*b), x[1], "the square of blocksize must divide the channels"); err != nil {
		return nil, err
	}
	as := axes(ir.Shape{x[0], depth, sym.Scale(x[2], b), sym.Scale(x[3], b)})
	f := c.with(as)
	channel := blockChannel(iv(1), sym.Mod(iv(2), size, f), sym.Mod(iv(3), size, f), depth, b, crd)
	return one("DepthToSpace", as, c.load0(iv(0), channel, sym.FloorDiv(iv(2), size, f), sym.FloorDiv(iv(3), size, f))), nil
}

func spaceToDepth(c *Ctx) (*Meaning, error) {
	x, b, crd, err := c.blockMode()
	if err != nil {
		return nil, err
	}
	size := sym.Const(b)
	var out [2]sym.Expr
	for k := range out {
		out[k] = sym.FloorDiv(x[2+k], size, c.Facts)
		if err := c.require(SameDim, sym.Scale(out[k], b), x[2+k], "blocksize must divide spatial axis %d", k); err != nil {
			return nil, err
		}
	}
	as := axes(ir.Shape{x[0], sym.Scale(x[1], b*b), out[0], out[1]})
	f := c.with(as)
	place, depth := sym.FloorDiv(iv(1), x[1], f), sym.Mod(iv(1), x[1], f)
	if crd {
		place, depth = sym.Mod(iv(1), sym.Const(b*b), f), sym.FloorDiv(iv(1), sym.Const(b*b), f)
	}
	h := sym.Add(sym.Scale(iv(2), b), sym.FloorDiv(place, size, f))
	w := sym.Add(sym.Scale(iv(3), b), sym.Mod(place, size, f))
	return one("SpaceToDepth", as, c.load0(iv(0), depth, h, w)), nil
}
