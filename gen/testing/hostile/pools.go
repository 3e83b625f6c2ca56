package hostile

import (
	"fmt"
	"math"
	"math/rand/v2"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// pooling is a pool over one axis.
type pooling struct {
	op                          string
	opset                       int64
	kernel, stride, dilation    int64
	begin, end                  int64
	ceil, include, valid, plane bool
}

// poolCases are pools whose windows reach beyond the padded axis, as ceil_mode lets them: what they compute is what ONNX
// Runtime does, which was asked for all kernels of 1 to 4, strides of 1 to 3, dilations of 1 and 2.
func poolCases(m *maker) error {
	r := rand.New(rand.NewPCG(m.seed, 36))
	for _, op := range []string{"MaxPool", "AveragePool", "LpPool"} {
		for i := range int64(24) {
			p := pooling{op: op, opset: []int64{19, 22}[r.IntN(2)], kernel: 1 + r.Int64N(4), stride: 1 + r.Int64N(3), dilation: 1 + r.Int64N(2), ceil: i%6 != 5,
				include: op == "AveragePool" && i%2 == 0, valid: i%4 == 3, plane: i%3 == 0}
			if !p.valid {
				p.begin, p.end = r.Int64N(p.kernel), r.Int64N(p.kernel)
			}
			c := m.add(Right, fmt.Sprintf("%d %s", i, p), p.model(nil)).with("--dim=N=1..7")
			for n := range int64(7) {
				c.then(p.run(n + 1))
			}
			for _, n := range []int64{1, 2, 3, 5} {
				if run := p.run(n); run.Status == OK {
					c := m.add(Right, fmt.Sprintf("%d %s of %d", i, p, n), p.model(&n))
					c.Runs = []Run{run}
				} else {
					m.refused(fmt.Sprintf("%d %s of %d", i, p, n), p.model(&n), op+` "n_y"`, "window")
				}
			}
		}
	}
	return nil
}

func (p pooling) String() string {
	return fmt.Sprintf("%s.%d kernel %d, stride %d, dilation %d, pads %d and %d, ceil %v, include %v, valid %v, plane %v",
		p.op, p.opset, p.kernel, p.stride, p.dilation, p.begin, p.end, p.ceil, p.include, p.valid, p.plane)
}

// model is the pool; its axis is a symbol where n is nil. In a plane the second axis has a window of one.
func (p pooling) model(n *int64) *onnxpb.ModelProto {
	var axis any = "N"
	if n != nil {
		axis = *n
	}
	pair := func(a, b int64) []int64 {
		if p.plane {
			return []int64{a, b}
		}
		return []int64{a}
	}
	attrs := []any{"kernel_shape", pair(p.kernel, 1), "strides", pair(p.stride, 1), "dilations", pair(p.dilation, 1)}
	switch {
	case p.valid:
		attrs = append(attrs, "auto_pad", "VALID")
	case p.plane:
		attrs = append(attrs, "pads", []int64{p.begin, 0, p.end, 0})
	default:
		attrs = append(attrs, "pads", []int64{p.begin, p.end})
	}
	if p.ceil {
		attrs = append(attrs, "ceil_mode", 1)
	}
	if p.include {
		attrs = append(attrs, "count_include_pad", 1)
	}
	dims := []any{1, 1, axis}
	if p.plane {
		dims = append(dims, 2)
	}
	m := onnxtest.Model(onnxtest.Floats("x", dims...), onnxtest.Op(p.op, "x", "y", attrs...))
	m.OpsetImport[0].Version = ptr(p.opset)
	return m
}

// windows is how many windows an axis of n elements has; false where the network must be refused.
func (p pooling) windows(n int64) (int64, bool) {
	span := (p.kernel-1)*p.dilation + 1
	room := n + p.begin + p.end - span
	if !p.ceil {
		return floorDiv(room, p.stride) + 1, room >= 0
	}
	out := min(-floorDiv(-room, p.stride)+1, -floorDiv(-(n+p.begin), p.stride))
	return out, out >= 0
}

func floorDiv(a, b int64) int64 { return int64(math.Floor(float64(a) / float64(b))) }

func (p pooling) run(n int64) Run {
	width := int64(1)
	shape := []int64{1, 1, n}
	if p.plane {
		width, shape = 2, append(shape, 2)
	}
	x := tensor(ir.F32, shape, numbersOf(seq(n*width))...)
	out, ok := p.windows(n)
	if !ok {
		return Run{Inputs: values("x", x), Status: BadDims, Words: []string{p.op + ` "n_y"`, "window"}}
	}
	y := []float64{}
	for o := range out {
		for column := range width {
			y = append(y, p.pooled(n, o*p.stride-p.begin, func(i int64) float64 { return float64(i*width + column + 1) }))
		}
	}
	to := []int64{1, 1, out}
	if p.plane {
		to = append(to, 2)
	}
	return Run{Inputs: values("x", x), Want: []Want{about(tensor(ir.F32, to, y...))}}
}

// pooled is the result of the window that begins at start.
func (p pooling) pooled(n, start int64, x func(int64) float64) float64 {
	sum, squares, most, count := 0.0, 0.0, math.Inf(-1), 0.0
	for k := range p.kernel {
		i := start + k*p.dilation
		if i >= 0 && i < n {
			sum, squares, most = sum+x(i), squares+x(i)*x(i), max(most, x(i))
		}
		if i >= 0 && i < n || p.include && i >= -p.begin && i < n+p.end {
			count++
		}
	}
	switch p.op {
	case "MaxPool":
		return most
	case "LpPool":
		return math.Sqrt(squares)
	}
	return sum / max(count, 1)
}
