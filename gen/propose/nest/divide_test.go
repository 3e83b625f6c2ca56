package nest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func parsed(t *testing.T, s string) sym.Expr {
	e, err := sym.Parse(s)
	require.NoError(t, err)
	return e
}

// pixels is a nest over [N, 16, H, W].
func pixels(t *testing.T) *Nest {
	n := &Nest{Facts: sym.Facts{}}
	for _, a := range [][2]string{{"n", "N"}, {"c", "16"}, {"h", "H"}, {"w", "W"}} {
		n.Axes = append(n.Axes, te.Axis{Var: a[0], Extent: parsed(t, a[1])})
	}
	n.AddRanges(n.Axes)
	return n
}

// TestUndivide: extents that are symbols decide quotients and remainders.
func TestUndivide(t *testing.T) {
	x := pixels(t).extents()
	for _, c := range [][2]string{
		{"(h*W + w) // W", "h"},
		{"(h*W + w) % W", "w"},
		{"((c*H*W + h*W + w) // W) % H", "h"},
		{"(c*H*W + h*W + w) // (H*W)", "c"},
		{"(c*H*W + h*W + w) // (4*H*W)", "c // 4"},
		{"(c*H*W + h*W + w) % (4*H*W) + 4*H*W*((c*H*W + h*W + w) // (4*H*W))", "c*H*W + h*W + w"},
		{"(c*H*W + h*W + w) // (3*H*W)", "c // 3"},
		{"min((h*W + w) // W, 7)", "min(h, 7)"},
		{"2*w // (2*W)", "0"},
		{"(h*H + w) // H", "h + w // H"},
		{"(c*H*W + w*H + h) // (2*H*W)", "c // 2"},
	} {
		assert.Equal(t, parsed(t, c[1]).String(), x.expr(parsed(t, c[0])).String(), "%s", c[0])
	}
	for _, s := range []string{"2*w // W", "(w + 1) // W", "w // H", "(w + K) % W"} {
		assert.Equal(t, parsed(t, s).String(), x.expr(parsed(t, s)).String(), "not decided")
	}
}

// TestUndivideAgrees: whatever is made of random expressions is equal at every point of the loops.
func TestUndivideAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	atoms := []string{"n", "c", "h", "w", "h*W", "c*H*W", "n*16*H*W", "4*w", "K", "1", "W", "n*H"}
	by := []string{"W", "H*W", "2*H*W", "4*H*W", "16*H*W", "H", "4*W", "5", "K + 1", "H*W + 1"}
	var random func(depth int) sym.Expr
	random = func(depth int) sym.Expr {
		e := sym.Const(0)
		for range 1 + r.IntN(4) {
			e = sym.Add(e, parsed(t, atoms[r.IntN(len(atoms))]))
		}
		if r.IntN(8) == 0 {
			e = sym.Sub(e, sym.Var("w"))
		}
		if depth > 0 {
			b := parsed(t, by[r.IntN(len(by))])
			q, m := sym.FloorDiv(random(depth-1), b, nil), sym.Mod(e, b, nil)
			e = []sym.Expr{q, m, sym.Add(sym.Mul(b, sym.FloorDiv(e, b, nil)), m), sym.Add(q, e), sym.Min(q, m, nil)}[r.IntN(5)]
		}
		return e
	}
	x, changed := pixels(t).extents(), 0
	for range 3000 {
		e := random(r.IntN(4))
		got := x.expr(e)
		if !got.Equal(e) {
			changed++
		}
		for range 20 {
			env := map[string]int64{"N": 2, "H": 1 + r.Int64N(4), "W": 1 + r.Int64N(4), "K": r.Int64N(5)}
			env["n"], env["c"], env["h"], env["w"] = r.Int64N(2), r.Int64N(16), r.Int64N(env["H"]), r.Int64N(env["W"])
			want, err := e.Eval(env)
			require.NoError(t, err)
			v, err := got.Eval(env)
			require.NoError(t, err)
			require.Equal(t, want, v, "%s became %s at %v", e, got, env)
		}
	}
	assert.Greater(t, changed, 300, "enough are simplified")
}

// TestUnflatten: a row that indices divide is as many axes; one that they divide by what does not divide one another stays.
func TestUnflatten(t *testing.T) {
	row := func(s string) []string {
		n := &Nest{Facts: sym.Facts{}, Axes: []te.Axis{{Var: "r", Extent: parsed(t, "4*H*W")}}}
		n.AddRanges(n.Axes)
		n.Results = []te.Expr{te.Index{Type: ir.I64, E: parsed(t, s)}}
		n.unflatten()
		var out []string
		for _, a := range n.Axes {
			out = append(out, a.Extent.String())
		}
		return append(out, n.Results[0].(te.Index).E.String())
	}
	assert.Equal(t, []string{"4", "H", "W", "16*H*W*r + 16*W*r_1 + 16*r_2"}, row("16*((r // W) % H)*W + 16*(r % W) + 16*(r // (H*W))*H*W"))
	assert.Equal(t, []string{"4", "H*W", "r"}, row("r // (H*W)"))
	assert.Equal(t, []string{"4*H*W", parsed(t, "r // W + r // H").String()}, row("r // W + r // H"))
	assert.Equal(t, []string{"4*H*W", parsed(t, "r // K").String()}, row("r // K"))
}
