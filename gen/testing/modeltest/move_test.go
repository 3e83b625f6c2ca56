package modeltest

import (
	"math"

	"rules_dnn/gen/ir"
)

func transpose(r *random, x *ir.Value) {
	var perm []int64
	for _, p := range r.Perm(len(x.Shape)) {
		perm = append(perm, int64(p))
	}
	r.keep(r.emit("Transpose", 1, ir.Attrs{"perm": perm}, x), false, 1)
}

// axis is a dimension of constant extent, or -1.
func (r *random) axis(x *ir.Value) (axis, extent int64) {
	for range 4 {
		if len(x.Shape) == 0 {
			break
		}
		i := r.IntN(len(x.Shape))
		if n, ok := x.Shape[i].Const(); ok {
			return int64(i), n
		}
	}
	return -1, 0
}

func slice(r *random, x *ir.Value) {
	axis, n := r.axis(x)
	if axis < 0 {
		return
	}
	start, end, step := r.Int64N(n), n, r.among(1, 1, 2, 3)
	if r.IntN(3) == 0 {
		end = min(n, start+1+r.Int64N(n))
	}
	if r.IntN(3) == 0 {
		start, end, step = n-1-r.Int64N(max(n/2, 1)), math.MinInt64, -step
	}
	r.keep(r.emit("Slice", 1, nil, x, ints(start), ints(end), ints(axis), ints(step)), false, 1)
}

func concat(r *random, x *ir.Value) {
	axis, _ := r.axis(x)
	if axis < 0 {
		return
	}
	in := []*ir.Value{x}
	for _, o := range r.pool {
		if o != x && o.Type == x.Type && len(o.Shape) == len(x.Shape) && r.maybe() {
			in = append(in, o)
		}
	}
	dims := r.dims(x)
	whole := true
	for i := range dims {
		whole = whole && fixed(x, i)
	}
	if whole && x.Type == ir.F32 && r.maybe() {
		dims[axis] = r.among(1, 3, 8)
		in = append([]*ir.Value{r.weights(2, dims...)}, in...)
	}
	if len(in) == 1 {
		in = append(in, x)
	}
	r.keep(r.emit("Concat", 1, ir.Attrs{"axis": axis}, in...), false, 1)
}

func split(r *random, x *ir.Value) {
	axis, n := r.axis(x)
	if axis < 0 || n < 2 {
		return
	}
	at := 1 + r.Int64N(n-1)
	r.keep(r.emit("Split", 2, ir.Attrs{"axis": axis}, x, ints(at, n-at)), false, 1)
}

func gather(r *random, x *ir.Value) {
	axis, n := r.axis(x)
	if axis < 0 {
		return
	}
	at := make([]int64, 1+r.IntN(5))
	for i := range at {
		at[i] = r.Int64N(2*n) - n
	}
	index := ints(at...)
	if r.maybe() { // known only at run time
		v := &ir.Value{Name: r.name("x"), Type: ir.I64, Shape: ir.Dims(int64(len(at))), HasShape: true}
		r.g.Inputs = append(r.g.Inputs, v)
		r.inputs[v.Name] = index.Const
		index = v
	}
	r.keep(r.emit("Gather", 1, ir.Attrs{"axis": axis}, x, index), false, 1)
}

func pad(r *random, x *ir.Value) {
	if x.Type != ir.F32 || len(x.Shape) == 0 {
		return
	}
	pads := make([]int64, 2*len(x.Shape))
	for i := range x.Shape {
		if fixed(x, i) && r.maybe() {
			pads[i], pads[i+len(x.Shape)] = r.Int64N(3), r.Int64N(3)-r.Int64N(2)
		}
	}
	mode := []string{"constant", "edge", "reflect", "wrap"}[r.IntN(4)]
	r.keep(r.emit("Pad", 1, ir.Attrs{"mode": mode}, x, ints(pads...)), false, 1)
}

