package grad

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// loops are axes called i0, i1... and r0, r1...
func loops(letter string, extents ...int64) []te.Axis { return axes(letter, extents) }

func parse(t *testing.T, texts ...string) []sym.Expr {
	out := make([]sym.Expr, len(texts))
	for i, s := range texts {
		var err error
		out[i], err = sym.Parse(s)
		require.NoError(t, err)
	}
	return out
}

// TestMaps inverts index maps: how many loops are left to sum over, and -1 where the map is followed instead. The sums are
// those that following the map gives.
func TestMaps(t *testing.T) {
	for _, c := range []struct {
		name   string
		loops  []int64
		index  []string
		shape  []int64
		guards []int // dimensions that may be left
		free   int
	}{
		{"identity", []int64{3, 4}, []string{"i0", "i1"}, []int64{3, 4}, nil, 0},
		{"transposed", []int64{3, 4}, []string{"i1", "i0"}, []int64{4, 3}, nil, 0},
		{"broadcast", []int64{3, 4}, []string{"0", "i1"}, []int64{1, 4}, nil, 1},
		{"one of several", []int64{3}, []string{"2", "i0"}, []int64{4, 3}, nil, 0},
		{"a diagonal", []int64{4}, []string{"i0", "i0"}, []int64{4, 4}, nil, 0},
		{"reversed", []int64{4}, []string{"3 - i0"}, []int64{4}, nil, 0},
		{"every third, from the end", []int64{4}, []string{"11 - 3*i0"}, []int64{13}, nil, 0},
		{"reshaped", []int64{2, 3, 4}, []string{"4*i1 + i2", "i0"}, []int64{12, 2}, nil, 0},
		{"reshaped back", []int64{12}, []string{"i0 // 4", "i0 % 4"}, []int64{3, 4}, nil, 0},
		{"reshaped back thrice", []int64{24}, []string{"i0 // 12", "(i0 // 4) % 3", "i0 % 4"}, []int64{2, 3, 4}, nil, 0},
		{"groups", []int64{6, 2}, []string{"2*(i0 // 3) + i1"}, []int64{4}, nil, 1},
		{"a window", []int64{5, 3}, []string{"i0 + i1 - 1"}, []int64{5}, []int{0}, 1},
		{"a window with strides", []int64{3, 3}, []string{"2*i0 + i1 - 1"}, []int64{6}, []int{0}, 1},
		{"a dilated window", []int64{3, 3}, []string{"2*i0 + 3*i1 - 2"}, []int64{9}, []int{0}, 1},
		{"windows side by side", []int64{3, 2}, []string{"2*i0 + i1"}, []int64{7}, nil, 0},
		{"two windows", []int64{3, 4, 2, 3}, []string{"i0 + i2", "2*i1 + i3"}, []int64{4, 9}, nil, 2},
		{"blocks that lie across", []int64{4, 6}, []string{"(6*i0 + i1) // 8", "(6*i0 + i1) % 8"}, []int64{3, 8}, nil, -1},
	} {
		load := te.Operand(0, ir.F64, parse(t, c.index...)...)
		for _, d := range c.guards {
			load.Guard = append(load.Guard, te.Within{E: load.Index[d], Lo: sym.Const(0), Hi: sym.Const(c.shape[d])})
			load.Default = te.Number(ir.F64, 0)
		}
		all := loops("i", c.loops...)
		adj := te.Operand(1, ir.F64, te.AxisVars(all)...)
		l := &loaded{load: load, axes: all, adj: []te.Expr{adj}}
		seed := ir.NewTensor(ir.F64, c.loops...)
		for k := range seed.Len() {
			put(seed, k, float64(k*k%17)+1)
		}
		eval := func(s *te.Stage) []byte {
			got, err := interp.Eval([]*te.Stage{s}, []te.Source{{Stage: true}}, []*ir.Tensor{nil, seed}, nil)
			require.NoError(t, err, c.name)
			return got[0].Data
		}
		followed, err := scattered(l, axes("i", c.shape), ir.F64)
		require.NoError(t, err)
		s, ok := gathered(l, axes("i", c.shape), ir.F64)
		require.Equal(t, c.free >= 0, ok, c.name)
		if ok {
			assert.Len(t, s.Reduce, c.free, c.name)
			assert.Equal(t, eval(followed), eval(s), c.name)
		}
	}
}

