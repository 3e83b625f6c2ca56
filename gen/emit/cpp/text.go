// Package cpp prints kernels and the host program as C++17.
//
// Kernels are leaf functions over plain pointers and include no header of the
// C++ library. Vectors are GNU vector types, so one text serves every
// instruction set; the compiler's flags choose among them.
package cpp

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// writer collects indented lines.
type writer struct{ ckernel.Writer }

func (w *writer) line(format string, args ...any) { w.Line(format, args...) }
func (w *writer) block(head string, body func())  { w.Block(head, body) }
func strip(s string) string                       { return ckernel.Strip(s) }

// Storage is the C++ type of elements in memory, and C's.
func Storage(t ir.DType) string { return storage[t] }

var storage = map[ir.DType]string{
	ir.Bool: "bool", ir.I8: "int8_t", ir.I16: "int16_t", ir.I32: "int32_t", ir.I64: "int64_t",
	ir.U8: "uint8_t", ir.U16: "uint16_t", ir.U32: "uint32_t", ir.U64: "uint64_t",
	ir.F16: "uint16_t", ir.BF16: "uint16_t", ir.F32: "float", ir.F64: "double",
}

// Local is the C++ type of a variable, and C's: the half types are computed in float.
func Local(t ir.DType) string {
	if t == ir.F16 || t == ir.BF16 {
		return "float"
	}
	return Storage(t)
}

// dialect is C++ with GNU vectors.
type dialect struct {
	// mask is the type of lanes of bools, in a loop of vectors: as wide as the widest type there.
	mask ir.DType
	// halves: vectors hold f16 as it is.
	halves bool
}

// masks are signed integers by their size.
var masks = map[int64]ir.DType{1: ir.I8, 2: ir.I16, 4: ir.I32, 8: ir.I64}

func (dialect) Vectors(l loop.For) ckernel.Dialect {
	return dialect{mask: masks[loop.Widest(l.Body)], halves: l.Halves}
}

// HoldsHalves reports whether vectors hold f16 as it is.
func (d dialect) HoldsHalves() bool { return d.halves }

func (dialect) Name() string      { return "C++" }
func (dialect) IndexType() string { return "int64_t" }

func (d dialect) Type(t ir.DType, lanes int64) string {
	switch {
	case lanes == 0:
		return Local(t)
	case t == ir.Bool:
		t = d.mask
	case d.halves:
		return fmt.Sprintf("dnn_f16x%d", lanes)
	case slices.Contains(loop.Floats, t) && lanes >= 4:
		return fmt.Sprintf("dnn_f32x%d", lanes)
	}
	return fmt.Sprintf("dnn_vec<%s, %d>", Local(t), lanes)
}

func (d dialect) Broadcast(t ir.DType, x string, lanes int64) string {
	fn := "broadcast"
	if d.halves && lanes > 0 {
		fn = "broadcast_half"
	}
	if t == ir.Bool {
		fn = "same_mask"
	}
	return "dnn_math::" + fn + "<" + d.Type(t, lanes) + ">(" + x + ")"
}

func (d dialect) Counted(t ir.DType, first string, step, lanes int64) string {
	return fmt.Sprintf("dnn_math::counted<%s, %d>(%s)", d.Type(t, lanes), step, first)
}

func (dialect) Literal(c te.Const) string { return Literal(c) }

func (d dialect) Load(a ckernel.Access) string {
	if a.Lanes > 0 && a.Stride > 1 {
		return fmt.Sprintf("dnn_load%s_apart<%s, %d>(%s + %s)", d.inMemory(a.Buf), d.Type(a.Buf.Type, a.Lanes), a.Stride, a.Buf.Name, a.Index)
	}
	if a.Lanes > 0 {
		return fmt.Sprintf("dnn_load%s<%s>(%s + %s)", d.inMemory(a.Buf), d.Type(a.Buf.Type, a.Lanes), a.Buf.Name, a.Index)
	}
	at := fmt.Sprintf("%s[%s]", a.Buf.Name, strip(a.Index))
	if conv := fromHalf[a.Buf.Type]; conv != "" && !a.Buf.Widened() {
		return conv + "(" + at + ")"
	}
	return at
}

