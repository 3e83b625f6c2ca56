// Package safetensors reads and writes files of named tensors in the safetensors format: eight bytes with the length of a
// header, the header, which is JSON, and the tensors' elements one after the other, row-major and little-endian. Files come from other
// programs: whatever is broken is refused.
package safetensors

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// File is what a file holds. Tensors are in the order of their elements in the file.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor
}

// Tensor is a named tensor. What Read gives stays in the file until it is asked for.
type Tensor struct {
	Name string
	*ir.Tensor
}

// Tensor is the tensor of a name, or nil.
func (f *File) Tensor(name string) *ir.Tensor {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t.Tensor
		}
	}
	return nil
}

// Bounds of what Read takes.
const (
	maxHeader  = 64 << 20
	maxTensors = 1 << 16
)

// metadataKey is the header's entry that is no tensor.
const metadataKey = "__metadata__"

// names are the format's words for element types.
var names = map[ir.DType]string{
	ir.Bool: "BOOL", ir.U8: "U8", ir.I8: "I8", ir.U16: "U16", ir.I16: "I16", ir.U32: "U32", ir.I32: "I32",
	ir.U64: "U64", ir.I64: "I64", ir.F16: "F16", ir.BF16: "BF16", ir.F32: "F32", ir.F64: "F64",
}

func typeOf(name string) (ir.DType, error) {
	for t, n := range names {
		if n == name {
			return t, nil
		}
	}
	return ir.Invalid, fmt.Errorf("element type %q; supported are BOOL, U8 to U64, I8 to I64, F16, BF16, F32 and F64", name)
}

// entry is a tensor in the header.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}
