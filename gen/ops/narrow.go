package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// Narrow is the compiler's own operator that stores f32 in 16 bits where a precision asks for that. Other than ONNX's Cast it keeps
// finite numbers finite: what ends beyond the type is its greatest number. A mask of -FLT_MAX would be -Inf, and a row of scores that is masked whole would
// have weights that are no numbers. Infinities and NaNs stay what they are.
const Narrow = "narrow"

var narrowRow = unaryRow(Narrow, []int{1}, single, narrow, intAttr("to").required())

// Greatest are the greatest finite numbers of the types of 16 bits.
var Greatest = map[ir.DType]float64{ir.F16: 65504, ir.BF16: 0xffp120}

func narrow(c *Ctx, x []te.Expr) (te.Expr, error) {
	t, err := c.typeAttr("to")
	if err != nil {
		return nil, err
	}
	most, ok := Greatest[t]
	if !ok {
		return nil, fmt.Errorf("attribute to is %s; supported are %s", t, typeNames([]ir.DType{ir.F16, ir.BF16}))
	}
	held := call("min", call("max", x[0], num(x[0], -most)), num(x[0], most))
	return cast(t, sel(test("eq", call("abs", x[0]), num(x[0], math.Inf(1))), x[0], held)), nil
}
