package opencl_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
)

const root = "../../.."

// fewCores is a device with buffers whose tasks are large: its kernels are the processors', with
// register tiles.
const fewCores = "few cores"

func device(t testing.TB, name string) *target.Target {
	if name == fewCores {
		d := device(t, "opencl_buffers")
		d.Parallel, d.Tasks, d.TaskElements = 1, 64, 4096
		return d
	}
	facts, err := os.ReadFile(filepath.Join(root, "platforms/devices", name+".json"))
	require.NoError(t, err)
	d, err := target.Parse(facts)
	require.NoError(t, err)
	return d
}

// model is an ONNX model: the graph is written as one, and read back.
type model struct {
	random *rand.Rand
	text   strings.Builder
}

func newModel() *model { return &model{random: rand.New(rand.NewPCG(7, 11))} }

func (m *model) line(format string, args ...any) *model {
	fmt.Fprintf(&m.text, format+"\n", args...)
	return m
}

// weights adds a constant of random elements.
func (m *model) weights(name string, shape ...int64) *model {
	t := random(m.random, ir.F32, shape...)
	var xs []string
	for i := range t.Len() {
		xs = append(xs, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))))
	}
	dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	return m.line("const @%s f32[%s] = {%s}", name, dims, strings.Join(xs, ", "))
}

// random are floats in [-1, 1), or integers of all their bits.
func random(r *rand.Rand, t ir.DType, shape ...int64) *ir.Tensor {
	out := ir.NewTensor(t, shape...)
	if t != ir.F32 {
		for i := range out.Data {
			out.Data[i] = byte(r.Uint32())
		}
		return out
	}
	for i := range out.Len() {
		binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(float32(r.Float64()*2-1)))
	}
	return out
}

// graph is the model as `dnnc graph` has it.
func (m *model) graph(t testing.TB) *ir.Graph {
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n"+m.text.String()+"}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	var file bytes.Buffer
	require.NoError(t, onnx.Write(&file, g))
	dims := map[string]onnx.Dim{}
	for _, s := range g.Symbols {
		dims[s.Name] = onnx.Dim{Lo: s.Lo, Hi: s.Hi}
	}
	read, err := onnx.Read(&ir.File{R: bytes.NewReader(file.Bytes()), Size: int64(file.Len())}, nil, onnx.Options{Dims: dims})
	require.NoError(t, err)
	return read
}

func compile(t testing.TB, g *ir.Graph, d *target.Target) *plan.Program {
	s := &pipeline.State{Graph: g, Target: d}
	for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
		_, err := pipeline.Run(ps, s, pipeline.Options{})
		require.NoError(t, err)
	}
	return s.Program
}

