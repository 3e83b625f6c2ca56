package interp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

var (
	c   = sym.Const
	v   = sym.Var
	add = func(xs ...sym.Expr) sym.Expr { return sym.Add(xs...) }
)

func axes(prefix string, extents ...sym.Expr) []te.Axis {
	out := make([]te.Axis, len(extents))
	for i, e := range extents {
		out[i] = te.Axis{Var: fmt.Sprint(prefix, i), Extent: e}
	}
	return out
}

func call(t ir.DType, fn string, args ...te.Expr) te.Expr { return te.Fn(t, fn, args...) }

// tensor fills a tensor with small numbers of no pattern, halves among the floats.
func tensor(t ir.DType, shape ...int64) *ir.Tensor {
	x := ir.NewTensor(t, shape...)
	b, err := bufferOf(x)
	if err != nil {
		panic(err)
	}
	seed := uint32(len(shape) + 7)
	for i := range x.Len() {
		seed = seed*1664525 + 1013904223
		k := int64(seed>>16%41) - 20
		w := scalar.NewVec(t, 1)
		switch {
		case w.F32 != nil:
			w.F32[0] = float32(k) / 8 * (1 + float32(seed>>24)/4096)
		case w.F64 != nil:
			w.F64[0] = float64(k) / 3
		case t == ir.Bool:
			w.I64[0] = k & 1
		default:
			w.I64[0] = k
		}
		b.Store(w, i, 1)
	}
	return x
}

func ints(t ir.DType, shape []int64, xs ...int64) *ir.Tensor {
	x := ir.NewTensor(t, shape...)
	b, err := bufferOf(x)
	if err != nil {
		panic(err)
	}
	b.Store(&scalar.Vec{I64: xs}, 0, 1)
	return x
}

// load reads operand n; guards are index, low, high in turns.
func guarded(l te.Load, def te.Expr, guard ...sym.Expr) te.Load {
	for i := 0; i < len(guard); i += 3 {
		l.Guard = append(l.Guard, te.Within{E: guard[i], Lo: guard[i+1], Hi: guard[i+2]})
	}
	l.Default = def
	return l
}

// example is stages and operands; the interpreter must agree with the definition.
type example struct {
	name     string
	stages   []*te.Stage
	operands []*ir.Tensor
	env      map[string]int64
}

// convolution is a padded convolution with bias and relu, in groups.
func convolution(t ir.DType, n, ci, co, h, k, stride, pad, group int64) example {
	out := (h+2*pad-k)/stride + 1
	y := add(sym.Scale(v("i2"), stride), v("r1"), c(-pad))
	x := add(sym.Scale(v("i3"), stride), v("r2"), c(-pad))
	channel := add(sym.Scale(sym.FloorDiv(v("i1"), c(co/group), nil), ci/group), v("r0"))
	data := guarded(te.Operand(0, t, v("i0"), channel, y, x), te.Number(t, 0), y, c(0), c(h), x, c(0), c(h))
	weight := te.Operand(1, t, v("i1"), v("r0"), v("r1"), v("r2"))
	return example{
		name: fmt.Sprint("convolution ", t, n, ci, co, h, k, stride, pad, group),
		stages: []*te.Stage{{
			Name: "conv", Axes: axes("i", v("N"), c(co), c(out), c(out)), Reduce: axes("r", c(ci/group), c(k), c(k)),
			Combine: te.Sum(t), Values: []te.Expr{call(t, "mul", data, weight)},
			Results: []te.Expr{call(t, "max", call(t, "add", te.Acc{Type: t}, te.Operand(2, t, v("i1"))), te.Number(t, 0))},
		}},
		operands: []*ir.Tensor{tensor(t, n, ci, h, h), tensor(t, co, ci/group, k, k), tensor(t, co)},
		env:      map[string]int64{"N": n},
	}
}

func matmul(t ir.DType, b, m, k, n int64) example {
	return example{
		name: fmt.Sprint("matmul ", t, b, m, k, n),
		stages: []*te.Stage{{
			Name: "matmul", Axes: axes("i", c(b), c(m), c(n)), Reduce: axes("r", c(k)), Combine: te.Sum(t),
			Values:  []te.Expr{call(t, "mul", te.Operand(0, t, v("i0"), v("i1"), v("r0")), te.Operand(1, t, v("i0"), v("r0"), v("i2")))},
			Results: []te.Expr{te.Acc{Type: t}},
		}},
		operands: []*ir.Tensor{tensor(t, b, m, k), tensor(t, b, k, n)},
	}
}

