package tidy

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// TestBorders: a loop is cut where its own condition begins and ends to hold; what asks for other variables, or for more, asks on.
func TestBorders(t *testing.T) {
	y := &loop.Buffer{Name: "y", Type: ir.F32, Write: true, Size: sym.Const(100)}
	set := func(v float64) []loop.Stmt {
		return []loop.Stmt{loop.Store{Buf: y, Index: sym.Var("q1"), Value: te.Number(ir.F32, v)}}
	}
	within := func(v string, lo, hi int64) te.Within {
		return te.Within{E: sym.Add(sym.Var(v), sym.Const(-1)), Lo: sym.Const(lo), Hi: sym.Const(hi)}
	}
	whole := func(cond ...te.Within) loop.For {
		return loop.For{Var: "q1", Extent: sym.Const(10), Body: []loop.Stmt{loop.If{Cond: cond, Then: set(1), Else: set(0)}}}
	}
	part := func(name string, from, n int64, body []loop.Stmt) loop.Stmt {
		if from == 0 {
			return loop.For{Var: "q1", Extent: sym.Const(n), Body: body}
		}
		at := loop.Index{Var: "q1", Value: sym.Add(sym.Var(name), sym.Const(from))}
		return loop.For{Var: name, Extent: sym.Const(n), Body: append([]loop.Stmt{at}, body...)}
	}
	other := []loop.Stmt{loop.If{Cond: []te.Within{within("p", 0, 3)}, Then: set(1), Else: set(0)}}
	for name, c := range map[string]struct{ of, want []loop.Stmt }{
		"three":           {[]loop.Stmt{whole(within("q1", 0, 8))}, []loop.Stmt{part("", 0, 1, set(0)), part("q0", 1, 8, set(1)), part("q2", 9, 1, set(0))}},
		"from the first":  {[]loop.Stmt{whole(within("q1", -5, 8))}, []loop.Stmt{part("", 0, 9, set(1)), part("q0", 9, 1, set(0))}},
		"others ask on":   {[]loop.Stmt{whole(within("q1", 0, 100), within("p", 0, 3))}, []loop.Stmt{part("", 0, 1, set(0)), part("q0", 1, 9, other)}},
		"another's alone": {[]loop.Stmt{whole(within("p", 0, 3))}, []loop.Stmt{whole(within("p", 0, 3))}},
		"never":           {[]loop.Stmt{whole(within("q1", 50, 60))}, []loop.Stmt{whole(within("q1", 50, 60))}},
	} {
		assert.Equal(t, c.want, Borders(c.of, sym.Facts{"p": {Lo: 0, Hi: 9}}), name)
	}
}
