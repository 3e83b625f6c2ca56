package opencl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	planned "rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// TestGroups: groups are of as many work-items as the device wants, and no longer than an extent asks for.
func TestGroups(t *testing.T) {
	n := sym.Var("N")
	facts := sym.Facts{"N": {Lo: 1, Hi: 3}}
	for _, c := range []struct {
		extents [dims]sym.Expr
		want    [dims]int64
	}{
		{[dims]sym.Expr{sym.Const(5000), sym.Const(1), sym.Const(1)}, [dims]int64{64, 1, 1}},
		{[dims]sym.Expr{sym.Const(56), sym.Const(56), sym.Const(8)}, [dims]int64{16, 4, 1}},
		{[dims]sym.Expr{sym.Const(3), sym.Const(5), sym.Const(100)}, [dims]int64{4, 8, 2}},
		{[dims]sym.Expr{n, sym.Const(1), sym.Const(1)}, [dims]int64{4, 1, 1}},
		{[dims]sym.Expr{sym.Const(1), sym.Const(1), sym.Const(1)}, [dims]int64{1, 1, 1}},
	} {
		assert.Equal(t, c.want, planned.Groups(&loop.Kernel{Facts: facts}, c.extents, 64), "%v", c.extents)
	}
}

// TestGrid: the innermost axes of a grid are dimensions; those beyond three share the last one.
func TestGrid(t *testing.T) {
	y := &loop.Buffer{Name: "y0", Type: ir.F32, Write: true, Size: sym.Const(2 * 3 * 5 * 8)}
	k := &loop.Kernel{Buffers: []*loop.Buffer{y}, Facts: sym.Facts{}}
	at := sym.Const(0)
	for i, n := range []int64{2, 3, 5, 8} {
		a := te.Axis{Var: "p" + string(rune('0'+i)), Extent: sym.Const(n)}
		k.Grid = append(k.Grid, a)
		k.Facts[a.Var] = sym.Range{Lo: 0, Hi: n - 1}
		at = sym.Add(sym.Scale(at, n), sym.Var(a.Var))
	}
	k.Body = []loop.Stmt{loop.Store{Buf: y, Index: at, Value: te.Float(ir.F32, 1)}}
	p, err := plan(k, &target.OpenCL{GroupItems: 64, Workers: 8})
	require.NoError(t, err)
	assert.Equal(t, [dims]sym.Expr{sym.Const(8), sym.Const(5), sym.Const(6)}, p.extents)
	body, err := p.body()
	require.NoError(t, err)
	assert.Equal(t, `  __global float* restrict y0 = y0_all + y0_at;
  const dnn_index p3 = get_global_id(0);
  const dnn_index p2 = get_global_id(1);
  const dnn_index g2 = get_global_id(2);
  if (p2 >= 5) return;
  const dnn_index p1 = g2 % 3;
  const dnn_index p0 = g2 / 3;
  y0[120 * p0 + 40 * p1 + 8 * p2 + p3] = 1.0f;
`, body)

	k.Scratch = []*loop.Buffer{{Name: "s0_0", Type: ir.F32, Write: true, Size: sym.Const(9)}}
	p, err = plan(k, &target.OpenCL{GroupItems: 64, Workers: 8})
	require.NoError(t, err)
	assert.Equal(t, [dims]sym.Expr{sym.Const(8), sym.Const(1), sym.Const(1)}, p.extents)
	body, err = p.body()
	require.NoError(t, err)
	assert.Contains(t, body, "s0_0 = s0_0_all + s0_0_at + get_global_id(0) * (size_t)9;")
	assert.Contains(t, body, "for (dnn_index task = get_global_id(0); task < 240; task += 8) {")
}

// TestProbed: one macro is for all that the items of sub-groups do together in a program, and its probe has all of it.
func TestProbed(t *testing.T) {
	for _, c := range []struct {
		text     string
		subGroup int64
		want     []string
	}{
		{"", 0, nil},
		{"mma.sync", 0, []string{"probe_matrices("}},
		{"", 16, []string{"probe_exchange(", "intel_reqd_sub_group_size(16)"}},
		{"mma.sync", 32, []string{"probe_matrices(", "probe_exchange(", "#if 32 != 32"}},
	} {
		probe, macro := probed(c.text, c.subGroup)
		assert.Equal(t, len(c.want) > 0, macro == together)
		assert.Equal(t, len(c.want) == 0, probe == "")
		for _, kernel := range c.want {
			assert.Contains(t, probe, kernel)
		}
	}
}
