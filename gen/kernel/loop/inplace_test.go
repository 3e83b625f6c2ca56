package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target/instr"
)

// TestInPlace: a result takes the place of an operand whose elements are read where the result's are written afterwards, once.
func TestInPlace(t *testing.T) {
	n, i, j, task := sym.Var("N"), sym.Var("i"), sym.Var("j"), sym.Var(TaskVar)
	eight := sym.Const(8)
	x, y := &Buffer{Name: "x", Type: ir.F32, Size: eight}, &Buffer{Name: "y", Type: ir.F32, Size: eight, Write: true}
	acc := &Buffer{Name: "acc", Type: ir.F32, Size: eight, Local: true}
	at := func(b *Buffer, e sym.Expr) te.Expr { return Mem{Buf: b, Index: e} }
	to := func(e sym.Expr, v te.Expr) Stmt { return Store{Buf: y, Index: e, Value: v} }
	each := func(body ...Stmt) []Stmt { return []Stmt{For{Var: "i", Extent: eight, Body: body}} }
	tanh := func(e te.Expr) te.Expr { return te.Fn(ir.F32, "tanh", e) }
	ref := Ref{Name: "v", Type: ir.F32}
	below := func(hi int64) []te.Within { return []te.Within{{E: i, Lo: sym.Const(0), Hi: sym.Const(hi)}} }
	for name, c := range map[string]struct {
		tasks int64
		body  []Stmt
		ok    bool
	}{
		"each":                     {1, each(to(i, tanh(at(x, i)))), true},
		"in vectors":               {1, []Stmt{For{Var: "i", Extent: eight, Lanes: 4, Body: []Stmt{to(i, tanh(at(x, i)))}}}, true},
		"by tasks":                 {8, []Stmt{to(task, at(x, task))}, true},
		"parts of a task":          {2, []Stmt{For{Var: "i", Extent: sym.Const(4), Body: []Stmt{to(sym.Add(sym.Scale(task, 4), i), at(x, sym.Add(sym.Scale(task, 4), i)))}}}, true},
		"a variable":               {1, each(Def{Name: "v", Init: at(x, i)}, to(i, ref)), true},
		"where sums are added":     {1, each(to(i, te.Fn(ir.F32, "add", at(acc, i), at(x, i)))), true},
		"some places only":         {1, each(If{Cond: below(3), Then: []Stmt{to(i, at(x, i))}, Else: []Stmt{to(i, te.Number(ir.F32, 0))}}), true},
		"a tile and the rest":      {1, []Stmt{For{Var: "i", Extent: sym.Const(6), Body: []Stmt{to(i, at(x, i))}}, For{Var: "j", Extent: sym.Const(2), Body: []Stmt{to(sym.Add(j, sym.Const(6)), at(x, sym.Add(j, sym.Const(6))))}}}, true},
		"the last task's rest":     {3, []Stmt{For{Var: "i", Extent: sym.Min(sym.Const(3), sym.Sub(eight, sym.Scale(task, 3)), nil), Body: []Stmt{to(sym.Add(sym.Scale(task, 3), i), at(x, sym.Add(sym.Scale(task, 3), i)))}}}, true},
		"the neighbour":            {1, each(to(i, at(x, sym.Mod(sym.Add(i, sym.Const(1)), eight, nil)))), false},
		"all of one":               {1, each(to(i, at(x, sym.Const(0)))), false},
		"read afterwards":          {1, each(to(i, te.Number(ir.F32, 1)), Def{Name: "v", Init: at(x, i)}), false},
		"another place by then":    {1, each(Index{Var: "j", Value: i}, Def{Name: "v", Init: at(x, j)}, Index{Var: "j", Value: sym.Sub(sym.Const(7), i)}, to(j, ref)), false},
		"the last vector again":    {2, []Stmt{For{Var: "i", Extent: sym.Const(5), Lanes: 4, Body: []Stmt{to(sym.Add(sym.Scale(task, 3), i), at(x, sym.Add(sym.Scale(task, 3), i)))}}}, false},
		"splits of a sum":          {1, []Stmt{For{Var: "k", Extent: sym.Const(2), Body: each(to(i, te.Fn(ir.F32, "add", at(y, i), at(x, i))))}}, false},
		"sums in the result":       {1, each(to(i, te.Fn(ir.F32, "add", at(y, i), at(x, i)))), false},
		"sums of all":              {1, each(Def{Name: "v", Init: te.Number(ir.F32, 0)}, For{Var: "k", Extent: eight, Body: []Stmt{Set{Name: "v", Value: at(x, sym.Var("k"))}}}, to(i, ref)), false},
		"what a tile reads":        {1, append([]Stmt{Tile{Micro: &MicroKernel{Instr: &instr.Row{}}, X: x, W: acc, Acc: acc}}, each(to(i, at(x, i)))...), false},
		"an index":                 {1, each(Bind{Var: "j", Value: at(x, i)}, to(i, at(x, i))), false},
		"nobody knows how many":    {8, []Stmt{For{Var: "i", Extent: sym.Min(n, task, nil), Body: []Stmt{to(i, at(x, i))}}}, false},
		"more than there are":      {2, each(to(i, at(x, i))), false},
		"less than there are":      {1, []Stmt{to(sym.Const(0), at(x, sym.Const(0)))}, false},
		"one branch and the other": {1, each(If{Cond: below(4), Then: []Stmt{to(i, at(x, i))}}), false},
	} {
		k := &Kernel{Buffers: []*Buffer{x, y}, Grid: Linear(sym.Const(c.tasks)), Body: c.body}
		placed, ok := k.InPlace(x, y)
		if !assert.Equal(t, c.ok, ok, name) || !ok {
			continue
		}
		require.Len(t, placed.Buffers, 1, name)
		assert.True(t, placed.Buffers[0].Holds, name)
		Accesses(placed.Body, func(b *Buffer, _ sym.Expr) {
			assert.True(t, b == placed.Buffers[0] || b == acc, "%s: the kernel accesses %s", name, b.Name)
		})
		assert.False(t, y.Holds, name)
	}
	for name, other := range map[string]*Buffer{
		"type":  {Type: ir.I32, Size: eight},
		"size":  {Type: ir.F32, Size: n},
		"image": {Type: ir.F32, Size: eight, Image: &Image{}},
	} {
		k := &Kernel{Buffers: []*Buffer{other, y}, Grid: Linear(eight), Body: []Stmt{to(task, at(other, task))}}
		_, ok := k.InPlace(other, y)
		assert.False(t, ok, "another %s", name)
	}
	m := &Buffer{Name: "x", Type: ir.F32, Size: sym.Scale(n, 8)}
	z := &Buffer{Name: "y", Type: ir.F32, Size: sym.Scale(n, 8), Write: true}
	k := &Kernel{Buffers: []*Buffer{m, z}, Grid: Linear(n), Body: []Stmt{For{Var: "i", Extent: eight, Body: []Stmt{
		Store{Buf: z, Index: sym.Add(sym.Scale(task, 8), i), Value: at(m, sym.Add(sym.Scale(task, 8), i))}}}}}
	_, ok := k.InPlace(m, z)
	assert.True(t, ok, "any number of tasks")
}
