package pbqp

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOrder: each node that is eliminated has the fewest neighbours of those that are left, and is the first of several.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		n := 2 + r.IntN(40)
		p := &Problem{Nodes: make([][]float64, n)}
		next := make([]map[int]bool, n)
		for i := range next {
			next[i] = map[int]bool{}
		}
		for range 2 * n {
			if a, b := r.IntN(n), r.IntN(n); a != b {
				p.Edges = append(p.Edges, Edge{A: a, B: b})
				next[a][b], next[b][a] = true, true
			}
		}
		order := (&elimination{p: p}).order()
		assert.Len(t, order, n)
		for _, v := range order {
			for i, near := range next {
				assert.False(t, near != nil && (len(near) < len(next[v]) || len(near) == len(next[v]) && i < v), "%d before %d", v, i)
			}
			for a := range next[v] {
				delete(next[a], v)
				for b := range next[v] {
					if a != b {
						next[a][b] = true
					}
				}
			}
			next[v] = nil
		}
	}
}
