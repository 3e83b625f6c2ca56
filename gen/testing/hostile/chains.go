package hostile

import (
	"fmt"
	"math"
	"strings"
	"time"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// What a chain may take: time about linear in its nodes, of which these models have some thousands.
const (
	chainTime  = 20 * time.Second
	chainBytes = 1 << 30
)

// chainCases are models that are long, wide, deep or grow by themselves.
func chainCases(m *maker) error {
	m.linear()
	m.wide()
	m.expanding()
	m.growing()
	return nil
}

// link is a node of a chain, by its number and the names of its operand and its result, and what it computes.
type link struct {
	name string
	node func(i int, in, out string) *onnxpb.NodeProto
	f    func(i int, x []float64) []float64
}

func each1(f func(float64) float64) func(int, []float64) []float64 {
	return func(_ int, xs []float64) []float64 {
		out := make([]float64, len(xs))
		for i, x := range xs {
			out[i] = f(x)
		}
		return out
	}
}

func simple(op string, attrs ...any) func(int, string, string) *onnxpb.NodeProto {
	return func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op(op, in, out, attrs...) }
}

var links = []link{
	{"Neg", simple("Neg"), each1(func(x float64) float64 { return -x })},
	{"Relu", simple("Relu"), each1(func(x float64) float64 { return max(x, 0) })},
	{"Identity", simple("Identity"), each1(func(x float64) float64 { return x })},
	{"Relu and Neg", func(i int, in, out string) *onnxpb.NodeProto {
		return onnxtest.Op([]string{"Relu", "Neg"}[i%2], in, out)
	}, func(i int, xs []float64) []float64 {
		if i%2 == 0 {
			return each1(func(x float64) float64 { return max(x, 0) })(i, xs)
		}
		return each1(func(x float64) float64 { return -x })(i, xs)
	}},
	{"Add of a constant", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Add", in+" one", out) }, each1(func(x float64) float64 { return x + 1 })},
	{"Sub of the input", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Sub", "x "+in, out) }, nil},
	{"Max with itself", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Max", in+" "+in, out) }, each1(func(x float64) float64 { return x })},
	{"Where", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Where", "c "+in+" x", out) }, each1(func(x float64) float64 { return x })},
	{"Unsqueeze and Squeeze", func(i int, in, out string) *onnxpb.NodeProto {
		return onnxtest.Op([]string{"Unsqueeze", "Squeeze"}[i%2], in+" zero", out)
	}, each1(func(x float64) float64 { return x })},
	{"Transpose", simple("Transpose"), each1(func(x float64) float64 { return x })},
	{"Softmax of one", simple("Softmax"), nil},
	{"CumSum and back", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Mul", in+" sign", out) }, each1(func(x float64) float64 { return -x })},
	{"Cast to and from f64", func(i int, in, out string) *onnxpb.NodeProto {
		return onnxtest.Op("Cast", in, out, "to", []int{11, 1}[i%2])
	}, each1(func(x float64) float64 { return x })},
	{"Clip", func(_ int, in, out string) *onnxpb.NodeProto { return onnxtest.Op("Clip", in+" low", out) }, each1(func(x float64) float64 { return max(x, -2) })},
}

// linear are chains of some hundred and of some thousand nodes.
func (m *maker) linear() {
	for _, l := range links {
		for _, n := range []int{16, 300, 1000} {
			x := []float64{1, -2, 3}
			want := x
			model := onnxtest.Model(onnxtest.Floats("x", 3))
			onnxtest.With(model, onnxtest.Tensor("one", f32(1)), onnxtest.Tensor("c", intTensor(ir.Bool, nil, 1)), onnxtest.Tensor("zero", i64(0)), onnxtest.Tensor("sign", f32(-1)), onnxtest.Tensor("low", scalar(ir.F32, -2)))
			in := "x"
			for i := range n {
				out := fmt.Sprint("v", i+1)
				model.Graph.Node = append(model.Graph.Node, l.node(i, in, out))
				switch {
				case l.name == "Sub of the input":
					next := make([]float64, 3)
					for k := range next {
						next[k] = x[k] - want[k]
					}
					want = next
				case l.name == "Softmax of one":
					want = softmax(want)
				default:
					want = l.f(i, want)
				}
				in = out
			}
			model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(in)}
			w := about(f32(want...))
			w.Absolute = 1e-5
			m.right(fmt.Sprintf("%d of %s", n, l.name), model, run(w, "x", f32(x...))).within(chainTime, chainBytes)
		}
	}
}

func softmax(xs []float64) []float64 {
	sum := 0.0
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Exp(x)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// wide are nodes of many operands and results, and values of many readers.
func (m *maker) wide() {
	for _, n := range []int{10, 300, 1000} {
		operands := strings.TrimSpace(strings.Repeat("x ", n))
		for _, op := range []string{"Sum", "Max", "Min", "Mean"} {
			x := f32(1, -2)
			want := f32(1, -2)
			if op == "Sum" {
				want = f32(float64(n), float64(-2*n))
			}
			m.right(fmt.Sprintf("%s of %d", op, n), onnxtest.Model(onnxtest.Floats("x", 2), onnxtest.Op(op, operands, "y")), run(about(want), "x", x)).within(chainTime, chainBytes)
		}
		many := filled(ir.F32, 2, int64(n))
		m.right(fmt.Sprintf("Concat of %d", n), onnxtest.Model(onnxtest.Floats("x", 1), onnxtest.Op("Concat", operands, "y", "axis", 0)), run(is(many), "x", f32(2))).within(chainTime, chainBytes)
		model := onnxtest.Model(onnxtest.Floats("x", 1))
		var names []string
		for i := range n {
			model.Graph.Node = append(model.Graph.Node, onnxtest.Op("Neg", "x", fmt.Sprint("v", i)))
			names = append(names, fmt.Sprint("v", i))
		}
		model.Graph.Node = append(model.Graph.Node, onnxtest.Op("Concat", strings.Join(names, " "), "y", "axis", 0))
		model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
		m.right(fmt.Sprintf("Concat of %d negatives", n), model, run(is(many), "x", f32(-2))).within(chainTime, chainBytes)
		split := onnxtest.Op("Split", "x", "s0", "axis", 0, "num_outputs", n)
		for i := 1; i < n; i++ {
			split.Output = append(split.Output, fmt.Sprint("s", i))
		}
		m.right(fmt.Sprintf("Split to %d", n), lastOutput(onnxtest.Model(onnxtest.Floats("x", n), split, onnxtest.Op("Neg", fmt.Sprint("s", n-1), "y"))), run(is(f32(-2)), "x", many)).within(chainTime, chainBytes)
	}
	outputs := onnxtest.Model(onnxtest.Floats("x", 1))
	r := Run{Inputs: values("x", f32(2))}
	for i := range 200 {
		name := fmt.Sprint("o", i)
		outputs.Graph.Node = append(outputs.Graph.Node, onnxtest.Op("Neg", "x", name))
		outputs.Graph.Output = append(outputs.Graph.Output, onnxtest.Output(name))
		r.Want = append(r.Want, is(f32(-2)))
	}
	m.right("200 outputs", outputs, r).within(chainTime, chainBytes)
}

func lastOutput(m *onnxpb.ModelProto) *onnxpb.ModelProto {
	m.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	return m
}

// expanding are functions that call each other, once and twice.
func (m *maker) expanding() {
	for _, depth := range []int{1, 5, 9, 17, 25, 40} {
		var fs []*onnxpb.FunctionProto
		for i := range depth {
			next := fmt.Sprint("F", i+1)
			fs = append(fs, onnxtest.Function(fmt.Sprint("F", i), "a", "r", onnxtest.Call(next, "a", "b"), onnxtest.Call(next, "b", "r")))
		}
		fs = append(fs, onnxtest.Function(fmt.Sprint("F", depth), "a", "r", onnxtest.Op("Neg", "a", "r")))
		model := onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Call("F0", "x", "y")), fs...)
		name := fmt.Sprintf("functions that call the next twice, %d deep", depth)
		r := run(is(f32(1, -2, 3)), "x", f32(1, -2, 3))
		switch {
		case depth < 10:
			m.right(name, model, r).within(chainTime, chainBytes)
		case depth < 20: // 2^17 nodes from a file of a kilobyte
			m.open(name, model, []string{"nodes"}).within(chainTime, chainBytes)
		default:
			m.refused(name, model, "nodes").within(chainTime, chainBytes)
		}
	}
	for _, depth := range []int{2, 30, 60, 70, 200} {
		var fs []*onnxpb.FunctionProto
		for i := range depth {
			fs = append(fs, onnxtest.Function(fmt.Sprint("F", i), "a", "r", onnxtest.Call(fmt.Sprint("F", i+1), "a", "r")))
		}
		fs = append(fs, onnxtest.Function(fmt.Sprint("F", depth), "a", "r", onnxtest.Op("Neg", "a", "r")))
		model := onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Call("F0", "x", "y")), fs...)
		name := fmt.Sprintf("functions that call the next, %d deep", depth)
		if depth < 64 {
			m.right(name, model, run(is(f32(-1, 2, -3)), "x", f32(1, -2, 3)))
		} else {
			m.refused(name, model, "deeper than")
		}
	}
	for _, depth := range []int{5, 20, 63, 70, 100} {
		g := graphOf(nil, []string{"r"}, onnxtest.Op("Neg", "x", "r"))
		for range depth - 1 {
			g = graphOf(nil, []string{"r"}, onnxtest.Op("If", "c", "r", "then_branch", g, "else_branch", graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "x", "r"))))
		}
		model := onnxtest.Model(append(onnxtest.Floats("x", 3), boolInput("c")))
		g.Input = model.Graph.Input
		model.Graph = g
		name := fmt.Sprintf("branches %d deep", depth)
		r := run(is(f32(-1, 2, -3)), "x", f32(1, -2, 3), "c", truthOf(true))
		switch {
		case depth <= 20:
			m.right(name, model, r).within(chainTime, chainBytes)
		case depth < 64:
			m.open(name, model, []string{"deep"}, r).within(chainTime, chainBytes)
		default:
			m.refused(name, model, "deep").within(chainTime, chainBytes)
		}
	}
}

