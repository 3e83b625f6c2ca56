package quant

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

// network has convolutions with a residual, a depthwise one, moves, means and a Gemm, and Exp, which stays float.
const network = `symbol N 1..16
input %x f32[N, 3, 8, 8]
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
%r f32[N, 8, 8, 8] = Relu.14(%a) "relu"
%d f32[N, 8, 8, 8] = Conv.11(%r, %wd, %bd) {group = 8, pads = [1, 1, 1, 1]} "depthwise"
%s f32[N, 8, 8, 8] = Add.14(%d, %r) "sum"
%p f32[N, 8, 4, 4] = MaxPool.12(%s) {kernel_shape = [2, 2], strides = [2, 2]} "pool"
%c f32[N, 16, 4, 4] = Concat.13(%p, %p) {axis = 1} "both"
%m f32[N, 16, 1, 1] = GlobalAveragePool.1(%c) "mean"
%f f32[N, 16] = Flatten.13(%m) "flat"
%y f32[N, 4] = Gemm.13(%f, %wg, %bg) "scores"
%e f32[N, 4] = Exp.13(%y) "exp"
output %y
output %e
`

func parse(t testing.TB, text string) *ir.Graph {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string][]int64{
		"w1": {8, 3, 3, 3}, "b1": {8}, "wd": {8, 1, 3, 3}, "bd": {8}, "wg": {16, 4}, "bg": {4},
	}
	var head strings.Builder
	for _, name := range []string{"w1", "b1", "wd", "bd", "wg", "bg"} {
		if !strings.Contains(text, "%"+name) {
			continue
		}
		dims := strings.ReplaceAll(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shapes[name])), ", "), "[]"), " ,", ",")
		head.WriteString("input %" + name + " f32[" + dims + "]\n")
	}
	lines := strings.SplitN(text, "\n", 3)
	g := irtest.Parse(t, lines[0]+"\n"+lines[1]+"\n"+head.String()+lines[2])
	var inputs []*ir.Value
	for _, v := range g.Inputs {
		shape, ok := shapes[v.Name]
		if !ok {
			inputs = append(inputs, v)
			continue
		}
		n, err := ir.Len(shape)
		require.NoError(t, err)
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64() / 3
		}
		v.Const = edit.FloatTensor(ir.F32, values, shape...)
	}
	g.Inputs, g.Opset = inputs, 17
	if strings.Contains(text, "Flatten.21") {
		g.Opset = 21
	}
	require.NoError(t, simplify.Run(g))
	return g
}

// opset is a text in the opset that settings need.
func opset(text string, s Settings) string {
	if integers[s.Activations].Size() > 1 || len(s.Wide) > 0 {
		return strings.Replace(text, "Flatten.13", "Flatten.21", 1)
	}
	return text
}

func inputs(n int) []samples.Input {
	r := rand.New(rand.NewPCG(3, 4))
	var out []samples.Input
	for range n {
		values := make([]float64, 2*3*64)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		out = append(out, samples.Input{"x": edit.FloatTensor(ir.F32, values, 2, 3, 8, 8)})
	}
	return out
}

func with(change func(*Settings)) Settings {
	s := Defaults()
	change(&s)
	return s
}

