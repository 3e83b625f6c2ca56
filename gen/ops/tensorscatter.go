package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// tensorScatter is the cache, where the update is written over it from an index on that
// is loaded for each of the batch.
func tensorScatter(c *Ctx) (*Meaning, error) {
	x, u, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", -2, len(x))
	if err != nil {
		return nil, err
	}
	if axis == 0 {
		return nil, fmt.Errorf("attribute axis is %d, the batch axis; want another one", c.Node.Int("axis", -2))
	}
	mode, err := c.choice("mode", "linear", "circular")
	if err != nil {
		return nil, err
	}
	if len(u) != len(x) {
		return nil, fmt.Errorf("operands 0 and 1 have ranks %d and %d; want equal ranks", len(x), len(u))
	}
	want := append(ir.Shape{}, x...)
	want[axis] = u[axis]
	if err := c.hasShape(1, want); err != nil {
		return nil, err
	}
	room := sym.Sub(x[axis], u[axis])
	if err := c.require(AtLeast, x[axis], u[axis], "dimension %d of operand 0 must be at least that of operand 1", axis); err != nil {
		return nil, err
	}
	as := axes(x)
	first := sym.Const(0)
	if c.Has(2) {
		if err := c.isVector(2, x[0]); err != nil {
			return nil, err
		}
		first = gv(0)
	}
	at := te.AxisVars(as)
	at[axis] = sym.Sub(at[axis], first)
	f := c.with(as)
	_, last := room.Bounds(c.Facts)
	f["g0"] = sym.Range{Lo: 0, Hi: max(0, last)}
	if mode == "circular" && c.Has(2) {
		f["g0"] = f["i"+fmt.Sprint(axis)]
		at[axis] = sym.Mod(sym.Add(at[axis], x[axis]), x[axis], f)
	}
	written := te.Within{E: at[axis], Lo: sym.Const(0), Hi: u[axis]}
	e := inside(written, f, te.Operand(1, c.Type(1), at...), c.load0(te.AxisVars(as)...))
	if c.Has(2) {
		index := te.Expr(te.Operand(2, ir.I64, iv(0)))
		if mode == "circular" {
			index, room = call("mod", index, index64(x[axis])), sym.Sub(x[axis], sym.Const(1))
		}
		e = te.Let{Var: "g0", Value: index, Lo: sym.Const(0), Hi: room, Body: e}
	}
	return one("TensorScatter", as, e), nil
}
