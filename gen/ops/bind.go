package ops

import (
	"fmt"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/opaque"
	"rules_dnn/gen/sym"
)

// Bind is the compiler's own operator whose result is its first operand, a few integers, as symbols: a
// run computes them, and refuses what is outside of the attributes lo and hi. Where it has a
// second operand, no number is above how many elements that has, its empty dimensions aside.
const Bind = "bind"

// BindMost is the most elements that become symbols.
const BindMost = 64

var bindRow = &Row{
	Name: Bind, Versions: []int{1}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{{Name: "numbers", Types: indexing}, opt(Param{Name: "like", Types: anyType})},
	Attrs:  []AttrSpec{intAttr("lo").required(), intAttr("hi").required()}, Build: bind,
}

// own are the rows of the compiler's own operators, which no model has.
var own = map[string]*Row{Bind: bindRow, Steps: stepsRow, Ramp: rampRow}

// lookup is the row of an operator of ai.onnx or of the compiler's own, or nil.
func lookup(name string) *Row {
	if row := own[name]; row != nil {
		return row
	}
	return Lookup(name)
}

func bind(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	dims, ok := x.Static()
	n, err := ir.Len(dims)
	if !ok || err != nil || n > BindMost {
		return nil, fmt.Errorf("operand 0 has shape %v; at most %d elements wanted", x, BindMost)
	}
	lo, hi := c.Node.Int("lo", 0), c.Node.Int("hi", 0)
	if lo > hi || lo < -sym.MaxDim || hi > sym.MaxDim {
		return nil, fmt.Errorf("attributes lo and hi are %d and %d", lo, hi)
	}
	most := sym.Const(sym.MaxDim)
	if c.Has(1) {
		like, err := c.Shape(1)
		if err != nil {
			return nil, err
		}
		most = sym.Const(1)
		for _, d := range like {
			most = sym.Mul(most, sym.Max(d, sym.Const(1), c.Facts))
		}
	}
	t := c.Type(0)
	call := &opaque.Call{Name: "Bind", Types: []ir.DType{t}, Work: sym.Const(max(n, 1)), Results: []opaque.Tensor{{Type: t, Shape: x}}}
	for i := range n {
		e := c.counted(call, strconv.FormatInt(i, 10), most)
		call.Computes[i].Lo, call.Computes[i].Hi = lo, hi
		call.Elements = append(call.Elements, e)
	}
	call.Args = append(pointers(1, 1, 0), opaque.Arg{Kind: opaque.Numbers})
	call.Args = append(call.Args, opaque.Sizes(sym.Const(n), sym.Const(lo))...)
	call.Run = func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
		xs, err := in[0].Ints()
		if err != nil {
			return nil, nil, err
		}
		for i, x := range xs {
			if x < lo || x > hi {
				return nil, nil, &opaque.Error{What: fmt.Sprintf("element %d of %q is %d; supported are %d to %d", i, c.Node.Inputs[0].Name, x, lo, hi)}
			}
		}
		return []*ir.Tensor{in[0]}, xs, nil
	}
	return c.calls(call), nil
}
