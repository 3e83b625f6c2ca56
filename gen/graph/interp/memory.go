package interp

import (
	"sync"

	"rules_dnn/gen/ir"
)

// Memory keeps the memory of tensors that are no longer read, for those of later stages and evaluations. Several may use it at a time.
type Memory struct {
	mu    sync.Mutex
	spare map[int][][]byte // by length
}

// Give takes the memory of tensors that nothing reads any more.
func (m *Memory) Give(ts ...*ir.Tensor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spare == nil {
		m.spare = map[int][][]byte{}
	}
	for _, t := range ts {
		if n := len(t.Data); n > 0 {
			m.spare[n] = append(m.spare[n], t.Data)
		}
		t.Data = nil
	}
}

// tensor is one whose elements are anything.
func (m *Memory) tensor(t ir.DType, shape []int64, elements int64) *ir.Tensor {
	if m == nil {
		return ir.NewTensor(t, shape...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int(elements) * t.Size()
	if all := m.spare[n]; len(all) > 0 {
		m.spare[n] = all[:len(all)-1]
		return &ir.Tensor{Type: t, Shape: append([]int64{}, shape...), Data: all[len(all)-1]}
	}
	return ir.NewTensor(t, shape...)
}
