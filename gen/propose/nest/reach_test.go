package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestReached: places that a loaded integer names are bounded by all conditions on it, wherever it stands in the index.
func TestReached(t *testing.T) {
	b, k := sym.Var("b0"), sym.Const
	guard := func(lo, hi int64) te.Within { return te.Within{E: b, Lo: k(lo), Hi: k(hi)} }
	n := &Nest{target: lowertest.Chip(t, "x86_64_v3"), Facts: sym.Facts{"b0": {Lo: -100, Hi: 100}, "p0": {Lo: 0, Hi: 5}}}
	for name, c := range map[string]struct {
		index []sym.Expr
		guard []te.Within
		want  []sym.Expr
	}{
		"one":             {[]sym.Expr{sym.Var("p0"), b}, []te.Within{guard(0, 4)}, []sym.Expr{sym.Var("p0"), sym.Min(sym.Max(b, k(0), n.Facts), k(3), n.Facts)}},
		"the narrower":    {[]sym.Expr{b}, []te.Within{guard(0, 4), guard(-2, 9)}, []sym.Expr{sym.Min(sym.Max(b, k(0), n.Facts), k(3), n.Facts)}},
		"both in part":    {[]sym.Expr{b}, []te.Within{guard(0, 9), guard(-2, 4)}, []sym.Expr{sym.Min(sym.Max(b, k(0), n.Facts), k(3), n.Facts)}},
		"twice in one":    {[]sym.Expr{b, b}, []te.Within{guard(0, 4)}, []sym.Expr{sym.Min(sym.Max(b, k(0), n.Facts), k(3), n.Facts), sym.Min(sym.Max(b, k(0), n.Facts), k(3), n.Facts)}},
		"none is allowed": {[]sym.Expr{b}, []te.Within{guard(0, 4), guard(6, 9)}, nil},
	} {
		var got []sym.Expr
		e := n.reached(te.Load{Type: ir.F32, Index: c.index, Guard: c.guard, Default: te.Const{Type: ir.F32}}, map[string]bool{"b0": true}, func(at []sym.Expr) loop.Mem {
			got = at
			return loop.Mem{Buf: &loop.Buffer{Name: "a0", Type: ir.F32}}
		})
		if c.want == nil {
			assert.Nil(t, e, name)
			continue
		}
		require.Len(t, got, len(c.want), name)
		for i := range got {
			assert.Equal(t, c.want[i].String(), got[i].String(), name)
		}
	}
}
