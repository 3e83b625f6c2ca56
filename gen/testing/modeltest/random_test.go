package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// random makes graphs of no purpose from a seed: nodes on values that are there already, kept
// where shape inference takes them.
type random struct {
	*rand.Rand
	g    *ir.Graph
	pool []*ir.Value // of type f32
	used map[*ir.Value]bool
	// rough are values that may differ in their last bits from one order of sums to another: no
	// function that jumps may read them. bound is a guess of the greatest magnitude.
	rough  map[*ir.Value]bool
	bound  map[*ir.Value]float64
	inputs map[string]*ir.Tensor
	env    map[string]int64 // values of the symbols
	// lasts are the dimensions of the first result of the node that is added, where it may compute symbols
	// of them.
	lasts []int64
	names int
}

const maxElements = 20000

// newRandom makes a graph and inputs for it; the same seed makes the same ones.
func newRandom(seed uint64) *random { return randomOf(rand.NewPCG(seed, 1)) }

// randomOf makes them from a source's choices.
func randomOf(source rand.Source) *random {
	r := &random{Rand: rand.New(source), used: map[*ir.Value]bool{}, rough: map[*ir.Value]bool{},
		bound: map[*ir.Value]float64{}, inputs: map[string]*ir.Tensor{}, env: map[string]int64{}, g: &ir.Graph{Name: "random", Opset: 23}}
	first := sym.Const(1 + r.Int64N(3))
	if r.maybe() {
		first = r.symbol("N", 1+r.Int64N(3))
	}
	r.addInput(first)
	if r.IntN(3) == 0 {
		r.addInput(first)
	}
	kinds := steps
	if r.IntN(3) == 0 {
		kinds = pictureSteps
	}
	for want, tries := 1+r.IntN(7), 0; len(r.g.Nodes) < want && tries < 60; tries++ {
		kinds[r.IntN(len(kinds))](r, r.pool[r.pick()])
	}
	for _, v := range r.pool {
		if v.Def != nil && !r.used[v] {
			r.g.Outputs = append(r.g.Outputs, v)
		}
	}
	return r
}

// pick prefers what was made last.
func (r *random) pick() int {
	if r.IntN(3) > 0 {
		return len(r.pool) - 1
	}
	return r.IntN(len(r.pool))
}

func (r *random) among(xs ...int64) int64 { return xs[r.IntN(len(xs))] }
func (r *random) maybe() bool             { return r.IntN(2) == 0 }

func (r *random) name(what string) string {
	r.names++
	return fmt.Sprintf("%s%d", what, r.names)
}

// symbol makes a dimension that is known at run time only.
func (r *random) symbol(name string, value int64) sym.Expr {
	r.g.Symbols = append(r.g.Symbols, ir.Symbol{Name: name, Lo: 1, Hi: r.among(30, 64, sym.MaxDim)})
	r.env[name] = value
	return sym.Var(name)
}

// addInput makes an input of rank 2 to 5, and its values.
func (r *random) addInput(first sym.Expr) {
	s := ir.Shape{first}
	switch r.IntN(6) {
	case 0:
		s = append(s, sym.Const(r.among(1, 3, 8, 16, 33, 70)))
	case 1:
		s = append(s, sym.Const(r.among(1, 4, 7)), sym.Const(r.among(1, 5, 16, 24)))
	case 2:
		s = append(s, sym.Const(r.among(1, 2, 8, 12)), sym.Const(r.among(1, 3, 4)), sym.Const(r.among(2, 5)), sym.Const(r.among(1, 3, 6)))
	default:
		s = append(s, sym.Const(r.among(1, 3, 4, 8, 12, 16, 17, 24, 32)), sym.Const(r.among(1, 3, 5, 6, 9, 14)), sym.Const(r.among(1, 2, 4, 7, 8, 13, 19)))
	}
	if i := 1 + r.IntN(len(s)-1); r.IntN(4) == 0 {
		s[i] = r.symbol(r.name("S"), 1+r.Int64N(20))
	}
	v := &ir.Value{Name: r.name("x"), Type: ir.F32, Shape: s, HasShape: true}
	r.g.Inputs = append(r.g.Inputs, v)
	r.inputs[v.Name] = r.floats(r.concrete(s), 2)
	r.pool = append(r.pool, v)
	r.bound[v] = 2
}

func (r *random) concrete(s ir.Shape) []int64 {
	out := make([]int64, len(s))
	for i, e := range s {
		out[i], _ = e.Eval(r.env)
	}
	return out
}

// floats are multiples of 1/8 up to most.
func (r *random) floats(dims []int64, most float64) *ir.Tensor {
	t := ir.NewTensor(ir.F32, dims...)
	for i := 0; i < len(t.Data); i += 4 {
		v := float32(r.IntN(int(16*most)+1))/8 - float32(most)
		binary.LittleEndian.PutUint32(t.Data[i:], math.Float32bits(v))
	}
	return t
}

