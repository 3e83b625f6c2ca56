package modeltest

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// region is a graph inside of a node that is being made: what it reads of the graph around it
// becomes a capture.
type region struct {
	r        *random
	g        *ir.Graph
	own      []*ir.Value
	captures []*ir.Value // of the graph around
	inside   []*ir.Value // what stands for them
}

func (r *random) region() *region {
	return &region{r: r, g: &ir.Graph{Name: r.name("body"), Opset: r.g.Opset}}
}

// input is an input of the region's own.
func (b *region) input() *ir.Value {
	v := &ir.Value{Name: b.r.name("v")}
	b.own = append(b.own, v)
	return v
}

// capture stands for a value of the graph around.
func (b *region) capture(v *ir.Value) *ir.Value {
	if v.Const != nil {
		return v
	}
	if i := slices.Index(b.captures, v); i >= 0 {
		return b.inside[i]
	}
	b.r.used[v] = true
	b.captures = append(b.captures, v)
	b.inside = append(b.inside, &ir.Value{Name: b.r.name("v")})
	return b.inside[len(b.inside)-1]
}

func (b *region) op(op string, attrs ir.Attrs, inputs ...*ir.Value) *ir.Value {
	v := &ir.Value{Name: b.r.name("v")}
	v.Def = &ir.Node{Op: op, Name: b.r.name(op), Inputs: inputs, Outputs: []*ir.Value{v}, Attrs: attrs}
	b.g.Nodes = append(b.g.Nodes, v.Def)
	return v
}

// chain is a few operators that keep the shape of v, which is that of like.
func (b *region) chain(v, like *ir.Value) *ir.Value {
	for range 1 + b.r.IntN(3) {
		switch b.r.IntN(5) {
		case 0:
			v = b.op([]string{"Neg", "Abs", "Tanh", "Relu"}[b.r.IntN(4)], nil, v)
		case 1:
			v = b.op("Add", nil, v, b.capture(like))
		case 2:
			v = b.op("Mul", nil, v, number(0.5))
		case 3:
			v = b.op("Softmax", ir.Attrs{"axis": int64(-1)}, v)
		case 4:
			if len(like.Shape) < 2 {
				continue
			}
			n, ok := like.Shape[len(like.Shape)-1].Const()
			if !ok {
				continue
			}
			w := ir.ConstValue(b.r.name("w"), b.r.floats([]int64{n, n}, 0.5))
			v = b.op("MatMul", nil, v, w)
		}
	}
	return b.op("Tanh", nil, v)
}

// control appends a node with regions, which need the same captures in the same order.
func (r *random) control(op string, attrs ir.Attrs, names []string, bodies []*region, results int, own ...*ir.Value) []*ir.Value {
	var captures []*ir.Value
	for _, b := range bodies {
		for _, v := range b.captures {
			if !slices.Contains(captures, v) {
				captures = append(captures, v)
			}
		}
	}
	regions := make([]*ir.Graph, len(bodies))
	for i, b := range bodies {
		for _, v := range captures {
			b.capture(v)
		}
		b.g.Inputs = slices.Clone(b.own)
		for _, v := range captures {
			b.g.Inputs = append(b.g.Inputs, b.capture(v))
		}
		attrs[names[i]] = ir.RegionRef(i)
		regions[i] = b.g
	}
	return r.add(&ir.Node{Op: op, Name: r.name(op), Inputs: slices.Concat(own, captures), Attrs: attrs,
		Regions: regions, Captures: len(captures)}, results)
}

// flag is a bool that only the run knows.
func (r *random) flag() *ir.Value {
	v := &ir.Value{Name: r.name("x"), Type: ir.Bool, Shape: ir.Shape{}, HasShape: true}
	t := ir.NewTensor(ir.Bool)
	t.Data[0] = byte(r.IntN(2))
	r.g.Inputs = append(r.g.Inputs, v)
	r.inputs[v.Name] = t
	return v
}

func branch(r *random, x *ir.Value) {
	then, other := r.region(), r.region()
	then.g.Outputs = []*ir.Value{then.chain(then.capture(x), x)}
	other.g.Outputs = []*ir.Value{other.chain(other.capture(x), x)}
	if r.maybe() {
		other.g.Outputs[0] = other.capture(x)
	}
	r.keep(r.control("If", ir.Attrs{}, []string{"then_branch", "else_branch"}, []*region{then, other}, 1, r.flag()), true, 1)
}

