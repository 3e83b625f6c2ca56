package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Narrow is the compiler's own operator that stores f32 in 16 bits where a precision asks for that. Other than ONNX's Cast it keeps
// finite numbers finite, by the scalar function narrow: what ends beyond the type is its greatest number. A mask of -FLT_MAX would be -Inf,
// and a row of scores that is masked whole would have weights that are NaN. Infinities and NaNs stay what they are.
const Narrow = "narrow"

var narrowRow = unaryRow(Narrow, []int{1}, single, narrow, intAttr("to").required())

func narrow(c *Ctx, x []te.Expr) (te.Expr, error) {
	t, err := c.typeAttr("to")
	if err != nil {
		return nil, err
	}
	if wide(t) == t {
		return nil, fmt.Errorf("attribute to is %s; supported are %s", t, typeNames([]ir.DType{ir.F16, ir.BF16}))
	}
	return te.Fn(t, "narrow", x[0]), nil
}
