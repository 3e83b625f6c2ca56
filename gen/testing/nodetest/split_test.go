package nodetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/modeltest"
)

// TestNodeSplit compiles the newest case of each name for a processor and a device beside it, on which all blocks run that can, or
// every second one, and runs the programs in the interpreter of loops. Only opaque operators, and what goes where a value says,
// stay on the host.
func TestNodeSplit(t *testing.T) {
	s := cases(t)
	o := &outcome{known: len(s.Cases) + len(s.Left), skipped: map[string]int{}}
	launches, both := 0, 0
	for i, c := range s.Cases {
		if slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name }) {
			continue
		}
		split := []modeltest.Split{modeltest.Devoted, modeltest.Alternating}[i/2%2]
		o.how = func(g *ir.Graph, config modeltest.Config, inputs map[string]*ir.Tensor) ([]*ir.Tensor, error) {
			p, out, err := modeltest.RunSplit(g, config, modeltest.Devices[i%2], split, uint64(i), inputs)
			if p != nil {
				launches += len(p.Launches())
				if len(p.Launches()) > 0 && len(p.Calls()) > 0 {
					both++
				}
			}
			return out, err
		}
		t.Run(c.Label(), func(t *testing.T) { o.compile(t, c, func(*ir.Graph, *Case, map[string]*ir.Tensor) {}) })
	}
	t.Logf("%s; %d launches, %d programs with kernels on both", o, launches, both)
	require.Equal(t, o.run, o.passed)
	if *only == "" {
		assert.Greater(t, launches, 1000)
		assert.Greater(t, both, 20)
	}
}
