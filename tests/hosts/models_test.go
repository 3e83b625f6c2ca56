package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// model is a network of TestModels.
type model struct {
	name, path string
	dims       []string
	folded     []string // operators that constants take the place of
}

// models are networks that together run what computes within the compiler: folding of functions of all
// float types, batch norms in weights, quantized constants, packing, and estimates of costs.
func models(t *testing.T) []model {
	dir := t.TempDir()
	list := []model{
		{name: "resnet20", path: absolute(t, repository+"/app/resnet20_cifar10.onnx"), dims: []string{"N=1..64"}},
		made(t, dir, "quantized", quantized(), "QuantizeLinear", "MatMulInteger"),
		made(t, dir, "layers", layers(), "BatchNormalization"),
	}
	for _, typ := range []string{"f32", "f16", "bf16", "f64"} {
		list = append(list, made(t, dir, "functions_"+typ, functions(typ), "Exp", "Tanh", "Pow", "ReduceSum"))
	}
	return list
}

func made(t *testing.T, dir, name, lines string, folded ...string) model {
	t.Helper()
	path := filepath.Join(dir, name+".onnx")
	f, err := os.Create(path)
	require.NoError(t, err)
	g, err := ir.Parse(strings.NewReader("graph \"net\" opset 22 {\n"+lines+"}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	return model{name: name, path: path, folded: folded}
}

// constant is a line of n synthetic numbers.
func constant(name, typ string, shape string, n int, number func(x float64) string) string {
	seed := uint32(len(name) + n)
	words := make([]string, n)
	for i := range words {
		seed = seed*1664525 + 1013904223
		words[i] = number(float64(int32(seed)) / (1 << 31)) // from -1 to 1
	}
	return fmt.Sprintf("const @%s %s[%s] = {%s}\n", name, typ, shape, strings.Join(words, ", "))
}

func plain(x float64) string    { return fmt.Sprintf("%.7g", x) }
func positive(x float64) string { return fmt.Sprintf("%.7g", x*x+0.25) }

// functions applies functions to constants. Some results are infinite or no numbers.
func functions(typ string) string {
	unary := "Abs.13 Acos.22 Acosh.22 Asin.22 Asinh.22 Atan.22 Atanh.22 Ceil.13 Cos.22 Cosh.22 Erf.13 Exp.13 Floor.13 Gelu.20 HardSwish.22 " +
		"Log.13 Mish.22 Neg.13 Reciprocal.13 Round.22 Sigmoid.13 Sign.13 Sin.22 Sinh.22 Softplus.22 Softsign.22 Sqrt.13 Tan.22 Tanh.13 " +
		"ReduceSum.13 ReduceMean.18 ReduceProd.18 ReduceL2.18 ReduceLogSumExp.18 Softmax.13 LogSoftmax.13"
	side := 16
	if typ == "f64" {
		side = 5 // its functions are slow
	}
	shape := fmt.Sprintf("%d, %d", side, side)
	lines := constant("a", typ, shape, side*side, func(x float64) string { return plain(4 * x) }) +
		constant("b", typ, shape, side*side, func(x float64) string { return plain(1 / x) })
	outputs := ""
	add := func(op, operands string) {
		name := fmt.Sprintf("y%d", strings.Count(outputs, "\n"))
		lines += fmt.Sprintf("%%%s ?[*] = %s(%s)\n", name, op, operands)
		outputs += "output %" + name + "\n"
	}
	for _, op := range strings.Fields(unary) {
		add(op, "@a")
		if !strings.HasPrefix(op, "Reduce") {
			add(op, "@b")
		}
	}
	for _, op := range strings.Fields("Add.14 Sub.14 Mul.14 Div.14 Pow.15 PRelu.16 MatMul.13 Max.13 Min.13") {
		add(op, "@a, @b")
	}
	return lines + outputs
}

// quantized has constants that are quantized, rounded and multiplied as integers.
func quantized() string {
	return constant("w", "f32", "16, 24", 384, plain) + constant("x", "f32", "8, 16", 128, plain) +
		`const @scale f32[] = {0.0123}
const @zero i8[] = {3}
const @xscale f32[] = {0.00713}
const @xzero u8[] = {128}
input %i f32[8, 24]
%q ?[*] = QuantizeLinear.21(@w, @scale, @zero)
%xq ?[*] = QuantizeLinear.21(@x, @xscale, @xzero)
%m ?[*] = MatMulInteger.10(%xq, %q, @xzero, @zero)
%f ?[*] = Cast.21(%m) {to = 1}
%d ?[*] = DequantizeLinear.21(%q, @scale, @zero)
%s ?[*] = Mul.14(%f, @xscale)
%y ?[*] = Add.14(%i, %s)
output %y
output %d
`
}

// layers has convolutions with batch norms, a product with packed weights and layers that choose layouts.
func layers() string {
	channel := func(name string, number func(float64) string) string { return constant(name, "f32", "24", 24, number) }
	return "symbol N 1..16\n" + constant("w1", "f32", "24, 3, 3, 3", 648, plain) + constant("w2", "f32", "24, 1, 3, 3", 216, plain) +
		constant("w3", "f32", "24, 20", 480, plain) + channel("scale", positive) + channel("bias", plain) + channel("mean", plain) + channel("var", positive) +
		constant("g", "f32", "20", 20, positive) + constant("h", "f32", "20", 20, plain) +
		`input %x f32[N, 3, 18, 18]
%c1 ?[*] = Conv.22(%x, @w1) {strides = [2, 2], pads = [1, 1, 1, 1]}
%n1 ?[*] = BatchNormalization.15(%c1, @scale, @bias, @mean, @var)
%r1 ?[*] = Relu.14(%n1)
%c2 ?[*] = Conv.22(%r1, @w2) {group = 24, pads = [1, 1, 1, 1]}
%n2 ?[*] = BatchNormalization.15(%c2, @scale, @mean, @bias, @var)
%r2 ?[*] = HardSwish.22(%n2)
%p ?[*] = GlobalAveragePool.22(%r2)
%f ?[*] = Flatten.21(%p)
%m ?[*] = MatMul.13(%f, @w3)
%l ?[*] = LayerNormalization.17(%m, @g, @h)
%y ?[*] = Softmax.13(%l)
output %y
`
}
