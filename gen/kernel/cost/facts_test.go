package cost

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
)

// TestFactsAreRead: each fact of a chip makes dearer what it is of, and nothing else.
func TestFactsAreRead(t *testing.T) {
	small, large := sym.Const(1<<10), sym.Const(1<<22)
	apart := copying(small, 1, 8)
	store := apart.Body[0].(loop.For).Body[0].(loop.Store)
	store.Index = sym.Scale(store.Index, 2)
	apart.Body = []loop.Stmt{loop.For{Var: "i", Extent: small, Lanes: 8, Body: []loop.Stmt{store}}}
	heavy := copying(small, 1, 8)
	store = heavy.Body[0].(loop.For).Body[0].(loop.Store)
	store.Value = te.Fn(ir.F32, "exp", store.Value)
	heavy.Body = []loop.Stmt{loop.For{Var: "i", Extent: small, Lanes: 8, Body: []loop.Stmt{store}}}
	empty := &loop.Kernel{Facts: sym.Facts{}}
	kernels := map[string]*loop.Kernel{"copy": copying(small, 1, 8), "store": apart, "compute": heavy, "far": copying(large, 1, 16), "empty": empty}
	for name, c := range map[string]struct {
		slow, fast func(*target.Target)
		dearer     []string // and others cost the same
	}{
		"stores_per_cycle":     {func(t *target.Target) { t.StoresPerCycle = 0.25 }, func(*target.Target) {}, []string{"copy", "store", "compute", "far"}},
		"arithmetic_per_cycle": {func(t *target.Target) { t.ArithmeticPerCycle = 1 }, func(*target.Target) {}, []string{"compute"}},
		"lane_cycles":          {func(t *target.Target) { t.LaneCycles = 2 }, func(t *target.Target) { t.LaneCycles = 0.5 }, []string{"store"}},
		"crossing_cycles":      {func(*target.Target) {}, func(t *target.Target) { t.CrossingCycles = 100 }, []string{"copy", "store", "compute", "far", "empty"}},
		"l3_bytes":             {func(*target.Target) {}, func(t *target.Target) { t.L3, t.L3BytesPerCycle = 64<<20, 16 }, []string{"far"}},
	} {
		for kernel, k := range kernels {
			slow, fast := *chip, *chip
			c.slow(&slow)
			c.fast(&fast)
			a, b := Kernel(k, &slow, nil), Kernel(k, &fast, nil)
			if assert.GreaterOrEqual(t, a, b, "%s, %s", name, kernel); !slices.Contains(c.dearer, kernel) {
				assert.InDelta(t, a, b, 1e-9, "%s, %s", name, kernel)
				continue
			}
			assert.Greater(t, a, b, "%s, %s", name, kernel)
		}
	}
}

// TestThirdLevel: constants come from memory once and from the cache behind the second-level one again, where that holds them.
func TestThirdLevel(t *testing.T) {
	c := *chip
	c.L3, c.L3BytesPerCycle = 32<<20, 16
	e := &estimate{t: &c}
	assert.InDelta(t, 4e6/4, e.constant(4e6, 4e6), 1e-6, "once")
	assert.InDelta(t, 1e6/4, e.constant(1e6, 4e6), 1e-6, "a part of it")
	assert.InDelta(t, 4e6/4+8e6/16, e.constant(12e6, 4e6), 1e-6, "three times")
	assert.InDelta(t, 12e7/4, e.constant(12e7, 4e7), 1e-6, "more than the cache holds")
	assert.InDelta(t, 12e6/4, (&estimate{t: chip}).constant(12e6, 4e6), 1e-6, "no such cache")
}
