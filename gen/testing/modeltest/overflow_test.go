package modeltest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/precision"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/hostcpu"
)

// overflow is a network of f32 whose numbers leave f16's range on the way. Inputs whose names begin with c are constants, those with m masks.
type overflow struct {
	name, text string
	// compiled: it is also run by compilers, on each machine that there is; the others are run in the interpreter of loops alone.
	compiled bool
}

// overflows are of every class of operators whose results may be stored in 16 bits, and of every kind of kernel.
var overflows = []overflow{
	{"product", "input %x f32[4, 32]\ninput %c f32[32, 16]\n%a ?[*] = MatMul.13(%x, %c)\n", true},
	{"product of activations", "input %x f32[3, 20, 32]\ninput %z f32[3, 32, 24]\n%a ?[*] = MatMul.13(%x, %z)\n", true},
	{"long product", "input %x f32[1, 900]\ninput %c f32[900, 40]\n%a ?[*] = MatMul.13(%x, %c)\n", false},
	{"gemm", "input %x f32[4, 32]\ninput %c f32[32, 16]\ninput %cb f32[16]\n%a ?[*] = Gemm.13(%x, %c, %cb) {alpha = f32 2.5}\n", false},
	{"einsum", "input %x f32[4, 8]\ninput %z f32[8, 6]\n%a ?[*] = Einsum.12(%x, %z) {equation = \"ij,jk->ki\"}\n", false},
	{"convolution", "input %x f32[1, 8, 9, 9]\ninput %c f32[16, 8, 3, 3]\n%a ?[*] = Conv.11(%x, %c) {pads = [1, 1, 1, 1]}\n", true},
	{"convolution by Winograd", "input %x f32[1, 32, 9, 11]\ninput %c f32[32, 32, 3, 3]\n%a ?[*] = Conv.11(%x, %c) {pads = [1, 1, 1, 1]}\n", true},
	{"convolution of points", "input %x f32[1, 40, 13, 15]\ninput %c f32[72, 40, 1, 1]\ninput %cb f32[72]\n%a ?[*] = Conv.11(%x, %c, %cb)\n", true},
	{"depthwise", "input %x f32[1, 32, 9, 11]\ninput %c f32[32, 1, 3, 3]\n%a ?[*] = Conv.11(%x, %c) {group = 32, pads = [1, 1, 1, 1], strides = [2, 2]}\n", true},
	{"groups", "input %x f32[1, 16, 6, 6]\ninput %c f32[16, 4, 3, 3]\n%a ?[*] = Conv.11(%x, %c) {group = 4}\n", false},
	{"pooled", "input %x f32[1, 8, 12, 12]\ninput %c f32[16, 8, 3, 3]\n%b ?[*] = Conv.11(%x, %c)\n%r ?[*] = Relu.14(%b)\n%a ?[*] = MaxPool.12(%r) {kernel_shape = [2, 2], strides = [2, 2]}\n", true},
	{"residual", "input %x f32[1, 16, 6, 6]\ninput %c f32[16, 16, 1, 1]\n%b ?[*] = Conv.11(%x, %c)\n%s ?[*] = Add.14(%b, %x)\n%a ?[*] = Relu.14(%s)\n", true},
	{"clipped", "input %x f32[1, 16, 6, 6]\ninput %c f32[16, 16, 1, 1]\nconst @lo f32[] = {0}\nconst @hi f32[] = {6}\n%b ?[*] = Conv.11(%x, %c)\n%a ?[*] = Clip.13(%b, @lo, @hi)\n", true},
	{"transposed", "input %x f32[1, 8, 5, 5]\ninput %c f32[8, 6, 3, 3]\n%a ?[*] = ConvTranspose.11(%x, %c) {strides = [2, 2]}\n", false},
	{"deformed", "input %x f32[1, 2, 6, 6]\ninput %c f32[3, 2, 3, 3]\ninput %m f32[1, 18, 4, 4]\n%a ?[*] = DeformConv.19(%x, %c, %m)\n", false},
	{"sum", "input %x f32[3, 70]\ninput %z f32[3, 70]\n%b ?[*] = Mul.14(%x, %z)\n%a ?[*] = Add.14(%b, %x)\n", true},
	{"difference", "input %x f32[3, 70]\ninput %z f32[70]\n%n ?[*] = Neg.13(%x)\n%b ?[*] = Mul.14(%n, %z)\n%a ?[*] = Sub.14(%b, %x)\n", false},
	{"sum of many", "input %x f32[3, 7]\ninput %c f32[3, 7]\n%b ?[*] = Mul.14(%x, %c)\n%a ?[*] = Sum.13(%b, %b, %b)\n", false},
	{"mean of many", "input %x f32[3, 7]\ninput %c f32[3, 7]\n%b ?[*] = Mul.14(%x, %c)\n%a ?[*] = Mean.13(%b, %b, %x)\n", false},
	{"quotient", "input %x f32[3, 70]\nconst @d f32[] = {0.01}\n%a ?[*] = Div.14(%x, @d)\n", true},
	{"mean", "input %x f32[3, 700]\n%b ?[*] = Abs.13(%x)\n%a ?[*] = ReduceMean.13(%b) {axes = [1]}\n", false},
	{"total", "input %x f32[3, 700]\n%b ?[*] = Abs.13(%x)\n%a ?[*] = ReduceSum.11(%b) {axes = [1]}\n", false},
	{"averages", "input %x f32[1, 8, 12, 12]\ninput %z f32[8, 1, 1]\n%b ?[*] = Mul.14(%x, %z)\n%p ?[*] = AveragePool.19(%b) {kernel_shape = [3, 3]}\n%a ?[*] = GlobalAveragePool.1(%p)\n", false},
	{"normalized", "input %x f32[3, 70]\ninput %c f32[70]\ninput %cb f32[70]\n%b ?[*] = LayerNormalization.17(%x, %c, %cb)\n%a ?[*] = Mul.14(%b, %x)\n", false},
	{"normalized channels", "input %x f32[1, 4, 6, 6]\ninput %c f32[4]\ninput %cb f32[4]\n%b ?[*] = InstanceNormalization.6(%x, %c, %cb)\n%a ?[*] = Mul.14(%b, %x)\n", false},
	{"activations", "input %x f32[3, 70]\ninput %c f32[70]\n%e ?[*] = LeakyRelu.16(%x) {alpha = f32 200}\n%p ?[*] = PRelu.16(%x, %c)\n%s ?[*] = HardSwish.14(%p)\n%g ?[*] = Add.14(%e, %s)\n%a ?[*] = ThresholdedRelu.10(%g)\n", true},
	{"gelu", "input %x f32[3, 70]\ninput %c f32[70]\n%b ?[*] = Mul.14(%x, %c)\n%a ?[*] = Gelu.20(%b)\n", false},
	{"elu", "input %x f32[3, 70]\n%n ?[*] = Neg.13(%x)\n%a ?[*] = Elu.6(%n) {alpha = f32 100000}\n", false},
	{"cubic", "input %x f32[1, 2, 6, 6]\ninput %z f32[1, 1, 1, 1]\nconst @s f32[4] = {1, 1, 2.5, 2.5}\n%b ?[*] = Mul.14(%x, %z)\n%a ?[*] = Resize.19(%b, _, @s) {mode = \"cubic\"}\n", false},
	{"added elements", "input %x f32[4, 6]\ninput %z f32[4, 6]\nconst @i i64[4, 6] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}\n%b ?[*] = Mul.14(%x, %z)\n%a ?[*] = ScatterElements.18(%b, @i, %b) {axis = 0, reduction = \"add\"}\n", false},
	{"attention", "input %x f32[1, 2, 5, 16]\ninput %z f32[1, 2, 16, 7]\ninput %v f32[1, 2, 7, 12]\ninput %m f32[5, 7]\n%b ?[*] = MatMul.13(%x, %z)\n%s ?[*] = Add.14(%b, %m)\n%p ?[*] = Softmax.13(%s)\n%a ?[*] = MatMul.13(%p, %v)\n", true},
	{"recurrent", "input %x f32[3, 2, 4]\ninput %c f32[1, 9, 4]\ninput %cr f32[1, 9, 3]\n%b ?[*], %a ?[*] = GRU.14(%x, %c, %cr) {hidden_size = 3}\n", false},
}

