package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target/instr"
)

// TestProducts counts what tiles in loops and branches add up.
func TestProducts(t *testing.T) {
	n, i, task := sym.Var("N"), sym.Var("i"), sym.Var(TaskVar)
	fma := &MicroKernel{Instr: &instr.Row{Lanes: 4, Group: 2}, Rows: 3, Vectors: 2, K: []KLoop{{Extent: 5}}} // 3*2*5 times 4*2 products
	tile := []Stmt{Tile{Micro: fma}}
	local := func(name string) te.Expr { return Ref{Name: name, Type: ir.F32} }
	product := te.Fn(ir.F32, "mul", local("x0"), local("w0"))
	adds := []Stmt{Set{Name: "acc0", Value: te.Fn(ir.F32, "add", local("acc0"), product)}, Set{Name: "acc1", Value: te.Fn(ir.F32, "add", local("acc0"), product)}}
	within := func(e sym.Expr, lo, hi int64) []te.Within {
		return []te.Within{{E: e, Lo: sym.Const(lo), Hi: sym.Const(hi)}}
	}
	part := func(n sym.Expr) sym.Expr { // of 8, of the task
		return sym.Min(sym.Const(8), sym.Sub(n, sym.Scale(task, 8)), nil)
	}
	upTo := func(i sym.Expr) []Stmt { return []Stmt{For{Var: "k", Extent: sym.Add(i, sym.Const(1)), Body: tile}} }
	for name, c := range map[string]struct {
		grid []te.Axis
		body []Stmt
		want string // "" where it is not known
	}{
		"no tile":           {Linear(n), []Stmt{For{Var: "i", Extent: sym.Const(3), Body: []Stmt{Def{}}}}, "0"},
		"without a tile":    {Linear(sym.Const(7)), []Stmt{For{Var: "i", Extent: sym.Const(16), Lanes: 8, Body: adds}}, "112"}, // acc1 becomes another sum's
		"tasks":             {Linear(sym.Const(7)), tile, "1680"},
		"symbolic tasks":    {Linear(n), []Stmt{For{Var: "i", Extent: sym.Const(2), Body: tile}}, "480*N"},
		"symbolic loop":     {Linear(sym.Const(2)), []Stmt{For{Var: "i", Extent: n, Body: tile}}, "480*N"},
		"triangle":          {Linear(sym.Const(4)), []Stmt{For{Var: "i", Extent: task, Body: tile}}, "1440"}, // 0+1+2+3 times
		"last task":         {Linear(sym.Const(4)), []Stmt{If{Cond: within(task, 3, 4), Then: tile}}, "240"},
		"other branch":      {Linear(sym.Const(4)), []Stmt{If{Cond: within(task, 3, 4), Else: tile}}, "720"},
		"by an index":       {Linear(sym.Const(6)), []Stmt{Index{Var: "j", Value: sym.FloorDiv(task, sym.Const(2), nil)}, For{Var: "i", Extent: sym.Var("j"), Body: tile}}, "1440"},
		"two axes":          {[]te.Axis{{Var: "p", Extent: n}, {Var: "q", Extent: sym.Const(3)}}, []Stmt{For{Var: "i", Extent: sym.Var("q"), Body: tile}}, "720*N"},
		"a loop's variable": {Linear(sym.Const(1)), []Stmt{For{Var: "i", Extent: sym.Const(3), Body: []Stmt{For{Var: "k", Extent: sym.Add(i, sym.Const(1)), Body: tile}}}}, "1440"},
		"alike branches":    {Linear(sym.Const(1)), []Stmt{For{Var: "i", Extent: sym.Const(3), Body: []Stmt{If{Cond: within(n, 0, 4), Then: upTo(i), Else: upTo(i)}}}}, "1440"},
		"alike by an index": {Linear(sym.Const(3)), []Stmt{Index{Var: "i", Value: sym.Add(task, sym.Const(0))}, If{Cond: within(n, 0, 4), Then: upTo(i), Else: upTo(i)}}, "1440"},
		"symbolic triangle": {Linear(n), []Stmt{For{Var: "i", Extent: task, Body: tile}}, ""},
		"parts":             {Linear(sym.CeilDiv(n, sym.Const(8), nil)), []Stmt{For{Var: "j", Extent: sym.Const(2), Body: []Stmt{For{Var: "i", Extent: part(n), Body: tile}}}}, "480*N"},
		"parts outside":     {[]te.Axis{{Var: TaskVar, Extent: sym.CeilDiv(n, sym.Const(8), nil)}, {Var: "q", Extent: sym.Const(3)}}, []Stmt{For{Var: "i", Extent: part(n), Body: tile}}, "720*N"},
		"other parts":       {Linear(sym.CeilDiv(n, sym.Const(4), nil)), []Stmt{For{Var: "i", Extent: part(n), Body: tile}}, ""},
		"parts and more":    {Linear(sym.CeilDiv(n, sym.Const(8), nil)), append([]Stmt{For{Var: "i", Extent: part(n), Body: tile}}, tile...), ""},
		"parts of parts":    {Linear(sym.CeilDiv(n, sym.Const(8), nil)), []Stmt{For{Var: "i", Extent: part(n), Body: []Stmt{For{Var: "j", Extent: part(n), Body: tile}}}}, ""},
		"symbolic branch":   {Linear(sym.Const(1)), []Stmt{If{Cond: within(n, 0, 4), Then: tile}}, ""},
		"too many to count": {Linear(sym.Const(1 << 20)), []Stmt{For{Var: "i", Extent: task, Body: tile}}, ""},
	} {
		k := &Kernel{Grid: c.grid, Body: c.body}
		got, ok := k.Products()
		assert.Equal(t, c.want != "", ok, name)
		if ok {
			assert.Equal(t, c.want, got.String(), name)
		}
	}
}
