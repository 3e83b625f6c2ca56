package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// scatterRows are the operators that store some elements into a copy of their operand.
func scatterRows() []*Row {
	data := func(types, indices []ir.DType) []Param {
		return []Param{likeT(in("data", types)), {Name: "indices", Types: indices}, likeT(in("updates", types))}
	}
	early := slices.DeleteFunc(slices.Clone(anyType), func(t ir.DType) bool { return t == ir.BF16 })
	axis := intAttr("axis")
	return []*Row{
		{
			Name: "Scatter", Versions: []int{9, 11}, Form: Update, MinOutputs: 1, MaxOutputs: 1,
			Inputs: data(early, indexing), Attrs: []AttrSpec{axis}, Build: scatterElements,
		},
		{
			Name: "ScatterElements", Versions: []int{11, 13, 16, 18}, Form: Update, MinOutputs: 1, MaxOutputs: 1,
			Inputs: data(anyType, indexing), Attrs: []AttrSpec{axis, strAttr("reduction").from(16)}, Build: scatterElements,
		},
		{
			Name: "ScatterND", Versions: []int{11, 13, 16, 18}, Form: Update, MinOutputs: 1, MaxOutputs: 1,
			Inputs: data(anyType, int64s), Attrs: []AttrSpec{strAttr("reduction").from(16)}, Build: scatterND,
		},
	}
}

func likeT(p Param) Param { p.Like = "T"; return p }

// reductions are the values of the attribute reduction and what they are among scalar functions.
var reductions = map[string]string{"none": "", "add": "add", "mul": "mul", "max": "max", "min": "min"}

// join is the attribute reduction as an update's Join.
func (c *Ctx) join() (te.Expr, error) {
	t := c.Type(0)
	name := c.Node.Str("reduction", "none")
	fn, ok := reductions[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("attribute reduction is %q; none, add, mul, max and min are defined", name)
	case fn == "":
		return te.Replace(t), nil
	case t == ir.Bool:
		return nil, fmt.Errorf("attribute reduction is %q for elements of type bool", name)
	}
	return te.Fn(t, fn, te.Acc{Type: t}, te.In{Type: t}), nil
}

// place binds an index that is loaded within an axis of extent d, as loaded does for loads.
func place(n int, index te.Expr, d sym.Expr) te.Bind {
	l := loaded(n, index, d, index).(te.Let)
	return te.Bind{Var: l.Var, Value: l.Value, Lo: l.Lo, Hi: l.Hi}
}

// updated copies operand 0 and updates the copy.
func (c *Ctx) updated(name string, x ir.Shape, u *te.Update) *Meaning {
	as := axes(x)
	m := one(name, as, c.load0(te.AxisVars(as)...))
	m.Stages[0].Update = u
	return m
}

func updateAxes(s ir.Shape) []te.Axis {
	out := make([]te.Axis, len(s))
	for k, d := range s {
		out[k] = te.Axis{Var: fmt.Sprintf("j%d", k), Extent: d}
	}
	return out
}

func scatterElements(c *Ctx) (*Meaning, error) {
	x, ix, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	up, err := c.Shape(2)
	if err != nil {
		return nil, err
	}
	if len(x) != len(ix) || len(x) != len(up) {
		return nil, fmt.Errorf("operands have ranks %d, %d and %d; want equal ranks", len(x), len(ix), len(up))
	}
	axis, err := c.axisAttr("axis", 0, len(x))
	if err != nil {
		return nil, err
	}
	for k := range x {
		if err := c.require(SameDim, ix[k], up[k], "dimension %d of indices and updates", k); err != nil {
			return nil, err
		}
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
	join, err := c.join()
	if err != nil {
		return nil, err
	}
	as := updateAxes(ix)
	point := te.AxisVars(as)
	at := append([]sym.Expr{}, point...)
	at[axis] = gv(0)
	return c.updated("ScatterElements", x, &te.Update{
		Axes: as, At: at, Join: join,
		Binds: []te.Bind{place(0, te.Operand(1, c.Type(1), point...), x[axis])},
		Value: te.Operand(2, c.Type(2), point...),
	}), nil
}

func scatterND(c *Ctx) (*Meaning, error) {
	x, ix, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	up, err := c.Shape(2)
	if err != nil {
		return nil, err
	}
	if len(ix) == 0 {
		return nil, fmt.Errorf("operand 1 has rank 0; want at least 1")
	}
	n, ok := ix[len(ix)-1].Const()
	if !ok {
		return nil, &UnknownError{fmt.Sprintf("the last dimension (%s) of operand 1", ix[len(ix)-1])}
	}
	if n < 0 || n > int64(len(x)) {
		return nil, fmt.Errorf("the last dimension of operand 1 is %d; operand 0 has rank %d", n, len(x))
	}
	outer, depth := len(ix)-1, int(n)
	want := append(append(ir.Shape{}, ix[:outer]...), x[depth:]...)
	if len(up) != len(want) {
		return nil, fmt.Errorf("operand 2 has rank %d; want %d", len(up), len(want))
	}
	for k := range up {
		if err := c.require(SameDim, up[k], want[k], "dimension %d of the updates", k); err != nil {
			return nil, err
		}
	}
	join, err := c.join()
	if err != nil {
		return nil, err
	}
	u := &te.Update{Axes: updateAxes(up), Join: join}
	point := te.AxisVars(u.Axes)
	u.Value = te.Operand(2, c.Type(2), point...)
	for k := range depth {
		if err := c.someOf(x[k], k, ix[:outer]); err != nil {
			return nil, err
		}
		index := append(append([]sym.Expr{}, point[:outer]...), sym.Const(int64(k)))
		u.Binds = append(u.Binds, place(k, te.Operand(1, c.Type(1), index...), x[k]))
		u.At = append(u.At, gv(k))
	}
	u.At = append(u.At, point[outer:]...)
	return c.updated("ScatterND", x, u), nil
}
