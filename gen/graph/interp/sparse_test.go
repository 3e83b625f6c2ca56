package interp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestSparse: convolutions of weights that are mostly zeros leave these out, and have the bits of those that do not.
func TestSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	wide := rowWide
	defer func() { rowWide = wide }()
	for _, c := range []struct {
		window
		zeros float64
		pays  bool
	}{
		{window{2, 8, 5, 8, 3, 1, 1}, 0.7, true}, {window{3, 9, 6, 16, 3, 1, 1}, 0.9, true}, {window{2, 8, 5, 8, 3, 1, 1}, 1, true}, {window{2, 8, 8, 15, 3, 2, 1}, 0.7, true},
		{window{2, 8, 5, 8, 3, 1, 1}, 0.2, false}, {window{2, 8, 5, 9, 3, 1, 1}, 0.7, false},
	} {
		w := c.window
		operands := []*ir.Tensor{normal(t, r, 0, w.images, w.channels, w.size, w.size), normal(t, r, c.zeros, w.filters, w.channels, w.taps, w.taps), normal(t, r, 0, w.images, w.filters, w.out(), w.out())}
		stages := map[string]*te.Stage{"forward": w.forward()}
		if w.stride == 1 {
			stages["data"] = w.data()
		}
		for name, s := range stages {
			what := fmt.Sprintf("%s of %+v, %v zeros", name, w, c.zeros)
			strips := stripsOf(t, s, operands)
			require.NotNil(t, strips, what)
			strips.pack()
			assert.Equal(t, c.pays, strips.sparse() != nil, what)
			want, err := Interp{}.Eval([]*te.Stage{s}, []te.Source{{Stage: true}}, operands, nil)
			require.NoError(t, err)
			for _, vectors := range []bool{false, true} {
				if rowWide = nil; vectors {
					rowWide = wide
				}
				for _, workers := range []int{1, 3} {
					got, err := Interp{Workers: workers, SkipZeros: true}.Eval([]*te.Stage{s}, []te.Source{{Stage: true}}, operands, nil)
					require.NoError(t, err)
					assert.Equal(t, want[0].Data, got[0].Data, "%s, %d workers, vectors %v", what, workers, vectors)
				}
			}
		}
	}
}