// reduction reduces the middle axes of rank 4 by a combiner.
func reduction(name string, t ir.DType, comb *te.Combiner, shape ...int64) example {
	return example{
		name: fmt.Sprint(name, " ", t, shape),
		stages: []*te.Stage{{
			Name: name, Axes: axes("i", c(shape[0]), c(shape[3])), Reduce: axes("r", c(shape[1]), c(shape[2])), Combine: comb,
			Values:  []te.Expr{te.Operand(0, t, v("i0"), v("r0"), v("r1"), v("i1"))},
			Results: []te.Expr{te.Acc{Type: t}},
		}},
		operands: []*ir.Tensor{tensor(t, shape...)},
	}
}

// argmax gives the first index of the greatest element, and the element.
func argmax(t ir.DType, rows, n, cols int64) example {
	better := call(ir.Bool, "gt", te.In{N: 0, Type: t}, te.Acc{N: 0, Type: t})
	comb := &te.Combiner{Name: "argmax", Init: []te.Expr{te.Lowest(t), te.Int(ir.I64, 0)}, Join: []te.Expr{
		call(t, "select", better, te.In{N: 0, Type: t}, te.Acc{N: 0, Type: t}),
		call(ir.I64, "select", better, te.In{N: 1, Type: ir.I64}, te.Acc{N: 1, Type: ir.I64}),
	}}
	return example{
		name: fmt.Sprint("argmax ", t, rows, n, cols),
		stages: []*te.Stage{{
			Name: "argmax", Axes: axes("i", c(rows), c(cols)), Reduce: axes("r", c(n)), Combine: comb,
			Values:  []te.Expr{te.Operand(0, t, v("i0"), v("r0"), v("i1")), te.Index{Type: ir.I64, E: v("r0")}},
			Results: []te.Expr{te.Acc{N: 1, Type: ir.I64}, te.Acc{N: 0, Type: t}},
		}},
		operands: []*ir.Tensor{tensor(t, rows, n, cols)},
	}
}

// gather picks rows or columns by wrapped indices.
func gather(axis int, index ...int64) example {
	const rows, cols = 6, 5
	n, other := int64(rows), c(cols)
	if axis == 1 {
		n, other = cols, c(rows)
	}
	at := te.Operand(1, ir.I32, v(fmt.Sprint("i", axis)))
	wrapped := call(ir.I32, "select", call(ir.Bool, "lt", at, te.Int(ir.I32, 0)), call(ir.I32, "add", at, te.Int(ir.I32, n)), at)
	ix := []sym.Expr{v("i0"), v("i1")}
	ix[axis] = v("g")
	ax := []sym.Expr{c(int64(len(index))), other}
	if axis == 1 {
		ax = []sym.Expr{other, c(int64(len(index)))}
	}
	return example{
		name: fmt.Sprint("gather along ", axis, index),
		stages: []*te.Stage{{
			Name: "gather", Axes: axes("i", ax...),
			Results: []te.Expr{te.Let{Var: "g", Value: wrapped, Lo: c(0), Hi: c(n - 1), Body: te.Operand(0, ir.F32, ix...)}},
		}},
		operands: []*ir.Tensor{tensor(ir.F32, rows, cols), ints(ir.I32, []int64{int64(len(index))}, index...)},
	}
}

// move is a stage of one load.
func move(name string, operand *ir.Tensor, extents []sym.Expr, load te.Load) example {
	return example{name: name, operands: []*ir.Tensor{operand},
		stages: []*te.Stage{{Name: name, Axes: axes("i", extents...), Results: []te.Expr{load}}}}
}

