package follow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// TestFetchNext: calls that read the same W share what they fetch of the next, as much as the schedule says; the others fetch nothing.
func TestFetchNext(t *testing.T) {
	w := sym.Scale(sym.Var("g"), 512*64)
	axis := func(v string, n int64) te.Axis { return te.Axis{Var: v, Extent: sym.Const(n)} }
	for _, c := range []struct {
		name  string
		steps int64
		next  int64
		at    sym.Expr
		grid  []te.Axis
		loop  sym.Expr
		fetch int64
		to    string
	}{
		{"tiles of pixels", 512, 32768, w, []te.Axis{axis("g", 8)}, sym.Const(8), 8, "32768*g + 4096*tp + 32768"},
		{"tasks, and tiles within", 512, 32768, w, []te.Axis{axis("g", 8), axis("y", 4)}, sym.Const(2), 8, "32768*g + 4096*tp + 8192*y + 32768"},
		{"a number that does not divide", 512, 32768, w, []te.Axis{axis("g", 8)}, sym.Const(40), 2, "1024*((tp) % (32)) + 32768*g + 32768"},
		{"at most so many tiles", 512, 32768, w, []te.Axis{axis("g", 8), axis("y", 4)}, sym.Min(sym.Const(2), sym.Sub(sym.Const(7), sym.Scale(sym.Var("y"), 2)), nil), 8, "32768*g + 4096*tp + 8192*y + 32768"},
		{"one call for each W", 512, 32768, w, []te.Axis{axis("g", 8)}, sym.Const(1), 0, ""},
		{"the same W always", 512, 32768, sym.Const(0), []te.Axis{axis("y", 8)}, sym.Const(8), 0, ""},
		{"a part of the next", 2560, 98304, w, []te.Axis{axis("g", 8)}, sym.Const(8), 5, "32768*g + 12800*tp + 163840"},
		{"a schedule that says nothing", 512, 0, w, []te.Axis{axis("g", 8)}, sym.Const(8), 0, ""},
		{"tiles as many as the run says", 512, 32768, w, []te.Axis{axis("g", 8)}, sym.Var("N"), 0, ""},
	} {
		m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x16"), Rows: 5, Vectors: 4, K: []loop.KLoop{{Extent: c.steps, XStep: 1, WStep: 64}}, PrefetchW: 2048}
		facts := sym.Facts{"g": {Lo: 0, Hi: 7}, "y": {Lo: 0, Hi: 3}, "N": {Lo: 1, Hi: sym.MaxDim}}
		_, most := c.loop.Bounds(facts)
		facts["tp"] = sym.Range{Lo: 0, Hi: most - 1}
		body := []loop.Stmt{
			loop.Index{Var: "from", Value: c.at},
			loop.For{Var: "tp", Extent: c.loop, Body: []loop.Stmt{loop.Tile{Micro: m, At: sym.Var("from")}}}}
		f := &follower{k: &loop.Kernel{Grid: c.grid}, facts: facts, next: map[*loop.MicroKernel]int64{m: c.next}}
		got := f.fetchNext(body)[1].(loop.For).Body[0].(loop.Tile)
		require.Equal(t, c.fetch, got.Micro.Fetch, c.name)
		if c.fetch == 0 {
			assert.Same(t, m, got.Micro, c.name)
			continue
		}
		at := got.FetchAt.Subst(map[string]sym.Expr{"from": c.at}, facts)
		require.Equal(t, c.to, at.String(), c.name)
	}
}
