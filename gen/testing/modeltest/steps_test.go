package modeltest

import (
	"rules_dnn/gen/ir"
)

// steps add a node, or a few, that read x.
var steps = []func(r *random, x *ir.Value){
	convolve, convolve, convolve, convolve, deconvolve, pool, pool, gemm, matmul, matmul, normalize, softmax, reduce, reduce,
	unary, unary, arithmetic, arithmetic, arithmetic, choose, transpose, transpose, slice, slice, concat, split, gather, pad, reshape, reshape, stretch, shuffle, position, convert, scan, scatter, resize,
	branch, repeat, scanAlong, lengthen,
}

// pictureSteps make what layouts are made for: convolutions one after the other.
var pictureSteps = []func(r *random, x *ir.Value){convolve, convolve, convolve, convolve, pool, unary, arithmetic, concat, slice, split, pad}

func is(x *ir.Value, ranks ...int) bool {
	for _, r := range ranks {
		if x.Type == ir.F32 && len(x.Shape) == r {
			return true
		}
	}
	return false
}

// channels is the extent of dimension 1 of a picture, or 0.
func channels(x *ir.Value) int64 {
	if !is(x, 3, 4, 5) {
		return 0
	}
	c, _ := x.Shape[1].Const()
	return c
}

// window are attributes of a random window over the dimensions from 2 on.
func (r *random) window(x *ir.Value, kernel ...int64) ir.Attrs {
	n := len(x.Shape) - 2
	a := ir.Attrs{}
	var ks, strides, dilations, pads, after []int64
	for range n {
		k := kernel[r.IntN(len(kernel))]
		ks, strides, dilations = append(ks, k), append(strides, r.among(1, 1, 2, 3)), append(dilations, r.among(1, 1, 1, 2))
		pads, after = append(pads, r.Int64N(min(k, 3))), append(after, r.Int64N(min(k, 3)))
	}
	a["kernel_shape"], a["strides"], a["dilations"] = ks, strides, dilations
	switch r.IntN(5) {
	case 0:
		a["auto_pad"] = []string{"SAME_UPPER", "SAME_LOWER", "VALID"}[r.IntN(3)]
	case 1:
	default:
		a["pads"] = append(pads, after...)
	}
	return a
}

// groups divides channels: one, all, or some.
func (r *random) groups(c int64) int64 {
	switch g := r.among(2, 4); {
	case r.IntN(3) == 0:
		return c
	case r.IntN(3) == 0 && c%g == 0:
		return g
	}
	return 1
}

func convolve(r *random, x *ir.Value) {
	c := channels(x)
	if c == 0 {
		return
	}
	a := r.window(x, 1, 1, 2, 3, 3, 5)
	g := r.groups(c)
	out := g * r.among(1, 2, 3, 8)
	if g == 1 {
		out = r.among(1, 5, 8, 12, 16, 20, 24, 40)
	}
	a["group"] = g
	w := r.weights(0.5, append([]int64{out, c / g}, a["kernel_shape"].([]int64)...)...)
	if w.Const != nil {
		r.pruneSome(w, 0)
	}
	in := []*ir.Value{x, w}
	if r.maybe() {
		in = append(in, r.weights(2, out))
	}
	y := r.emit("Conv", 1, a, in...)
	if y != nil && r.IntN(3) == 0 {
		r.bound[y[0]] *= 4
		y = batchNorm(r, y[0], out)
	}
	r.keep(y, true, 4)
}

func batchNorm(r *random, x *ir.Value, c int64) []*ir.Value {
	variance := r.floats([]int64{c}, 2)
	for i := 3; i < len(variance.Data); i += 4 {
		variance.Data[i] = 0x3f // at least 1/2
	}
	return r.emit("BatchNormalization", 1, nil, x, r.weights(1, c), r.weights(1, c), r.weights(1, c), ir.ConstValue("", variance))
}

func deconvolve(r *random, x *ir.Value) {
	c := channels(x)
	if c == 0 {
		return
	}
	a := r.window(x, 1, 2, 3)
	delete(a, "auto_pad")
	g := r.groups(c)
	a["group"] = g
	w := r.weights(0.5, append([]int64{c, r.among(1, 2, 8)}, a["kernel_shape"].([]int64)...)...)
	r.keep(r.emit("ConvTranspose", 1, a, x, w), true, 4)
}

