package block

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// joined is a block that puts operands of these extents one after the other along axis 1.
func joined(extents ...int64) *Block {
	b := &Block{}
	end := int64(0)
	for i, n := range extents {
		b.Operands = append(b.Operands, &ir.Value{Name: fmt.Sprint("x", i), Type: ir.F32, Shape: ir.Shape{sym.Const(1), sym.Const(n), sym.Var("H")}, HasShape: true})
		end += n
	}
	var e te.Expr
	for i := len(extents) - 1; i >= 0; i-- {
		end -= extents[i]
		at := sym.Sub(sym.Var("i1"), sym.Const(end))
		l := te.Operand(i, ir.F32, sym.Var("i0"), at, sym.Var("i2"))
		if e != nil {
			l.Guard, l.Default = []te.Within{{E: at, Lo: sym.Const(0), Hi: sym.Const(extents[i])}}, e
		}
		e = l
	}
	total := int64(0)
	for _, n := range extents {
		total += n
	}
	b.Stage = &te.Stage{Axes: []te.Axis{{Var: "i0", Extent: sym.Const(1)}, {Var: "i1", Extent: sym.Const(total)}, {Var: "i2", Extent: sym.Var("H")}}, Results: []te.Expr{e}}
	return b
}

func TestConcatenation(t *testing.T) {
	axis, pieces, ok := joined(16, 4, 12).Concatenation()
	assert.True(t, ok)
	assert.Equal(t, 1, axis)
	assert.Equal(t, "[{0 0} {1 16} {2 20}]", fmt.Sprint(pieces))

	for name, change := range map[string]func(*Block){
		"one operand":           func(b *Block) { *b = *joined(16) },
		"something computed":    func(b *Block) { b.Stage.Results[0] = te.Fn(ir.F32, "relu", b.Stage.Results[0]) },
		"a reduction":           func(b *Block) { b.Stage.Combine = te.Sum(ir.F32) },
		"not all of an operand": func(b *Block) { b.Operands[0].Shape[1] = sym.Const(17) },
		"a longer axis":         func(b *Block) { b.Stage.Axes[1].Extent = sym.Const(33) },
		"another axis as well": func(b *Block) {
			l := b.Stage.Results[0].(te.Load)
			l.Index = []sym.Expr{l.Index[0], l.Index[1], sym.Add(l.Index[2], sym.Const(1))}
			b.Stage.Results[0] = l
		},
	} {
		b := joined(16, 4, 12)
		change(b)
		_, _, ok := b.Concatenation()
		assert.False(t, ok, name)
	}
}

func TestViewAt(t *testing.T) {
	blocked := layout.Blocked(1, 16)
	one := ir.Shape{sym.Const(1), sym.Const(64), sym.Var("H")}
	for _, c := range []struct {
		l     layout.Layout
		shape ir.Shape
		axis  int
		at    int64
		want  string // "": nowhere
	}{
		{layout.RowMajor, one, 1, 20, "20*H"},
		{blocked, one, 1, 32, "32*H"},
		{blocked, one, 1, 20, ""}, // within a block
		{blocked, one, 2, 16, ""}, // along an axis that is not split
		{blocked, ir.Shape{sym.Const(1), sym.Const(16), sym.Var("H")}, 2, 5, "80"}, // of one block
		{layout.Of(layout.Part{Axis: 1}), one, 2, 3, "192"},                        // channels last
		{layout.Of(layout.Part{Axis: 1}), one, 1, 32, ""},
		{layout.Of(layout.Part{Axis: 2, Pad: 4}), one, 2, 3, ""}, // a piece would have an end of its own
		{layout.Of(layout.Part{Axis: 2, Pad: 4}), one, 1, 3, "3*H + 12"},
		{layout.Of(layout.Part{Axis: 1, Pad: 1}, layout.Part{Axis: 2}), one, 1, 3, ""},
		{layout.Texels(1), one, 1, 32, ""},
		{layout.RowMajor, ir.Shape{sym.Const(2), sym.Const(64)}, 1, 16, ""},
		{layout.RowMajor, ir.Shape{sym.Const(2), sym.Const(64)}, 0, 1, "64"},
	} {
		at, ok := ViewAt(c.l, c.shape, c.axis, sym.Const(c.at))
		assert.Equal(t, c.want != "", ok, "%s %v", c.l, c.shape)
		if ok {
			assert.Equal(t, c.want, at.String())
		}
	}
}
