package sym

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is an expression as it was asked for, evaluated without any simplification.
type tree struct {
	e    Expr
	eval func(env map[string]int64) int64
}

var (
	testFacts = Facts{"a": {0, 20}, "b": {1, 9}, "c": {-6, 5}, "d": {3, 3}}
	testVars  = []string{"a", "b", "c", "d"}
)

func floorRef(x, y int64) int64 {
	q := x / y
	for q*y > x {
		q--
	}
	return q
}

// randomTree makes a tree of at most the given depth.
func randomTree(r *rand.Rand, depth int) tree {
	if depth == 0 || r.Intn(6) == 0 {
		if r.Intn(2) == 0 {
			c := int64(r.Intn(17) - 6)
			return tree{Const(c), func(map[string]int64) int64 { return c }}
		}
		name := testVars[r.Intn(len(testVars))]
		return tree{Var(name), func(env map[string]int64) int64 { return env[name] }}
	}
	x := randomTree(r, depth-1)
	switch r.Intn(8) {
	case 0, 1:
		y := randomTree(r, depth-1)
		return tree{Add(x.e, y.e), func(env map[string]int64) int64 { return x.eval(env) + y.eval(env) }}
	case 2:
		y := randomTree(r, depth-1)
		return tree{Sub(x.e, y.e), func(env map[string]int64) int64 { return x.eval(env) - y.eval(env) }}
	case 3:
		y := randomTree(r, min(depth-1, 1))
		return tree{Mul(x.e, y.e), func(env map[string]int64) int64 { return x.eval(env) * y.eval(env) }}
	case 4:
		y := positive(r)
		return tree{FloorDiv(x.e, y.e, testFacts), func(env map[string]int64) int64 { return floorRef(x.eval(env), y.eval(env)) }}
	case 5:
		y := positive(r)
		return tree{Mod(x.e, y.e, testFacts), func(env map[string]int64) int64 {
			n, d := x.eval(env), y.eval(env)
			return n - d*floorRef(n, d)
		}}
	case 6:
		y := randomTree(r, depth-1)
		return tree{Min(x.e, y.e, testFacts), func(env map[string]int64) int64 { return min(x.eval(env), y.eval(env)) }}
	}
	y := randomTree(r, depth-1)
	return tree{Max(x.e, y.e, testFacts), func(env map[string]int64) int64 { return max(x.eval(env), y.eval(env)) }}
}

// positive makes a divisor.
func positive(r *rand.Rand) tree {
	if r.Intn(4) > 0 {
		c := int64(1 + r.Intn(12))
		return tree{Const(c), func(map[string]int64) int64 { return c }}
	}
	k := int64(1 + r.Intn(3))
	return tree{Scale(Var("b"), k), func(env map[string]int64) int64 { return k * env["b"] }}
}

func randomEnv(r *rand.Rand) map[string]int64 {
	env := map[string]int64{}
	for _, name := range testVars {
		f := testFacts[name]
		env[name] = f.Lo + r.Int63n(f.Hi-f.Lo+1)
	}
	return env
}

// TestSimplifier compares simplified expressions with what was asked for, at random points.
func TestSimplifier(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		x := randomTree(r, 5)
		lo, hi := x.e.Bounds(testFacts)
		parsed, err := Parse(x.e.String())
		require.NoError(t, err)
		require.Equal(t, x.e.String(), parsed.String())
		for range 8 {
			env := randomEnv(r)
			want := x.eval(env)
			got, err := x.e.Eval(env)
			require.NoError(t, err, "%s at %v", x.e, env)
			require.Equal(t, want, got, "%s at %v", x.e, env)
			require.True(t, lo <= want && want <= hi, "%s = %d at %v; bounds %d..%d", x.e, want, env, lo, hi)
			again, err := parsed.Eval(env)
			require.NoError(t, err)
			require.Equal(t, want, again)
		}
	}
}

