package tidy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

const images, channels, pixels = 8, 3, 64

var (
	all     = []te.Axis{{Var: "i", Extent: sym.Const(images)}, {Var: "c", Extent: sym.Const(channels)}, {Var: "p", Extent: sym.Const(pixels)}}
	channel = all[1:2]
	i, c, p = sym.Var("i"), sym.Var("c"), sym.Var("p")
)

func fn(name string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, name, args...) }

func at(n int, index ...sym.Expr) te.Load { return te.FromStage(n, ir.F32, index...) }

// sum adds up a value over images and pixels, for each channel.
func sum(value te.Expr, result te.Expr) *te.Stage {
	return &te.Stage{Name: "sum", Axes: channel, Reduce: []te.Axis{all[0], all[2]}, Combine: te.Sum(ir.F32), Values: []te.Expr{value}, Results: []te.Expr{result}}
}

func point(e te.Expr) *te.Stage { return &te.Stage{Name: "point", Axes: all, Results: []te.Expr{e}} }

var acc = te.Expr(te.Acc{Type: ir.F32})

// batch are stages as those of a normalisation by batch and of its gradient: of x, operand 0, and g, operand 1, with a scale, operand 2.
func batch() []*te.Stage {
	x, g, s := te.Operand(0, ir.F32, i, c, p), te.Operand(1, ir.F32, i, c, p), te.Operand(2, ir.F32, c)
	dev := fn("sub", x, at(0, c))
	return []*te.Stage{
		sum(x, fn("div", acc, te.Number(ir.F32, images*pixels))), // 0: the mean
		sum(fn("neg", fn("mul", g, fn("div", s, fn("sqrt", s)))), acc),
		sum(fn("div", fn("mul", g, dev), fn("sqrt", s)), acc),
		sum(fn("mul", fn("neg", fn("mul", fn("mul", g, dev), s)), s), acc),
		sum(fn("add", fn("neg", fn("mul", s, dev)), fn("neg", fn("mul", s, dev))), acc), // 4: 0, but for rounding
		point(fn("mul", g, s)),
		point(at(5, i, c, p)),
		point(at(4, c)),
		point(fn("add", fn("add", at(6, i, c, p), at(7, i, c, p)), fn("mul", at(3, c), dev))),
	}
}

// TestTidy: stages are fewer, and what they compute is the same but for rounding.
func TestTidy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(low float64, shape ...int64) *ir.Tensor {
		x := ir.NewTensor(ir.F32, shape...)
		for k := range elems.View(ir.F32, x.Data).F32 {
			elems.View(ir.F32, x.Data).F32[k] = float32(low + r.Float64())
		}
		return x
	}
	operands := []*ir.Tensor{fill(-0.5, images, channels, pixels), fill(-0.5, images, channels, pixels), fill(0.5, channels)}
	stages := batch()
	var outputs []te.Source
	for _, n := range []int{0, 1, 2, 3, 4, 8} {
		outputs = append(outputs, te.Source{Stage: true, N: n})
	}
	outputs = append(outputs, te.Source{N: 2}, te.Source{Stage: true, N: 6})
	tidied := Run(stages, outputs)
	want, err := interp.Eval(stages, outputs, operands, nil)
	require.NoError(t, err)
	got, err := interp.Eval(tidied.Stages, tidied.Outputs, operands, nil)
	require.NoError(t, err)
	for k := range want {
		require.Equal(t, want[k].Shape, got[k].Shape)
		a, b := elems.View(ir.F32, want[k].Data).F32, elems.View(ir.F32, got[k].Data).F32
		for n := range a {
			assert.InDelta(t, a[n], b[n], 1e-4*max(1, math.Abs(float64(a[n]))), "output %d, element %d", k, n)
		}
	}
	sums := 0
	for _, s := range tidied.Stages {
		if s.Combine != nil && len(s.Axes) == 1 {
			sums++
		}
	}
	assert.Equal(t, 3, sums, "of x, of g and of g times the deviation; those of the deviation alone are 0")
	again := Run(stages, outputs)
	for k, s := range again.Stages {
		assert.Equal(t, text(s), text(tidied.Stages[k]))
	}
}

// TestKept: a stage that is part of another one, is read at other points or several times, stays.
func TestKept(t *testing.T) {
	part := []te.Axis{all[0], all[1], {Var: "p", Extent: sym.Const(pixels / 2)}}
	x := te.Operand(0, ir.F32, i, c, p)
	stages := []*te.Stage{
		point(fn("exp", x)),
		{Name: "slice", Axes: part, Results: []te.Expr{at(0, i, c, p)}},
		{Name: "reversed", Axes: part, Results: []te.Expr{fn("neg", at(0, i, c, sym.Sub(sym.Const(pixels-1), p)))}},
	}
	got := Run(stages, []te.Source{{Stage: true, N: 1}, {Stage: true, N: 2}})
	require.Len(t, got.Stages, 3)
	assert.Equal(t, stages[1].Shape(), got.Stages[got.Outputs[0].N].Shape())
}
