package ops

import (
	"fmt"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// indexRows are the operators whose indices are loaded.
func indexRows() []*Row {
	indices := Param{Name: "indices", Types: indexing}
	return []*Row{
		{
			Name: "Gather", Versions: []int{1, 11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), indices}, Attrs: []AttrSpec{intAttr("axis")}, Build: gather,
		},
		{
			Name: "GatherElements", Versions: []int{11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), indices}, Attrs: []AttrSpec{intAttr("axis")}, Build: gatherElements,
		},
		{
			Name: "GatherND", Versions: []int{11, 12, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), {Name: "indices", Types: int64s}},
			Attrs:  []AttrSpec{intAttr("batch_dims").from(12)}, Build: gatherND,
		},
		{
			Name: "OneHot", Versions: []int{9, 11, 28}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				{Name: "indices", Types: oldNumbers}, structural("depth", oldNumbers), in("values", anyType),
			},
			Attrs: []AttrSpec{intAttr("axis")}, Build: oneHot,
		},
	}
}

// someOf requires that an axis of extent d has an element where indices point into it.
func (c *Ctx) someOf(d sym.Expr, axis int, indices ir.Shape) error {
	return c.require(AtLeast, d, sym.Min(product(indices...), sym.Const(1), c.Facts), "axis %d of operand 0 must have an element for the indices", axis)
}

// loaded binds variable g<n> to an index that is loaded, within an axis of extent d;
// a negative one counts from the end. One that remains out of bounds is an error of the run:
// the interpreter ends there, generated code reads the nearest element and returns a
// status (see te.Let).
func loaded(n int, index te.Expr, d sym.Expr, body te.Expr) te.Expr {
	t := index.DType()
	extent := te.Expr(te.Index{Type: t, E: d})
	if x, ok := d.Const(); ok {
		extent = te.Int(t, x)
	}
	return te.Let{
		Var:   "g" + strconv.Itoa(n),
		Value: sel(test("lt", index, te.Int(t, 0)), add(index, extent), index),
		Lo:    sym.Const(0), Hi: sym.Sub(d, sym.Const(1)), Body: body,
	}
}

func gv(n int) sym.Expr { return sym.Var("g" + strconv.Itoa(n)) }

func (c *Ctx) shapes2() (x, y ir.Shape, err error) {
	if x, err = c.Shape(0); err == nil {
		y, err = c.Shape(1)
	}
	return
}

func gather(c *Ctx) (*Meaning, error) {
	x, ix, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", 0, len(x))
	if err != nil {
		return nil, err
	}
	to := append(append(append(ir.Shape{}, x[:axis]...), ix...), x[axis+1:]...)
	as := axes(to)
	point := te.AxisVars(as)
	at := append([]sym.Expr{}, point[:axis]...)
	at = append(at, gv(0))
	at = append(at, point[axis+len(ix):]...)
	if e, ok, err := c.constantIndex(x[axis]); err != nil {
		return nil, err
	} else if ok {
		at[axis] = e
		return one("Gather", as, c.load0(at...)), nil
	}
	if err := c.someOf(x[axis], axis, ix); err != nil {
		return nil, err
	}
	index := te.Operand(1, c.Type(1), point[axis:axis+len(ix)]...)
	return one("Gather", as, loaded(0, index, x[axis], c.load0(at...))), nil
}

// constantIndex is the one index of a Gather when it is known: then the result is a
// slice, of which more is known.
func (c *Ctx) constantIndex(d sym.Expr) (sym.Expr, bool, error) {
	v := c.Node.Inputs[1]
	if v.Const == nil || v.Const.Len() != 1 {
		return d, false, nil
	}
	xs, err := v.Const.Ints()
	if err != nil {
		return d, false, fmt.Errorf("operand 1 (%q): %w", v.Name, err)
	}
	e := sym.Const(xs[0])
	if xs[0] < 0 {
		e = sym.Add(d, e)
	}
	if err := c.require(AtLeast, e, sym.Const(0), "index %d of operand 1", xs[0]); err != nil {
		return e, false, err
	}
	return e, true, c.require(AtLeast, sym.Sub(d, sym.Const(1)), e, "last index of the axis and index %d of operand 1", xs[0])
}

