package sensitivity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// network is two convolutions, of which both branches read the first one's results, and a layer that makes logits of them, or probabilities.
func network(t *testing.T, end string) *ir.Graph {
	r := rand.New(rand.NewPCG(3, 3))
	constant := func(name string, shape ...int64) string {
		n, err := ir.Len(shape)
		require.NoError(t, err)
		text := fmt.Sprintf("const @%s f32%s = {", name, strings.ReplaceAll(fmt.Sprint(shape), " ", ", "))
		for i := range n {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprint(float32(r.NormFloat64() / 3))
		}
		return text + "}\n"
	}
	return irtest.Parse(t, "symbol N 1..64\n"+constant("a", 6, 2, 3, 3)+constant("b", 6, 6, 3, 3)+constant("c", 3, 6)+`
input %x f32[N, 2, 5, 5]
%1 f32[N, 6, 5, 5] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]} "first"
%2 f32[N, 6, 5, 5] = Conv.11(%1, @b) {pads = [1, 1, 1, 1]} "second"
%3 f32[N, 6, 5, 5] = Add.14(%1, %2)
%4 f32[N, 6, 1, 1] = GlobalAveragePool.1(%3)
%5 f32[N, 6] = Flatten.13(%4)
%6 f32[N, 3] = Gemm.13(%5, @c) {transB = 1} "last"
`+end)
}

const logits = "output %6\n"

func inputs(n int64) ([]samples.Input, []int64) {
	r := rand.New(rand.NewPCG(4, 4))
	var out []samples.Input
	var labels []int64
	for left := n; left > 0; left -= 4 {
		rows := min(left, 4)
		values := make([]float64, rows*50)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		out = append(out, samples.Input{"x": edit.FloatTensor(ir.F32, values, rows, 2, 5, 5)})
		for range rows {
			labels = append(labels, int64(r.IntN(3)))
		}
	}
	return out, labels
}

// half drops half of what each layer has.
func half() prune.Options {
	o := prune.Defaults()
	o.Connectivity, o.FullyConnected, o.ExemptFirst = 2, 2, false
	return o
}

func layersOf(g *ir.Graph) []*prune.Layer {
	layers, _ := prune.Layers(g)
	return layers
}

// naive is what the whole network loses, in plain floating point, when weights of a name are others.
func naive(t *testing.T, g *ir.Graph, name string, with *ir.Tensor, in []samples.Input, labels []int64) (loss, accuracy float64) {
	var before *ir.Tensor
	put := func(to *ir.Tensor) {
		for _, n := range g.Nodes {
			for _, v := range n.Inputs {
				if v.Const != nil && v.Name == name {
					before, v.Const = v.Const, to
				}
			}
		}
	}
	if with != nil {
		put(with)
		defer func() { put(before) }()
	}
	at := 0
	for _, x := range in {
		out, err := interp.Graph(g, x)
		require.NoError(t, err)
		y, err := edit.Floats(out[0])
		require.NoError(t, err)
		for ; len(y) > 0; y = y[3:] {
			p := [3]float64{y[0], y[1], y[2]}
			if g.Outputs[0].Def.Op != "Softmax" {
				sum := 0.0
				for i := range p {
					p[i] = math.Exp(y[i])
					sum += p[i]
				}
				for i := range p {
					p[i] /= sum
				}
			}
			k := labels[at]
			loss -= math.Log(p[k])
			if p[k] >= max(p[0], p[1], p[2]) {
				accuracy++
			}
			at++
		}
	}
	return loss / float64(at), accuracy / float64(at)
}

