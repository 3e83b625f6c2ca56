package product

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestProductNames: the loops of a product that has axes of each kind have names that no symbol of a model can have.
func TestProductNames(t *testing.T) {
	b, env := lowertest.Product(t)
	all, err := NewProducts(b, env)
	require.NoError(t, err)
	require.Len(t, all, 1)
	for _, st := range all[0].schedule(env).Sched.Stages {
		for _, l := range st.Loops {
			assert.False(t, sym.IsSymbol(l.Var), l.Var)
		}
	}
	l, err := Propose(b, env)
	require.NoError(t, err)
	assert.Len(t, l, 1)
}

// TestFetchedX: of an X that does not stay in the second-level cache, tiles fetch that of the next one, where its rows lie one after the other.
func TestFetchedX(t *testing.T) {
	for _, c := range []struct {
		name, chip   string
		rows, length int64
		columns      bool // X is stored column by column
		want         int64
	}{
		{"of 1 MiB", "x86_64_v3", 512, 512, false, 6 * 512},
		{"of 4 MiB", "x86_64_v4", 1024, 1024, false, 6 * 1024},
		{"that stays", "x86_64_v4", 512, 512, false, 0},
		{"as much as there is room for", "x86_64_v3", 256, 256, false, 0},
		{"of columns", "x86_64_v3", 512, 512, true, 0},
		{"a processor that finds it", "arm64", 1024, 1024, false, 0},
	} {
		i, j, k := sym.Var("i0"), sym.Var("i1"), sym.Var("r0")
		axes := []te.Axis{{Var: "i0", Extent: sym.Const(c.rows)}, {Var: "i1", Extent: sym.Const(64)}}
		x, dims := te.Operand(0, ir.F32, i, k), ir.Dims(c.rows, c.length)
		if c.columns {
			x, dims = te.Operand(0, ir.F32, k, i), ir.Dims(c.length, c.rows)
		}
		s := &te.Stage{Name: "MatMul", Axes: axes, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(c.length)}}, Combine: te.Sum(ir.F32), Results: []te.Expr{te.Acc{Type: ir.F32}},
			Values: []te.Expr{te.Fn(ir.F32, "mul", x, te.Operand(1, ir.F32, k, j))}}
		value := func(s ir.Shape) *ir.Value { return &ir.Value{Type: ir.F32, Shape: s, HasShape: true} }
		b := &block.Block{Stage: s, Operands: []*ir.Value{value(dims), value(ir.Dims(c.length, 64))}, Results: []*ir.Value{value(ir.Dims(c.rows, 64))}}
		env := lower.NewEnv(lowertest.Chip(t, c.chip), nil, lower.Options{Contractions: true, Vectors: true})
		all, err := Propose(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, all, c.name)
		require.NoError(t, all[0].Check(), c.name)
		require.NoError(t, all[0].Make(), c.name)
		got := int64(0)
		for _, v := range all[0].Schedule.Values {
			got = max(got, v.Fetch)
		}
		assert.Equal(t, c.want, got, c.name)
		fetched := int64(0)
		loop.Walk(all[0].Kernel.Body, func(s loop.Stmt) bool {
			if x, is := s.(loop.Tile); is {
				fetched = max(fetched, x.Micro.FetchX)
			}
			_, claim := s.(loop.Claim)
			assert.False(t, claim, c.name)
			return true
		})
		assert.Equal(t, c.want, fetched, c.name)
	}
}