func pool(r *random, x *ir.Value) {
	if !is(x, 3, 4, 5) {
		return
	}
	if r.IntN(4) == 0 {
		r.keep(r.emit([]string{"GlobalAveragePool", "GlobalMaxPool"}[r.IntN(2)], 1, nil, x), true, 1)
		return
	}
	a := r.window(x, 1, 2, 3)
	a["ceil_mode"] = r.Int64N(2)
	if r.maybe() {
		a["count_include_pad"] = r.Int64N(2)
		r.keep(r.emit("AveragePool", 1, a, x), true, 1)
		return
	}
	results := 1
	if !r.rough[x] && r.IntN(4) == 0 {
		results = 2 // the positions too
	}
	r.keep(r.emit("MaxPool", results, a, x), false, 1)
}

func gemm(r *random, x *ir.Value) {
	if !is(x, 2) || !fixed(x, 1) {
		return
	}
	k, _ := x.Shape[1].Const()
	n := r.among(1, 7, 8, 16, 30)
	dims, transposed := []int64{k, n}, r.Int64N(2)
	if transposed == 1 {
		dims = []int64{n, k}
	}
	in := []*ir.Value{x, r.weights(0.5, dims...)}
	if r.maybe() {
		in = append(in, r.weights(1, [][]int64{{n}, {1, n}, {1}}[r.IntN(3)]...))
	}
	a := ir.Attrs{"transB": transposed, "alpha": float32(r.among(1, 1, 2)), "beta": float32(r.among(1, 1, 2))}
	r.keep(r.emit("Gemm", 1, a, in...), true, 4)
}

func matmul(r *random, x *ir.Value) {
	rank := len(x.Shape)
	if !is(x, 2, 3, 4, 5) || !fixed(x, rank-1) {
		return
	}
	if r.IntN(3) == 0 { // x by its own transpose: nothing is constant
		perm := make([]int64, rank)
		for i := range perm {
			perm[i] = int64(i)
		}
		perm[rank-2], perm[rank-1] = perm[rank-1], perm[rank-2]
		if t := r.emit("Transpose", 1, ir.Attrs{"perm": perm}, x); t != nil {
			r.keep(r.emit("MatMul", 1, nil, x, t[0]), true, 30)
		}
		return
	}
	k, _ := x.Shape[rank-1].Const()
	dims := []int64{k, r.among(1, 5, 8, 16, 33)}
	if r.IntN(4) == 0 && rank > 2 && fixed(x, rank-3) {
		dims = append([]int64{r.dims(x)[rank-3]}, dims...)
	}
	w := r.weights(0.5, dims...)
	if w.Const != nil && len(dims) == 2 {
		r.pruneSome(w, 1)
	}
	r.keep(r.emit("MatMul", 1, nil, x, w), true, 4)
}

func normalize(r *random, x *ir.Value) {
	rank := len(x.Shape)
	c := channels(x)
	switch r.IntN(4) {
	case 0:
		if c > 0 {
			r.keep(batchNorm(r, x, c), true, 4)
		}
	case 1:
		if c > 0 {
			r.keep(r.emit("InstanceNormalization", 1, ir.Attrs{"epsilon": float32(0.5)}, x, r.weights(1, c), r.weights(1, c)), true, 1)
		}
	case 2:
		if c > 0 {
			r.keep(r.emit("LRN", 1, ir.Attrs{"size": r.among(1, 3, 5)}, x), true, 1)
		}
	case 3:
		if is(x, 2, 3, 4, 5) && fixed(x, rank-1) {
			n := r.dims(x)[rank-1]
			r.keep(r.emit("LayerNormalization", 1, ir.Attrs{"epsilon": float32(0.5)}, x, r.weights(1, n), r.weights(1, n)), true, 1)
		}
	}
}

func softmax(r *random, x *ir.Value) {
	if x.Type == ir.F32 && len(x.Shape) > 0 {
		axis := r.Int64N(int64(len(x.Shape))*2) - int64(len(x.Shape))
		r.keep(r.emit([]string{"Softmax", "LogSoftmax"}[r.IntN(2)], 1, ir.Attrs{"axis": axis}, x), true, 2)
	}
}