// inMemory returns the part of a function's name that names the type in memory, or "" if it is the
// type of registers.
func (d dialect) inMemory(b *loop.Buffer) string {
	if d.halves {
		return ""
	}
	if b.Type == ir.Bool {
		return "_bool"
	}
	if b.Widened() || b.Type != ir.F16 && b.Type != ir.BF16 {
		return ""
	}
	return "_" + b.Type.String()
}

func (d dialect) Store(a ckernel.Access, v string) string {
	if a.Exact && a.Buf.Type == ir.BF16 && !a.Buf.Widened() && a.Stride <= 1 { // its upper half
		if a.Lanes > 0 {
			return fmt.Sprintf("dnn_store_exact_bf16(%s + %s, %s);", a.Buf.Name, a.Index, v)
		}
		return fmt.Sprintf("%s[%s] = dnn_math::exact_bf16(%s);", a.Buf.Name, strip(a.Index), v)
	}
	if a.Lanes > 0 && a.Stride > 1 {
		return fmt.Sprintf("dnn_store%s_apart<%d>(%s + %s, %s);", d.inMemory(a.Buf), a.Stride, a.Buf.Name, a.Index, v)
	}
	if a.Lanes > 0 {
		return fmt.Sprintf("dnn_store%s(%s + %s, %s);", d.inMemory(a.Buf), a.Buf.Name, a.Index, v)
	}
	if conv := toHalf[a.Buf.Type]; conv != "" && !a.Buf.Widened() {
		v = conv + "(" + v + ")"
	}
	return fmt.Sprintf("%s[%s] = %s;", a.Buf.Name, strip(a.Index), v)
}

// Turns are of 4 bytes: a power of two of them, up to a square; of bytes, whole squares of registers; or of smaller integers, whose registers are of their type, and of
// bf16, that come to 4 bytes beside each other.
func (dialect) Turns(a ckernel.Access, n int) bool {
	size := a.Buf.Type.Size()
	if size == 1 && n == loop.TurnedBytes {
		return a.Lanes%loop.TurnedBytes == 0
	}
	return n&(n-1) == 0 && size == 4 || int64(n) == a.Stride && n*size == 4 && (a.Buf.Type.IsInteger() || a.Buf.Type == ir.BF16 && !a.Buf.Widened())
}

func (dialect) StoreTurned(a ckernel.Access, values []string) string {
	if a.Buf.Type == ir.BF16 {
		return fmt.Sprintf("dnn_store_pairs_bf16(%s + %s, %s);", a.Buf.Name, a.Index, strings.Join(values, ", "))
	}
	return fmt.Sprintf("dnn_store_turned<%d>(%s + %s, %s);", a.Stride, a.Buf.Name, a.Index, strings.Join(values, ", "))
}

// Claim is of GCC and clang; it reads nothing, also beyond the buffer.
func (dialect) Claim(a ckernel.Access, later bool) string {
	if later {
		return fmt.Sprintf("__builtin_prefetch(%s + %s, 0, 2);", a.Buf.Name, a.Index)
	}
	return fmt.Sprintf("__builtin_prefetch(%s + %s, 1);", a.Buf.Name, a.Index)
}

func (d dialect) Call(x te.Call, args []string, lanes int64) (string, error) {
	row := ckernel.Row(x)
	text := ""
	if lanes > 0 && boundedByNumber(x) {
		return fmt.Sprintf("dnn_math::%s_number(%s)", x.Fn, strings.Join(args, ", ")), nil
	}
	if lanes > 0 {
		from := make([]ir.DType, len(x.Args))
		for i, a := range x.Args {
			from[i] = a.DType()
		}
		text = row.CLanes(func(t ir.DType) string { return d.Type(t, lanes) }, x.Type, from, args)
	} else {
		text = row.C(x.Type, args)
	}
	if fn := roundHalf[x.Type]; fn != "" && !d.halves && !row.Rounds() && !row.Exact {
		text = fn + "(" + text + ")" // each operation rounds to its type
	}
	return text, nil
}

