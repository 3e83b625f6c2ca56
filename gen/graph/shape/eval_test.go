package shape

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// show prints a value as the tests write it.
func show(v value) string {
	switch {
	case v.state == unknown:
		return "?"
	case v.state == real:
		return fmt.Sprint(v.real)
	case v.den == 1:
		return v.num.String()
	}
	return fmt.Sprintf("(%s)/%d", v.num, v.den)
}

var testFacts = sym.Facts{"N": {Lo: 1, Hi: 64}, "M": {Lo: 0, Hi: 8}}

func TestScalarExpressions(t *testing.T) {
	index := func(typ ir.DType, e sym.Expr) te.Expr { return te.Index{Type: typ, E: e} }
	n, m := sym.Var("N"), sym.Var("M")
	N, M := index(ir.I64, n), index(ir.I64, m)
	nm := index(ir.I64, sym.Mul(n, m))
	less := index(ir.I64, sym.Sub(m, sym.Const(4))) // of unknown sign
	unknown := te.Operand(0, ir.I64)
	i := func(x int64) te.Expr { return te.Int(ir.I64, x) }
	f := func(x float64) te.Expr { return te.Float(ir.F32, x) }
	b := func(x int64) te.Expr { return te.Int(ir.Bool, x) }
	fn := func(name string, args ...te.Expr) te.Expr { return te.Fn(args[len(args)-1].DType(), name, args...) }
	is := func(name string, args ...te.Expr) te.Expr { return te.Fn(ir.Bool, name, args...) }
	cast := func(t ir.DType, x te.Expr) te.Expr { return te.Fn(t, "cast", x) }
	half := fn("mul", cast(ir.F32, N), f(0.5))
	for _, c := range []struct {
		expr te.Expr
		want string
	}{
		{i(7), "7"},
		{N, "N"},
		{fn("add", N, i(2)), "N + 2"},
		{fn("add", N, unknown), "?"},
		{fn("sub", N, N), "0"},
		{fn("mul", N, fn("add", M, i(1))), "M*N + N"},
		{fn("div", i(-7), i(2)), "-3"},
		{fn("div", N, i(2)), "((N) // (2))"},
		{fn("div", fn("mul", N, i(6)), i(3)), "2*N"},
		{fn("div", nm, N), "M"},
		{fn("div", N, M), "((N) // (M))"},
		{fn("div", less, i(2)), "((M + min(1, max(-M + 4, 0))) // (2)) - 2"},
		{fn("div", fn("mul", less, i(2)), i(2)), "M - 4"},
		{fn("mod", i(-7), i(2)), "1"},
		{fn("fmod", i(-7), i(2)), "-1"},
		{fn("mod", N, i(2)), "((N) % (2))"},
		{fn("fmod", less, i(2)), "?"},
		{fn("neg", N), "-N"},
		{fn("abs", fn("neg", N)), "N"},
		{fn("abs", less), "max(-M + 4, M - 4)"},
		{fn("sign", N), "1"},
		{fn("sign", less), "max(-1, min(1, M - 4))"},
		{fn("min", N, i(100)), "N"},
		{fn("max", N, i(3)), "max(3, N)"},
		{te.Fn(ir.I8, "add", te.Int(ir.I8, 127), te.Int(ir.I8, 1)), "-128"},
		{te.Const{Type: ir.U64, Bits: math.MaxUint64}, "?"},
		// Relations are certain, impossible or unknown.
		{is("eq", N, i(-1)), "0"},
		{is("eq", N, N), "1"},
		{is("eq", N, i(1)), "-min(1, N - 1) + 1"},
		{is("ne", N, i(0)), "1"},
		{is("lt", N, i(65)), "1"},
		{is("lt", N, i(1)), "0"},
		{is("le", N, i(64)), "1"},
		{is("gt", N, i(0)), "1"},
		{is("ge", N, i(2)), "-max(-N + 2, 0) + 1"},
		{is("not", is("eq", N, i(0))), "1"},
		{is("and", is("eq", N, i(1)), b(0)), "0"},
		{is("and", is("eq", N, i(1)), b(1)), "-min(1, N - 1) + 1"},
		{is("or", is("eq", N, i(1)), b(1)), "1"},
		{is("xor", b(1), b(1)), "0"},
		{te.Fn(ir.I64, "select", is("eq", N, i(-1)), M, N), "N"},
		{te.Fn(ir.I64, "select", is("eq", N, i(1)), M, N), "M - M*min(1, N - 1) + N*min(1, N - 1)"},
		{te.Fn(ir.I64, "select", is("eq", N, i(1)), M, fn("div", M, N)), "((M) // (N))*min(1, N - 1) + M - M*min(1, N - 1)"},
		{te.Fn(ir.I64, "select", is("eq", M, i(0)), N, fn("div", N, M)), "?"},
		{te.Fn(ir.I64, "select", is("eq", N, i(1)), N, N), "N"},
		// Shapes that pass through floats.
		{cast(ir.F32, N), "N"},
		{half, "(N)/2"},
		{fn("floor", half), "((N) // (2))"},
		{fn("ceil", half), "((N + 1) // (2))"},
		{fn("round", half), "?"},
		{fn("round", te.Fn(ir.F32, "div", cast(ir.F32, N), f(3))), "((N + 1) // (3))"},
		{cast(ir.I64, half), "((N) // (2))"},
		{cast(ir.I64, fn("add", half, half)), "N"},
		{te.Fn(ir.F32, "div", cast(ir.F32, N), half), "2"},
		{fn("mul", cast(ir.F32, N), f(0.1)), "?"},
		{fn("add", f(0.1), f(0.2)), fmt.Sprint(float64(float32(0.1) + float32(0.2)))},
		{cast(ir.I64, f(-2.5)), "-2"},
		{cast(ir.Bool, N), "1"},
		{cast(ir.Bool, M), "min(1, M)"},
		{cast(ir.I8, i(300)), "44"},
		{fn("sqrt", f(4)), "2"},
		{fn("sqrt", cast(ir.F32, N)), "?"},
		{te.Fn(ir.Bool, "isnan", half), "0"},
		{te.Let{Var: "k", Value: fn("add", N, i(1)), Body: index(ir.I64, sym.Scale(sym.Var("k"), 2))}, "2*N + 2"},
		{te.Select{Cond: []te.Within{{E: n, Lo: sym.Const(1), Hi: sym.Const(65)}}, Then: N, Else: M}, "N"},
		{te.Select{Cond: []te.Within{{E: n, Lo: sym.Const(65), Hi: sym.Const(70)}}, Then: N, Else: M}, "M"},
		{te.Select{Cond: []te.Within{{E: n, Lo: sym.Const(2), Hi: sym.Const(65)}}, Then: N, Else: M}, "?"},
		{te.Select{Cond: []te.Within{{E: n, Lo: sym.Const(2), Hi: sym.Const(65)}}, Then: N, Else: N}, "N"},
		{te.Let{Var: "k", Value: unknown, Body: i(1)}, "?"},
	} {
		t.Run(fmt.Sprint(c.expr), func(t *testing.T) {
			e := newEvaluator(&ops.Meaning{}, testFacts, func(int) ([]int64, []value) { return nil, nil })
			require.Equal(t, c.want, show(e.eval(c.expr, scope{})))
		})
	}
}

