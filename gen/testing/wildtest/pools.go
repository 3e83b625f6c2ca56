package wildtest

import (
	"math"

	"rules_dnn/gen/ir"
)

// What graphs are made of: mostly small and likely, some absurd.
var (
	numbers = []int64{1, 0, 2, -1, 3, 1, 0, 2, 4, 5, 1, -2, 7, 8, 16, -3, 64, 100, -100, 255, 1 << 15, math.MaxInt32, math.MinInt32, 1 << 40, -1 << 40, 1 << 62, math.MaxInt64, math.MinInt64}
	extents = []int64{1, 2, 3, 4, 1, 2, 5, 8, 0, 2, 3, 7, 17, 64, 1000, 1 << 20, math.MaxInt32}
	reals   = []float64{1, 0, 0.5, 2, -1, 3, 0.25, -0.5, 100, 1e-7, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN(), 1e300}
	texts   = []string{
		"", "constant", "reflect", "edge", "wrap", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "nearest", "linear", "cubic", "bilinear", "bicubic",
		"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil",
		"zeros", "border", "reflection", "none", "add", "mul", "max", "min", "mean", "sum", "tanh", "DCR", "CRD", "LEFT", "RIGHT", "avg", "output_half_pixel",
		"stretch", "not_larger", "not_smaller", "circular", "forward", "reverse", "bidirectional", "Sigmoid", "Tanh", "Relu",
		"ij,jk->ik", "i,i->i", "ii->i", "i", "...i,...j->...", "ij->ji", "a,b,c->abc", "i->", "->", "i...->...", ",->", "ij,ij", "\xff,\x00->\"",
	}
	evil = []string{
		"*/ int x; /*", "a\nb", "\"", "\\", "../../etc/passwd", "\xff\xfe", "a b", "%s%n", "</script>", "'", "int", "N", "i0", "é", "??/", "\x00", "//", "R\"(", "@w", "_",
	}
	types = []ir.DType{ir.F32, ir.I64, ir.Bool, ir.I32, ir.U8, ir.I8, ir.F64, ir.F16, ir.BF16, ir.I16, ir.U16, ir.U32, ir.U64}
)
