package loop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// TestSubstIndices: variables are replaced in all that tells where elements lie: in buffers and images, in conditions and as numbers.
func TestSubstIndices(t *testing.T) {
	b := &loop.Buffer{Name: "b", Type: ir.F32, Size: sym.Const(64)}
	image := &loop.Buffer{Name: "p", Type: ir.F32, Size: sym.Const(64), Image: &loop.Image{Width: sym.Const(4), Height: sym.Const(4)}}
	of := func(v sym.Expr) te.Expr {
		texel := loop.Mem{Buf: image, Index: v, Texel: loop.Texel{X: v, Y: sym.Add(v, sym.Const(1))}}
		within := []te.Within{{E: v, Lo: sym.Const(0), Hi: sym.Const(3)}}
		return te.Select{Cond: within, Then: te.Fn(ir.F32, "add", texel, te.Index{Type: ir.F32, E: v}), Else: loop.Mem{Buf: b, Index: sym.Scale(v, 2)}}
	}
	want := of(sym.Var("j"))
	assert.Equal(t, want, loop.SubstIndices(of(sym.Var("i")), map[string]sym.Expr{"i": sym.Var("j")}, nil))
	assert.Equal(t, want, loop.MapIndices(of(sym.Var("i")), func(e sym.Expr) sym.Expr { return e.Subst(map[string]sym.Expr{"i": sym.Var("j")}, nil) }))
}