func reshape(r *random, x *ir.Value) {
	rank := len(x.Shape)
	switch r.IntN(4) {
	case 0:
		r.keep(r.emit("Flatten", 1, ir.Attrs{"axis": r.Int64N(int64(rank) + 1)}, x), false, 1)
	case 1:
		r.keep(r.emit("Unsqueeze", 1, nil, x, ints(r.Int64N(int64(rank)+1))), false, 1)
	case 2: // split a dimension
		axis, n := r.axis(x)
		if axis < 0 {
			return
		}
		part := r.among(2, 3, 4)
		if n%part != 0 {
			part = 1
		}
		var to []int64
		for i := range x.Shape {
			switch {
			case int64(i) == axis:
				to = append(to, n/part, part)
			default:
				to = append(to, 0)
			}
		}
		r.keep(r.emit("Reshape", 1, nil, x, ints(to...)), false, 1)
	case 3: // join all after the first
		if rank > 1 {
			to := append(make([]int64, r.IntN(rank-1)+1), -1)
			if r.IntN(3) == 0 && len(to) < rank {
				to = append(to, 1)
			}
			r.keep(r.emit("Reshape", 1, nil, x, ints(to...)), false, 1)
		}
	}
}

// stretch repeats elements.
func stretch(r *random, x *ir.Value) {
	if r.maybe() {
		times := make([]int64, len(x.Shape))
		for i := range times {
			times[i] = r.among(1, 1, 2, 3)
		}
		r.keep(r.emit("Tile", 1, nil, x, ints(times...)), false, 1)
		return
	}
	to := make([]int64, len(x.Shape))
	for i := range to {
		to[i] = 1
		if n, ok := x.Shape[i].Const(); ok && n == 1 {
			to[i] = r.among(1, 3, 8)
		}
	}
	r.keep(r.emit("Expand", 1, nil, x, ints(append([]int64{1}, to...)...)), false, 1)
}

func shuffle(r *random, x *ir.Value) {
	if !is(x, 4) {
		return
	}
	a := ir.Attrs{"blocksize": int64(2)}
	if r.maybe() {
		r.keep(r.emit("SpaceToDepth", 1, a, x), false, 1)
		return
	}
	a["mode"] = []string{"DCR", "CRD"}[r.IntN(2)]
	r.keep(r.emit("DepthToSpace", 1, a, x), false, 1)
}

// scan sums along an axis.
func scan(r *random, x *ir.Value) {
	axis, n := r.axis(x)
	if axis < 0 || x.Type != ir.F32 {
		return
	}
	a := ir.Attrs{"exclusive": r.Int64N(2), "reverse": r.Int64N(2)}
	if y := r.emit("CumSum", 1, a, x, ints(axis)); y != nil {
		r.keep(y, true, float64(n))
	}
}

// scatter writes constants, or adds them, at rows that may be known only at run time.
func scatter(r *random, x *ir.Value) {
	dims := r.dims(x)
	if len(dims) < 2 || x.Type != ir.F32 {
		return
	}
	for i := range dims {
		if !fixed(x, i) {
			return
		}
	}
	rows := min(dims[0], 1+r.Int64N(3))
	var at []int64
	for _, p := range r.Perm(int(dims[0]))[:rows] { // no row twice: the order of writes is not defined
		at = append(at, int64(p))
	}
	index := ints(at...)
	index.Const.Shape = []int64{rows, 1}
	index.Shape = ir.Dims(rows, 1)
	if r.maybe() {
		v := &ir.Value{Name: r.name("x"), Type: ir.I64, Shape: ir.Dims(rows, 1), HasShape: true}
		r.g.Inputs = append(r.g.Inputs, v)
		r.inputs[v.Name] = index.Const
		index = v
	}
	a := ir.Attrs{"reduction": []string{"none", "add", "max"}[r.IntN(3)]}
	updates := r.weights(2, append([]int64{rows}, dims[1:]...)...)
	r.keep(r.emit("ScatterND", 1, a, x, index, updates), false, 2)
}

// resize scales pictures.
func resize(r *random, x *ir.Value) {
	if !is(x, 3, 4) || !fixed(x, 1) {
		return
	}
	a := ir.Attrs{"mode": []string{"nearest", "linear"}[r.IntN(2)],
		"coordinate_transformation_mode": []string{"half_pixel", "asymmetric", "align_corners"}[r.IntN(3)]}
	scales := make([]float32, len(x.Shape))
	for i := range scales {
		if scales[i] = 1; i >= 2 {
			scales[i] = []float32{1, 2, 0.5, 1.5}[r.IntN(4)]
		}
	}
	r.keep(r.emit("Resize", 1, a, x, nil, ir.ConstValue("", f32(scales...))), a["mode"] == "linear", 1)
}
