package fuse

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ops"
)

// mappings are the mapping types of a block's operands, as far as they were asked for: following what
// a large block reads takes long.
type mappings struct {
	b     *block.Block
	reads *ops.Reads
	types map[int]ops.MappingType
}

// mappingsOf are kept as long as the block lives.
func (f *fuser) mappingsOf(b *block.Block) *mappings {
	m := f.mappings[b]
	if m == nil {
		m = &mappings{b: b, reads: ops.ReadsOf(b.Stages()), types: map[int]ops.MappingType{}}
		f.mappings[b] = m
	}
	return m
}

// of is the mapping type of operand n.
func (m *mappings) of(n int) ops.MappingType {
	t, ok := m.types[n]
	if !ok {
		t = m.reads.Mapping(n, m.b.Operands[n].Shape)
		m.types[n] = t
	}
	return t
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