func ints(xs ...int64) *ir.Value {
	t := ir.NewTensor(ir.I64, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return ir.ConstValue("", t)
}

// f32 is a tensor of rank 1.
func f32(xs ...float32) *ir.Tensor {
	t := ir.NewTensor(ir.F32, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
	}
	return t
}

// number is a constant of rank 0.
func number(x float32) *ir.Value {
	t := f32(x)
	t.Shape = nil
	return ir.ConstValue("", t)
}

// weights is a constant, or sometimes an input of this shape.
func (r *random) weights(most float64, dims ...int64) *ir.Value {
	t := r.floats(dims, most)
	if r.IntN(8) > 0 || len(dims) == 0 {
		return ir.ConstValue(r.name("w"), t)
	}
	v := &ir.Value{Name: r.name("x"), Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true}
	r.g.Inputs = append(r.g.Inputs, v)
	r.inputs[v.Name] = t
	return v
}

// dims is the shape in numbers.
func (r *random) dims(v *ir.Value) []int64 { return r.concrete(v.Shape) }

func fixed(v *ir.Value, i int) bool { _, ok := v.Shape[i].Const(); return ok }

// emit appends a node and gives its results, or nothing where it is none that inference takes.
func (r *random) emit(op string, results int, attrs ir.Attrs, inputs ...*ir.Value) []*ir.Value {
	return r.add(&ir.Node{Op: op, Name: r.name(op), Inputs: inputs, Attrs: attrs}, results)
}

// add is emit for a node that is made.
func (r *random) add(n *ir.Node, results int) []*ir.Value {
	for range results {
		v := &ir.Value{Name: r.name("v"), Def: n}
		n.Outputs = append(n.Outputs, v)
	}
	undo := r.snapshot()
	symbols := len(r.g.Symbols)
	r.g.Nodes, r.g.Outputs = append(r.g.Nodes, n), slices.Clone(n.Outputs)
	ok := shape.Infer(r.g) == nil
	for i, d := range r.lasts {
		if !ok {
			break
		}
		if name, computed := n.Outputs[0].Shape[i].AsVar(); computed && slices.Contains(n.Computes, name) {
			r.env[name] = d
			symbols++
		}
	}
	r.lasts = nil
	ok = ok && len(r.g.Symbols) == symbols
	for _, v := range n.Outputs {
		size, err := ir.Len(r.dims(v))
		ok = ok && err == nil && size > 0 && size <= maxElements
	}
	if r.g.Outputs = nil; !ok {
		undo()
		return nil
	}
	for _, v := range n.Outputs {
		for _, x := range n.Inputs {
			if x != nil {
				r.used[x] = true
				r.rough[v] = r.rough[v] || r.rough[x]
				r.bound[v] = max(r.bound[v], r.bound[x])
			}
		}
	}
	return n.Outputs
}

// snapshot gives what takes back an inference: one that fails may still have changed the graph.
func (r *random) snapshot() func() {
	nodes, symbols, shapes := len(r.g.Nodes), slices.Clone(r.g.Symbols), map[*ir.Value]ir.Shape{}
	note := func(v *ir.Value) { shapes[v] = slices.Clone(v.Shape) }
	for _, v := range r.g.Inputs {
		note(v)
	}
	for _, n := range r.g.Nodes {
		for _, v := range n.Outputs {
			note(v)
		}
	}
	return func() {
		r.g.Nodes, r.g.Symbols = r.g.Nodes[:nodes], symbols
		for v, s := range shapes {
			v.Shape = s
		}
	}
}

// keep adds results of type f32 to the pool; those of a type that no step takes become outputs.
func (r *random) keep(vs []*ir.Value, rough bool, grow float64) {
	for _, v := range vs {
		r.rough[v] = r.rough[v] || rough
		r.bound[v] *= grow
		if v.Type == ir.F32 && r.bound[v] > 40 {
			r.keep(r.emit([]string{"Tanh", "Sigmoid", "HardSigmoid"}[r.IntN(3)], 1, nil, v), true, 1/r.bound[v])
			continue
		}
		r.pool = append(r.pool, v)
	}
}

// other is a value that broadcasts with v: from the pool, or a constant.
func (r *random) other(v *ir.Value) *ir.Value {
	if r.maybe() {
		for _, o := range r.pool {
			if o != v && o.Type == ir.F32 && len(o.Shape) == len(v.Shape) && slices.EqualFunc(o.Shape, v.Shape, func(a, b sym.Expr) bool { return a.Equal(b) || a.Is(1) || b.Is(1) }) {
				return o
			}
		}
	}
	dims := r.dims(v)
	for i := range dims {
		if !fixed(v, i) || r.IntN(3) == 0 {
			dims[i] = 1
		}
	}
	dims = dims[r.IntN(len(dims)+1):]
	return r.weights(2, dims...)
}
