package fuse

import (
	"container/heap"
	"sort"
)

// todo are the places at which a row is to be tried, in order: those that it has not reached yet, and earlier ones
// whose blocks, or what these read, have changed.
type todo struct {
	next  int
	again places
}

// take gives the first place of n; false where none is left.
func (t *todo) take(n int) (int, bool) {
	if len(t.again.IntSlice) > 0 {
		return heap.Pop(&t.again).(int), true
	}
	if t.next >= n {
		return 0, false
	}
	t.next++
	return t.next - 1, true
}

// repeat puts a place back.
func (t *todo) repeat(at int) {
	if at < t.next {
		heap.Push(&t.again, at)
	}
}

// places are a heap, the first place on top.
type places struct{ sort.IntSlice }

func (p *places) Push(x any) { p.IntSlice = append(p.IntSlice, x.(int)) }

func (p *places) Pop() any {
	last := len(p.IntSlice) - 1
	x := p.IntSlice[last]
	p.IntSlice = p.IntSlice[:last]
	return x
}