// repeat is a Loop over one or two states, which may change places, that may stack what it computes.
func repeat(r *random, x *ir.Value) {
	b := r.region()
	_, cond, s := b.input(), b.input(), b.input()
	next := []*ir.Value{b.chain(s, x)}
	own := []*ir.Value{scalar(r.Int64N(4)), nil, x}
	if r.maybe() {
		t := b.input()
		own = append(own, x)
		next = []*ir.Value{t, b.op("Add", nil, next[0], b.op("Mul", nil, t, number(0.25)))}
	}
	if r.maybe() {
		own[1] = r.flag()
	}
	outputs := append([]*ir.Value{cond}, next...)
	if own[1] == nil && r.maybe() {
		outputs = append(outputs, next[len(next)-1])
	}
	b.g.Outputs = outputs
	r.keep(r.control("Loop", ir.Attrs{}, []string{"body"}, []*region{b}, len(outputs)-1, own...), true, 2)
}

func scalar(n int64) *ir.Value {
	t := ints(n)
	t.Const.Shape, t.Shape = nil, ir.Shape{}
	return t
}

// lengthen is a Loop that adds a row to one state, or takes one away, in each iteration, and carries another one, of the
// shape of a row.
func lengthen(r *random, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	axis, shorter := r.IntN(len(x.Shape)), r.maybe()
	dims, trips, step := r.dims(x), r.Int64N(4), int64(1)
	if shorter {
		trips, step = min(trips, dims[axis]-1), -1
	}
	b := r.region()
	_, cond, s, u := b.input(), b.input(), b.input(), b.input()
	var next *ir.Value
	if shorter {
		next = b.rows(s, axis, 1, sym.MaxDim)
	} else {
		next = b.oneMore(s, x, axis)
	}
	next = b.op([]string{"Neg", "Abs", "Tanh", "Relu"}[r.IntN(4)], nil, next)
	w := b.op("Tanh", nil, b.op("Add", nil, u, b.op("ReduceMean", nil, next, ints(int64(axis)))))
	b.g.Outputs = []*ir.Value{cond, next, w}
	row := r.emit("ReduceMax", 1, nil, x, ints(int64(axis)))
	if row == nil {
		return
	}
	own := []*ir.Value{scalar(trips), nil, x, row[0]}
	if r.maybe() {
		own[1] = r.flag()
		trips *= int64(r.inputs[own[1].Name].Data[0])
	}
	r.lasts = dims
	r.lasts[axis] += trips * step
	r.keep(r.control("Loop", ir.Attrs{}, []string{"body"}, []*region{b}, 2, own...), true, 2)
}

// rows are some of a value along an axis.
func (b *region) rows(v *ir.Value, axis int, from, to int64) *ir.Value {
	return b.op("Slice", nil, v, ints(from), ints(to), ints(int64(axis)))
}

// oneMore is v and the first row of x, before it or after it.
func (b *region) oneMore(v, x *ir.Value, axis int) *ir.Value {
	parts := []*ir.Value{v, b.rows(b.capture(x), axis, 0, 1)}
	if b.r.maybe() {
		slices.Reverse(parts)
	}
	return b.op("Concat", ir.Attrs{"axis": int64(axis)}, parts...)
}

// scanAlong is a Scan over slices of x along one of its axes.
func scanAlong(r *random, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	axis := r.IntN(len(x.Shape))
	like := &ir.Value{Type: ir.F32, Shape: slices.Delete(slices.Clone(x.Shape), axis, axis+1), HasShape: true}
	if slices.ContainsFunc(like.Shape, func(d sym.Expr) bool { _, ok := d.Const(); return !ok }) || len(like.Shape) == 0 {
		return
	}
	dims := r.concrete(like.Shape)
	first := ir.ConstValue(r.name("w"), r.floats(dims, 1))
	b := r.region()
	s, slice := b.input(), b.input()
	sum := b.op("Tanh", nil, b.op("Add", nil, s, slice))
	mixed := b.op("Mul", nil, sum, slice)
	b.g.Outputs = []*ir.Value{sum, mixed, sum}
	flags := func(n int) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = r.Int64N(2)
		}
		return out
	}
	attrs := ir.Attrs{"num_scan_inputs": int64(1), "scan_input_axes": []int64{int64(axis)}, "scan_input_directions": flags(1),
		"scan_output_axes": []int64{r.Int64N(int64(len(x.Shape))), -1}, "scan_output_directions": flags(2)}
	r.keep(r.control("Scan", attrs, []string{"body"}, []*region{b}, 3, first, x), true, 2)
}