// TestRun holds the quantized network against the float one, in every setting, and reads what is written back.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		least    float64 // decibels of the scores
	}{
		{"defaults", Defaults(), 25},
		{"int8", with(func(s *Settings) { s.Activations = "int8" }), 25},
		{"16 bits", with(func(s *Settings) { s.Activations = "uint16" }), 33}, // weights have 8
		{"int16", with(func(s *Settings) { s.Activations = "int16" }), 33},
		{"one scale for all channels", with(func(s *Settings) { s.PerChannel = false }), 23},
		{"percentile", with(func(s *Settings) { s.Range, s.Percentile = Percentile, 99.9 }), 20},
		{"mse", with(func(s *Settings) { s.Range = MSE }), 25},
		{"equalized", with(func(s *Settings) { s.Equalize = true }), 23},
		{"biases as they are", with(func(s *Settings) { s.CorrectBias = false }), 23},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := opset(network, c.settings)
			g := parse(t, text)
			report, err := Run(g, c.settings, inputs(8), 2)
			require.NoError(t, err)
			require.NoError(t, ir.Verify(g))
			var model bytes.Buffer
			require.NoError(t, onnx.Write(&model, g))
			read, err := onnx.Read(&ir.File{R: bytes.NewReader(model.Bytes()), Size: int64(model.Len())}, nil, onnx.Options{Supported: ops.Supported})
			require.NoError(t, err, "what is written is a model")
			require.Equal(t, []string{"y", "e"}, []string{read.Outputs[0].Name, read.Outputs[1].Name}, "outputs keep their names")
			float := parse(t, text)
			require.NoError(t, Equalize(float, c.settings))
			require.NoError(t, report.Compare(float, g, inputs(8), nil))
			require.GreaterOrEqual(t, *report.Outputs[0].SQNR, c.least, "\n%s", report.Text())
			for _, n := range report.Nodes {
				if n.SQNR != nil {
					require.GreaterOrEqual(t, *n.SQNR, 20.0, "%s: compared with the network that was quantized\n%s", n.Name, report.Text())
				}
			}
			for _, in := range inputs(1) {
				want, err := interp.Graph(g, in)
				require.NoError(t, err)
				got, err := interp.Graph(read, in)
				require.NoError(t, err)
				require.Equal(t, want[0].Data, got[0].Data, "the model that was read computes what was written")
			}
			for _, n := range report.Nodes {
				if n.Name == "exp" {
					require.Equal(t, "no rule for the operator", n.Float)
					continue
				}
				require.Empty(t, n.Float, n.Name)
			}
		})
	}
}

// TestEqualize holds that the network computes the same, and that channels' ranges become alike.
func TestEqualize(t *testing.T) {
	const text = `symbol N 1..16
input %x f32[N, 3, 8, 8]
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
%r f32[N, 8, 8, 8] = Relu.14(%a) "relu"
%d f32[N, 8, 8, 8] = Conv.11(%r, %wd, %bd) {group = 8, pads = [1, 1, 1, 1]} "depthwise"
output %d
`
	float, g := parse(t, text), parse(t, text)
	require.NoError(t, Equalize(g, with(func(s *Settings) { s.Equalize = true })))
	in := inputs(1)[0]
	want, err := interp.Graph(float, in)
	require.NoError(t, err)
	got, err := interp.Graph(g, in)
	require.NoError(t, err)
	var error ratio
	require.NoError(t, error.add(want[0], got[0]))
	require.Greater(t, *error.db(), 100.0)
	of := func(v *ir.Value) []float64 {
		xs, err := edit.Floats(v.Const)
		require.NoError(t, err)
		return ranges(xs, 8, channelOf(v.Const, 0))
	}
	a, b := of(g.Nodes[0].Inputs[1]), of(g.Nodes[2].Inputs[1])
	for c := range a {
		require.InEpsilon(t, a[c], b[c], 1e-4, "channel %d of both layers", c)
	}
	require.NotEqual(t, float.Nodes[0].Inputs[1].Const.Data, g.Nodes[0].Inputs[1].Const.Data)
}