func reduce(r *random, x *ir.Value) {
	if x.Type != ir.F32 {
		return
	}
	var axes []int64
	for i := range x.Shape {
		if r.IntN(3) == 0 {
			axes = append(axes, int64(i))
		}
	}
	op := []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"}[r.IntN(8)]
	grow := 1.0
	if op == "ReduceSum" || op == "ReduceL1" || op == "ReduceSumSquare" {
		grow = 50
	}
	in := []*ir.Value{x}
	if len(axes) > 0 || r.maybe() {
		in = append(in, ints(axes...))
	}
	r.keep(r.emit(op, 1, ir.Attrs{"keepdims": r.Int64N(2)}, in...), true, grow)
}

func unary(r *random, x *ir.Value) {
	if x.Type != ir.F32 {
		return
	}
	switch r.IntN(5) {
	case 0:
		r.keep(r.emit("Clip", 1, nil, x, number(-1), number(2.5)), false, 1)
	case 1:
		if y := r.emit("Clip", 1, nil, x, number(-4), number(3)); y != nil {
			r.keep(r.emit("Exp", 1, nil, y...), false, 5)
		}
	default:
		ops := []string{"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Erf", "Softplus", "Gelu", "Mish", "Softsign", "Sin", "Identity"}
		r.keep(r.emit(ops[r.IntN(len(ops))], 1, nil, x), false, 1)
	}
}

func arithmetic(r *random, x *ir.Value) {
	if x.Type != ir.F32 {
		return
	}
	o := r.other(x)
	a, b := x, o
	if r.maybe() {
		a, b = o, x
	}
	switch r.IntN(7) {
	case 0:
		grow := max(1, min(r.bound[a], r.bound[b]))
		r.keep(r.emit("Mul", 1, nil, a, b), false, grow)
	case 1:
		r.keep(r.emit("PRelu", 1, nil, x, o), false, 2)
	case 2:
		r.keep(r.emit([]string{"Max", "Min"}[r.IntN(2)], 1, nil, a, b, a), false, 1)
	case 3:
		if d := r.emit("Softplus", 1, nil, b); d != nil { // above zero
			if e := r.emit("Add", 1, nil, d[0], number(1)); e != nil {
				r.keep(r.emit("Div", 1, nil, a, e[0]), false, 1)
			}
		}
	case 4:
		r.keep(r.emit("Sub", 1, nil, a, b), false, 2)
	default:
		r.keep(r.emit("Add", 1, nil, a, b), false, 2)
	}
}

// choose compares and selects: only on values that every schedule computes alike.
func choose(r *random, x *ir.Value) {
	if x.Type != ir.F32 || r.rough[x] {
		return
	}
	o := r.other(x)
	if r.rough[o] {
		return
	}
	if c := r.emit([]string{"Greater", "Less", "Equal", "LessOrEqual"}[r.IntN(4)], 1, nil, x, o); c != nil {
		r.keep(r.emit("Where", 1, nil, c[0], x, o), false, 1)
	}
}

// position is the place of the greatest element, an output of its own.
func position(r *random, x *ir.Value) {
	if x.Type == ir.F32 && !r.rough[x] && len(x.Shape) > 0 {
		a := ir.Attrs{"axis": r.Int64N(int64(len(x.Shape))), "keepdims": r.Int64N(2), "select_last_index": r.Int64N(2)}
		r.keep(r.emit([]string{"ArgMax", "ArgMin"}[r.IntN(2)], 1, a, x), false, 1)
	}
}

// convert goes through another type and back.
func convert(r *random, x *ir.Value) {
	if x.Type != ir.F32 || r.rough[x] {
		return
	}
	to := r.among(10, 16, 6, 3, 11, 7, 9) // f16, bf16, i32, i8, f64, i64, bool
	y := r.emit("Cast", 1, ir.Attrs{"to": to}, x)
	if y == nil {
		return
	}
	if to != 9 && r.maybe() {
		if z := r.emit("Add", 1, nil, y[0], y[0]); z != nil {
			y = z
		}
	}
	r.keep(r.emit("Cast", 1, ir.Attrs{"to": int64(1)}, y...), false, 2)
}
