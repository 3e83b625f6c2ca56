package interp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// random makes stages of no purpose, from a fixed seed.
type random struct {
	*rand.Rand
	vars  []string
	facts sym.Facts
}

func (r *random) among(xs ...int64) int64 { return xs[r.IntN(len(xs))] }

// index is an index expression of up to three terms.
func (r *random) index() sym.Expr {
	e := sym.Const(r.Int64N(5))
	for range 1 + r.IntN(3) {
		t := sym.Var(r.vars[r.IntN(len(r.vars))])
		switch r.IntN(6) {
		case 0:
			t = sym.FloorDiv(t, sym.Const(r.among(2, 3, 5)), r.facts)
		case 1:
			t = sym.Mod(sym.Add(t, sym.Var(r.vars[0])), sym.Const(r.among(2, 3, 4)), r.facts)
		case 2:
			t = sym.Min(t, sym.Const(r.Int64N(6)), r.facts)
		}
		e = sym.Add(e, sym.Scale(t, r.among(-2, -1, 1, 1, 1, 2, 3)))
	}
	return e
}

// inside is an index in [0, n).
func (r *random) inside(n int64) sym.Expr {
	for range 20 {
		e := sym.Var(r.vars[r.IntN(len(r.vars))])
		if r.IntN(2) == 0 {
			e = r.index()
		}
		if lo, hi := e.Bounds(r.facts); lo >= 0 && hi < n {
			return e
		}
	}
	return sym.Mod(r.index(), sym.Const(n), r.facts)
}

func (r *random) within() []te.Within {
	var out []te.Within
	for range 1 + r.IntN(2) {
		lo := r.Int64N(3)
		out = append(out, te.Within{E: r.index(), Lo: sym.Const(lo), Hi: sym.Const(lo + r.Int64N(12))})
	}
	return out
}

// load reads an operand, all of shape [6, 10] and type f32.
func (r *random) load() te.Expr {
	l := te.Operand(r.IntN(2), ir.F32, r.inside(6), r.inside(10))
	if r.IntN(3) == 0 {
		// an index of its own may be outside where the guard does not hold
		e := r.index()
		l.Index[1], l.Guard = e, append(r.within(), te.Within{E: e, Lo: sym.Const(0), Hi: sym.Const(10)})
		l.Default = te.Float(ir.F32, 2.5)
		if r.IntN(2) == 0 {
			l.Default = r.load()
		}
	}
	return l
}

func (r *random) expr(depth int) te.Expr {
	if depth == 0 {
		return r.load()
	}
	switch r.IntN(6) {
	case 0:
		return te.Select{Cond: r.within(), Then: r.expr(depth - 1), Else: r.expr(depth - 1)}
	case 1:
		name := fmt.Sprint("g", depth, len(r.vars))
		at := te.Operand(2, ir.I64, r.inside(8))
		r.vars, r.facts[name] = append(r.vars, name), sym.Range{Lo: 0, Hi: 5}
		body := r.expr(depth - 1)
		r.vars = r.vars[:len(r.vars)-1]
		return te.Let{Var: name, Value: at, Lo: sym.Const(0), Hi: sym.Const(5), Body: body}
	case 2:
		return call(ir.F32, "select", call(ir.Bool, "lt", r.load(), r.load()), r.expr(depth-1), r.expr(depth-1))
	case 3:
		return call(ir.F32, "mul", r.expr(depth-1), te.Index{Type: ir.F32, E: r.index()})
	}
	return call(ir.F32, []string{"add", "mul", "max"}[r.IntN(3)], r.expr(depth-1), r.load())
}

func (r *random) stage() *te.Stage {
	s := &te.Stage{Name: "random"}
	r.vars, r.facts = nil, sym.Facts{}
	axis := func(name string) te.Axis {
		n := r.among(1, 2, 3, 4, 6, 20)
		r.vars, r.facts[name] = append(r.vars, name), sym.Range{Lo: 0, Hi: n - 1}
		return te.Axis{Var: name, Extent: sym.Const(n)}
	}
	for i := range 1 + r.IntN(3) {
		s.Axes = append(s.Axes, axis(fmt.Sprint("i", i)))
	}
	outer := len(r.vars)
	if r.IntN(2) == 0 {
		s.Results = []te.Expr{r.expr(2)}
		return s
	}
	for i := range 1 + r.IntN(2) {
		s.Reduce = append(s.Reduce, axis(fmt.Sprint("r", i)))
	}
	s.Values = []te.Expr{r.expr(1)}
	if r.IntN(2) == 0 {
		s.Values = []te.Expr{call(ir.F32, "mul", r.expr(1), r.expr(1))}
	}
	s.Combine = []*te.Combiner{te.Sum(ir.F32), te.Sum(ir.F32), te.Max(ir.F32)}[r.IntN(3)]
	r.vars = r.vars[:outer]
	s.Results = []te.Expr{call(ir.F32, "sub", te.Acc{Type: ir.F32}, r.expr(1))}
	return s
}

func TestRandomStagesAgreeWithTheDefinition(t *testing.T) {
	r := &random{Rand: rand.New(rand.NewPCG(1, 2))}
	operands := []*ir.Tensor{tensor(ir.F32, 6, 10), tensor(ir.F32, 6, 10), ints(ir.I64, []int64{8}, 3, 0, 5, 5, 1, 2, 4, 0)}
	cases := 500
	if testing.Short() {
		cases = 100
	}
	for i := range cases {
		s := []*te.Stage{r.stage()}
		want := naiveEval(t, s, operands, nil)
		got, err := Eval(s, []te.Source{{Stage: true}}, operands, nil)
		require.NoError(t, err, "case %d: %+v", i, s[0])
		require.Equal(t, want[0][0].Data, got[0].Data, "case %d: %+v", i, s[0])
	}
}