// graph parses a case. After the operator it has a product with 0.5, in which infinities would become visible as such.
func (o overflow) graph(t *testing.T) (*ir.Graph, map[string]*ir.Tensor) {
	text := o.text + "const @half f32[] = {0.5}\n%y ?[*] = Mul.14(%a, @half)\noutput %a\noutput %y\n"
	g, inputs := irtest.Parse(t, text), map[string]*ir.Tensor{}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v *ir.Value) bool {
		dims, _ := v.Static()
		x := large(v.Name[0], dims...)
		if v.Name[0] == 'c' {
			v.Const = x
			return true
		}
		inputs[v.Name] = x
		return false
	})
	return g, inputs
}

// large is a tensor of numbers about 1000, of weights about 10, or of a mask that leaves out some.
func large(kind byte, dims ...int64) *ir.Tensor {
	x := ir.NewTensor(ir.F32, dims...)
	for i := range x.Len() {
		v := 900 * (1 + float64(i%5)/4)
		switch {
		case kind == 'c':
			v = 8 * (1 + float64(i*3%7)/7)
		case kind == 'm':
			v = []float64{0, -65504, 0.25}[i%3]
		}
		if kind != 'm' && (i%11 == 3 || i >= x.Len()/2 && i%11 != 4) {
			v = -v
		}
		setNumber(x, i, float32(v))
	}
	return x
}

