package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// Random is the compiler's own operator that draws a tensor's elements: uniform ones of [a, a+b), or of the normal distribution with mean a and
// deviation b. They depend on operand 1, the seed, on operand 2, the iteration of the loops around, and on the attribute stream, the node's
// number among those that draw. The type is the attribute to, or that of operand 3. The importer makes it of RandomNormal and its kin.
const Random = "random"

var randomRow = &Row{
	Name: Random, Versions: []int{1}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
	Inputs: []Param{structural("shape", int64s), {Name: "seed", Types: int64s}, opt(Param{Name: "iteration", Types: int64s}), opt(Param{Name: "like", Types: floats})},
	Attrs:  []AttrSpec{intAttr("stream").required(), intAttr("normal"), floatAttr("a").required(), floatAttr("b").required(), intAttr("to")},
	Build:  random,
}

// drawn are the operators that the importer makes Random of.
var drawn = []string{"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}

func random(c *Ctx) (*Meaning, error) {
	shape, err := c.dimsOperand(0)
	if err != nil {
		return nil, err
	}
	for i := 1; i <= 2; i++ {
		if !c.Has(i) {
			continue
		}
		s, err := c.Shape(i)
		if err != nil {
			return nil, err
		}
		if err := c.require(SameDim, product(s...), sym.Const(1), "elements of operand %d", i); err != nil {
			return nil, err
		}
	}
	t, err := c.randomType()
	if err != nil {
		return nil, err
	}
	d := opaque.Draw{A: c.Node.Float("a", 0), B: c.Node.Float("b", 1), Stream: c.Node.Int("stream", 0)}
	if d.Normal, err = c.flag("normal", 0); err != nil {
		return nil, err
	}
	n := product(shape...)
	call := &opaque.Call{
		Name: "Random", Types: []ir.DType{t}, Work: sym.Scale(n, 16),
		Results: []opaque.Tensor{{Type: t, Shape: ir.Shape(shape)}},
		Args: slices.Concat([]opaque.Arg{{Kind: opaque.Operand, N: 1}, {Kind: opaque.Operand, N: 2}, {Kind: opaque.Result}},
			opaque.Sizes(n), opaque.Flags(d.Normal), opaque.Sizes(consts([]int64{opaque.Float32Bits(d.A), opaque.Float32Bits(d.B), d.Stream})...)),
	}
	call.Run = func(env map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
		dims := make([]int64, len(shape))
		for k, e := range shape {
			var err error
			if dims[k], err = e.Eval(env); err != nil {
				return nil, nil, err
			}
		}
		var numbers [2]int64
		for i := range numbers {
			if 1+i < len(in) && in[1+i] != nil {
				var err error
				if numbers[i], err = opaque.Integer(in[1+i]); err != nil {
					return nil, nil, err
				}
			}
		}
		return []*ir.Tensor{opaque.Random(t, dims, d, numbers[0], numbers[1])}, nil, nil
	}
	return c.calls(call), nil
}

// randomType is the type of what is drawn.
func (c *Ctx) randomType() (ir.DType, error) {
	if c.Has(3) {
		return c.Type(3), nil
	}
	t, err := c.typeAttr("to")
	if err == nil && !slices.Contains(floats, t) {
		err = fmt.Errorf("random numbers of type %s; supported are %s", t, typeNames(floats))
	}
	return t, err
}
