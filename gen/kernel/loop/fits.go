package loop

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir/sym"
)

// Fits checks that all integers of the kernel are computed within 64 bits: printers have no text for others.
func (k *Kernel) Fits() error {
	var err error
	check := func(what string) func(sym.Expr) {
		return func(e sym.Expr) {
			if err == nil && !e.Fits(k.Facts) {
				err = fmt.Errorf("%s of its kernel (%s) overflows 64 bits, divides by 0, or is an expression of more than %d characters; "+
					"use smaller dimensions, attributes or constant operands", what, e, limit.Expression)
			}
		}
	}
	for _, list := range [][]*Buffer{k.Buffers, k.Scratch} {
		for _, b := range list {
			check("the size of a buffer")(b.Size)
			if b.Image != nil {
				check("the width of an image")(b.Image.Width)
				check("the height of an image")(b.Image.Height)
			}
		}
	}
	check("the number of tasks")(k.Tasks())
	Exprs(k.Statements(), check("an index"))
	return err
}
