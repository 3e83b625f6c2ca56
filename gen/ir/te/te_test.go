package te_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

var (
	i, j = sym.Var("i"), sym.Var("j")
	// tree has every kind of node that holds others.
	tree = te.Let{
		Var: "g", Value: te.Operand(1, ir.I64, i), Lo: sym.Const(0), Hi: sym.Add(j, sym.Const(4)),
		Body: te.Select{
			Cond: []te.Within{{E: i, Lo: sym.Const(0), Hi: j}},
			Then: te.Fn(ir.F32, "add", te.Index{Type: ir.F32, E: i}, te.Acc{Type: ir.F32}),
			Else: te.Load{Type: ir.F32, Index: []sym.Expr{sym.Var("g"), i}, Default: te.In{Type: ir.F32},
				Guard: []te.Within{{E: i, Lo: sym.Const(0), Hi: sym.Const(3)}}},
		},
	}
)

func kinds(visit func(func(te.Expr))) []string {
	var out []string
	visit(func(e te.Expr) { out = append(out, fmt.Sprintf("%T", e)[3:]) })
	return out
}

func TestWalkVisitsParentsFirst(t *testing.T) {
	got := kinds(func(f func(te.Expr)) { te.Walk(tree, f) })
	assert.Equal(t, []string{"Let", "Load", "Select", "Call", "Index", "Acc", "Load", "In"}, got)
}

func TestMapVisitsChildrenFirst(t *testing.T) {
	got := kinds(func(f func(te.Expr)) {
		assert.Equal(t, te.Expr(tree), te.Map(tree, func(e te.Expr) te.Expr { f(e); return e }))
	})
	assert.Equal(t, []string{"Load", "Index", "Acc", "Call", "In", "Load", "Select", "Let"}, got)
}

func TestMapLeavesTheOriginal(t *testing.T) {
	add := te.Fn(ir.F32, "add", te.Float(ir.F32, 1), te.Float(ir.F32, 2))
	got := te.Map(add, func(e te.Expr) te.Expr {
		if _, ok := e.(te.Const); ok {
			return te.Float(ir.F32, 3)
		}
		return e
	})
	assert.Equal(t, te.Fn(ir.F32, "add", te.Float(ir.F32, 3), te.Float(ir.F32, 3)), got)
	assert.Equal(t, te.Fn(ir.F32, "add", te.Float(ir.F32, 1), te.Float(ir.F32, 2)), add)
}

func TestSubstIndicesReachesEveryIndex(t *testing.T) {
	k := sym.Add(sym.Var("k"), sym.Const(2))
	got := te.SubstIndices(tree, map[string]sym.Expr{"i": k, "j": sym.Const(5)}, nil).(te.Let)
	assert.Equal(t, "k + 2", got.Value.(te.Load).Index[0].String())
	assert.Equal(t, "9", got.Hi.String())
	choice := got.Body.(te.Select)
	assert.Equal(t, "k + 2", choice.Cond[0].E.String())
	assert.Equal(t, "5", choice.Cond[0].Hi.String())
	assert.Equal(t, "k + 2", choice.Then.(te.Call).Args[0].(te.Index).E.String())
	load := choice.Else.(te.Load)
	assert.Equal(t, "g", load.Index[0].String(), "bound variables stay")
	assert.Equal(t, "k + 2", load.Index[1].String())
	assert.Equal(t, "k + 2", load.Guard[0].E.String())
	original := tree.Body.(te.Select).Else.(te.Load)
	assert.Equal(t, "i", original.Index[1].String(), "the original is not changed")
	assert.Equal(t, "i", original.Guard[0].E.String())
}

func TestTypes(t *testing.T) {
	assert.Equal(t, ir.F32, tree.DType())
	assert.Equal(t, ir.F32, tree.Body.DType())
	assert.Equal(t, ir.I64, tree.Value.DType())
}

func TestLiterals(t *testing.T) {
	assert.Equal(t, te.Const{Type: ir.F16, Bits: math.Float64bits(-2)}, te.Number(ir.F16, -2))
	assert.Equal(t, te.Const{Type: ir.I8, Bits: math.MaxUint64}, te.Number(ir.I8, -1))
	for typ, want := range map[ir.DType][2]int64{
		ir.I8: {-128, 127}, ir.U8: {0, 255}, ir.I16: {-32768, 32767}, ir.U32: {0, math.MaxUint32},
		ir.I64: {math.MinInt64, math.MaxInt64}, ir.U64: {0, -1}, ir.Bool: {0, 1},
	} {
		assert.Equal(t, te.Int(typ, want[0]), te.Lowest(typ), "%s", typ)
		assert.Equal(t, te.Int(typ, want[1]), te.Highest(typ), "%s", typ)
	}
	assert.Equal(t, te.Float(ir.F32, math.Inf(-1)), te.Lowest(ir.F32))
	assert.Equal(t, te.Float(ir.BF16, math.Inf(1)), te.Highest(ir.BF16))
}

func TestCombinersJoinToTheirNeutralElement(t *testing.T) {
	for _, c := range []struct {
		comb *te.Combiner
		fn   string
		init te.Expr
	}{
		{te.Sum(ir.I32), "add", te.Int(ir.I32, 0)},
		{te.Prod(ir.F32), "mul", te.Float(ir.F32, 1)},
		{te.Max(ir.U8), "max", te.Int(ir.U8, 0)},
		{te.Min(ir.F64), "min", te.Float(ir.F64, math.Inf(1))},
	} {
		typ := c.init.DType()
		assert.Equal(t, []te.Expr{c.init}, c.comb.Init)
		assert.Equal(t, []te.Expr{te.Fn(typ, c.fn, te.Acc{Type: typ}, te.In{Type: typ})}, c.comb.Join)
	}
}

func TestShapeIsTheAxesExtents(t *testing.T) {
	s := te.Stage{Axes: []te.Axis{{Var: "i", Extent: sym.Var("N")}, {Var: "j", Extent: sym.Const(3)}}}
	assert.Equal(t, ir.Shape{sym.Var("N"), sym.Const(3)}, s.Shape())
	assert.Equal(t, []sym.Expr{i, j}, te.AxisVars(s.Axes))
}

// An index that is loaded may be negative: what clamps it stays.
func TestSubstIndicesKnowsBoundRanges(t *testing.T) {
	g := sym.Var("g")
	clamped := sym.Max(g, sym.Const(0), sym.Facts{"g": {Lo: -3, Hi: 5}})
	let := te.Let{
		Var: "g", Value: te.Operand(1, ir.I64, sym.Var("i")), Lo: sym.Const(-3), Hi: sym.Const(5),
		Body: te.Operand(0, ir.F32, clamped, sym.Var("i")),
	}
	got := te.SubstIndices(let, map[string]sym.Expr{"i": sym.Var("k")}, nil).(te.Let)
	assert.Equal(t, "max(0, g)", got.Body.(te.Load).Index[0].String())
	assert.Equal(t, sym.Facts{"g": {Lo: -3, Hi: 5}, "n": {Lo: 1, Hi: 2}}, te.LetFacts(let, sym.Facts{"n": {Lo: 1, Hi: 2}}))
	twice := te.Fn(ir.F32, "add", let, te.Let{Var: "g", Value: let.Value, Lo: sym.Const(0), Hi: sym.Const(9), Body: let.Body})
	assert.Equal(t, sym.Facts{"g": {Lo: -3, Hi: 9}}, te.LetFacts(twice, nil))
}
