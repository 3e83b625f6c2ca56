package precision

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

func parse(t *testing.T, body string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 18 {\n"+body+"\n}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	return g
}

func text(t *testing.T, g *ir.Graph) string {
	t.Helper()
	require.NoError(t, ir.Verify(g))
	var b strings.Builder
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

// narrowed runs the pass for f16, after which shapes are inferred again and the graph is right.
func narrowed(t *testing.T, g *ir.Graph) *Report {
	t.Helper()
	return stored(t, g, ir.F16)
}

// stored does so for a type.
func stored(t *testing.T, g *ir.Graph, to ir.DType) *Report {
	t.Helper()
	r, err := Run(g, to, nil)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	require.NoError(t, shape.Infer(g))
	return r
}

func why(r *Report) []string {
	var out []string
	for _, k := range r.Kept {
		out = append(out, k.Node+": "+k.Why)
	}
	return out
}

// residual is a small network of convolutions, with a sum, a pool and a matrix product.
const residual = `
  const @w f32[2, 2, 1, 1] = {1, 2, 3, 4}
  const @b f32[2] = {0.5, -0.25}
  const @m f32[2, 3] = {1, -1, 0.3, 0.1, 2, 3}
  input %x f32[1, 2, 2, 2]
  %c ?[*] = Conv.11(%x, @w, @b) "conv"
  %r ?[*] = Relu.14(%c) "relu"
  %s ?[*] = Add.14(%r, %x) "sum"
  %p ?[*] = GlobalAveragePool.1(%s) "pool"
  %f ?[*] = Flatten.13(%p) "flat"
  %y ?[*] = Gemm.13(%f, @m) "gemm"
  output %y`

// TestStores: every value between the interfaces is f16, and weights are.
func TestStores(t *testing.T) {
	g := parse(t, residual)
	r := narrowed(t, g)
	assert.Empty(t, r.Kept)
	assert.Equal(t, 6, r.Nodes)
	assert.Equal(t, `graph "g" opset 18 {
  const @w.f16 f16[2, 2, 1, 1] = {1, 2, 3, 4}
  const @b.f16 f16[2] = {0.5, -0.25}
  const @m.f16 f16[2, 3] = {1, -1, 0.3, 0.1, 2, 3}
  input %x f32[1, 2, 2, 2]
  %x.f16 f16[1, 2, 2, 2] = narrow.1(%x) {to = 10}
  %c.f16 f16[1, 2, 2, 2] = Conv.11(%x.f16, @w.f16, @b.f16) "conv" saturates
  %r.f16 f16[1, 2, 2, 2] = Relu.14(%c.f16) "relu" saturates
  %s.f16 f16[1, 2, 2, 2] = Add.14(%r.f16, %x.f16) "sum" saturates
  %p.f16 f16[1, 2, 1, 1] = GlobalAveragePool.1(%s.f16) "pool" saturates
  %f.f16 f16[1, 2] = Flatten.13(%p.f16) "flat" saturates
  %y.f16 f16[1, 3] = Gemm.13(%f.f16, @m.f16) "gemm" saturates
  %y f32[1, 3] = Cast.13(%y.f16) {to = 1} "gemm"
  output %y
}
`, strings.ReplaceAll(strings.ReplaceAll(text(t, g), "0.30004883", "0.3"), "0.099975586", "0.1"))
}

// TestKept: what stays f32, and why.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		name, graph string
		kept        []string
		types       map[string]ir.DType // of values that there are after the pass
	}{
		{"mean square", `
  const @eps f32[] = {1e-6}
  const @gain f32[4] = {1, 2, 3, 4}
  input %x f32[3, 4]
  %q ?[*] = Mul.14(%x, %x) "square"
  %m ?[*] = ReduceMean.13(%q) {axes = [-1]} "mean"
  %e ?[*] = Add.14(%m, @eps) "eps"
  %s ?[*] = Sqrt.13(%e) "root"
  %n ?[*] = Div.14(%x, %s) "divide"
  %y ?[*] = Mul.14(%n, @gain) "gain"
  output %y`, []string{
			`Mul "square": squares may leave the range of 16 bits even if the operand does not`,
			`ReduceMean "mean": it is computed with "q", which stays f32`,
			`Add "eps": it is computed with "m", which stays f32`,
			`Sqrt "root": it is computed with "e", which stays f32`,
		}, map[string]ir.DType{"n.f16": ir.F16, "y.f16": ir.F16}},
		{"mask", `
  const @least f32[] = {-3.4028235e38}
  input %c bool[2, 4]
  input %x f32[2, 4]
  input %v f32[4, 3]
  %a ?[*] = Where.16(%c, %x, @least) "mask"
  %p ?[*] = Softmax.13(%a) "softmax"
  %y ?[*] = MatMul.13(%p, %v) "weigh"
  output %y`, []string{
			`Where "mask": its constant "least" has elements up to 3.4028234663852886e+38; the maximum of f16 is 65504`,
			`Softmax "softmax": it is computed with "a", which stays f32`,
		}, map[string]ir.DType{"p.f16": ir.F16, "y.f16": ir.F16}},
		{"a mask that is an input", `
  input %mask f32[2, 4]
  input %q f32[2, 8]
  input %k f32[8, 4]
  input %v f32[4, 3]
  const @axes i64[1] = {0}
  %u ?[*] = Unsqueeze.13(%mask, @axes) "batch"
  %s ?[*] = MatMul.13(%q, %k) "scores"
  %a ?[*] = Add.14(%s, %u) "masked"
  %p ?[*] = Softmax.13(%a) "softmax"
  %y ?[*] = MatMul.13(%p, %v) "weigh"
  output %y`, []string{
			`Unsqueeze "batch": it is computed with "mask", an input that is only added, like a mask, and may leave the range of 16 bits`,
			`Add "masked": it is computed with "u", which stays f32`,
			`Softmax "softmax": it is computed with "a", which stays f32`,
		}, map[string]ir.DType{"s.f16": ir.F16, "p.f16": ir.F16, "y.f16": ir.F16}},
		{"a mask that the network gives on", `
  input %mask f32[4]
  input %q f32[2, 8]
  input %k f32[8, 4]
  const @axes i64[1] = {0}
  %u ?[*] = Unsqueeze.13(%mask, @axes) "batch"
  %s ?[*] = MatMul.13(%q, %k) "scores"
  %y ?[*] = Add.14(%s, %u) "masked"
  output %y
  output %u`, []string{
			`Unsqueeze "batch": it is computed with "mask", an input that is only added, like a mask, and may leave the range of 16 bits`,
			`Add "masked": it is computed with "u", which stays f32`,
		}, map[string]ir.DType{"s.f16": ir.F16, "u": ir.F32, "y": ir.F32}},
		{"an input that is added and multiplied", `
  input %x f32[2, 4]
  input %z f32[2, 4]
  %p ?[*] = Mul.14(%x, %z) "product"
  %y ?[*] = Add.14(%p, %x) "sum"
  output %y`, nil, map[string]ir.DType{"x.f16": ir.F16, "p.f16": ir.F16, "y.f16": ir.F16}},
		{"small constants", `
  const @small f32[2] = {1e-5, 0}
  const @w f32[2, 2] = {1, 0, 0.5, 2e-5}
  const @v f32[2, 2] = {1e-8, 2e-8, 3e-9, 0}
  input %x f32[1, 2]
  %a ?[*] = MatMul.13(%x, @w) "product"
  %b ?[*] = MatMul.13(%a, @v) "vanishing"
  %y ?[*] = Mul.14(%a, @small) "scale"
  output %b
  output %y`, []string{
			`MatMul "vanishing": its constant "v" has elements of at most 1.999999987845058e-08, for which f16 has few digits or rounds to 0`,
			`Mul "scale": its constant "small" has elements of at most 9.999999747378752e-06, for which f16 has few digits or rounds to 0`,
		}, map[string]ir.DType{"a.f16": ir.F16}},
		{"large weights", `
  const @w f32[2, 2] = {70000, 0, 1, 2}
  input %x f32[1, 2]
  %a ?[*] = MatMul.13(%x, @w) "product"
  %y ?[*] = Tanh.13(%a) "bounded"
  %z ?[*] = Neg.13(%y) "after"
  output %z`, []string{
			`MatMul "product": its constant "w" has elements up to 70000; the maximum of f16 is 65504`,
			`Tanh "bounded": it is computed with "a", which stays f32`,
		}, map[string]ir.DType{"y.f16": ir.F16}},
		{"positions", `
  input %i i64[3]
  input %x f32[3]
  %f ?[*] = Cast.13(%i) {to = 1} "float"
  %s ?[*] = Add.14(%f, %x) "shift"
  %e ?[*] = Exp.13(%x) "exp"
  %y ?[*] = Relu.14(%x) "relu"
  output %s
  output %e
  output %y`, []string{
			`Cast "float": it converts integers to floats, and 16 bits have few distinct ones`,
			`Add "shift": it is computed with "f", which stays f32`,
			`Exp "exp": its results may leave the range of 16 bits even if its operands do not`,
		}, map[string]ir.DType{"y.f16": ir.F16}},
		{"control flow", `
  input %c bool[]
  input %x f32[3]
  %r ?[*] = Relu.14(%x) "relu"
  %y ?[*] = If.16(%c; %r) {else_branch = region 1, then_branch = region 0} "choose" regions {
    graph "then" opset 18 {
      input %r ?[*]
      %a ?[*] = Neg.13(%r)
      output %a
    }
    graph "else" opset 18 {
      input %r ?[*]
      %b ?[*] = Abs.13(%r)
      output %b
    }
  }
  output %y`, []string{`If "choose": it is control flow; values of its graphs keep their types`}, map[string]ir.DType{"r.f16": ir.F16}},
		{"another type beside", `
  input %x f64[3]
  input %z f32[3]
  %d ?[*] = Relu.14(%x) "double"
  %n ?[*] = Cast.13(%d) {to = 1} "single"
  %y ?[*] = Relu.14(%z) "relu"
  output %n
  output %y`, []string{`Cast "single": the model converts floats to this type`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := parse(t, c.graph)
			assert.Equal(t, c.kept, why(narrowed(t, g)))
			found := map[string]ir.DType{}
			for _, n := range g.Nodes {
				for _, v := range n.Outputs {
					found[v.Name] = v.Type
				}
			}
			for name, want := range c.types {
				assert.Equal(t, want, found[name], "%s\n%s", name, text(t, g))
			}
		})
	}
}