// growing are nodes that each double a size or an expression.
func (m *maker) growing() {
	for _, n := range []int{4, 10, 24, 40, 70} {
		model := onnxtest.Model(onnxtest.Floats("x", 1))
		in := "x"
		for i := range n {
			out := fmt.Sprint("v", i)
			model.Graph.Node = append(model.Graph.Node, onnxtest.Op("Concat", in+" "+in, out, "axis", 0))
			in = out
		}
		model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(in)}
		name := fmt.Sprintf("Concat with itself, %d times", n)
		switch {
		case n <= 10:
			m.right(name, model, run(is(filled(ir.F32, 2, 1<<n)), "x", f32(2)))
		case n < 30:
			m.open(name, model, []string{"n_v"})
		default:
			m.refused(name, model, "n_v", "bytes | overflows")
		}
		sums := onnxtest.Model(onnxtest.Floats("x", 1))
		in = "x"
		for i := range n {
			out := fmt.Sprint("v", i)
			sums.Graph.Node = append(sums.Graph.Node, onnxtest.Op("Add", in+" "+in, out))
			in = out
		}
		sums.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(in)}
		m.right(fmt.Sprintf("Add with itself, %d times", n), sums, run(is(f32(math.Ldexp(1, n))), "x", f32(1)))
		shapes := onnxtest.Model(onnxtest.Floats("x", "N", "M"), onnxtest.Op("Shape", "x", "s0"))
		for i := range n {
			shapes.Graph.Node = append(shapes.Graph.Node, onnxtest.Op("Mul", fmt.Sprintf("s%d s%d", i, i), fmt.Sprintf("t%d", i)), onnxtest.Op("Add", fmt.Sprintf("t%d s%d", i, i), fmt.Sprintf("s%d", i+1)))
		}
		shapes.Graph.Node = append(shapes.Graph.Node, onnxtest.Op("Expand", fmt.Sprintf("x s%d", n), "y"))
		shapes.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
		m.open(fmt.Sprintf("shapes that are squared, %d times", n), shapes, []string{"n_"})
	}
}
