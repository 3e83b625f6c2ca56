package sel

import (
	"math/rand/v2"
	"testing"

	"rules_dnn/gen/target/chips/chipstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/weights"
)

// TestPicks: of more combinations than are all estimated, those in which all values lie alike are among the ones that are left.
func TestPicks(t *testing.T) {
	a, b, c := layout.Blocked(1, 16), layout.Blocked(1, 4), layout.Blocked(1, 2)
	free := []choice{{layouts: []layout.Layout{layout.RowMajor, a, b}}, {layouts: []layout.Layout{layout.RowMajor, a, c, b}}, {layouts: []layout.Layout{layout.RowMajor, a}}}
	all := picks(free)
	for _, want := range [][]int{{0, 0, 0}, {1, 1, 1}, {2, 3, 0}, {0, 2, 0}, {2, 3, 1}, {0, 1, 1}, {1, 1, 0}, {0, 0, 1}} {
		assert.Contains(t, all, want)
	}
	seen := map[[3]int]bool{}
	for _, p := range all {
		k := [3]int(p)
		assert.False(t, seen[k], "%v twice", p)
		seen[k] = true
	}
	free = append(free[:0], choice{layouts: []layout.Layout{layout.RowMajor, a}}, choice{layouts: []layout.Layout{layout.RowMajor, a}})
	assert.Len(t, picks(free), 4, "few are all estimated")
}

// TestPrunedShortcut: layouts that kernels of pruned weights ask for take nothing from what dense kernels have, at a residual addition, too.
func TestPrunedShortcut(t *testing.T) {
	keep := func(f, c, tap int) bool { return rand.New(rand.NewPCG(uint64(32*f+c), uint64(tap))).IntN(5) == 0 }
	text := kept("a", 32, keep) + kept("b", 32, keep) + `
  input %x f32[1, 32, 16, 16]
  %o f32[1, 32, 16, 16] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %p f32[1, 32, 16, 16] = Relu.14(%o)
  %q f32[1, 32, 16, 16] = Conv.11(%p, @b) {pads = [1, 1, 1, 1]}
  %r f32[1, 32, 16, 16] = Relu.14(%q)
  %s f32[1, 32, 16, 16] = Conv.11(%r, @a) {pads = [1, 1, 1, 1]}
  %t f32[1, 32, 16, 16] = Add.14(%s, %p)
  %u f32[1, 32, 16, 16] = Relu.14(%t)
  %v f32[1, 32, 16, 16] = Conv.11(%u, @b) {pads = [1, 1, 1, 1]}
  %w f32[1, 32, 16, 16] = Add.14(%v, %u)
  %y f32[1, 32, 16, 16] = Relu.14(%w)
  output %y
`
	o := all
	o.Winograd = true
	cost := func() float64 {
		c, err := Run(fused(t, text), chipstest.Target(t, "x86_64_v4"), o)
		require.NoError(t, err)
		return c.Solution.Cost
	}
	dense := cost()
	o.Pruned = weights.NewEncodings()
	assert.LessOrEqual(t, cost(), dense)
}

// TestPicksOfMany: of a block of many values there are a few assignments, however many layouts each may have.
func TestPicksOfMany(t *testing.T) {
	layouts := []layout.Layout{layout.RowMajor, layout.Blocked(1, 8), layout.Blocked(1, 16)}
	for values, most := range map[int]int{2: 9, 3: 16, mostVaried: 6 * mostVaried, mostVaried + 1: 3, 1000: 3} {
		free := make([]choice, values)
		for i := range free {
			free[i].layouts = layouts
		}
		all := picks(free)
		assert.LessOrEqual(t, len(all), most, "%d values", values)
		assert.GreaterOrEqual(t, len(all), 3, "%d values", values)
	}
}
