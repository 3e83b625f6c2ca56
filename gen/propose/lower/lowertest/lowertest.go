// Package lowertest has chips and blocks for tests of proposers.
package lowertest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// Chip is one of platforms/chips.
func Chip(t testing.TB, name string) *target.Target {
	t.Helper()
	return chipstest.Target(t, name)
}

// Device is a device whose work-groups share memory.
func Device(t testing.TB) *target.Target {
	t.Helper()
	d, err := target.Parse([]byte(`{"name": "test", "cpu": "opencl", "vector_bits": 128, "vector_registers": 32, "instructions": ["mad_f32x4"], "fma_per_cycle": 1,
		"loads_per_cycle": 1, "issue_per_cycle": 2, "tasks": 65536, "task_elements": 4, "parallel": 2048, "load_cycles": 1,
		"opencl": {"group_items": 64, "workers": 512, "local_bytes": 32768, "units": 16, "sub_group": 16},
		"l1d_bytes": 32768, "l2_bytes": 1048576, "bytes_per_cycle": 64, "l2_bytes_per_cycle": 128}`))
	require.NoError(t, err)
	return d
}

// Formed is the block of a graph of one node.
func Formed(t testing.TB, graph string) *block.Block {
	t.Helper()
	g := irtest.Parse(t, graph)
	require.NoError(t, shape.Infer(g))
	bs, err := block.Form(g)
	require.NoError(t, err)
	return bs.Blocks[len(bs.Blocks)-1]
}

// Product is a product that has axes of each kind: of both factors, of X twice, of its rows, of W.
func Product(t testing.TB) (*block.Block, *lower.Env) {
	t.Helper()
	var axes []te.Axis
	for i, n := range []int64{2, 3, 4, 8, 16} {
		axes = append(axes, te.Axis{Var: fmt.Sprintf("i%d", i), Extent: sym.Const(n)})
	}
	sum := []te.Axis{{Var: "r0", Extent: sym.Const(5)}}
	i, r := te.AxisVars(axes), te.AxisVars(sum)
	x, w := te.Operand(0, ir.F32, i[0], i[1], i[2], i[3], r[0]), te.Operand(1, ir.F32, i[0], r[0], i[4])
	s := &te.Stage{Name: "Einsum", Axes: axes, Reduce: sum, Combine: te.Sum(ir.F32), Results: []te.Expr{te.Acc{Type: ir.F32}}, Values: []te.Expr{te.Fn(ir.F32, "mul", x, w)}}
	value := func(dims ...int64) *ir.Value { return &ir.Value{Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true} }
	b := &block.Block{Stage: s, Operands: []*ir.Value{value(2, 3, 4, 8, 5), value(2, 5, 16)}, Results: []*ir.Value{value(2, 3, 4, 8, 16)}}
	env := lower.NewEnv(Chip(t, "x86_64_v3"), nil, lower.Options{Contractions: true, Vectors: true})
	return b, env
}

// HexagonEnv has the layouts that a test gives, by names of values.
func HexagonEnv(t testing.TB, layouts map[string]layout.Layout) *lower.Env {
	return &lower.Env{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Layouts: func(v *ir.Value) layout.Layout { return layouts[v.Name] }, Target: Chip(t, "hexagon_v68")}
}

// WholePixels and Neighbours are products of bytes: of single pixels, and of windows.
const (
	WholePixels = "  input %x u8[1, 32, 8, 64]\n  input %w i8[48, 32, 1, 1]\n  %y ?[*] = ConvInteger.10(%x, %w)\n  output %y\n"
	Neighbours  = "  input %x u8[1, 32, 8, 64]\n  input %w i8[48, 32, 3, 3]\n  %y ?[*] = ConvInteger.10(%x, %w) {pads = [1, 1, 1, 1]}\n  output %y\n"
)
