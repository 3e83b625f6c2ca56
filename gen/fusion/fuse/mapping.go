package fuse

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ops"
)

// mappings are the mapping types of a block's operands, as far as they were asked for: following what
// a large block reads takes long.
type mappings struct {
	b     *block.Block
	types map[int]ops.MappingType
	reads *ops.Reads // nil until they are asked for
	// before are the reads of the consumer that the block was made of, by inlining producers, and was the number
	// that each operand had there; -1 where a producer reads it.
	before *ops.Reads
	was    []int
}

// mappingsOf are kept as long as the block lives.
func (f *fuser) mappingsOf(b *block.Block) *mappings {
	m := f.mappings[b]
	if m == nil {
		m = &mappings{b: b, types: map[int]ops.MappingType{}}
		f.mappings[b] = m
	}
	return m
}

// carry notes for m, made by inlining a producer into a consumer, how the consumer reads its other operands: m
// reads them so, too. A consumer of many operands is followed once, not once for each of them.
func (f *fuser) carry(p pair, m *block.Block, fromC []int) {
	c := f.mappingsOf(p.second)
	out := &mappings{b: m, types: map[int]ops.MappingType{}, before: c.before, was: make([]int, len(m.Operands))}
	if c.reads != nil {
		out.before = c.reads
	}
	if out.before == nil {
		return
	}
	for i := range out.was {
		out.was[i] = -1
	}
	for i, to := range fromC {
		if to >= len(p.first.Operands) {
			out.was[to] = i
			if c.reads == nil {
				out.was[to] = c.was[i]
			}
		}
	}
	f.mappings[m] = out
}

// of is the mapping type of operand n.
func (m *mappings) of(n int) ops.MappingType {
	t, ok := m.types[n]
	if !ok {
		t = m.follow(n)
		m.types[n] = t
	}
	return t
}

func (m *mappings) follow(n int) ops.MappingType {
	shape := m.b.Operands[n].Shape
	if m.before != nil && m.was[n] >= 0 {
		return m.before.Mapping(m.was[n], shape)
	}
	if m.reads == nil {
		m.reads = ops.ReadsOf(m.b.Stages())
	}
	return m.reads.Mapping(n, shape)
}

// all is the most complex mapping type of the operands, constants aside.
func (m *mappings) all() ops.MappingType {
	t := ops.Unread
	for n, v := range m.b.Operands {
		if v.Const == nil {
			t = max(t, m.of(n))
		}
	}
	return t
}
