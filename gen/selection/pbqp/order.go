package pbqp

import (
	"cmp"
	"container/heap"
	"slices"
)

// degree is how many neighbours a node had at some time.
type degree struct{ node, n int }

// degrees are a heap, a node of the fewest neighbours on top, the first of several.
type degrees []degree

func (d degrees) Len() int      { return len(d) }
func (d degrees) Swap(i, k int) { d[i], d[k] = d[k], d[i] }
func (d degrees) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(d[i].n, d[k].n), cmp.Compare(d[i].node, d[k].node)) < 0
}
func (d *degrees) Push(x any) { *d = append(*d, x.(degree)) }
func (d *degrees) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = slices.Delete(*d, last, last+1)
	return x
}

// order eliminates a node of the fewest neighbours next, the first of several.
func (e *elimination) order() []int {
	next := make([]map[int]bool, len(e.p.Nodes))
	for i := range next {
		next[i] = map[int]bool{}
	}
	for _, d := range e.p.Edges {
		next[d.A][d.B], next[d.B][d.A] = true, true
	}
	var left degrees
	for i, near := range next {
		left = append(left, degree{i, len(near)})
	}
	heap.Init(&left)
	var out []int
	for len(left) > 0 {
		d := heap.Pop(&left).(degree)
		near := next[d.node]
		if near == nil || len(near) != d.n {
			continue // eliminated, or entered again with another number
		}
		next[d.node] = nil
		out = append(out, d.node)
		for a := range near {
			delete(next[a], d.node)
			for b := range near {
				if a != b {
					next[a][b] = true
				}
			}
		}
		for a := range near {
			heap.Push(&left, degree{a, len(next[a])})
		}
	}
	return out
}
