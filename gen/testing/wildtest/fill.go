package wildtest

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// fill gives a tensor elements.
func (s *Source) fill(t *ir.Tensor) {
	size := t.Type.Size()
	for at := 0; at < len(t.Data); at += size {
		var e [8]byte
		binary.LittleEndian.PutUint64(e[:], s.element(t.Type))
		copy(t.Data[at:at+size], e[:])
	}
}

// element is an element's bits.
func (s *Source) element(t ir.DType) uint64 {
	if !t.IsFloat() {
		if t == ir.Bool {
			return uint64(s.N(2))
		}
		return uint64(Among(s, numbers))
	}
	x := Among(s, reals)
	switch t {
	case ir.F16:
		return uint64(ir.F16Bits(x))
	case ir.BF16:
		return uint64(ir.BF16Bits(x))
	case ir.F32:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// maxElements bounds the inputs that Inputs makes.
const maxElements = 1 << 14

// Inputs binds the graph's symbols to numbers within their bounds and makes an input of each
// shape; nil where one has no known shape or would be too large.
func Inputs(s *Source, g *ir.Graph) (inputs map[string]*ir.Tensor, dims map[string]int64) {
	inputs, dims = map[string]*ir.Tensor{}, map[string]int64{}
	for _, y := range g.Symbols {
		dims[y.Name] = min(y.Lo+int64(s.N(5)), y.Hi)
	}
	for _, v := range g.Inputs {
		if !v.HasShape {
			return nil, nil
		}
		shape, loops := make([]int64, len(v.Shape)), make([]int64, len(v.Shape))
		for i, e := range v.Shape {
			x, err := e.Eval(dims)
			if err != nil {
				return nil, nil
			}
			shape[i], loops[i] = x, max(x, 1) // loops around an empty one take their time, too
		}
		if n, err := ir.Len(loops); err != nil || n > maxElements {
			return nil, nil
		}
		t := ir.NewTensor(v.Type, shape...)
		s.fill(t)
		inputs[v.Name] = t
	}
	return inputs, dims
}
