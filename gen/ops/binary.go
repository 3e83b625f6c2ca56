package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// binaryRows are the elementwise operators on several operands that broadcast.
func binaryRows() []*Row {
	arith := []int{7, 13, 14}
	return []*Row{
		binaryRow("Add", arith, numbers, fn2("add")),
		binaryRow("Sub", arith, numbers, fn2("sub")),
		binaryRow("Mul", arith, numbers, fn2("mul")),
		binaryRow("Div", arith, numbers, fn2("div")),
		binaryRow("And", []int{7}, bools, fn2("and")),
		binaryRow("Or", []int{7}, bools, fn2("or")),
		binaryRow("Xor", []int{7}, bools, fn2("xor")),
		binaryRow("BitwiseAnd", []int{18}, integers, fn2("bitand")),
		binaryRow("BitwiseOr", []int{18}, integers, fn2("bitor")),
		binaryRow("BitwiseXor", []int{18}, integers, fn2("bitxor")),
		binaryRow("Equal", []int{7, 11, 13, 19}, anyType, test2("eq")),
		binaryRow("Less", []int{7, 9, 13}, numbers, test2("lt")),
		binaryRow("Greater", []int{7, 9, 13}, numbers, test2("gt")),
		binaryRow("LessOrEqual", []int{12, 16}, numbers, test2("le")),
		binaryRow("GreaterOrEqual", []int{12, 16}, numbers, test2("ge")),
		binaryRow("Mod", []int{10, 13, 28}, numbers, modulo, intAttr("fmod")),
		binaryRow("BitShift", []int{11, 28}, integers, shift, strAttr("direction").required()),
		{
			Name: "Pow", Versions: []int{7, 12, 13, 15}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("X", slices.Concat(indexing, floats)),
				until(11, in("Y", floats)), since(12, Param{Name: "Y", Types: numbers}),
			},
			Build: elementwise(power),
		},
		variadicRow("Min", []int{6, 8, 12, 13}, numbers, "min"),
		variadicRow("Max", []int{6, 8, 12, 13}, numbers, "max"),
		variadicRow("Sum", []int{6, 8, 13}, floats, "add"),
		variadicRow("Mean", []int{6, 8, 13}, floats, "add"),
		{
			Name: "Where", Versions: []int{9, 16}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{{Name: "condition", Types: bools}, in("X", anyType), in("Y", anyType)},
			Build: elementwise(func(_ *Ctx, x []te.Expr) (te.Expr, error) {
				return sel(x[0], x[1], x[2]), nil
			}),
		},
	}
}

func binaryRow(name string, versions []int, types []ir.DType, f body, attrs ...AttrSpec) *Row {
	return &Row{
		Name: name, Versions: versions, Inputs: []Param{in("A", types), in("B", types)}, Attrs: attrs,
		MinOutputs: 1, MaxOutputs: 1, Build: elementwise(f),
	}
}

func fn2(fn string) body {
	return func(_ *Ctx, x []te.Expr) (te.Expr, error) { return call(fn, x[0], x[1]), nil }
}

func test2(fn string) body {
	return func(_ *Ctx, x []te.Expr) (te.Expr, error) { return test(fn, x[0], x[1]), nil }
}

// variadicRow folds its operands by a scalar function; Mean divides by their number.
func variadicRow(name string, versions []int, types []ir.DType, fn string) *Row {
	p := in("data", types)
	p.Variadic = true
	return &Row{
		Name: name, Versions: versions, Inputs: []Param{p}, MinOutputs: 1, MaxOutputs: 1,
		Build: func(c *Ctx) (*Meaning, error) { return folded(c, fn, name == "Mean") },
	}
}

// folded applies a function to the first two operands, to what that gives and the third, and so on: the order is that of
// the operands, however many stages there are.
func folded(c *Ctx, fn string, mean bool) (*Meaning, error) {
	as, x, err := c.broadcastOperands(false)
	if err != nil {
		return nil, err
	}
	t := x[0].DType()
	var ss []*te.Stage
	acc := cast(wide(t), x[0])
	for i, e := range x[1:] {
		if e == nil {
			return nil, fmt.Errorf("operand %d is absent, but required", i+1)
		}
		if i > 0 && i%manyOperands == 0 {
			ss = append(ss, &te.Stage{Name: c.Row.Name, Axes: as, Results: []te.Expr{acc}})
			acc = te.FromStage(len(ss)-1, acc.DType(), te.AxisVars(as)...)
		}
		acc = call(fn, acc, cast(wide(t), e))
	}
	if mean {
		acc = div(acc, num(acc, float64(len(x))))
	}
	return stages(append(ss, &te.Stage{Name: c.Row.Name, Axes: as, Results: []te.Expr{cast(t, acc)}})...), nil
}

func modulo(c *Ctx, x []te.Expr) (te.Expr, error) {
	fmod, err := c.flag("fmod", 0)
	if err != nil {
		return nil, err
	}
	if fmod {
		return call("fmod", x[0], x[1]), nil
	}
	if x[0].DType().IsFloat() && c.Version < 28 {
		return nil, fmt.Errorf("attribute fmod is 0 with operands of type %s; floating-point types need fmod=1, or opset 28", x[0].DType())
	}
	return call("mod", x[0], x[1]), nil
}

func shift(c *Ctx, x []te.Expr) (te.Expr, error) {
	direction, err := c.choice("direction", "LEFT", "RIGHT")
	if err != nil {
		return nil, err
	}
	if direction == "LEFT" {
		return call("shl", x[0], x[1]), nil
	}
	return call("shr", x[0], x[1]), nil
}

// power has the type of the base. Operands of two types meet in a floating-point
// type unless both are integers. Squares and cubes are products: two roundings are as
// exact as the function is.
func power(c *Ctx, x []te.Expr) (te.Expr, error) {
	base, exp := x[0].DType(), x[1].DType()
	if n, known := c.constExponent(); known && n == 2 && base.IsFloat() {
		return mul(x[0], x[0]), nil
	} else if known && n == 3 && (base == ir.F32 || base == ir.F64) {
		return mul(mul(x[0], x[0]), x[0]), nil
	}
	if base.IsInteger() && exp.IsFloat() {
		t := ir.F64
		return cast(base, te.Fn(t, "pow", cast(t, x[0]), cast(t, x[1]))), nil
	}
	return te.Fn(base, "pow", x[0], cast(base, x[1])), nil
}

// constExponent is the one constant that all elements are raised to.
func (c *Ctx) constExponent() (float64, bool) {
	if v := c.Node.Inputs[1]; v == nil || v.Const == nil || v.Const.Len() != 1 {
		return 0, false
	} else if !v.Type.IsFloat() {
		xs, err := v.Const.Ints()
		return float64(append(xs, 0)[0]), err == nil
	}
	n, err := c.constFloat(1)
	return n, err == nil
}