func moves() []example {
	flat := add(sym.Scale(v("i0"), 12), v("i1"))
	facts := sym.Facts{"i0": {Lo: 0, Hi: 9}, "i1": {Lo: 0, Hi: 11}}
	div := func(e sym.Expr, k int64) sym.Expr { return sym.FloorDiv(e, c(k), facts) }
	mod := func(e sym.Expr, k int64) sym.Expr { return sym.Mod(e, c(k), facts) }
	x := tensor(ir.F32, 10, 3, 4)
	concat := guarded(te.Operand(0, ir.F32, v("i0"), add(v("i1"), c(-2)), v("i2")), nil, v("i1"), c(2), c(5))
	concat.Default = guarded(te.Operand(0, ir.F32, v("i0"), v("i1"), v("i2")), te.Float(ir.F32, 7), v("i1"), c(0), c(2))
	diagonal := guarded(te.Operand(0, ir.F32, c(1), mod(add(v("i0"), v("i1")), 3), c(0)), te.Float(ir.F32, -1),
		add(v("i0"), sym.Scale(v("i1"), -1)), sym.Const(-3), sym.Min(v("i1"), c(4), nil))
	return []example{
		move("reshape", x, []sym.Expr{c(10), c(12)}, te.Operand(0, ir.F32, v("i0"), div(v("i1"), 4), mod(v("i1"), 4))),
		move("flatten", x, []sym.Expr{c(8), c(12)}, te.Operand(0, ir.F32, div(flat, 12), div(mod(flat, 12), 4), mod(flat, 4))),
		move("regroup", x, []sym.Expr{c(12), c(10)}, te.Operand(0, ir.F32, v("i1"), div(v("i0"), 4), mod(v("i0"), 4))),
		move("transpose", x, []sym.Expr{c(4), c(10), c(3)}, te.Operand(0, ir.F32, v("i1"), v("i2"), v("i0"))),
		move("reverse", x, []sym.Expr{c(5), c(3), c(4)}, te.Operand(0, ir.F32, add(c(9), sym.Scale(v("i0"), -2)), v("i1"), add(c(3), sym.Scale(v("i2"), -1)))),
		move("broadcast", x, []sym.Expr{c(2), c(10), c(3), c(9)}, te.Operand(0, ir.F32, v("i1"), v("i2"), c(2))),
		move("pad", x, []sym.Expr{c(10), c(3), c(9)}, guarded(te.Operand(0, ir.F32, v("i0"), v("i1"), add(v("i2"), c(-3))),
			te.Float(ir.F32, 0.5), add(v("i2"), c(-3)), c(0), c(4))),
		move("pad backwards", x, []sym.Expr{c(10), c(3), c(9)}, guarded(te.Operand(0, ir.F32, v("i0"), v("i1"), add(c(5), sym.Scale(v("i2"), -1))),
			te.Float(ir.F32, 0.5), add(c(5), sym.Scale(v("i2"), -1)), c(0), c(4))),
		move("concat", x, []sym.Expr{c(10), c(6), c(4)}, concat),
		move("diagonal", x, []sym.Expr{c(9), c(12)}, diagonal),
		move("long", tensor(ir.F32, 3, 5000), []sym.Expr{c(5000), c(3)}, te.Operand(0, ir.F32, v("i1"), v("i0"))),
	}
}

// chosen are conditions on indices, around loads that are valid only under them.
func chosen() []example {
	t := ir.F32
	x := func(ix sym.Expr) te.Expr { return call(t, "neg", te.Operand(0, t, v("i0"), ix)) }
	within := func(e sym.Expr, lo, hi int64) []te.Within { return []te.Within{{E: e, Lo: c(lo), Hi: c(hi)}} }
	shifted := add(v("i1"), c(-3))
	inner := te.Select{Cond: within(v("i1"), 0, 3), Then: te.Float(t, 5), Else: x(add(v("i1"), c(-9)))}
	let := te.Let{Var: "g", Value: te.Operand(1, ir.I32, v("i1")), Lo: c(0), Hi: c(5),
		Body: te.Select{Cond: within(v("g"), 2, 4), Then: x(v("g")), Else: te.Float(t, 1)}}
	out := []example{}
	for i, e := range []te.Expr{
		te.Select{Cond: within(shifted, 0, 6), Then: x(shifted), Else: inner},
		te.Select{Cond: within(sym.Mod(v("i1"), c(4), nil), 1, 3), Then: x(sym.FloorDiv(v("i1"), c(3), nil)), Else: te.Float(t, 2)},
		te.Select{Cond: within(v("i0"), 1, 2), Then: te.Float(t, 2), Else: te.Operand(0, t, v("i0"), c(1))},
		te.Select{Cond: within(v("i1"), 3, 15), Then: let, Else: te.Float(t, 3)},
	} {
		out = append(out, example{name: fmt.Sprint("select ", i), operands: []*ir.Tensor{tensor(t, 2, 6),
			ints(ir.I32, []int64{15}, 0, 1, 9, 3, 4, 5, 2, 1, 0, 3, 3, 2, 1, 4, 5)},
			stages: []*te.Stage{{Name: "s", Axes: axes("i", c(2), c(15)), Results: []te.Expr{e}}}})
	}
	return out
}