// boundedByNumber reports whether a call is the lesser or greater one of a float and a constant that is a number, but 0: of zeros the sign would
// differ.
func boundedByNumber(x te.Call) bool {
	if x.Type != ir.F32 || x.Fn != "min" && x.Fn != "max" {
		return false
	}
	c, ok := x.Args[1].(te.Const)
	v := math.Float64frombits(c.Bits)
	return ok && v != 0 && !math.IsNaN(v)
}

func (dialect) Held(t ir.DType, x string) string { return scalar.Held(t, x) }

func (dialect) Array(b *loop.Buffer, size string) string {
	t := Local(b.Type)
	if b.Packed {
		t = Storage(b.Type)
	}
	return fmt.Sprintf("%s %s[%s] __attribute__((aligned(64)));", t, b.Name, size)
}

func (d dialect) Table(b *loop.Buffer, at string, lanes int64) string {
	return fmt.Sprintf("dnn_table<%s>(%s, %s)", d.Type(b.Type, lanes), b.Name, at)
}

func (dialect) Bounded(value, lo, hi string) string {
	return fmt.Sprintf("dnn_bounded((int64_t)(%s), %s, %s, &bad)", value, lo, hi)
}

func (dialect) Tile(x loop.Tile, at ckernel.TileAt) (string, error) {
	fetch := ""
	if x.Micro.Fetch > 0 {
		fetch = fmt.Sprintf(", %s + %s", x.W.Name, at.Fetch)
	}
	if x.Micro.Kept != nil {
		fetch = fmt.Sprintf(", %s + %s, %s + %s", x.Index.Name, at.Index, x.Ends.Name, at.Ends)
	}
	if x.Micro.Instr.Matrix > 0 {
		fetch = ", &" + tilesVar
	}
	to := at.Acc
	if x.Finish != nil {
		var pointers []string
		for i, p := range x.Finish.Pointers {
			pointers = append(pointers, p.Buf.Name+" + "+at.Pointers[i])
		}
		to = strings.Join(pointers, ", ")
	}
	text := fmt.Sprintf("%s(%s + %s, %s + %s, %s%s);", TileName(x), x.X.Name, at.X, x.W.Name, at.W, to, fetch)
	if x.Micro.Adds && x.Micro.Kept == nil {
		return text, fmt.Errorf("a tile adds to existing sums; C++ supports this only for a pruned layer's stored weights")
	}
	if x.Micro.Instr.Text("cpp", "", "", "") == "" {
		return text, fmt.Errorf("no C++ for the tile instruction %s of the chip", x.Micro.Instr.Name)
	}
	return text, nil
}

var fromHalf = map[ir.DType]string{ir.F16: "dnn_math::f16_to_f32", ir.BF16: "dnn_math::bf16_to_f32"}
var toHalf = map[ir.DType]string{ir.F16: "dnn_math::f32_to_f16", ir.BF16: "dnn_math::f32_to_bf16"}
var roundHalf = map[ir.DType]string{ir.F16: "dnn_math::round_f16", ir.BF16: "dnn_math::round_bf16"}

// Literal prints a constant so that its type is exact, in C++ and in C.
func Literal(c te.Const) string {
	switch c.Type.Kind() {
	case ir.KindBool:
		return strconv.FormatBool(c.Bits != 0)
	case ir.KindUint:
		return fmt.Sprintf("(%s)%dU", Local(c.Type), c.Bits)
	case ir.KindInt:
		v := int64(c.Bits)
		if v == math.MinInt64 {
			return "(-INT64_C(9223372036854775807) - 1)"
		}
		return fmt.Sprintf("(%s)INT64_C(%d)", Local(c.Type), v)
	}
	return floatLiteral(c.Type, scalar.Value(c.Type, math.Float64frombits(c.Bits)))
}

func floatLiteral(t ir.DType, v float64) string {
	suffix := "f"
	if t == ir.F64 {
		suffix = ""
	}
	switch {
	case math.IsNaN(v):
		return "__builtin_nan" + suffix + `("")`
	case math.IsInf(v, 1):
		return "__builtin_inf" + suffix + "()"
	case math.IsInf(v, -1):
		return "(-__builtin_inf" + suffix + "())"
	}
	return ckernel.Float(v, t == ir.F64)
}
