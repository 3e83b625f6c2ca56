package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/target/instr"
)

// TestMatrices: loops that walk both operands as one are one; applications take in equally many points where that makes none more.
func TestMatrices(t *testing.T) {
	row := instr.Lookup("tdpbusd_u8i8x16")
	for _, c := range []struct {
		k, want     []KLoop
		deep, steps int64
	}{
		{nil, []KLoop{{Extent: 1}}, 1, 1},
		{[]KLoop{{32, 4, 64}}, []KLoop{{32, 4, 64}}, 16, 2},
		{[]KLoop{{24, 4, 64}}, []KLoop{{24, 4, 64}}, 12, 2},
		{[]KLoop{{37, 4, 64}}, []KLoop{{37, 4, 64}}, 16, 3},
		{[]KLoop{{3, 1000, 600}, {3, 20, 320}, {5, 4, 64}}, []KLoop{{3, 1000, 600}, {15, 4, 64}}, 15, 3},
		{[]KLoop{{3, 60, 900}, {3, 20, 320}, {5, 4, 64}}, []KLoop{{3, 60, 900}, {15, 4, 64}}, 15, 3},
		{[]KLoop{{1, 60, 900}, {3, 20, 320}, {1, 7, 7}}, []KLoop{{3, 20, 320}}, 3, 1},
	} {
		m := &MicroKernel{Instr: row, X: instr.Memory, Rows: 1, Vectors: 1, K: c.k}
		k, deep := m.Matrices()
		assert.Equal(t, c.want, k, "%v", c.k)
		assert.Equal(t, c.deep, deep, "%v", c.k)
		assert.Equal(t, c.steps, m.MatrixSteps(), "%v", c.k)
	}
}