// TestMeasure: of each layer alone the numbers are those of the whole network with its weights projected; logits and probabilities give the same.
func TestMeasure(t *testing.T) {
	var first *prune.Sensitivity
	for _, end := range []string{logits, "%7 f32[N, 3] = Softmax.13(%6)\noutput %7\n"} {
		g := network(t, end)
		layers := layersOf(g)
		plan, err := prune.Choose(layers, half(), nil)
		require.NoError(t, err)
		in, labels := inputs(10)
		got, err := Measure(g, layers, half(), in, labels)
		require.NoError(t, err)
		require.Len(t, got.Layers, 3)
		assert.EqualValues(t, 10, got.Inputs)
		loss, accuracy := naive(t, g, "", nil, in, labels)
		assert.InDelta(t, loss, got.Loss, 1e-6)
		assert.InDelta(t, accuracy, got.Accuracy, 1e-12)
		for i, l := range layers {
			w, err := l.Floats()
			require.NoError(t, err)
			_, projected, err := prune.Project(l, w, *plan.Layers[i])
			require.NoError(t, err)
			values := make([]float64, len(projected))
			for k, x := range projected {
				values[k] = float64(x)
			}
			loss, accuracy := naive(t, g, l.Name, edit.FloatTensor(ir.F32, values, l.Shape...), in, labels)
			a := got.Layer(l.Name)
			assert.InDelta(t, loss, a.Loss, 1e-6, l.Name)
			assert.InDelta(t, accuracy, a.Accuracy, 1e-12, l.Name)
			assert.InDelta(t, loss-got.Loss, a.Lost, 1e-6, l.Name)
			assert.NotEqual(t, got.Loss, a.Loss, l.Name)
		}
		again, err := Measure(g, layers, half(), in, labels)
		require.NoError(t, err)
		assert.Equal(t, got, again)
		if first == nil {
			first = got
		}
		assert.InDelta(t, first.Layers[1].Loss, got.Layers[1].Loss, 1e-6)
	}
	assert.Nil(t, first.Layer("x"))
	assert.Nil(t, (*prune.Sensitivity)(nil).Layer("a"))
}

// TestExempt: an exempt layer is not measured, and one that its settings leave as it is loses nothing.
func TestExempt(t *testing.T) {
	g := network(t, logits)
	o := half()
	o.ExemptFirst, o.Patterns, o.Connectivity = true, 0, 1
	in, labels := inputs(4)
	got, err := Measure(g, layersOf(g), o, in, labels)
	require.NoError(t, err)
	require.Len(t, got.Layers, 2)
	assert.Nil(t, got.Layer("a"))
	assert.Zero(t, got.Layer("b").Lost)
	assert.Equal(t, got.Loss, got.Layer("b").Loss)
	assert.NotZero(t, got.Layer("c").Lost)
}

func TestRefused(t *testing.T) {
	in, labels := inputs(8)
	for _, c := range []struct {
		name, end string
		change    func(in []samples.Input, labels *[]int64)
		want      string
	}{
		{"no labels", logits, func(_ []samples.Input, l *[]int64) { *l = nil }, `sensitivity needs labelled inputs`},
		{"too few labels", logits, func(_ []samples.Input, l *[]int64) { *l = (*l)[:6] }, `output "6" has more rows than labels`},
		{"too many labels", logits, func(_ []samples.Input, l *[]int64) { *l = append(*l, 1, 1) }, "2 labels have no row: the model's first output has fewer rows than labels"},
		{"no such class", logits, func(_ []samples.Input, l *[]int64) { (*l)[2] = 3 }, `label 3; output "6" has classes 0 to 2`},
		{"a class below 0", logits, func(_ []samples.Input, l *[]int64) { (*l)[2] = -1 }, "label -1"},
		{"no classes", "output %3\n", func([]samples.Input, *[]int64) {}, `output "3" is not a table of images by classes, so its loss cannot be measured`},
		{"not finite", logits, func(in []samples.Input, _ *[]int64) {
			in[0]["x"] = edit.FloatTensor(ir.F32, slicesOf(math.Inf(1), 200), 4, 2, 5, 5)
		}, "values that are not finite on these inputs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := network(t, c.end)
			mine, l := append([]samples.Input{}, in...), append([]int64{}, labels...)
			for i := range mine {
				mine[i] = samples.Input{"x": in[i]["x"]}
			}
			c.change(mine, &l)
			_, err := Measure(g, layersOf(g), half(), mine, l)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func slicesOf(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}
