package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestWaysAreFollowedOnce: stages that each read two before them, of which one is a sum over what the other reads, are followed once at each point, and
// not along each of the 2^40 ways to the operand.
func TestWaysAreFollowedOnce(t *testing.T) {
	const pairs = 40
	row := te.Axis{Var: "i0", Extent: sym.Const(8)}
	at := func(n int, v string) te.Expr {
		if n < 0 {
			return te.Operand(0, ir.F32, sym.Var(v))
		}
		return te.FromStage(n, ir.F32, sym.Var(v))
	}
	for name, index := range map[string]string{"of rows": "i0", "of the other axis": "r0"} {
		t.Run(name, func(t *testing.T) {
			var stages []*te.Stage
			for i := range pairs {
				before := 2*i - 1
				sum := &te.Stage{Axes: []te.Axis{row}, Reduce: []te.Axis{{Var: "r0", Extent: sym.Const(8)}}, Combine: te.Sum(ir.F32),
					Values: []te.Expr{te.Fn(ir.F32, "add", at(before, "r0"), at(before, index))}, Results: []te.Expr{te.Acc{Type: ir.F32}}}
				both := &te.Stage{Axes: []te.Axis{row}, Results: []te.Expr{te.Fn(ir.F32, "mul", at(before, "i0"), at(2*i, "i0"))}}
				stages = append(stages, sum, both)
			}
			m := &Meaning{Stages: stages}
			all := accesses(m, te.Source{Stage: true, N: len(stages) - 1})
			require.NotEmpty(t, all)
			assert.LessOrEqual(t, len(all), 16)
			assert.Equal(t, ManyToMany, ReadsOf(stages).Mapping(0, ir.Dims(8)))
		})
	}
}