// elementwise covers types, broadcasting, index values and constants.
func elementwise(t ir.DType) example {
	a, b := te.Operand(0, t, v("i0"), v("i1"), v("i2")), te.Operand(1, t, v("i1"))
	sum := call(t, "add", call(t, "mul", a, b), call(t, "sub", te.Number(t, 3), te.Index{Type: t, E: add(sym.Scale(v("i1"), 3), v("i2"))}))
	return example{
		name: fmt.Sprint("elementwise ", t),
		stages: []*te.Stage{{Name: "e", Axes: axes("i", c(4), c(3), v("S")), Results: []te.Expr{
			sum, call(ir.Bool, "lt", sum, a), call(ir.F16, "cast", sum),
		}}},
		operands: []*ir.Tensor{tensor(t, 4, 3, 7), tensor(t, 3)},
		env:      map[string]int64{"S": 7},
	}
}

// softmax is four stages that load each other.
func softmax(rows, n int64) example {
	t := ir.F32
	x := te.Operand(0, t, v("i0"), v("i1"))
	ax := axes("i", c(rows), c(n))
	row := func(s int) te.Expr { return te.FromStage(s, t, v("i0")) }
	return example{
		name: fmt.Sprint("softmax ", rows, n),
		stages: []*te.Stage{
			{Name: "max", Axes: ax[:1], Reduce: axes("r", c(n)), Combine: te.Max(t),
				Values: []te.Expr{te.Operand(0, t, v("i0"), v("r0"))}, Results: []te.Expr{te.Acc{Type: t}}},
			{Name: "exp", Axes: ax, Results: []te.Expr{call(t, "exp", call(t, "sub", x, row(0)))}},
			{Name: "sum", Axes: ax[:1], Reduce: axes("r", c(n)), Combine: te.Sum(t),
				Values: []te.Expr{te.FromStage(1, t, v("i0"), v("r0"))}, Results: []te.Expr{te.Acc{Type: t}}},
			{Name: "div", Axes: ax, Results: []te.Expr{call(t, "div", te.FromStage(1, t, v("i0"), v("i1")), row(2))}},
		},
		operands: []*ir.Tensor{tensor(t, rows, n)},
	}
}

func examples() []example {
	out := append(moves(), chosen()...)
	for _, t := range []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64} {
		out = append(out, elementwise(t), matmul(t, 2, 5, 7, 9), reduction("sum", t, te.Sum(t), 3, 4, 5, 6), reduction("max", t, te.Max(t), 3, 4, 25, 1),
			reduction("min", t, te.Min(t), 1, 4, 25, 1), reduction("prod", t, te.Prod(t), 2, 2, 3, 20), reduction("sum", t, te.Sum(t), 2, 3, 40, 1),
			argmax(t, 3, 9, 5), argmax(t, 3, 9, 1), convolution(t, 2, 4, 6, 5, 3, 1, 1, 1))
	}
	return append(out,
		convolution(ir.F32, 1, 3, 8, 9, 3, 2, 1, 1), convolution(ir.F32, 2, 6, 6, 7, 3, 1, 1, 6), convolution(ir.F32, 1, 6, 4, 7, 3, 2, 1, 2),
		convolution(ir.F32, 2, 5, 300, 6, 1, 1, 0, 1), convolution(ir.F32, 1, 2, 3, 40, 5, 1, 2, 1), convolution(ir.F32, 1, 3, 4, 3, 3, 1, 0, 1),
		matmul(ir.F32, 1, 1, 70, 300), matmul(ir.F32, 3, 70, 40, 1), matmul(ir.F32, 1, 1, 100, 1), matmul(ir.F32, 1, 66, 9, 261), matmul(ir.F32, 1, 5, 1100, 6),
		matmul(ir.F64, 1, 8, 30, 270), matmul(ir.I32, 2, 66, 3, 5),
		gather(0, 3, -1, 0, 5, 5), gather(1, 3, -1, 0), gather(0, 2),
		softmax(3, 1000), softmax(2000, 5), softmax(1, 7),
		argmax(ir.F32, 1, 2000, 1), reduction("sum", ir.F32, te.Sum(ir.F32), 1, 40, 60, 1),
		reduction("sum", ir.F32, te.Sum(ir.F32), 3, 0, 5, 2), reduction("sum", ir.F32, te.Sum(ir.F32), 3, 4, 5, 0),
	)
}