func gatherElements(c *Ctx) (*Meaning, error) {
	x, ix, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	if len(x) != len(ix) {
		return nil, fmt.Errorf("operands have ranks %d and %d; want equal ranks", len(x), len(ix))
	}
	axis, err := c.axisAttr("axis", 0, len(x))
	if err != nil {
		return nil, err
	}
	for k := range x {
		if k == axis {
			continue
		}
		if err := c.require(AtLeast, x[k], ix[k], "dimension %d of data must be at least that of the indices", k); err != nil {
			return nil, err
		}
	}
	if err := c.someOf(x[axis], axis, ix); err != nil {
		return nil, err
	}
	as := axes(ix)
	point := te.AxisVars(as)
	at := append([]sym.Expr{}, point...)
	at[axis] = gv(0)
	return one("GatherElements", as, loaded(0, te.Operand(1, c.Type(1), point...), x[axis], c.load0(at...))), nil
}

func gatherND(c *Ctx) (*Meaning, error) {
	x, ix, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	b := int(c.Node.Int("batch_dims", 0))
	if len(ix) == 0 || b < 0 || b >= len(ix) || b > len(x) {
		return nil, fmt.Errorf("attribute batch_dims is %d; operands have ranks %d and %d", b, len(x), len(ix))
	}
	n, ok := ix[len(ix)-1].Const()
	if !ok {
		return nil, &UnknownError{fmt.Sprintf("the last dimension (%s) of operand 1", ix[len(ix)-1])}
	}
	if n < 0 || n > int64(len(x)-b) {
		return nil, fmt.Errorf("the last dimension of operand 1 is %d; operand 0 has rank %d, %d of them batch axes", n, len(x), b)
	}
	for k := range b {
		if err := c.require(SameDim, x[k], ix[k], "batch dimension %d", k); err != nil {
			return nil, err
		}
	}
	depth, outer := int(n), len(ix)-1
	as := axes(append(append(ir.Shape{}, ix[:outer]...), x[b+depth:]...))
	point := te.AxisVars(as)
	at := append([]sym.Expr{}, point[:b]...)
	for k := range depth {
		at = append(at, gv(k))
	}
	e := te.Expr(c.load0(append(at, point[outer:]...)...))
	for k := depth - 1; k >= 0; k-- {
		if err := c.someOf(x[b+k], b+k, ix[:outer]); err != nil {
			return nil, err
		}
		index := append(append([]sym.Expr{}, point[:outer]...), sym.Const(int64(k)))
		e = loaded(k, te.Operand(1, c.Type(1), index...), x[b+k], e)
	}
	return one("GatherND", as, e), nil
}

// oneHot is values[1] where the index is the point's place on the new axis, else
// values[0].
func oneHot(c *Ctx) (*Meaning, error) {
	ix, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	depth, err := c.depthOperand()
	if err != nil {
		return nil, err
	}
	if err := c.isVector(2, sym.Const(2)); err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", -1, len(ix)+1)
	if err != nil {
		return nil, err
	}
	as := axes(append(append(append(ir.Shape{}, ix[:axis]...), depth), ix[axis:]...))
	point := te.AxisVars(as)
	index := cast(ir.I64, te.Operand(0, c.Type(0), append(append([]sym.Expr{}, point[:axis]...), point[axis+1:]...)...))
	here := te.Index{Type: ir.I64, E: point[axis]}
	fromEnd := te.Index{Type: ir.I64, E: sym.Sub(point[axis], depth)}
	hot := te.Fn(ir.Bool, "or", test("eq", index, here), test("eq", index, fromEnd))
	t := c.Type(2)
	return one("OneHot", as, sel(hot, te.Operand(2, t, sym.Const(1)), te.Operand(2, t, sym.Const(0)))), nil
}

// depthOperand is operand 1 of OneHot, a number of any type.
func (c *Ctx) depthOperand() (sym.Expr, error) {
	if !c.Type(1).IsFloat() {
		d, err := c.scalarOperand(1)
		if err != nil {
			return d, err
		}
		return d, c.require(AtLeast, d, sym.Const(0), "operand 1 (depth)")
	}
	x, err := c.constFloat(1)
	if err != nil {
		return sym.Expr{}, err
	}
	if x < 0 || x >= sym.MaxDim {
		return sym.Expr{}, fmt.Errorf("operand 1 (depth) is %v; want a number of at least 0", x)
	}
	return sym.Const(int64(x)), nil
}