// exact is what a case computes in f32.
func (o overflow) exact(t *testing.T) []*ir.Tensor {
	g, inputs := o.graph(t)
	out, err := interp.Graph(g, inputs)
	require.NoError(t, err, o.name)
	return out
}

// halved compiles a case whose floats are stored in 16 bits, and returns what the stages of its graph compute.
func (o overflow) halved(t *testing.T, chip *target.Target) (*plan.Program, []*ir.Tensor, []*ir.Tensor) {
	g, inputs := o.graph(t)
	_, err := pipeline.Run(pipeline.GraphPasses, &pipeline.State{Graph: g, Target: chip}, pipeline.Options{})
	require.NoError(t, err, o.name)
	_, err = precision.Run(g, ir.F16, nil)
	require.NoError(t, err, o.name)
	require.NoError(t, shape.Infer(g), o.name)
	want, err := interp.Graph(g, inputs)
	require.NoError(t, err, o.name)
	g, _ = o.graph(t)
	p, err := compile(&pipeline.State{Graph: g, Target: chip, Store: ir.F16}, nil)
	require.NoError(t, err, o.name)
	return p, InputsOf(p, inputs), want
}

// overflowChip is a chip or a device by its name.
func overflowChip(t *testing.T, name string) *target.Target {
	if strings.HasPrefix(name, "opencl") {
		name = filepath.Join(root(), "platforms/devices", name+".json")
	}
	c, err := chips.Target(name)
	require.NoError(t, err)
	return c
}

// TestOverflow: no finite number becomes infinite by being stored in 16 bits, in any operator or kernel: what lies beyond the range is its end.
func TestOverflow(t *testing.T) {
	for _, o := range overflows {
		t.Run(o.name, func(t *testing.T) {
			exact := o.exact(t)
			for _, chip := range slices.Concat(Chips, Devices) {
				p, in, want := o.halved(t, overflowChip(t, chip))
				requireHeld(t, exact, want, o.name)
				got, err := run.Program(p, in)
				require.NoError(t, err, chip)
				for i := range want {
					requireNear(t, exact[i], want[i], got[i], fmt.Sprintf("%s: output %d", chip, i))
				}
			}
		})
	}
}

// requireHeld checks what is computed in 16 bits against f32: it is finite where that is, and the first output is near it, or at the end of the
// range or beyond, if what it is computed of is.
func requireHeld(t *testing.T, exact, got []*ir.Tensor, name string) {
	t.Helper()
	for k := range exact {
		for i := range exact[k].Len() {
			x, y := elementAt(exact[k], i), elementAt(got[k], i)
			require.False(t, math.IsInf(x, 0) || math.IsNaN(x), "%s: f32 has no number there", name)
			require.False(t, math.IsInf(y, 0) || math.IsNaN(y), "%s: output %d[%d] is %v, in f32 %v", name, k, i, y, x)
		}
	}
}

// greatestOf is the greatest magnitude in a tensor, at most a million.
func greatestOf(x *ir.Tensor) float64 {
	most := 1.0
	for i := range x.Len() {
		most = max(most, math.Abs(elementAt(x, i)))
	}
	return min(most, 1e6)
}