// TestChosen has ranges and the parameters that come of them.
func TestChosen(t *testing.T) {
	many := func(n int, xs ...float64) *seen {
		s := &seen{}
		values := append([]float64{}, xs...)
		for i := range n {
			values = append(values, float64(i)/float64(n))
		}
		require.True(t, s.extend(values))
		s.count(values)
		return s
	}
	for _, c := range []struct {
		name   string
		ranges string
		t      ir.DType
		seen   *seen
		scale  float64
		zero   int64
	}{
		{"both signs", MinMax, ir.U8, many(100, -1, 1), 2.0 / 255, 127},
		{"both signs, signed", MinMax, ir.I8, many(100, -1, 1), 2.0 / 255, -1},
		{"positive values have zero at the end", MinMax, ir.U8, many(100, 3, 5), 5.0 / 255, 0},
		{"negative ones at the other", MinMax, ir.I8, &seen{lo: -4, hi: -2, any: true}, 4.0 / 255, 127},
		{"zero alone", MinMax, ir.U8, &seen{any: true}, 1, 0},
		{"16 bits", MinMax, ir.U16, many(100, -1, 1), 2.0 / 65535, 32768},
		{"an outlier is left out", Percentile, ir.U8, many(100000, 100), 1.0 / 255, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with(func(s *Settings) { s.Range = c.ranges })
			p := s.choose(c.seen, c.t)
			require.InEpsilon(t, c.scale, float64(p.scale), 0.06)
			require.Equal(t, c.zero, p.zero)
		})
	}
	s := with(func(s *Settings) { s.Range = MSE })
	outlier := many(100000, 8)
	p := s.choose(outlier, ir.U8)
	require.Less(t, float64(p.scale), 8.0/255, "one outlier is not worth the others' steps")
}

// TestTiny: weights and activations have scales as small as they are, down to where the product of two is no normal number.
func TestTiny(t *testing.T) {
	scaled := func(x *ir.Tensor, by float64) *ir.Tensor {
		values, err := edit.Floats(x)
		require.NoError(t, err)
		for i := range values {
			values[i] *= by
		}
		return edit.FloatTensor(ir.F32, values, x.Shape...)
	}
	const text = `symbol N 1..16
input %x f32[N, 3, 8, 8]
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
output %a
`
	for _, c := range []struct {
		name               string
		activation, weight float64
		least              float64 // decibels
	}{
		{"as they are", 1, 1, 30},
		{"weights of 2^-60", 1, 0x1p-60, 30},
		{"weights of 2^-100", 1, 0x1p-100, 30},
		{"activations of 2^-60", 0x1p-60, 1, 30},
		{"both", 0x1p-50, 0x1p-50, 30},
		{"results that are hardly normal", 0x1p-60, 0x1p-60, 0},
		{"results that are none", 0x1p-120, 0x1p-120, 0},
		{"denormal weights are zeros", 0x1p60, 0x1p-132, 0},
		{"denormal activations are zeros", 0x1p-132, 0x1p60, 0},
	} {
		for _, perChannel := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, perChannel), func(t *testing.T) {
				build := func() *ir.Graph {
					g := parse(t, text)
					n := g.Nodes[0]
					n.Inputs[1].Const, n.Inputs[2].Const = scaled(n.Inputs[1].Const, c.weight), scaled(n.Inputs[2].Const, c.weight*c.activation)
					return g
				}
				in := inputs(2)
				for _, x := range in {
					x["x"] = scaled(x["x"], c.activation)
				}
				g := build()
				report, err := Run(g, with(func(s *Settings) { s.PerChannel = perChannel }), in, 0)
				require.NoError(t, err)
				for _, n := range g.Nodes {
					if n.Op != "DequantizeLinear" {
						continue
					}
					scales, err := edit.Floats(n.Inputs[1].Const)
					require.NoError(t, err)
					for _, s := range scales {
						require.GreaterOrEqual(t, s, 0x1p-126, "%s: a scale that is denormal", n.Name)
					}
				}
				require.NoError(t, report.Compare(build(), g, in, nil))
				require.GreaterOrEqual(t, *report.Outputs[0].SQNR, c.least, "%s", report.Text())
			})
		}
	}
}

// TestWide gives a node's values 16 bits, and what shares their scale.
func TestWide(t *testing.T) {
	settings := with(func(s *Settings) { s.Wide = []string{"sum"} })
	_, err := Run(parse(t, network), settings, inputs(1), 0)
	require.ErrorContains(t, err, "16 bits need opset 21")
	report, err := Run(parse(t, opset(network, settings)), settings, inputs(1), 0)
	require.NoError(t, err)
	types := map[string]string{}
	for _, n := range report.Nodes {
		types[n.Name] = n.Type
	}
	require.Equal(t, "u16", types["sum"])
	require.Equal(t, "u16", types["pool"], "it moves the sum")
	require.Equal(t, "u8", types["mean"])
}

