package subpixel

import (
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// mover appends nodes that move what the convolution computes to where the transposed one has it.
type mover struct {
	*transposed
	g     *ir.Graph
	names *ir.Names
	nodes []*ir.Node
}

func (m *mover) last() *ir.Value { return m.nodes[len(m.nodes)-1].Outputs[0] }

// then appends a node that takes the last one's result.
func (m *mover) then(op, what string, attrs ir.Attrs, operands ...*ir.Value) {
	out := &ir.Value{Name: m.names.Name(m.n.Outputs[0].Name + what)}
	m.nodes = append(m.nodes, m.node(m.g, op, out, attrs, append([]*ir.Value{m.last()}, operands...)...))
}

func (m *mover) list(what string, xs []int64) *ir.Value {
	return ir.ConstValue(m.names.Name(m.n.Outputs[0].Name+what), edit.IntTensor(ir.I64, xs, int64(len(xs))))
}

func (m *mover) transpose(perm []int64) {
	if !slices.IsSorted(perm) {
		m.then("Transpose", ".moved", ir.Attrs{"perm": perm})
	}
}

// reshape keeps the first axes, whose extents may be symbols, and gives those after them the extents of rest.
func (m *mover) reshape(kept int, rest ...int64) {
	m.then("Reshape", ".parts", ir.Attrs{}, m.list(".shape", append(make([]int64, kept), rest...)))
}

// interleave makes of the channels' phases places of the spatial axes.
func (m *mover) interleave() {
	rank := len(m.strides)
	switch {
	case m.phases() == 1:
		return
	case m.squares():
		m.then("DepthToSpace", ".all", ir.Attrs{"blocksize": m.strides[0], "mode": m.mode()})
		return
	}
	// Channels go last, where they can be parted whatever the extents before them are.
	perm := []int64{0}
	for axis := range rank {
		perm = append(perm, int64(axis+2))
	}
	m.transpose(append(perm, 1))
	channels := m.group * m.perGroup
	axes := append(sequence(1, rank), sequence(rank+2, rank)...) // the spatial ones, and the phases of each
	perm = []int64{0, int64(rank + 1)}
	if m.mode() == "DCR" {
		m.reshape(rank+1, append(slices.Clone(m.strides), channels)...)
		axes, perm[1] = sequence(1, 2*rank), int64(2*rank+1)
	} else {
		m.reshape(rank+1, append([]int64{channels}, m.strides...)...)
	}
	// An axis and its phases become one where they are last: the first axis, and then the others in turn, each behind those that are done.
	for axis := 1; axis < rank; axis++ {
		perm = append(perm, axes[axis], axes[rank+axis])
	}
	m.transpose(append(perm, axes[0], axes[rank]))
	for axis := range rank {
		left := 2 * (rank - axis - 1)
		m.reshape(2+left+axis, -1)
		if left > 0 {
			perm = append([]int64{0, 1}, sequence(4, left-2+axis+1)...)
			m.transpose(append(perm, 2, 3))
		}
	}
}

// sequence is n numbers from the first one on.
func sequence(first, n int) []int64 {
	var out []int64
	for i := range n {
		out = append(out, int64(first+i))
	}
	return out
}

// slice gives the node's result: all of the phases' but for the pads.
func (m *mover) slice() {
	starts, ends := make([]int64, len(m.strides)), make([]int64, len(m.strides))
	for axis := range m.strides {
		starts[axis], ends[axis] = m.before[axis]-m.form.start[axis], -m.cut(axis)
		if ends[axis] == 0 {
			ends[axis] = math.MaxInt64
		}
	}
	out := m.n.Outputs[0]
	n := m.node(m.g, "Slice", out, ir.Attrs{}, m.last(), m.list(".starts", starts), m.list(".ends", ends), m.list(".axes", sequence(2, len(ends))))
	n.Version = max(n.Version, 10) // starts and ends as operands
	m.nodes = append(m.nodes, n)
}
