package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target/instr"
)

// TestVerify harms a kernel that is right in one way each.
func TestVerify(t *testing.T) {
	i, j, n, eight := sym.Var("i"), sym.Var("j"), sym.Var("N"), sym.Const(8)
	x, y := &Buffer{Name: "x", Type: ir.F32, Size: eight}, &Buffer{Name: "y", Type: ir.F32, Size: eight, Write: true}
	ints := &Buffer{Name: "n", Type: ir.I64, Size: eight}
	acc := &Buffer{Name: "acc", Type: ir.F32, Size: eight, Local: true, Write: true}
	at := func(b *Buffer, e sym.Expr) te.Expr { return Mem{Buf: b, Index: e} }
	to := func(v te.Expr) Stmt { return Store{Buf: y, Index: i, Value: v} }
	each := func(body ...Stmt) Stmt { return For{Var: "i", Extent: eight, Body: body} }
	one, half := te.Number(ir.F32, 1), te.Number(ir.F16, 1)
	row := &instr.Row{Name: "r", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 4, Group: 1}
	micro := &MicroKernel{Instr: row, X: instr.Vector, Rows: 1, Vectors: 1}
	for _, c := range []struct {
		name, want string
		body       []Stmt
	}{
		{"nothing", "", []Stmt{Alloc{acc}, each(Def{"v", at(x, i)}, Set{"v", te.Fn(ir.F32, "add", Ref{"v", ir.F32}, one)}, to(Ref{"v", ir.F32})),
			Tile{Micro: micro, X: x, W: x, Acc: acc}, each(Bind{Var: "j", Value: at(ints, i), Lo: eight, Hi: n}, to(at(x, j)))}},
		{"an index without its loop", `the index i uses "i", which is not in scope`, []Stmt{to(one)}},
		{"an index after its loop", `the index i uses "i", which is not in scope`, []Stmt{each(), to(one)}},
		{"another symbol", `the index M uses "M", which is not in scope`, []Stmt{each(to(at(x, sym.Var("M"))))}},
		{"a variable as an index", `the index v uses "v", which is not in scope`, []Stmt{Def{"v", one}, each(to(at(x, sym.Var("v"))))}},
		{"a condition", `the index j uses "j", which is not in scope`, []Stmt{each(If{Cond: []te.Within{{E: j, Lo: n, Hi: n}}})}},
		{"bounds", `the index j uses "j", which is not in scope`, []Stmt{each(Bind{Var: "j", Value: at(ints, i), Lo: j, Hi: n})}},
		{"an index of floats", `the index "j" is made of f32`, []Stmt{each(Bind{Var: "j", Value: at(x, i), Lo: n, Hi: n})}},
		{"twice", `"v" is declared twice in one block`, []Stmt{Def{"v", one}, Def{"v", one}}},
		{"a parameter's name", `"task" is declared twice in one block`, []Stmt{Index{"task", n}}},
		{"before it is defined", `"v" is read as f32, but is a <nil> of type invalid here`, []Stmt{each(to(Ref{"v", ir.F32}))}},
		{"out of a block", `"v" is read as f32, but is a <nil> of type invalid here`, []Stmt{each(Def{"v", one}), each(to(Ref{"v", ir.F32}))}},
		{"another type", `"v" is read as f32, but is a loop.variable of type f16 here`, []Stmt{Def{"v", half}, each(to(Ref{"v", ir.F32}))}},
		{"an assignment", `f16 is assigned to "v", which is a loop.variable of type f32 here`, []Stmt{Def{"v", one}, Set{"v", half}}},
		{"a store", `f16 is stored to "y" of f32`, []Stmt{each(to(half))}},
		{"a choice", `a choice between f32 and f16; want one type`, []Stmt{each(to(te.Select{Then: one, Else: half}))}},
		{"a function", `no scalar function "sinus"`, []Stmt{each(to(te.Fn(ir.F32, "sinus", one)))}},
		{"arguments", `scalar function "add" wants arguments of one type`, []Stmt{each(to(te.Fn(ir.F32, "add", one, half)))}},
		{"an operand that is written", `"x" is written, which is an operand`, []Stmt{each(Store{Buf: x, Index: i, Value: one})}},
		{"an array that is not there", `no buffer "acc" is in scope`, []Stmt{each(to(at(acc, i)))}},
		{"another one's array", `no buffer "acc" is in scope`, []Stmt{Alloc{&Buffer{Name: "acc", Type: ir.F32, Size: eight, Local: true, Write: true}}, each(to(at(acc, i)))}},
		{"an array of no size", `the local array "a" has N elements`, []Stmt{Alloc{&Buffer{Name: "a", Type: ir.F32, Size: n, Local: true, Write: true}}}},
		{"a tile's types", `a tile reads or writes "n" of type i64; instruction r wants f32`, []Stmt{Alloc{acc}, Tile{Micro: micro, X: ints, W: x, Acc: acc}}},
		{"a tile into an operand", `"x" is written, which is an operand`, []Stmt{Tile{Micro: micro, X: x, W: x, Acc: x}}},
		{"what lowering replaces", `an expression of type te.Acc`, []Stmt{each(to(te.Acc{Type: ir.F32}))}},
		{"nothing to store", `an expression of type <nil>`, []Stmt{each(to(nil))}},
	} {
		err := Verify(&Kernel{Anchor: "generic", Buffers: []*Buffer{x, y, ints}, Syms: []string{"N"}, Grid: Linear(sym.Const(1)), Body: c.body})
		if c.want == "" {
			assert.NoError(t, err, c.name)
			continue
		}
		assert.ErrorContains(t, err, "kernel generic: "+c.want, c.name)
	}
	assert.ErrorContains(t, Verify(&Kernel{Buffers: []*Buffer{x, x}}), `"x" is declared twice`)
}