// TestFloat leaves nodes float, and what is nothing without them.
func TestFloat(t *testing.T) {
	report, err := Run(parse(t, network), with(func(s *Settings) { s.Float = []string{"Conv"} }), inputs(1), 0)
	require.NoError(t, err)
	for _, n := range report.Nodes {
		switch n.Name {
		case "scores":
			require.Empty(t, n.Float)
		case "first", "depthwise":
			require.Equal(t, "the settings leave it float", n.Float)
		case "sum":
			require.Equal(t, "no operand is quantized", n.Float)
		}
	}
}

// TestLabels counts what both networks classify rightly.
func TestLabels(t *testing.T) {
	g, float := parse(t, network), parse(t, network)
	report, err := Run(g, Defaults(), inputs(4), 0)
	require.NoError(t, err)
	var labels []int64
	for _, in := range inputs(4) {
		out, err := interp.Graph(float, in)
		require.NoError(t, err)
		of, err := classes(out[0])
		require.NoError(t, err)
		labels = append(labels, of...)
	}
	labels[0] = (labels[0] + 1) % 4
	require.NoError(t, report.Compare(float, g, inputs(4), labels))
	require.Equal(t, int64(8), report.Accuracy.Inputs)
	require.Equal(t, 7.0/8, report.Accuracy.Float)
	require.Contains(t, report.Text(), "accuracy on 8 inputs: 87.50 % float")
}

// TestSizes: outputs whose size depends on data have no figure, and constants are outputs like others.
func TestSizes(t *testing.T) {
	const text = `symbol N 1..16
input %x f32[N, 3, 8, 8]
const @k f32[] = {3}
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
%r f32[N, 8, 8, 8] = Relu.14(%a) "relu"
%n ?[*] = NonZero.13(%r) "found"
%t ?[*] = Transpose.13(%n) "points"
%y ?[*] = GatherND.13(%r, %t) "chosen"
%c ?[*] = Identity.13(@k)
output %c
output %y
`
	build := func() *ir.Graph { return parse(t, text) }
	g := build()
	report, err := Run(g, Defaults(), inputs(4), 1)
	require.NoError(t, err)
	require.NoError(t, report.Compare(build(), g, inputs(4), nil))
	require.Equal(t, float64(mostDB), *report.Outputs[0].SQNR)
	require.Nil(t, report.Outputs[1].SQNR, "some small numbers became zeros\n%s", report.Text())
	require.Contains(t, report.Text(), "output y: of another size than the float model's on some input")
	require.ErrorContains(t, report.Compare(build(), g, inputs(4), []int64{1, 2, 3, 0, 1, 2, 3, 0}), "labels need a row of scores")
}