// TestNumbers: what a network computes changes by roundings alone, also where numbers lie beyond f16's range on the way.
func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		x     float32
		want  float64 // relative
	}{
		"residual": {residual, 3, 4e-3},
		"norm of large numbers": {`
  const @w f32[1, 2, 1, 1] = {1, 2}
  input %x f32[1, 2, 2, 2]
  %q ?[*] = Mul.14(%x, %x)
  %m ?[*] = ReduceMean.13(%q) {axes = [1]}
  %s ?[*] = Sqrt.13(%m)
  %n ?[*] = Div.14(%x, %s)
  %y ?[*] = Conv.11(%n, @w)
  output %y`, 3000, 4e-3},
		"a row that is masked whole": {`
  const @least f32[] = {-3.4028235e38}
  const @no bool[1, 1, 1, 1] = {0}
  input %x f32[1, 2, 2, 2]
  %n ?[*] = Neg.13(%x)
  %a ?[*] = Where.16(@no, %n, @least)
  %y ?[*] = Softmax.13(%a)
  output %y`, 1, 1e-3},
		"a mask at the end of the range": {masked("-65504"), 30, 1e-3},
		"a mask that is infinite":        {masked("-Inf"), 30, 1e-3},
	} {
		t.Run(name, func(t *testing.T) {
			xs := make([]float64, 8)
			for i := range xs {
				xs[i] = float64(c.x) * (float64(i*3%8) - 3.5)
			}
			in := map[string]*ir.Tensor{"x": edit.FloatTensor(ir.F32, xs, 1, 2, 2, 2)}
			want := compute(t, parse(t, c.graph), in)
			g := parse(t, c.graph)
			narrowed(t, g)
			got := compute(t, g, in)
			most := 0.0
			for _, y := range want {
				most = max(most, math.Abs(y))
			}
			assert.InDeltaSlice(t, want, got, c.want*most)
			if name == "residual" {
				assert.NotEqual(t, want, got, "nothing was rounded")
			}
		})
	}
}

