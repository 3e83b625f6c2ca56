package modeltest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// TestFetch: what Winograd's kernels read ahead is that of which the place is known then, not what an index gives that is read with it.
func TestFetch(t *testing.T) {
	fetched := false
	for _, pick := range []string{"Gather.13(%p, %i) {axis = 2}", "Gather.13(%p, %i) {axis = 3}", "GatherElements.13(%p, %j) {axis = 3}"} {
		for _, chip := range Chips {
			g := irtest.Parse(t, `symbol N 256..400
input %w f32[64, 64, 3, 3]
input %x f32[1, 64, N, N]
input %i i64[N]
input %j i64[1, 64, N, N]
%p ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1]}
%q ?[*] = Conv.11(%p, %w) {pads = [1, 1, 1, 1]}
%g ?[*] = `+pick+`
%s ?[*] = Add.14(%q, %g)
%y ?[*] = Conv.11(%s, %w) {pads = [1, 1, 1, 1]}
output %y
`)
			r := &random{Rand: rand.New(rand.NewPCG(1, 2))}
			g.Inputs[0].Const = r.floats([]int64{64, 64, 3, 3}, 1)
			g.Inputs = g.Inputs[1:]
			p, err := Compile(g, Config{chip, nil})
			require.NoError(t, err, "%s: %s", chip, pick)
			fetched = fetched || slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool {
				return strings.HasPrefix(c.Kernel.Anchor, "winograd") && fetches(c.Kernel) && len(loop.Integers(c.Kernel.Body)) > 0
			})
		}
	}
	assert.True(t, fetched, "no kernel that reads an index reads others ahead")
}

// fetches reports whether a kernel reads something ahead.
func fetches(k *loop.Kernel) bool {
	found := false
	loop.Walk(k.Body, func(s loop.Stmt) bool {
		c, is := s.(loop.Claim)
		found = found || is && c.Later
		return !found
	})
	return found
}