// TestSubst replaces variables by expressions whose values the variables may have.
func TestSubst(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	facts := Facts{"x": {0, 9}, "y": {0, 3}, "b": testFacts["b"], "d": testFacts["d"]}
	m := map[string]Expr{
		"a": Add(Scale(Var("x"), 2), Const(1)),
		"c": Sub(Var("y"), Var("d")),
		"b": Var("b"),
	}
	for range 20000 {
		tree := randomTree(r, 5)
		e := tree.e.Subst(m, facts)
		lo, hi := e.Bounds(facts)
		for range 4 {
			env := map[string]int64{"x": r.Int63n(10), "y": r.Int63n(4), "b": 1 + r.Int63n(9), "d": 3}
			want := tree.eval(map[string]int64{"a": 2*env["x"] + 1, "c": env["y"] - 3, "b": env["b"], "d": 3})
			got, err := e.Eval(env)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s with a, c replaced: %s at %v", tree.e, e, env)
			require.True(t, lo <= want && want <= hi, "%s = %d at %v; bounds %d..%d", e, want, env, lo, hi)
		}
	}
}

// TestCoefficient compares with the difference of two points, and with what is left without the variable.
func TestCoefficient(t *testing.T) {
	for _, c := range []struct{ e, v, want string }{
		{"3*a + 2*b + 7", "a", "3"},
		{"3*a*b - 2*a + b", "a", "3*b - 2"},
		{"a*b*c + 1", "b", "a*c"},
		{"a*a", "a", ""},
		{"a*a*b + a", "a", ""},
		{"b + 4", "a", "0"},
		{"(a + 1) // 2", "a", ""},
		{"4*a + b % 2", "a", "4"},
	} {
		e, err := Parse(c.e)
		require.NoError(t, err)
		got, ok := Coefficient(e, c.v, nil)
		require.Equal(t, c.want != "", ok, c.e)
		if ok {
			require.Equal(t, c.want, got.String(), c.e)
		}
	}
	r := rand.New(rand.NewSource(1))
	linear := 0
	for range 5000 {
		e := randomTree(r, 3).e
		v := testVars[r.Intn(len(testVars))]
		for _, f := range []Facts{nil, testFacts, {"a": {0, 3}, "b": {2, 2}, "c": {0, 5}, "d": {3, 3}}} { // and where more can be simplified
			base := e.Subst(map[string]Expr{v: Const(0)}, f)
			step := Sub(e.Subst(map[string]Expr{v: Const(1)}, f), base)
			if base.bad || step.bad {
				continue
			}
			c, ok := Coefficient(e, v, f)
			require.Equal(t, !e.Uses(v) || Add(base, Mul(step, Var(v))).Equal(e), ok, "%s in %s", v, e)
			require.True(t, !ok || c.Equal(step), "%s in %s: %s, and a step is %s", v, e, c, step)
			require.Equal(t, step.String(), Step(e, v, f).String(), "%s in %s", v, e)
		}
		c, ok := Coefficient(e, v, testFacts)
		if !ok || e.bad {
			continue
		}
		linear++
		env := randomEnv(r)
		at := func(x int64) int64 {
			env[v] = x
			n, err := e.Eval(env)
			require.NoError(t, err)
			return n
		}
		step, err := c.Eval(env)
		require.NoError(t, err)
		f := testFacts[v]
		require.Equal(t, at(f.Hi)-at(f.Lo), (f.Hi-f.Lo)*step, "%s in %s: %s at %v", v, e, c, env)
	}
	require.Greater(t, linear, 1000)
}

// TestSummands: the summands of whatever is computed are sorted, differ, and count.
func TestSummands(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 5000 {
		e := randomTree(r, 4).e
		for i, x := range e.terms {
			require.NotZero(t, x.coef, e)
			require.True(t, i == 0 || e.terms[i-1].key < x.key, "%s: %q stands before %q", e, e.terms[max(i-1, 0)].key, x.key)
		}
		require.Equal(t, e.bad, !e.Equal(e))
	}
}