// masked is scores with a mask, of which a masked one has the weight 0 also where the sum ends at the range's end.
func masked(low string) string {
	return `
  const @m f32[1, 1, 1, 2] = {0, ` + low + `}
  input %x f32[1, 2, 2, 2]
  %n ?[*] = Neg.13(%x)
  %s ?[*] = Add.14(%n, @m)
  %a ?[*] = Sub.14(%s, %x)
  %y ?[*] = Softmax.13(%a)
  output %y`
}

func compute(t *testing.T, g *ir.Graph, in map[string]*ir.Tensor) []float64 {
	t.Helper()
	out, err := interp.Graph(g, in)
	require.NoError(t, err)
	require.Equal(t, ir.F32, out[0].Type)
	xs, err := edit.Floats(out[0])
	require.NoError(t, err)
	return xs
}

// TestNarrow: no finite number becomes infinite, and others stay what they are; the conversions of the model's own are ONNX's.
func TestNarrow(t *testing.T) {
	inf, xs := math.Inf(1), edit.FloatTensor(ir.F32, []float64{math.MaxFloat32, -math.MaxFloat32, 65504, 65519, -65520, 7, math.Inf(-1), math.NaN()}, 8)
	for _, c := range []struct {
		to         ir.DType
		narrow, of []float64
	}{
		{ir.F16, []float64{65504, -65504, 65504, 65504, -65504, 7, -inf, math.NaN()}, []float64{inf, -inf, 65504, 65504, -inf, 7, -inf, math.NaN()}},
		{ir.BF16, []float64{0xffp120, -0xffp120, 65536, 65536, -65536, 7, -inf, math.NaN()}, []float64{inf, -inf, 65536, 65536, -65536, 7, -inf, math.NaN()}},
	} {
		g := parse(t, fmt.Sprintf("input %%x f32[8]\n%%r ?[*] = Neg.13(%%x)\n%%h ?[*] = Cast.13(%%x) {to = %d}\n%%y ?[*] = Cast.13(%%h) {to = 1}\noutput %%r\noutput %%y", numbers[c.to]))
		stored(t, g, c.to)
		out, err := interp.Graph(g, map[string]*ir.Tensor{"x": xs})
		require.NoError(t, err)
		for i, want := range [][]float64{c.narrow, c.of} {
			got, err := edit.Floats(out[i])
			require.NoError(t, err)
			for k := range want {
				if i == 0 {
					got[k] = -got[k]
				}
				assert.Equal(t, fmt.Sprint(want[k]), fmt.Sprint(got[k]), "%s %d %d", c.to, i, k)
			}
		}
	}
}