// blocks are what must run on a device.
var blocks = []struct {
	name  string
	model *model
	// images are how many values are images where the device has them.
	images int
}{
	{"conv 3x3, bias, ReLU", newModel().line("symbol N 1..4").
		weights("w", 32, 16, 3, 3).weights("b", 32).weights("v", 10, 32, 3, 3).weights("c", 10).
		line("input %%x f32[N, 16, 15, 13]").
		line("%%p ?[*] = Conv.11(%%x, @w, @b) {pads = [1, 1, 1, 1]}").line("%%q ?[*] = Relu.14(%%p)").
		line("%%r ?[*] = Conv.11(%%q, @v, @c) {pads = [1, 1, 1, 1], strides = [2, 2]}").line("%%y ?[*] = Relu.14(%%r)").
		line("output %%y"), 1},
	{"residual add", newModel().line("symbol N 1..4").
		weights("w", 16, 16, 3, 3).weights("b", 16).weights("v", 16, 16, 1, 1).
		line("input %%x f32[N, 16, 15, 13]").
		line("%%o ?[*] = Conv.11(%%x, @v)").
		line("%%p ?[*] = Conv.11(%%o, @w, @b) {pads = [1, 1, 1, 1]}").
		line("%%q ?[*] = Add.14(%%p, %%o)").line("%%y ?[*] = Relu.14(%%q)").
		line("%%z ?[*] = Conv.11(%%y, @v)").
		line("output %%z"), 2},
	{"pool, Gemm, softmax", newModel().line("symbol N 1..4").
		weights("v", 24, 16, 1, 1).weights("w", 10, 24).weights("b", 10).
		line("input %%x f32[N, 16, 9, 9]").
		line("%%o ?[*] = Conv.11(%%x, @v)").
		line("%%m ?[*] = MaxPool.12(%%o) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}").
		line("%%p ?[*] = GlobalAveragePool.1(%%m)").line("%%f ?[*] = Flatten.13(%%p) {axis = 1}").
		line("%%g ?[*] = Gemm.13(%%f, @w, @b) {transB = 1}").line("%%y ?[*] = Softmax.13(%%g) {axis = 1}").
		line("output %%y"), 1},
	{"depthwise conv", newModel().weights("w", 16, 1, 3, 3).
		line("input %%x f32[2, 16, 14, 14]").line("%%y ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1], group = 16}").
		line("output %%y"), 0},
	{"MatMul of two inputs, bias", newModel().line("symbol N 1..4").weights("b", 70).
		line("input %%x f32[N, 2, 50, 40]").line("input %%w f32[2, 40, 70]").
		line("%%p ?[*] = MatMul.13(%%x, %%w)").line("%%y ?[*] = Add.14(%%p, @b)").
		line("output %%y"), 0},
	{"scores", newModel().
		line("input %%x f32[2, 50, 32]").line("input %%w f32[2, 70, 32]").
		line("%%t ?[*] = Transpose.13(%%w) {perm = [0, 2, 1]}").line("%%y ?[*] = MatMul.13(%%x, %%t)").
		line("output %%y"), 0},
	{"grouped conv", newModel().weights("w", 32, 8, 3, 3).
		line("input %%x f32[2, 16, 14, 14]").line("%%y ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1], group = 2, strides = [2, 1]}").
		line("output %%y"), 1},
	{"one row", newModel().
		line("input %%x f32[1, 300]").line("input %%w f32[300, 70]").line("%%y ?[*] = MatMul.13(%%x, %%w)").
		line("output %%y"), 0},
	{"row sums", newModel().
		line("input %%x f32[5, 3, 333]").line("%%s ?[*] = ReduceMax.13(%%x) {axes = [-1], keepdims = 0}").
		line("output %%s"), 0},
	{"softmax of rows", newModel().line("symbol N 1..4").
		line("input %%x f32[N, 5, 197]").line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").
		line("output %%y"), 0},
	{"softmax of scaled scores", newModel().weights("m", 7, 49).
		line("input %%x f32[2, 3, 7, 49]").line("%%s ?[*] = Mul.14(%%x, %%x)").line("%%a ?[*] = Add.14(%%s, @m)").
		line("%%y ?[*] = Softmax.13(%%a) {axis = -1}").
		line("output %%y"), 0},
	{"layer norm", newModel().weights("g", 96).weights("b", 96).line("symbol N 1..4").
		line("input %%x f32[N, 13, 96]").line("%%y ?[*] = LayerNormalization.17(%%x, @g, @b) {axis = -1}").
		line("output %%y"), 0},
	{"layer norm of channels", newModel().weights("g", 40).weights("b", 40).
		line("input %%x f32[2, 40, 5, 7]").line("%%t ?[*] = Transpose.13(%%x) {perm = [0, 2, 3, 1]}").
		line("%%n ?[*] = LayerNormalization.17(%%t, @g, @b) {axis = -1}").line("%%y ?[*] = Transpose.13(%%n) {perm = [0, 3, 1, 2]}").
		line("output %%y"), 0},
	{"layer norm of an embedding", newModel().weights("e", 11, 96).weights("g", 96).weights("b", 96).
		line("const @ten f32[] = {10}").line("input %%z f32[2, 13]").
		line("%%a ?[*] = Abs.13(%%z)").line("%%m ?[*] = Mul.14(%%a, @ten)").line("%%i ?[*] = Cast.13(%%m) {to = 7}").
		line("%%x ?[*] = Gather.13(@e, %%i)").line("%%n ?[*] = LayerNormalization.17(%%x, @g, @b) {axis = -1}").
		line("output %%n"), 0},
	{"heads", newModel().line("const @s i64[4] = {1, 33, 4, 12}").
		line("input %%x f32[1, 33, 48]").line("input %%w f32[1, 33, 48]").
		line("%%a ?[*] = Reshape.14(%%x, @s)").line("%%q ?[*] = Transpose.13(%%a) {perm = [0, 2, 1, 3]}").
		line("%%c ?[*] = Reshape.14(%%w, @s)").line("%%k ?[*] = Transpose.13(%%c) {perm = [0, 2, 3, 1]}").
		line("%%y ?[*] = MatMul.13(%%q, %%k)").
		line("output %%y"), 0},
	{"instance norm", newModel().weights("g", 6).weights("b", 6).
		line("input %%x f32[2, 6, 19, 23]").line("%%y ?[*] = InstanceNormalization.6(%%x, @g, @b)").
		line("output %%y"), 0},
	{"thin product", newModel().weights("b", 190).
		line("input %%x f32[49, 600]").line("input %%w f32[600, 190]").line("%%p ?[*] = MatMul.13(%%x, %%w)").line("%%y ?[*] = Add.14(%%p, @b)").
		line("output %%y"), 0},
	{"integers", newModel().
		line("input %%x u8[3, 40]").line("input %%w i8[40, 9]").line("input %%z u8[]").
		line("%%p ?[*] = MatMulInteger.10(%%x, %%w, %%z)").line("%%y ?[*] = Add.14(%%p, %%p)").
		line("output %%y"), 0},
}

