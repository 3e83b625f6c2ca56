package ir

import "fmt"

// DType is an element type. The zero value is Invalid.
type DType uint8

// Element types that the compiler computes with.
const (
	Invalid DType = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
)

// Kind groups element types that share arithmetic.
type Kind uint8

// Kinds of element types.
const (
	KindNone Kind = iota
	KindBool
	KindInt
	KindUint
	KindFloat
)

type dtypeRow struct {
	name string
	size int // bytes an element
	kind Kind
}

var dtypes = [...]dtypeRow{
	Invalid: {"invalid", 0, KindNone},
	Bool:    {"bool", 1, KindBool},
	I8:      {"i8", 1, KindInt},
	I16:     {"i16", 2, KindInt},
	I32:     {"i32", 4, KindInt},
	I64:     {"i64", 8, KindInt},
	U8:      {"u8", 1, KindUint},
	U16:     {"u16", 2, KindUint},
	U32:     {"u32", 4, KindUint},
	U64:     {"u64", 8, KindUint},
	F16:     {"f16", 2, KindFloat},
	BF16:    {"bf16", 2, KindFloat},
	F32:     {"f32", 4, KindFloat},
	F64:     {"f64", 8, KindFloat},
}

// String is the name in the text form: "f32".
func (t DType) String() string {
	if int(t) >= len(dtypes) {
		return fmt.Sprintf("dtype(%d)", uint8(t))
	}
	return dtypes[t].name
}

// Size is the bytes of one element in memory.
func (t DType) Size() int { return dtypes[t].size }

// Kind groups t with the types that share its arithmetic.
func (t DType) Kind() Kind { return dtypes[t].kind }

// IsFloat reports whether t is a floating-point type.
func (t DType) IsFloat() bool { return t.Kind() == KindFloat }

// IsInteger reports whether t is a signed or unsigned integer type; bool is none.
func (t DType) IsInteger() bool { return t.Kind() == KindInt || t.Kind() == KindUint }

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, error) {
	for i, r := range dtypes {
		if i != int(Invalid) && r.name == s {
			return DType(i), nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", s)
}