// TestRefused: networks for which 16 bits are not what is meant.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"quantized", `
  const @scale f32[] = {0.5}
  const @zero u8[] = {3}
  input %x f32[3]
  %q ?[*] = QuantizeLinear.13(%x, @scale, @zero) "q"
  %y ?[*] = DequantizeLinear.13(%q, @scale, @zero) "dq"
  output %y`, `node QuantizeLinear "q": the network is quantized`},
		{"no floats", `
  input %x i32[3]
  %y ?[*] = Add.14(%x, %x) "add"
  output %y`, "no node of the network computes f32 that could be stored in 16 bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(parse(t, c.graph), ir.F16, nil)
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "leave the precision out")
		})
	}
}

// TestSameText: what comes out does not depend on the run.
func TestSameText(t *testing.T) {
	a, b := parse(t, residual), parse(t, residual)
	narrowed(t, a)
	narrowed(t, b)
	assert.Equal(t, text(t, a), text(t, b))
}

// TestBF16: bf16 has f32's range and few digits. What ends beyond it, and sums, squares and steep functions, stay f32.
func TestBF16(t *testing.T) {
	g := parse(t, `
  const @small f32[2] = {1e-8, 0}
  const @least f32[] = {-3.4028235e38}
  const @far f32[] = {-3e38}
  input %c bool[2]
  input %x f32[2]
  %a ?[*] = Mul.14(%x, @small) "small"
  %m ?[*] = Where.16(%c, %x, @least) "mask"
  %f ?[*] = Where.16(%c, %x, @far) "far"
  %e ?[*] = Exp.13(%x) "exp"
  %q ?[*] = Mul.14(%x, %x) "square"
  output %a
  output %m
  output %f
  output %e
  output %q`)
	r := stored(t, g, ir.BF16)
	assert.Equal(t, []string{
		`Where "mask": its constant "least" has elements up to 3.4028234663852886e+38; the maximum of bf16 is 3.3895313892515355e+38`,
		`Exp "exp": sums, squares and steep functions need more digits than bf16 has`,
		`Mul "square": sums, squares and steep functions need more digits than bf16 has`,
	}, why(r))
	assert.Equal(t, 2, r.Nodes)
	assert.Contains(t, text(t, g), `%x.bf16 bf16[2] = narrow.1(%x) {to = 16}`)
	assert.Contains(t, text(t, g), `const @small.bf16 bf16[2] = {1.0011718e-08, 0}`)

	own := `
  input %x bf16[3]
  %y ?[*] = Relu.14(%x) "relu"
  output %y`
	assert.Zero(t, stored(t, parse(t, own), ir.BF16).Nodes, "products of its own floats may be summed in pairs")
	_, err := Run(parse(t, own), ir.F16, nil)
	assert.ErrorContains(t, err, "leave the precision out")
}