// TestBlocks compiles the blocks for devices with images, with buffers only, and of few cores, runs them and compares
// with the interpreter of loops: floats to 1e-5 of the greatest, integers bit for bit.
func TestBlocks(t *testing.T) {
	var cases []opencltest.Case
	var want [][]*ir.Tensor
	for _, name := range []string{"opencl_images", "opencl_buffers", "opencl_nvidia", fewCores} {
		d := device(t, name)
		for _, b := range blocks {
			p := compile(t, b.model.graph(t), d)
			if name == "opencl_images" {
				assert.Len(t, imagesOf(p), b.images, "%s on %s\n%s", b.name, name, p)
			}
			c := opencltest.Case{Name: b.name + " on " + name, Program: p, Device: d, Dims: map[string]int64{"N": 3}}
			want = append(want, looped(t, &c, b.model.graph(t)))
			cases = append(cases, c)
		}
	}
	runs(t, cases, want)
}

// looped gives a case inputs, and is what the interpreter of loops makes of these, which agrees with that of graphs.
func looped(t *testing.T, c *opencltest.Case, g *ir.Graph) []*ir.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range c.Program.Inputs {
		var dims []int64
		for _, e := range v.Shape {
			n, err := e.Eval(c.Dims)
			require.NoError(t, err)
			dims = append(dims, n)
		}
		c.Inputs = append(c.Inputs, random(r, v.Type, dims...))
	}
	out, err := run.Program(c.Program, c.Inputs)
	require.NoError(t, err, c.Name)
	agrees(t, g, c.Inputs, out)
	return out
}

// runs compares what the device makes of cases.
func runs(t *testing.T, cases []opencltest.Case, want [][]*ir.Tensor) {
	t.Helper()
	for i, r := range opencltest.Run(t, root, cases) {
		if assert.Zero(t, r.Status, cases[i].Name) {
			for k, w := range want[i] {
				assert.NoError(t, compare(r.Outputs[k], w), cases[i].Name)
			}
		}
	}
}

// imagesOf are the values that are stored as images.
func imagesOf(p *plan.Program) []*ir.Value {
	var out []*ir.Value
	for v, at := range p.Places {
		if at.Region == plan.Image && p.Layouts[v].Memory == layout.Image {
			out = append(out, v)
		}
	}
	return out
}

// agrees compares with the interpreter of stages, which knows neither loops nor layouts.
func agrees(t *testing.T, g *ir.Graph, inputs, got []*ir.Tensor) {
	byName := map[string]*ir.Tensor{}
	for i, v := range g.Inputs {
		byName[v.Name] = inputs[i]
	}
	want, err := interp.Graph(g, byName)
	require.NoError(t, err)
	for i, w := range want {
		require.NoError(t, compare(got[i], w))
	}
}

const tolerance = 1e-5

func compare(got, want *ir.Tensor) error {
	if want.Type != ir.F32 {
		if !bytes.Equal(got.Data, want.Data) {
			return fmt.Errorf("got %x, want %x", got.Data, want.Data)
		}
		return nil
	}
	at := func(t *ir.Tensor, i int64) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
	}
	scale := 0.0
	for i := range want.Len() {
		scale = max(scale, math.Abs(at(want, i)))
	}
	for i := range want.Len() {
		if x, y := at(got, i), at(want, i); !(math.Abs(x-y) <= tolerance*scale) {
			return fmt.Errorf("element %d is %v, want %v", i, x, y)
		}
	}
	return nil
}
