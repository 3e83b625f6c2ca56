package hvx

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// dialect is C without vectors: those of integers are the compiler's to find, and floats have none.
type dialect struct{}

func (dialect) Name() string                                   { return "C" }
func (dialect) IndexType() string                              { return "dnn_index" }
func (dialect) Type(t ir.DType, _ int64) string                { return cpp.Local(t) }
func (dialect) Broadcast(_ ir.DType, x string, _ int64) string { return x }
func (dialect) Literal(c te.Const) string                      { return cpp.Literal(c) }

func (dialect) Load(a ckernel.Access) string {
	at := fmt.Sprintf("%s[%s]", a.Buf.Name, ckernel.Strip(a.Index))
	if half(a.Buf.Type) && !a.Buf.Local {
		return fmt.Sprintf("dnn_%s_to_f32(%s)", a.Buf.Type, at)
	}
	return at
}

func (dialect) Store(a ckernel.Access, v string) string {
	if half(a.Buf.Type) && !a.Buf.Local {
		v = fmt.Sprintf("dnn_f32_to_%s(%s)", a.Buf.Type, v)
	}
	return fmt.Sprintf("%s[%s] = %s;", a.Buf.Name, ckernel.Strip(a.Index), v)
}

func half(t ir.DType) bool { return t == ir.F16 || t == ir.BF16 }

func (dialect) Call(x te.Call, args []string, _ int64) (string, error) {
	row := ckernel.Row(x)
	from := make([]ir.DType, len(x.Args))
	for i, a := range x.Args {
		from[i] = a.DType()
	}
	if x.Fn == "select" && x.Type.IsFloat() {
		args[0] = "dnn_hvx_hidden(" + args[0] + ")" // see ownFunction
	}
	text := inC(row.CL(x.Type, from, 0, args))
	if half(x.Type) && !row.Rounds() {
		text = fmt.Sprintf("dnn_round_%s(%s)", x.Type, text) // each operation rounds to its type
	}
	return text, nil
}

// Array is aligned to vectors: micro-kernels store accumulators whole.
func (dialect) Array(b *loop.Buffer, size string) string {
	return fmt.Sprintf("%s %s[%s] __attribute__((aligned(128)));", cpp.Local(b.Type), b.Name, size)
}

func (dialect) Held(t ir.DType, x string) string { return scalar.HeldCL(t, x) }

func (dialect) Bounded(value, lo, hi string) string {
	return fmt.Sprintf("dnn_bounded((int64_t)(%s), %s, %s, &bad)", value, lo, hi)
}

func (dialect) Tile(x loop.Tile, at ckernel.TileAt) (string, error) {
	text := fmt.Sprintf("%s(%s + %s, %s + %s, %s);", cpp.MicroName(x.Micro), x.X.Name, at.X, x.W.Name, at.W, at.Acc)
	if x.Micro.Instr.Text(instructions, "", "", "") == "" {
		return text, fmt.Errorf("no C with HVX intrinsics for the tile instruction %s of the chip", x.Micro.Instr.Name)
	}
	if x.Micro.Adds {
		return text, fmt.Errorf("no C with HVX intrinsics for tiles that add to existing sums")
	}
	if x.Micro.Kept != nil {
		return text, fmt.Errorf("no C with HVX intrinsics for sums over stored kernels")
	}
	return text, nil
}

// instructions is the name of the instructions' texts.
const instructions = "hvx"
