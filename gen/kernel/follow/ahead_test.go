package follow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// TestFetchAheadOfOneLoop: what counts the next iteration is one variable, so that copies of two loops' iterations are not fetched ahead.
func TestFetchAheadOfOneLoop(t *testing.T) {
	copies := func(at string) *stage {
		return &stage{sched: &sched.Stage{Ahead: true, At: sched.Ref{Stage: 2, Loop: at}}, out: []*stored{{buf: &loop.Buffer{Name: at}}}}
	}
	_, err := (&follower{at: []*stage{copies("k"), copies("k")}}).fetchAhead(nil)
	require.NoError(t, err)
	_, err = (&follower{at: []*stage{copies("k"), copies("j")}}).fetchAhead(nil)
	require.ErrorContains(t, err, "copies are fetched ahead in 2 loops; want one loop")
}