// TestContractions: the gradients of a convolution are contractions again, of which evaluators know.
func TestContractions(t *testing.T) {
	x := te.Operand(0, ir.F64, parse(t, "i0", "r0", "2*i2 + r1 - 1", "i3 + r2 - 1")...)
	for d := 2; d < 4; d++ {
		x.Guard = append(x.Guard, te.Within{E: x.Index[d], Lo: sym.Const(0), Hi: sym.Const(8)})
	}
	x.Default = te.Number(ir.F64, 0)
	w := te.Operand(1, ir.F64, parse(t, "i1", "r0", "r1", "r2")...)
	p := &Program{
		Stages: []*te.Stage{{
			Name: "Conv", Axes: loops("i", 2, 5, 4, 8), Reduce: loops("r", 3, 3, 3), Combine: te.Sum(ir.F64),
			Values: []te.Expr{te.Fn(ir.F64, "mul", x, w)}, Results: []te.Expr{te.Acc{Type: ir.F64}},
		}},
		Operands: []Operand{{ir.F64, []int64{2, 3, 8, 8}}, {ir.F64, []int64{5, 3, 3, 3}}, {ir.F64, []int64{2, 5, 4, 8}}},
	}
	by := []te.Source{{N: 0}, {N: 1}}
	d, err := Differentiate(p, []Seed{{te.Source{Stage: true}, te.Source{N: 2}}}, by)
	require.NoError(t, err)
	for k, loops := range map[int]int{0: 3, 1: 3} { // filters and taps; images and places
		s := d.Stages[d.Of[by[k]].N]
		assert.Len(t, s.Reduce, loops)
		product, ok := s.Values[0].(te.Call)
		require.True(t, ok)
		assert.Equal(t, "mul", product.Fn)
		for _, a := range product.Args {
			load, isLoad := a.(te.Load)
			require.True(t, isLoad)
			for _, e := range load.Index {
				assert.NotContains(t, e.String(), "//", "a stage of its own has the stride")
			}
		}
	}
}

// TestSteps: what several stages read has the sum of their gradients, and what no loss depends on has none.
func TestSteps(t *testing.T) {
	i := loops("i", 3)
	points := te.AxisVars(i)
	load := func(s te.Source) te.Expr { return te.Load{Source: s, Type: ir.F64, Index: points} }
	stage := func(e te.Expr) *te.Stage { return &te.Stage{Axes: i, Results: []te.Expr{e}} }
	x, other := te.Source{N: 0}, te.Source{N: 2}
	p := &Program{
		Stages: []*te.Stage{
			stage(te.Fn(ir.F64, "exp", load(x))),
			stage(te.Fn(ir.F64, "mul", load(te.Source{Stage: true}), load(x))),
			stage(load(other)),
		},
		Operands: []Operand{{ir.F64, []int64{3}}, {ir.F64, []int64{3}}, {ir.F64, []int64{3}}},
	}
	d, err := Differentiate(p, []Seed{{te.Source{Stage: true, N: 1}, te.Source{N: 1}}}, []te.Source{x, other})
	require.NoError(t, err)
	assert.NotContains(t, d.Of, other)
	in, one := ir.NewTensor(ir.F64, 3), ir.NewTensor(ir.F64, 3)
	for k := range int64(3) {
		put(in, k, float64(k))
		put(one, k, 1)
	}
	got, err := interp.Eval(d.Stages, []te.Source{d.Of[x]}, []*ir.Tensor{in, one, in}, nil)
	require.NoError(t, err)
	for k := range int64(3) {
		v := float64(k)
		assert.InDelta(t, math.Exp(v)*(v+1), at(got[0], k), 1e-12)
	}
}

// TestRefused: what has no gradient is an error that says which stage and why.
func TestRefused(t *testing.T) {
	i := loops("i", 3)
	last := &te.Stage{
		Name: "last", Axes: loops("i"), Reduce: loops("r", 3),
		Combine: &te.Combiner{Name: "last", Init: []te.Expr{te.Number(ir.F64, 0)}, Join: []te.Expr{te.In{Type: ir.F64}}},
		Values:  []te.Expr{te.Operand(0, ir.F64, sym.Var("r0"))}, Results: []te.Expr{te.Acc{Type: ir.F64}},
	}
	running := &te.Stage{
		Name: "running", Axes: i, Results: []te.Expr{te.Number(ir.F64, 0)},
		Update: &te.Update{
			Axes: loops("u", 3), At: []sym.Expr{sym.Var("u0")}, From: parse(t, "max(u0 - 1, 0)"),
			Value: te.Operand(0, ir.F64, sym.Var("u0")), Join: te.Fn(ir.F64, "add", te.Acc{Type: ir.F64}, te.In{Type: ir.F64}),
		},
	}
	unknown := &te.Stage{Name: "unknown", Axes: []te.Axis{{Var: "i0", Extent: sym.Var("N")}}, Results: []te.Expr{te.Operand(0, ir.F64, sym.Var("i0"))}}
	for _, c := range []struct {
		s    *te.Stage
		want string
	}{
		{last, `stage "last" has no gradient: it is the reduction "last"; only add, max, min and mul have a gradient`},
		{running, `stage "running" has no gradient: its elements are updated sequentially, each from others`},
		{unknown, `the shape [N] of stage "unknown" is not known`},
	} {
		p := &Program{Stages: []*te.Stage{c.s}, Operands: []Operand{{ir.F64, []int64{3}}, {ir.F64, []int64{3}}}}
		_, err := Differentiate(p, []Seed{{te.Source{Stage: true}, te.Source{N: 1}}}, []te.Source{{N: 0}})
		assert.EqualError(t, err, c.want)
	}
}