func TestAgreesWithTheDefinition(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			want := naiveEval(t, e.stages, e.operands, e.env)
			var outs []te.Source
			var wants []*ir.Tensor
			for n, parts := range want {
				for k, w := range parts {
					outs, wants = append(outs, te.Source{Stage: true, N: n, Part: k}), append(wants, w)
				}
			}
			got, err := Eval(e.stages, outs, e.operands, e.env)
			require.NoError(t, err)
			for k, w := range wants {
				require.Equal(t, w.Type, got[k].Type)
				require.Equal(t, w.Shape, got[k].Shape)
				require.Equal(t, w.Data, got[k].Data, "output %d", k)
			}
			last := outs[len(outs)-1:]
			only, err := Eval(e.stages, last, e.operands, e.env)
			require.NoError(t, err)
			assert.Equal(t, wants[len(wants)-1].Data, only[0].Data)
		})
	}
}

func TestHalfAdditionRoundsToHalf(t *testing.T) {
	s := &te.Stage{Name: "add", Axes: axes("i", c(3)), Results: []te.Expr{
		call(ir.F16, "add", te.Operand(0, ir.F16, v("i0")), te.Operand(1, ir.F16, v("i0")))}}
	half := func(xs ...float32) *ir.Tensor {
		x := ir.NewTensor(ir.F16, 3)
		b, err := bufferOf(x)
		require.NoError(t, err)
		b.Store(&scalar.Vec{F32: xs}, 0, 1)
		return x
	}
	got, err := Eval([]*te.Stage{s}, []te.Source{{Stage: true}}, []*ir.Tensor{half(2048, 1, 65504), half(1, 0x1p-11, 65504)}, nil)
	require.NoError(t, err)
	assert.Equal(t, half(2048, 1, float32(math.Inf(1))).Data, got[0].Data)
}

func TestOutputsMayBeOperands(t *testing.T) {
	x := tensor(ir.F32, 3)
	got, err := Eval(nil, []te.Source{{N: 1}}, []*ir.Tensor{nil, x}, nil)
	require.NoError(t, err)
	assert.Same(t, x, got[0])
}

// A branch that is not taken, or a default that is not used, may have wrong indices.
func TestIndicesOfUnusedElementsAreNotChecked(t *testing.T) {
	index := te.Operand(1, ir.I64, v("i0"))
	picked := te.Let{Var: "g", Value: index, Lo: c(0), Hi: c(3), Body: te.Operand(0, ir.F32, v("g"))}
	operands := []*ir.Tensor{tensor(ir.F32, 4), ints(ir.I64, []int64{5}, 3, 0, 99, -7, 1)}
	fine := call(ir.Bool, "and", call(ir.Bool, "ge", index, te.Int(ir.I64, 0)), call(ir.Bool, "lt", index, te.Int(ir.I64, 4)))
	for _, e := range []te.Expr{
		call(ir.F32, "select", fine, picked, te.Float(ir.F32, 0)),
		guarded(te.Operand(0, ir.F32, v("i0")), picked, v("i0"), c(2), c(4)),
		guarded(te.Operand(0, ir.F32, sym.Mod(add(v("i0"), c(2)), c(4), nil)), picked, sym.Mod(v("i0"), c(4), nil), c(2), c(4)),
	} {
		s := []*te.Stage{{Name: "s", Axes: axes("i", c(5)), Results: []te.Expr{e}}}
		want := naiveEval(t, s, operands, nil)
		got, err := Eval(s, []te.Source{{Stage: true}}, operands, nil)
		require.NoError(t, err)
		assert.Equal(t, want[0][0].Data, got[0].Data)
	}
}