// TestStages evaluates stages with loads, guards, reductions and other stages.
func TestStages(t *testing.T) {
	n := sym.Var("N")
	operand := func(int) ([]int64, []value) {
		return []int64{4}, []value{integer(n), number(3), {}, number(5)}
	}
	axis := []te.Axis{{Var: "i0", Extent: sym.Const(4)}}
	i0, r0 := sym.Var("i0"), sym.Var("r0")
	load := te.Operand(0, ir.I64, i0)
	padded := te.Operand(0, ir.I64, sym.Sub(i0, sym.Const(2)))
	padded.Guard = []te.Within{{E: padded.Index[0], Lo: sym.Const(0), Hi: sym.Const(4)}}
	padded.Default = te.Int(ir.I64, 9)
	maybe := te.Operand(0, ir.I64, i0)
	maybe.Guard = []te.Within{{E: n, Lo: sym.Const(0), Hi: sym.Const(4)}}
	maybe.Default = te.Int(ir.I64, 9)
	prod := &te.Stage{
		Axes:    []te.Axis{{Var: "i0", Extent: sym.Const(2)}},
		Reduce:  []te.Axis{{Var: "r0", Extent: sym.Const(2)}},
		Combine: te.Prod(ir.I64),
		Values:  []te.Expr{te.Operand(0, ir.I64, r0)},
		Results: []te.Expr{te.Fn(ir.I64, "add", te.Acc{N: 0, Type: ir.I64}, te.Index{Type: ir.I64, E: i0})},
	}
	for _, c := range []struct {
		name   string
		stages []*te.Stage
		want   []string
	}{
		{"load", []*te.Stage{{Axes: axis, Results: []te.Expr{load}}}, []string{"N", "3", "?", "5"}},
		{"guard", []*te.Stage{{Axes: axis, Results: []te.Expr{padded}}}, []string{"9", "9", "N", "3"}},
		{"undecided guard", []*te.Stage{{Axes: axis, Results: []te.Expr{maybe}}}, nil},
		{"product", []*te.Stage{prod}, []string{"3*N", "3*N + 1"}},
		{"second stage", []*te.Stage{
			{Axes: []te.Axis{{Var: "i0", Extent: sym.Const(1)}}, Results: []te.Expr{te.FromStage(1, ir.I64, sym.Const(1))}},
			prod,
		}, []string{"3*N + 1"}},
		{"out of range", []*te.Stage{{Axes: axis, Results: []te.Expr{te.Operand(0, ir.I64, sym.Add(i0, sym.Const(3)))}}},
			[]string{"5", "?", "?", "?"}},
		{"many elements", []*te.Stage{{Axes: []te.Axis{{Var: "i0", Extent: sym.Const(257)}}, Results: []te.Expr{te.Int(ir.I64, 1)}}}, nil},
		{"symbolic extent", []*te.Stage{{Axes: []te.Axis{{Var: "i0", Extent: n}}, Results: []te.Expr{te.Int(ir.I64, 1)}}}, nil},
		{"long reduction", []*te.Stage{{
			Reduce:  []te.Axis{{Var: "r0", Extent: sym.Const(1 << 40)}},
			Combine: te.Sum(ir.I64), Values: []te.Expr{te.Int(ir.I64, 1)},
			Results: []te.Expr{te.Acc{N: 0, Type: ir.I64}},
		}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEvaluator(&ops.Meaning{Stages: c.stages}, testFacts, operand)
			var got []string
			for _, v := range e.elements(te.Source{Stage: true, N: 0}) {
				got = append(got, show(v))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestReductionsOfData: sums and extremes of what is not known are given up at once, as networks have many of them; one true makes
// a disjunction known.
func TestReductionsOfData(t *testing.T) {
	axis := func(name string, extent int64) []te.Axis { return []te.Axis{{Var: name, Extent: sym.Const(extent)}} }
	data := func(typ ir.DType) te.Expr { return te.Operand(0, typ, sym.Var("r")) }
	place := te.Index{Type: ir.I64, E: sym.Var("r")}
	greater := te.Fn(ir.Bool, "gt", te.In{Type: ir.F32}, te.Acc{Type: ir.F32})
	first := &te.Combiner{Init: []te.Expr{te.Lowest(ir.F32), te.Int(ir.I64, -1)}, Join: []te.Expr{
		te.Fn(ir.F32, "select", greater, te.In{Type: ir.F32}, te.Acc{Type: ir.F32}),
		te.Fn(ir.I64, "select", greater, te.In{N: 1, Type: ir.I64}, te.Acc{N: 1, Type: ir.I64}),
	}}
	any := &te.Combiner{Init: []te.Expr{te.Int(ir.Bool, 0)}, Join: []te.Expr{te.Fn(ir.Bool, "or", te.In{Type: ir.Bool}, te.Acc{Type: ir.Bool})}}
	for _, c := range []struct {
		name    string
		combine *te.Combiner
		values  []te.Expr
		points  int // of one element
		want    string
	}{
		{"sum", te.Sum(ir.I32), []te.Expr{data(ir.I32)}, 2, "?"},
		{"product", te.Prod(ir.I32), []te.Expr{data(ir.I32)}, 2, "?"},
		{"the place of the greatest", first, []te.Expr{data(ir.F32), place}, 2, "?"},
		{"any, the last of which is known", any, []te.Expr{data(ir.Bool)}, 1001, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := make([]value, 1000)
			if c.want == "1" {
				known[999] = truth(true)
			}
			result := len(c.combine.Init) - 1
			s := &te.Stage{Name: "s", Axes: axis("a", 4), Reduce: axis("r", 1000), Combine: c.combine, Values: c.values,
				Results: []te.Expr{te.Acc{N: result, Type: c.combine.Init[result].DType()}}}
			ev := newEvaluator(&ops.Meaning{Stages: []*te.Stage{s}}, nil, func(int) ([]int64, []value) { return []int64{1000}, known })
			for i := range int64(4) {
				require.Equal(t, c.want, show(ev.point(te.Source{Stage: true}, []int64{i})))
			}
			require.Equal(t, 4*c.points, ev.points)
		})
	}
}
