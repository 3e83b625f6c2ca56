package sel

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// TestUsual: images are as large as a network that divides them expects, and few.
func TestUsual(t *testing.T) {
	n, h, w := sym.Var("N"), sym.Var("H"), sym.Var("W")
	part := func(e sym.Expr, d int64) sym.Expr { return sym.CeilDiv(e, sym.Const(d), nil) }
	free, few := sym.Range{Lo: 1, Hi: sym.MaxDim}, sym.Range{Lo: 1, Hi: 100}
	at := func(n int64) sym.Range { return sym.Range{Lo: n, Hi: n} }
	for _, c := range []struct {
		name          string
		input, result ir.Shape
		facts, want   sym.Facts
	}{
		{"images", ir.Shape{n, sym.Const(3), h, w}, ir.Shape{n, sym.Const(8), part(h, 32), part(w, 64)}, sym.Facts{"N": free, "H": free, "W": free}, sym.Facts{"N": at(1), "H": at(256), "W": at(512)}},
		{"sizes after they grow again", ir.Shape{n, h}, ir.Shape{n, sym.Scale(part(h, 32), 8)}, sym.Facts{"N": free, "H": free}, sym.Facts{"N": at(1), "H": at(256)}},
		{"bounds", ir.Shape{n, h, w}, ir.Shape{n, part(h, 32), part(w, 2)}, sym.Facts{"N": {Lo: 3, Hi: 9}, "H": few, "W": free}, sym.Facts{"N": at(3), "H": at(100), "W": at(32)}},
		{"nothing is divided", ir.Shape{n, h}, ir.Shape{n, h}, sym.Facts{"N": free, "H": few}, sym.Facts{"N": free, "H": few}},
		{"the first dimension is divided", ir.Shape{n, h}, ir.Shape{part(n, 8), h}, sym.Facts{"N": free, "H": few}, sym.Facts{"N": at(64), "H": few}},
	} {
		g := &block.Graph{Facts: c.facts, Inputs: []*ir.Value{{Shape: c.input, HasShape: true}}, Blocks: []*block.Block{{Results: []*ir.Value{{Shape: c.result, HasShape: true}}}}}
		assert.Equal(t, c.want, Usual(g), c.name)
	}
}