func TestErrorsNameTheirCause(t *testing.T) {
	x := tensor(ir.F32, 4)
	simple := func(e te.Expr) *te.Stage { return &te.Stage{Name: "s", Axes: axes("i", v("N")), Results: []te.Expr{e}} }
	picked := func(rows int64) te.Expr {
		return te.Let{Var: "g", Value: te.Operand(1, ir.I64, v("i0")), Lo: c(0), Hi: c(rows - 1), Body: te.Operand(0, ir.F32, v("g"))}
	}
	for _, e := range []struct {
		stage    *te.Stage
		operands []*ir.Tensor
		n        int64
		want     string
	}{
		{simple(picked(4)), []*ir.Tensor{x, ints(ir.I64, []int64{2}, 0, 12)}, 2, "index 12 (variable g) is outside of [0, 3]"},
		{simple(picked(0)), []*ir.Tensor{tensor(ir.F32, 0), ints(ir.I64, []int64{1}, 0)}, 1, "index 0 (variable g) is outside of [0, -1]"},
		{simple(te.Operand(0, ir.F32, v("i0"))), []*ir.Tensor{x}, 5, "index 4 of dimension 0 is outside of operand 0, whose shape is [4]"},
		{simple(te.Operand(0, ir.F32, c(4))), []*ir.Tensor{x}, 2, "index 4 of dimension 0"},
		{simple(te.Operand(0, ir.F32, v("M"))), []*ir.Tensor{x}, 2, `symbol "M" of an index has no value`},
		{simple(te.Operand(0, ir.F64, v("i0"))), []*ir.Tensor{x}, 2, "operand 0 is loaded as f64 of rank 1, but is f32 of shape [4]"},
		{simple(te.Operand(1, ir.F32, v("i0"))), []*ir.Tensor{x}, 2, "operand 1 is absent"},
		{simple(te.FromStage(0, ir.F32, v("i0"))), []*ir.Tensor{x}, 2, "result 0 of stage 0 is not computed before"},
		{simple(call(ir.F32, "frobnicate")), nil, 2, `no scalar function "frobnicate"`},
		{simple(te.Acc{Type: ir.F32}), nil, 2, "Acc(0) of a reduction with 0 accumulators"},
		{simple(te.Float(ir.F32, 1)), nil, -1, "extent of axis i0 is -1"},
		{simple(te.Float(ir.F32, 1)), nil, 1 << 40, "more than the limit of 4294967296 bytes"},
		{&te.Stage{Name: "s"}, nil, 0, "there are no results"},
		{simple(te.Index{Type: ir.I64, E: sym.FloorDiv(v("i0"), v("i0"), nil)}), nil, 2, ""},
		{simple(te.Index{Type: ir.I64, E: sym.FloorDiv(c(7), v("i0"), nil)}), nil, 2, "an index expression divides by 0"},
	} {
		_, err := Eval([]*te.Stage{e.stage}, []te.Source{{Stage: true}}, e.operands, map[string]int64{"N": e.n})
		if e.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, e.want)
	}
	_, err := Interp{MaxBytes: 8}.Eval([]*te.Stage{simple(te.Float(ir.F32, 1))}, []te.Source{{Stage: true}}, nil, map[string]int64{"N": 3})
	assert.ErrorContains(t, err, "limit of 8 bytes")
	assert.ErrorAs(t, err, new(*LimitError))
}

