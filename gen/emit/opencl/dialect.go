package opencl

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Element types in memory: bool is a byte, the half types are their bits.
var storages = map[ir.DType]string{ir.Bool: "uchar", ir.F16: "ushort", ir.BF16: "ushort"}

func storage(t ir.DType) string {
	if s, ok := storages[t]; ok {
		return s
	}
	return scalar.CLType(t, 0)
}

// dialect is OpenCL C 1.2, in a kernel whose operands begin at multiples of quads, or not.
type dialect struct {
	k       *loop.Kernel
	aligned map[*loop.Buffer]int64
	rolls   *rolls // nil: all loops over sums are written out
}

const dialectName = "opencl"

func (dialect) Name() string      { return "OpenCL C" }
func (dialect) IndexType() string { return "dnn_index" }

func (dialect) Type(t ir.DType, lanes int64) string { return scalar.CLType(t, lanes) }

func (dialect) Broadcast(t ir.DType, x string, lanes int64) string {
	return "(" + scalar.CLType(t, lanes) + ")(" + x + ")"
}

// Load reads a whole texel where lanes move along it, and else a lane of one.
func (dialect) Load(a ckernel.Access) string {
	if a.Buf.Image != nil {
		texel := "read_imagef(" + a.Buf.Name + ", " + texel(a) + ")"
		if a.Lanes > 0 {
			return texel
		}
		if lane, ok := a.At.Const(); ok {
			return texel + ".s" + strconv.FormatInt(lane, 10)
		}
		return "dnn_lane(" + texel + ", " + a.Index + ")"
	}
	if a.Lanes > 0 {
		return fmt.Sprintf("vload%d(0, %s + %s)", a.Lanes, a.Buf.Name, a.Index)
	}
	at := fmt.Sprintf("%s[%s]", a.Buf.Name, ckernel.Strip(a.Index))
	switch t := a.Buf.Type; {
	case isHalf(t):
		return "dnn_" + t.String() + "_to_f32(" + at + ")"
	case t == ir.Bool && !a.Buf.Local:
		return "(" + at + " != 0)"
	}
	return at
}

func isHalf(t ir.DType) bool { return slices.Contains(loop.Halves, t) }

// Bits are those of an element of 16 bits: arrays of an item have them, too, as they are in memory.
func (dialect) Bits(a ckernel.Access) string {
	return fmt.Sprintf("%s[%s]", a.Buf.Name, ckernel.Strip(a.Index))
}

// StoreBits stores such ones.
func (d dialect) StoreBits(a ckernel.Access, bits string) string {
	return d.Bits(a) + " = " + bits + ";"
}

// wholeRegister reports whether lanes lie at multiples of registers in memory that items share: one instruction stores them then.
func (d dialect) wholeRegister(a ckernel.Access) bool {
	return d.k != nil && slices.Contains(d.k.Shared, a.Buf) && alignedTo(d.k, a.Buf) >= a.Lanes*int64(a.Buf.Type.Size()) && a.Whole && sym.Mod(a.First, sym.Const(a.Lanes), d.k.Facts).Is(0)
}

func texel(a ckernel.Access) string {
	return "(int2)((int)(" + ckernel.Strip(a.X) + "), (int)(" + ckernel.Strip(a.Y) + "))"
}

func (d dialect) Store(a ckernel.Access, v string) string {
	if a.Buf.Image != nil {
		return fmt.Sprintf("write_imagef(%s, %s, %s);", a.Buf.Name, texel(a), v)
	}
	if a.Lanes > 0 && d.wholeRegister(a) {
		return fmt.Sprintf("*(__local %s*)(%s + %s) = %s;", scalar.CLType(a.Buf.Type, a.Lanes), a.Buf.Name, a.Index, v)
	}
	if a.Lanes > 0 {
		return fmt.Sprintf("vstore%d(%s, 0, %s + %s);", a.Lanes, v, a.Buf.Name, a.Index)
	}
	if t := a.Buf.Type; isHalf(t) {
		v = "dnn_f32_to_" + t.String() + "(" + v + ")"
	}
	return fmt.Sprintf("%s[%s] = %s;", a.Buf.Name, ckernel.Strip(a.Index), v)
}

func (dialect) Call(x te.Call, args []string, lanes int64) (string, error) {
	row := ckernel.Row(x)
	var from []ir.DType
	for _, a := range x.Args {
		from = append(from, a.DType())
	}
	text := row.CL(x.Type, from, lanes, args)
	if isHalf(x.Type) && !row.Rounds() {
		text = "dnn_round_" + x.Type.String() + "(" + text + ")" // each operation rounds to its type
	}
	return text, nil
}

func (dialect) Array(b *loop.Buffer, size string) string {
	t := scalar.CLType(b.Type, 0)
	if isHalf(b.Type) {
		t = storage(b.Type)
	}
	return fmt.Sprintf("%s %s[%s];", t, b.Name, size)
}

// Near reads what another item of the sub-group has: the kernel's items are in the order of their numbers in these.
func (dialect) Near(x loop.Near, own, lane string) string {
	return fmt.Sprintf("%s(%s, (uint)(%s / %d * %d + %s))", near, own, loop.ItemVar, x.Width, x.Width, lane)
}

func (dialect) Barrier() string { return "barrier(CLK_LOCAL_MEM_FENCE);" }

func (dialect) Held(t ir.DType, x string) string { return scalar.HeldCL(t, x) }

func (dialect) Bounded(value, lo, hi string) string {
	return fmt.Sprintf("dnn_bounded((long)(%s), %s, %s, &bad)", value, lo, hi)
}

func (d dialect) Tile(x loop.Tile, at ckernel.TileAt) (string, error) {
	kept := ""
	if x.Micro.Kept != nil {
		kept = fmt.Sprintf(", %s + %s, %s + %s", x.Index.Name, at.Index, x.Ends.Name, at.Ends)
	}
	text := fmt.Sprintf("%s(%s + %s, %s + %s, %s%s);", callOf(d.k, x).name(), x.X.Name, at.X, x.W.Name, at.W, at.Acc, kept)
	if x.Micro.Instr.Text(dialectName, "", "", "") == "" {
		return text, fmt.Errorf("no OpenCL C for the tile instruction %s of the device", x.Micro.Instr.Name)
	}
	return text, nil
}

// Literal prints a constant so that its type is exact.
func (dialect) Literal(c te.Const) string {
	t := scalar.CLType(c.Type, 0)
	switch c.Type.Kind() {
	case ir.KindBool:
		return strconv.FormatBool(c.Bits != 0)
	case ir.KindUint:
		return fmt.Sprintf("(%s)%dUL", t, c.Bits)
	case ir.KindInt:
		if v := int64(c.Bits); v == math.MinInt64 {
			return "(-9223372036854775807L - 1)"
		} else {
			return fmt.Sprintf("(%s)(%dL)", t, v)
		}
	}
	return float(t, scalar.Value(c.Type, math.Float64frombits(c.Bits)))
}

func float(t string, v float64) string {
	switch {
	case math.IsNaN(v):
		return "((" + t + ")NAN)"
	case math.IsInf(v, 1):
		return "((" + t + ")INFINITY)"
	case math.IsInf(v, -1):
		return "(-(" + t + ")INFINITY)"
	}
	return ckernel.Float(v, t == "double")
}
