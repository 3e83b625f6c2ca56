package hvx

import (
	"fmt"
	"math"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// lanesOf prints expressions as vectors of words, for a piece.
type lanesOf struct {
	*vectors
	w       *ckernel.Kernel
	piece   piece
	factors []string
}

// near is the variable that has the words which may be wrong.
func (l *lanesOf) near() string { return l.loop.Var + "_near" }

// factor is the variable of a factor, which all lanes share.
func (l *lanesOf) factor(e te.Expr) string {
	text := ckernel.Strip(l.w.Scalar(e))
	for i, f := range l.factors {
		if f == text {
			return fmt.Sprintf("%s_f%d", l.loop.Var, i)
		}
	}
	l.factors = append(l.factors, text)
	return fmt.Sprintf("%s_f%d", l.loop.Var, len(l.factors)-1)
}

// varies reports whether a value may differ along a variable.
func varies(e te.Expr, v string) bool {
	found := false
	te.Walk(e, func(x te.Expr) {
		switch x.(type) {
		case loop.Ref, te.Select, te.Let:
			found = true
		}
	})
	loop.ExprIndices(e, func(i sym.Expr) { found = found || i.Uses(v) })
	return found
}

// words prints an expression of integers as a vector; false where it is none.
func (l *lanesOf) words(e te.Expr) (string, bool) {
	if !varies(e, l.loop.Var) {
		return fmt.Sprintf("Q6_V_vsplat_R(%s)", ckernel.Strip(l.w.Scalar(e))), true
	}
	if m, ok := e.(loop.Mem); ok {
		return l.load(m)
	}
	x, ok := e.(te.Call)
	if !ok {
		return "", false
	}
	if from := argument(e, "cast", ir.I32); from != nil && from.DType().IsInteger() && from.DType().Size() < 4 {
		return l.words(from)
	}
	if findQuantized(e) != nil {
		return l.quantized(e)
	}
	if x.Type != ir.I32 || len(x.Args) != 2 {
		return "", false
	}
	if x.Fn == "mul" {
		return l.product(x)
	}
	fn, known := map[string]string{"add": "Q6_Vw_vadd_VwVw", "sub": "Q6_Vw_vsub_VwVw", "max": "Q6_Vw_vmax_VwVw", "min": "Q6_Vw_vmin_VwVw"}[x.Fn]
	a, okA := l.words(x.Args[0])
	b, okB := l.words(x.Args[1])
	return fmt.Sprintf("%s(%s, %s)", fn, a, b), known && okA && okB
}

// product multiplies with integers that are known to have 16 bits: vectors have no product of 32 bits by 32.
func (l *lanesOf) product(x te.Call) (string, bool) {
	for i, a := range x.Args {
		if n, ok := literal(a); ok && n == int64(int16(n)) {
			v, ok := l.words(x.Args[1-i])
			return fmt.Sprintf("dnn_hvx_scaled(%s, %d)", v, n), ok
		}
	}
	a, b := x.Args[0], x.Args[1]
	if m := most(b); m == 0 || m > math.MaxInt16 {
		a, b = b, a
	}
	if m := most(b); m == 0 || m > math.MaxInt16 {
		return "", false
	}
	v, ok := l.words(a)
	by, known := l.words(b)
	return fmt.Sprintf("Q6_Vw_vmpyio_VwVh(%s, Q6_Vw_vasl_VwR(%s, 16))", v, by), ok && known
}

// load reads neighbours as words: integers, or the bits of floats.
func (l *lanesOf) load(m loop.Mem) (string, bool) {
	step, known := stepOf(m.Index, l.loop.Var, l.w.Facts())
	from := map[ir.DType]string{ir.I32: "", ir.F32: "", ir.U8: "dnn_hvx_words_u8", ir.I8: "dnn_hvx_words_i8", ir.I16: "dnn_hvx_words_i16"}
	widen, ok := from[m.Buf.Type]
	if !ok || !known || step != 1 {
		return "", false
	}
	at := fmt.Sprintf("%s + (%s)", m.Buf.Name, ckernel.Strip(l.w.Index(m.Index.Subst(l.piece.at, l.w.Facts()))))
	if m.Buf.Type.Size() == 4 && m.Buf.Local && l.piece.lanes == fmt.Sprint(lanes) {
		return fmt.Sprintf("dnn_hvx_load_any(%s)", at), true
	}
	text := fmt.Sprintf("dnn_hvx_load_part(%s, %s)", at, times(m.Buf.Type.Size(), l.piece.lanes))
	if widen != "" {
		text = fmt.Sprintf("%s(%s)", widen, text)
	}
	return text, true
}

// times is a product with an expression that may be a number.
func times(n int, text string) string {
	var m int
	if _, err := fmt.Sscanf(text, "%d", &m); err == nil && fmt.Sprint(m) == text {
		return fmt.Sprint(n * m)
	}
	return fmt.Sprintf("%d * (%s)", n, text)
}
