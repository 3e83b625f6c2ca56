package ops

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// The compiler's own operators that a Range whose operands only a run knows becomes: how many numbers
// it has, and the numbers, from start on, delta apart, of which there are count.
const (
	Steps = "steps"
	Ramp  = "ramp"
)

// rangeTypes are the types of a Range.
var rangeTypes = []ir.DType{ir.I16, ir.I32, ir.I64, ir.F16, ir.BF16, ir.F32, ir.F64}

func rangeRows() []*Row {
	param := func(name string) Param { return Param{Name: name, Types: rangeTypes, Like: "T", Structural: true} }
	return []*Row{{
		Name: "Range", Versions: []int{11, 27}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{param("start"), param("limit"), param("delta")},
		Attrs:  []AttrSpec{intAttr("stash_type").from(27)}, Build: rangeOf,
	}}
}

var stepsRow = &Row{
	Name: Steps, Versions: []int{1}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "start", Types: rangeTypes, Like: "T"}, {Name: "limit", Types: rangeTypes, Like: "T"}, {Name: "delta", Types: rangeTypes, Like: "T"}},
	Build:  steps,
}

var rampRow = &Row{
	Name: Ramp, Versions: []int{1}, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "start", Types: rangeTypes, Like: "T"}, {Name: "delta", Types: rangeTypes, Like: "T"}, structural("count", int64s)},
	Build:  rampOf,
}

func rangeOf(c *Ctx) (*Meaning, error) {
	if s := c.Node.Int("stash_type", 1); s != 1 {
		return nil, fmt.Errorf("attribute stash_type is %d; supported is 1", s)
	}
	if c.Type(0).IsFloat() {
		return c.rangeFloat()
	}
	var v [3]sym.Expr
	for i := range v {
		var err error
		if v[i], err = c.scalarOperand(i); err != nil {
			return nil, err
		}
	}
	step, ok := v[2].Const()
	if !ok {
		return nil, &UnknownError{fmt.Sprintf("the value (%s) of operand 2 (delta)", v[2])}
	}
	n, err := c.rangeLength(v[0], v[1], step)
	if err != nil {
		return nil, err
	}
	as := axes(ir.Shape{n})
	element := sym.Add(v[0], sym.Scale(iv(0), step))
	if !element.Fits(c.with(as)) { // though its value may: integers of the result's type wrap on the way
		start, delta := te.Index{Type: c.Type(0), E: v[0]}, te.Int(c.Type(0), step)
		return c.ramp(start, delta, n, false), nil
	}
	return one("Range", as, te.Index{Type: c.Type(0), E: element}), nil
}

// rangeLength is how many integers a Range has. That of numbers is exact: their difference may leave 64 bits.
func (c *Ctx) rangeLength(start, limit sym.Expr, step int64) (sym.Expr, error) {
	if step == 0 {
		return sym.Expr{}, fmt.Errorf("operand 2 (delta) is 0")
	}
	from, ok1 := start.Const()
	to, ok2 := limit.Const()
	if ok1 && ok2 {
		n, err := opaque.IntSteps(from, to, step)
		return sym.Const(n), err
	}
	if step == math.MinInt64 {
		return sym.Expr{}, fmt.Errorf("operand 2 (delta) is %d; supported is at least %d if operands 0 (start) and 1 (limit) are not constant", step, step+1)
	}
	room := sym.Sub(limit, start)
	if step < 0 {
		room = sym.Sub(start, limit)
	}
	n := sym.CeilDiv(room, sym.Const(max(step, -step)), c.Facts)
	return sym.Max(n, sym.Const(0), c.Facts), nil
}

func (c *Ctx) rangeFloat() (*Meaning, error) {
	var v [3]float64
	var in [3]*ir.Tensor
	for i := range v {
		var err error
		if v[i], err = c.constFloat(i); err != nil {
			return nil, err
		}
		in[i] = c.Node.Inputs[i].Const
	}
	n, err := opaque.Steps(in[0], in[1], in[2])
	if err != nil {
		return nil, err
	}
	t := wide(c.Type(0))
	way := float64(n) * v[2]
	if t == ir.F32 {
		way = float64(float32(way))
	}
	return c.ramp(te.Float(t, v[0]), te.Float(t, v[2]), sym.Const(n), n > 0 && math.IsInf(way, 0)), nil
}

// ramp is numbers of a type wide enough to compute them in. Far reports that the way from start to one of them
// may be longer than the greatest number, though none of them is: then half the way is doubled, which is exact.
func (c *Ctx) ramp(start, delta te.Expr, n sym.Expr, far bool) *Meaning {
	at := cast(start.DType(), te.Index{Type: ir.I64, E: iv(0)})
	way := mul(at, delta)
	e := add(start, way)
	if far {
		two := num(start, 2)
		half := add(div(start, two), mul(at, div(delta, two)))
		e = sel(test("isinf", way), mul(half, two), e)
	}
	return one("Range", axes(ir.Shape{n}), cast(c.Type(0), e))
}

func rampOf(c *Ctx) (*Meaning, error) {
	n, err := c.scalarOperand(2)
	if err != nil {
		return nil, err
	}
	var v [2]te.Expr
	for i := range v {
		x, err := c.single(i)
		if err != nil {
			return nil, err
		}
		v[i] = cast(wide(c.Type(i)), x)
	}
	t := c.Type(0)
	return c.ramp(v[0], v[1], n, t.IsFloat() && t != ir.F16), nil
}

// single is the element of operand i, which has one.
func (c *Ctx) single(i int) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	if err := c.require(SameDim, product(s...), sym.Const(1), "elements of operand %d", i); err != nil {
		return nil, err
	}
	return te.Operand(i, c.Type(i), slices.Repeat([]sym.Expr{sym.Const(0)}, len(s))...), nil
}

func steps(c *Ctx) (*Meaning, error) {
	for i := range 3 {
		if _, err := c.single(i); err != nil {
			return nil, err
		}
	}
	return c.calls(&opaque.Call{
		Name: "Steps", Types: []ir.DType{c.Type(0)}, Work: sym.Const(8),
		Args:    slices.Concat(pointers(3, 1, 0), opaque.Sizes(sym.Const(sym.MaxDim))),
		Results: []opaque.Tensor{{Type: ir.I64, Shape: ir.Shape{}}},
		Run: func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
			n, err := opaque.Steps(in[0], in[1], in[2])
			if err != nil {
				return nil, nil, err
			}
			return []*ir.Tensor{fill(ir.NewTensor(ir.I64), []int64{n})}, nil, nil
		},
	}), nil
}