// TestMaxPoints: all evaluations of a node count, those of its reductions and updates too.
func TestMaxPoints(t *testing.T) {
	sum := &te.Stage{Name: "sum", Axes: []te.Axis{{Var: "i0", Extent: sym.Var("N")}}, Results: []te.Expr{te.Acc{N: 0, Type: ir.F32}}}
	sum.Reduce = []te.Axis{{Var: "r0", Extent: sym.Var("R")}}
	sum.Values, sum.Combine = []te.Expr{te.Float(ir.F32, 1)}, te.Sum(ir.F32)
	outputs := []te.Source{{Stage: true}, {Stage: true, N: 1}}
	dims := map[string]int64{"N": 3, "R": 100}
	_, err := Interp{MaxPoints: 600}.Eval([]*te.Stage{sum, sum}, outputs, nil, dims)
	assert.NoError(t, err)
	_, err = Interp{MaxPoints: 599}.Eval([]*te.Stage{sum, sum}, outputs, nil, dims)
	assert.ErrorContains(t, err, "loops of extents [3 100] are more than the limit of 599 evaluations")
	assert.ErrorAs(t, err, new(*LimitError))
	wide := &te.Stage{Name: "wide", Axes: sum.Axes, Results: []te.Expr{te.Call{Fn: "cos", Args: []te.Expr{te.Float(ir.F64, 1)}, Type: ir.F64}}}
	_, err = Interp{MaxPoints: 3003}.Eval([]*te.Stage{wide}, outputs[:1], nil, dims)
	assert.NoError(t, err)
	_, err = Interp{MaxPoints: 3002}.Eval([]*te.Stage{wide}, outputs[:1], nil, dims)
	assert.ErrorAs(t, err, new(*LimitError), "functions of float64 take long")
	dims["R"] = math.MaxInt64
	_, err = Interp{MaxPoints: math.MaxInt64}.Eval([]*te.Stage{sum}, outputs[:1], nil, dims)
	assert.ErrorAs(t, err, new(*LimitError))
}

func TestSumsOfProductsAreContractions(t *testing.T) {
	for _, e := range []example{convolution(ir.F32, 1, 3, 8, 9, 3, 2, 1, 1), matmul(ir.F32, 1, 8, 70, 9)} {
		r := &run{env: e.env, operands: e.operands, Interp: Interp{MaxBytes: DefaultMaxBytes}}
		s := e.stages[0]
		shape, err := r.extents(s.Axes)
		require.NoError(t, err)
		reduce, err := r.extents(s.Reduce)
		require.NoError(t, err)
		done, err := r.contract(s, shape, reduce, []*ir.Tensor{ir.NewTensor(ir.F32, shape...)})
		require.NoError(t, err)
		assert.True(t, done, e.name)
	}
}

// TestOperandsAreReadOnce: a constant that lies in a file is read from it once, by however many loads, stages and workers.
func TestOperandsAreReadOnce(t *testing.T) {
	e := convolution(ir.F32, 1, 3, 8, 9, 3, 2, 1, 1)
	want, err := Eval(e.stages, []te.Source{{Stage: true}}, e.operands, e.env)
	require.NoError(t, err)
	reads := 0
	operands := slices.Clone(e.operands)
	for i, x := range operands {
		operands[i] = ir.Computed(x.Type, x.Shape, x.Len(), func(b []byte, first int64) error {
			reads++
			copy(b, x.Data[first*int64(x.Type.Size()):])
			return nil
		})
	}
	as := loops("i", operands[0].Shape...)
	at, turned := te.AxisVars(as), te.AxisVars(as)
	turned[2], turned[3] = turned[3], turned[2]
	square := &te.Stage{Name: "square", Axes: as, Results: []te.Expr{call(ir.F32, "mul", te.Operand(0, ir.F32, at...), te.Operand(0, ir.F32, turned...))}}
	got, err := Interp{Workers: 2}.Eval([]*te.Stage{e.stages[0], square}, []te.Source{{Stage: true}, {Stage: true, N: 1}}, operands, e.env)
	require.NoError(t, err)
	assert.Equal(t, want[0].Data, got[0].Data)
	assert.Equal(t, len(operands), reads)
}

func BenchmarkConvolution(b *testing.B) {
	for _, e := range []example{
		convolution(ir.F32, 1, 64, 64, 56, 3, 1, 1, 1), convolution(ir.F32, 1, 512, 512, 7, 3, 1, 1, 1),
		convolution(ir.F32, 1, 256, 64, 56, 1, 1, 0, 1), convolution(ir.F32, 1, 96, 96, 56, 3, 1, 1, 96),
	} {
		b.Run(e.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Eval(e.stages, []te.Source{{Stage: true}}, e.operands, e.env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