// requireNear compares two evaluations of a graph of 16 bits, in which sums differ in their order, and cancel.
func requireNear(t *testing.T, exact, want, got *ir.Tensor, label string) {
	t.Helper()
	delta := 4e-3*greatestOf(want) + 1e-3*greatestOf(exact)
	for i := range want.Len() {
		require.InDelta(t, elementAt(want, i), elementAt(got, i), delta, "%s[%d]", label, i)
	}
}

// TestOverflowOfClasses: each single operator's result is that of f32, but no number is beyond the range.
func TestOverflowOfClasses(t *testing.T) {
	tried := 0
	for _, o := range overflows {
		if strings.Count(o.text, " = ") > 1 {
			continue // of several operators what follows computes with the range's ends
		}
		exact := o.exact(t)
		_, _, got := o.halved(t, overflowChip(t, "x86_64"))
		tried++
		beyond := 0
		for i := range exact[0].Len() {
			x := elementAt(exact[0], i)
			if math.Abs(x) > 65504 {
				beyond++
			}
			held := max(min(x, 65504), -65504)
			require.InDelta(t, held, elementAt(got[0], i), 2e-3*math.Abs(held)+1e-3*greatestOf(exact[0]), "%s[%d]", o.name, i)
		}
		if strings.Contains(o.name, "product") || strings.Contains(o.name, "convolution") || o.name == "quotient" {
			assert.NotZero(t, beyond, "%s: no number is beyond the range", o.name)
		}
	}
	require.GreaterOrEqual(t, tried, 5)
}

// armMachine runs C++ for 64-bit ARM.
var armMachine = cpptest.Machine{Language: cpptest.Host.Language, Compilers: []string{"aarch64-linux-gnu-g++"}, Flags: []string{"-static"}, Runner: []string{"qemu-aarch64"},
	Packages: "g++-aarch64-linux-gnu and qemu-user"}

// TestOverflowCompiled: compiled, the kernels give what the interpreters give, on this machine's processor by all its instructions and by few,
// and on 64-bit ARM.
func TestOverflowCompiled(t *testing.T) {
	for _, m := range []struct {
		chip    string
		machine *cpptest.Machine
	}{{"x86_64", &cpptest.Host}, {"x86_64_v3", &cpptest.Host}, {"x86_64_v4", &cpptest.Host}, {"arm64", &armMachine}} {
		t.Run(m.chip, func(t *testing.T) {
			c := overflowChip(t, m.chip)
			if m.machine == &cpptest.Host && !hostcpu.Runs(c.GOARCH(), c.CPUFeatures...) {
				t.Skipf("this processor is no %s", m.chip)
			}
			var cases []cpptest.Case
			var wants [][]*ir.Tensor
			for _, o := range overflows {
				if o.compiled {
					p, in, want := o.halved(t, c)
					cases, wants = append(cases, cpptest.Case{Name: o.name, Program: p, Inputs: in}), append(wants, want, o.exact(t))
				}
			}
			for i, r := range m.machine.Run(t, "../../..", cases, append(slices.Clone(c.Copts), "-O1")...) {
				require.Zero(t, r.Status, cases[i].Name)
				for k, w := range wants[2*i] {
					requireNear(t, wants[2*i+1][k], w, r.Outputs[k], cases[i].Name)
				}
			}
		})
	}
}

// TestOverflowOnDevice: so do kernels of an OpenCL device, those of work-groups and of tensor cores among them, which a driver without these
// computes by plain products.
func TestOverflowOnDevice(t *testing.T) {
	var cases []opencltest.Case
	var wants [][]*ir.Tensor
	for _, name := range []string{"opencl_buffers", "opencl_nvidia"} {
		d := overflowChip(t, name)
		for _, o := range overflows {
			if !o.compiled {
				continue
			}
			p, in, want := o.halved(t, d)
			cases, wants = append(cases, opencltest.Case{Name: name + ": " + o.name, Program: p, Device: d, Inputs: in}), append(wants, want, o.exact(t))
		}
	}
	for i, r := range opencltest.Run(t, "../../..", cases) {
		require.Zero(t, r.Status, cases[i].Name)
		for k, w := range wants[2*i] {
			requireNear(t, wants[2*i+1][k], w, r.Outputs[k], cases[i].Name)
		}
	}
}
