package ops

import (
	"fmt"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// Bind is the compiler's own operator whose result is its first operand, a few integers, some of them as
// symbols that a run computes: those at the places of attribute elements. The run refuses one that is
// less than its number among lows, or more than hi. Where there is a second operand, none is above
// its dimension axis, or, without that attribute, how many elements it has, its empty dimensions aside.
const Bind = "bind"

// BindMost is the most elements that become symbols.
const BindMost = 64

var bindRow = &Row{
	Name: Bind, Versions: []int{1}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "numbers", Types: indexing}, opt(Param{Name: "like", Types: anyType})},
	Attrs:  []AttrSpec{intsAttr("elements").required(), intsAttr("lows").required(), intAttr("hi").required(), intAttr("axis")}, Build: bind,
}

// own are the rows of the compiler's own operators, which no model has.
var own = map[string]*Row{Bind: bindRow, Steps: stepsRow, Ramp: rampRow, Fractions: fractionsRow, Resized: resizedRow, Lengths: lengthsRow, Unpack: unpackRow, Narrow: narrowRow, Random: randomRow, Attend: attendRow}

// lookup is the row of an operator of ai.onnx or of the compiler's own, or nil.
func lookup(name string) *Row {
	if row := own[name]; row != nil {
		return row
	}
	if row := summedRow(name); row != nil {
		return row
	}
	return Lookup(name)
}

func bind(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	hi := c.Node.Int("hi", 0)
	elements, lows, err := c.bound(x, hi)
	if err != nil {
		return nil, err
	}
	most, err := c.mostLike()
	if err != nil {
		return nil, err
	}
	t := c.Type(0)
	call := &opaque.Call{
		Name: "Bind", Types: []ir.DType{t}, Work: sym.Max(product(x...), sym.Const(1), c.Facts),
		Results: []opaque.Tensor{{Type: t, Shape: x}}, Elements: map[int]sym.Expr{},
	}
	for i, k := range elements {
		call.Elements[int(k)] = c.counted(call, strconv.FormatInt(k, 10), most)
		call.Computes[i].Lo, call.Computes[i].Hi = lows[i], hi
	}
	dims := func(xs []int64) opaque.Arg { return opaque.Arg{Kind: opaque.Dims, Dims: consts(xs)} }
	call.Args = append(pointers(1, 1, 0), opaque.Arg{Kind: opaque.Numbers}, dims(elements), dims(lows))
	call.Args = append(call.Args, opaque.Sizes(sym.Const(int64(len(elements))), product(x...))...)
	call.Run = func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
		xs, err := in[0].Ints()
		if err != nil {
			return nil, nil, err
		}
		numbers := make([]int64, len(elements))
		for i, k := range elements {
			if numbers[i] = xs[k]; xs[k] < lows[i] || xs[k] > hi {
				return nil, nil, &opaque.Error{What: fmt.Sprintf("element %d of %q is %d; supported are %d to %d", k, c.Node.Inputs[0].Name, xs[k], lows[i], hi)}
			}
		}
		return []*ir.Tensor{in[0]}, numbers, nil
	}
	return c.calls(call), nil
}

// bound are the elements of a bind's operand that become symbols, and what each is at least.
func (c *Ctx) bound(x ir.Shape, hi int64) (elements, lows []int64, err error) {
	dims, ok := x.Static()
	n, err := ir.Len(dims)
	if !ok || err != nil {
		return nil, nil, fmt.Errorf("operand 0 has shape %v; want constants", x)
	}
	elements, lows = c.Node.Ints("elements"), c.Node.Ints("lows")
	if len(elements) > BindMost || len(elements) != len(lows) {
		return nil, nil, fmt.Errorf("%d elements and %d lower bounds become symbols; want at most %d elements, and one lower bound for each", len(elements), len(lows), BindMost)
	}
	for i, k := range elements {
		switch {
		case k < 0 || k >= n || i > 0 && k <= elements[i-1]:
			return nil, nil, fmt.Errorf("attribute elements is %v; want increasing positions among %d elements", elements, n)
		case lows[i] > hi || lows[i] < -sym.MaxDim || hi > sym.MaxDim:
			return nil, nil, fmt.Errorf("a symbol has the bounds %d and %d", lows[i], hi)
		}
	}
	return elements, lows, nil
}

// mostLike is the dimension of operand 1 that the node names, or how many elements that has, its empty
// dimensions aside.
func (c *Ctx) mostLike() (sym.Expr, error) {
	if !c.Has(1) {
		return sym.Const(sym.MaxDim), nil
	}
	like, err := c.Shape(1)
	if err != nil {
		return sym.Expr{}, err
	}
	if c.Node.Has("axis") {
		axis, err := c.axisAttr("axis", 0, len(like))
		if err != nil {
			return sym.Expr{}, err
		}
		return like[axis], nil
	}
	most := sym.Const(1)
	for _, d := range like {
		most = sym.Mul(most, sym.Max(d, sym.Const(1), c.Facts))
	}
	return most, nil
}
