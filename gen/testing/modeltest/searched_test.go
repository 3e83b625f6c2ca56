package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
)

// TestSearched compiles random graphs with kernels that nothing proposes by itself, which a search finds: the verifier finds them right, and so do
// interpreters, from their texts too.
func TestSearched(t *testing.T) {
	const most = 4
	found := map[string]bool{}
	eachSeeded(24, func(x seeded) {
		chip, times := Chips[int(x.seed-1)%len(Chips)], tuning.Times{}
		for _, c := range x.compile(t, chip, 1, nil).Program.Calls() {
			if b := c.Tuning; b != nil && times[b.Key] == nil {
				for i, kernel := range b.Kernels {
					times[b.Key] = append(times[b.Key], tuning.Kernel{Name: kernel, Micros: float64(10 + i), Rounds: 1, Params: b.Params[i]})
				}
			}
		}
		for k := 2; k <= most; k++ {
			state := x.compile(t, chip, k, times)
			if len(otherKernels(state)) == 0 {
				break
			}
			for _, kernel := range x.agrees(t, chip, k, state) {
				found[kernel] = true
			}
		}
	})
	t.Logf("%d kernels", len(found))
	require.Greater(t, len(found), 10, "kernels that a search finds: %v", found)
}