// TestErrors are what is refused.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		settings         Settings
		inputs           []samples.Input
	}{
		{"no inputs", network, "there are no inputs for the calibration", Defaults(), nil},
		{"an unknown name", network, `the settings leave "head" float, but the model has no node or operator of this name`, with(func(s *Settings) { s.Float = []string{"head"} }), inputs(1)},
		{"16 bits for none", strings.Replace(network, "Flatten.13", "Flatten.21", 1), `the settings set 16 bits for "head", but the model has no node of this name`, with(func(s *Settings) { s.Wide = []string{"head"} }), inputs(1)},
		{"16 bits of an old opset", network, "activations of 16 bits need opset 21 or later, and the model has opset 17", with(func(s *Settings) { s.Activations = "int16" }), inputs(1)},
		{"nothing to quantize", "symbol N 1..16\ninput %x f32[N, 3, 8, 8]\n%y f32[N, 3, 8, 8] = Exp.13(%x) \"e\"\noutput %y\n", "no node of the model can be quantized", Defaults(), inputs(1)},
		{"values that are not finite", network, "is not finite on the calibration's inputs", Defaults(), []samples.Input{{
			"x": edit.FloatTensor(ir.F32, append([]float64{math.Inf(1)}, make([]float64, 191)...), 1, 3, 8, 8),
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(parse(t, c.text), c.settings, c.inputs, 0)
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("weights that are not finite", func(t *testing.T) {
		g := parse(t, network)
		for _, n := range g.Nodes {
			if n.Name == "depthwise" {
				values := make([]float64, 72)
				values[3] = math.NaN()
				n.Inputs[1].Const = edit.FloatTensor(ir.F32, values, 8, 1, 3, 3)
			}
		}
		_, err := Run(g, Defaults(), inputs(1), 0)
		require.Error(t, err)
		require.Contains(t, err.Error(), "depthwise")
		require.Contains(t, err.Error(), "finite")
	})
	t.Run("an old Softmax", func(t *testing.T) {
		g := parse(t, strings.Replace(network, `Exp.13(%y) "exp"`, `Softmax.11(%y) {axis = 1} "soft"`, 1))
		g.Opset = 11
		_, err := Run(g, Defaults(), inputs(1), 0)
		require.ErrorContains(t, err, "export the model with opset 13 or later")
	})
}

// TestOldOpset quantizes a model of opset 11 whose operators have not changed since.
func TestOldOpset(t *testing.T) {
	text := strings.NewReplacer("Relu.14", "Relu.6", "Add.14", "Add.7", "Concat.13", "Concat.11", "Flatten.13", "Flatten.11", "Gemm.13", "Gemm.11", "Exp.13", "Exp.6", "MaxPool.12", "MaxPool.11").Replace(network)
	g := parse(t, text)
	g.Opset = 11
	_, err := Run(g, Defaults(), inputs(1), 0)
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, g))
	_, err = onnx.Read(&ir.File{R: bytes.NewReader(model.Bytes()), Size: int64(model.Len())}, nil, onnx.Options{Supported: ops.Supported})
	require.NoError(t, err)
}

// TestOddNodes: results that are absent, outputs that are inputs and values that are no numbers are no reason to fail, and nodes that were folded are still known by name.
func TestOddNodes(t *testing.T) {
	const text = `symbol N 1..16
input %x f32[N, 3, 8, 8]
_, %s f32[N, 2, 8, 8] = Split.18(%x, @parts) {axis = 1} "half"
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
%r f32[N, 8, 8, 8] = Relu.14(%a) "relu"
%l f32[N, 8, 8, 8] = Log.13(%r) "log"
output %s
output %x
output %l
`
	build := func() *ir.Graph {
		g := parse(t, strings.Replace(text, "symbol N 1..16\ninput %x f32[N, 3, 8, 8]\n", "symbol N 1..16\ninput %x f32[N, 3, 8, 8]\nconst @parts i64[2] = {1, 2}\n", 1))
		g.Opset = 18
		for _, n := range g.Nodes {
			if n.Name == "first" {
				n.Origins = []string{"first", "normalised"}
			}
		}
		return g
	}
	g := build()
	report, err := Run(g, Defaults(), inputs(1), 1)
	require.NoError(t, err)
	require.Equal(t, "x", g.Inputs[0].Name)
	require.Same(t, g.Inputs[0], g.Outputs[1])
	require.NoError(t, report.Compare(build(), g, inputs(1), nil))
	_, err = report.JSON()
	require.NoError(t, err)
	_, err = Run(build(), with(func(s *Settings) { s.Float = []string{"normalised"} }), inputs(1), 0)
	require.ErrorContains(t, err, "no node of the model can be quantized")
}

// TestSettings are settings as text.
func TestSettings(t *testing.T) {
	s, err := Parse([]byte(`{"range": "mse", "float": ["a"]}`))
	require.NoError(t, err)
	require.Equal(t, with(func(s *Settings) { s.Range, s.Float = MSE, []string{"a"} }), s)
	for text, want := range map[string]string{
		`{"activations": "int4"}`: `activations "int4"; supported are uint8, int8, uint16, int16`,
		`{"range": "all"}`:        `range "all"; supported are minmax, percentile, mse`,
		`{"percentile": 30}`:      "percentile 30; want above 50 and at most 100",
		`{"bits": 8}`:             "unknown field",
		`{} {}`:                   "trailing data",
		`{"weight_bits": 2}`:      "weight_bits 2; supported are 8, 4",
		`{"block_size": 64}`:      "block_size 64 is only for weights of 4 bits",

		`{"weight_bits": 4, "block_size": 48}`:      "block_size 48; supported are 16, 32, 64, 128, 256",
		`{"weight_bits": 4, "activations": "int8"}`: "activations is only for weight_bits 8",
		`{"weight_bits": 4, "range": "mse"}`:        "range is only for weight_bits 8",
		`{"weight_bits": 4, "percentile": 99}`:      "percentile is only for weight_bits 8",
		`{"weight_bits": 4, "per_channel": false}`:  "per_channel is only for weight_bits 8",
		`{"weight_bits": 4, "correct_bias": false}`: "correct_bias is only for weight_bits 8",
		`{"weight_bits": 4, "equalize": true}`:      "equalize is only for weight_bits 8",
		`{"weight_bits": 4, "wide": ["a"]}`:         "wide is only for weight_bits 8",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// TestJoined: what is put together has one scale, but an operand whose range is far smaller than the others'.
func TestJoined(t *testing.T) {
	g := parse(t, `symbol N 1..16
input %x f32[N, 3, 8, 8]
%a f32[N, 8, 8, 8] = Conv.11(%x, %w1, %b1) {pads = [1, 1, 1, 1]} "first"
%s f32[N, 8, 8, 8] = Sigmoid.13(%a) "sigmoid"
%t f32[N, 8, 8, 8] = Transpose.13(%a) {perm = [0, 1, 3, 2]} "turned"
%c f32[N, 24, 8, 8] = Concat.13(%a, %s, %t) {axis = 1} "all"
%y f32[N, 24, 8, 8] = Exp.13(%c) "exp"
output %y
`)
	r, err := Run(g, Defaults(), inputs(2), 0)
	require.NoError(t, err)
	scales := map[string]float32{}
	for _, n := range r.Nodes {
		scales[n.Name] = n.Scale
	}
	require.Equal(t, scales["all"], scales["first"])
	require.Equal(t, scales["all"], scales["turned"])
	require.Less(t, scales["sigmoid"], scales["all"]/2)
	require.InDelta(t, 1.0/255, scales["sigmoid"], 1e-3)
}

// TestJoinedChain: of nodes that put together what others did, each twice as wide, no value has a scale that costs it more than a bit.
func TestJoinedChain(t *testing.T) {
	value := func(width float64) *ir.Value { return &ir.Value{Name: fmt.Sprint(width)} }
	p := &plan{group: map[*ir.Value]*scaled{}}
	put := func(v *ir.Value, width float64) *ir.Value {
		p.of(v).seen = seen{hi: width, any: true}
		return v
	}
	var own []*ir.Value
	last := put(value(1), 1)
	own = append(own, last)
	for _, width := range []float64{1.9, 3.5, 6.5, 12} {
		grown, together := put(value(width), width), put(value(width), width)
		p.joined = append(p.joined, []*ir.Value{last, grown, together})
		own, last = append(own, grown, together), together
	}
	widths := map[*ir.Value]float64{}
	for _, v := range own {
		widths[v] = p.group[v].seen.width()
	}
	p.joinAlike()
	for _, v := range own {
		require.LessOrEqual(t, p.group[v].seen.width(), 2*widths[v], v.Name)
	}
	require.Same(t, p.group[own[0]], p.group[own[1]], "half as wide: a bit")
	require.Less(t, len(p.order), len(own)/2)
}
