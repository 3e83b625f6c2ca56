package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/chips/chipstest"
)

// warned compiles a graph for a chip and gives its warnings.
func warned(t *testing.T, chip, text string, o Options) []plan.Warning {
	t.Helper()
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	x := chipstest.Target(t, chip)
	s := &State{Graph: g, Target: x}
	_, err = Run(CompilePasses, s, o)
	require.NoError(t, err)
	return s.Program.Warnings
}

// attention is some products of operands that a run gives, each followed by a node, beside one with weights.
func attention(columns, weights int, after ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `graph "g" opset 17 {
  symbol N 1..64
  const @w f32[64, %d] = {%s}
  input %%x f32[N, 2, 64]
  input %%k f32[N, 64, %d]
  %%v ?[*] = MatMul.13(%%x, @w) "project"
  output %%v
`, weights, ones(64*weights), columns)
	for i, op := range after {
		fmt.Fprintf(&b, `  %%s%[1]d ?[*] = MatMul.13(%%x, %%k) "score %[1]d"
  %%o%[1]d ?[*] = %[2]s(%%s%[1]d) "after %[1]d"
  output %%o%[1]d
`, i, op)
	}
	b.WriteString("}\n")
	return b.String()
}

func single(inputs, node string) string {
	return "graph \"g\" opset 17 {\n" + inputs + "  %y ?[*] = " + node + "\n  output %y\n}\n"
}

func TestUntiled(t *testing.T) {
	w := func(typ string, dims string, n int) string {
		return fmt.Sprintf("  const @w %s[%s] = {%s}\n", typ, dims, ones(n))
	}
	for name, c := range map[string]struct {
		graph string
		want  []string // parts of the warning; none: there is none
	}{
		"weights": {single("  input %x f32[32, 64]\n"+w("f32", "64, 32", 2048), `MatMul.13(%x, @w) "m"`), nil},
		"convolution": {single("  symbol N 1..64\n  input %x f32[N, 16, 12, 12]\n"+w("f32", "16, 16, 3, 3", 2304),
			`Conv.11(%x, @w) {pads = [1, 1, 1, 1]} "c"`), nil},
		"depthwise":             {single("  input %x f32[1, 16, 12, 12]\n"+w("f32", "16, 1, 3, 3", 144), `Conv.11(%x, @w) {group = 16} "c"`), nil},
		"depthwise in integers": {single("  input %x u8[1, 16, 12, 12]\n"+w("i8", "16, 1, 3, 3", 144), `ConvInteger.10(%x, @w) {group = 16, pads = [1, 1, 1, 1]} "c"`), nil},
		"depthwise of f64":      {single("  input %x f64[1, 16, 12, 12]\n"+w("f64", "16, 1, 3, 3", 144), `Conv.11(%x, @w) {group = 16} "c"`), nil},
		"groups of f64": {single("  input %x f64[1, 16, 12, 12]\n"+w("f64", "16, 4, 3, 3", 576), `Conv.11(%x, @w) {group = 4} "c"`),
			[]string{"it sums f64; tiles sum f32"}},
		"elementwise and reductions": {single("  input %x f32[32, 64]\n", `Softmax.13(%x) "s"`), nil},
		"squares":                    {single("  input %x f32[32, 64]\n", `ReduceSumSquare.13(%x) "s"`), nil},
		"pool":                       {single("  input %x f32[1, 8, 32, 32]\n", `AveragePool.11(%x) {kernel_shape = [3, 3]} "p"`), nil},
		"no constant":                {single("  input %x f32[32, 64]\n  input %z f32[64, 32]\n", `MatMul.13(%x, %z) "m"`), nil},
		"no constant, of many sizes": {single("  symbol N 1..64\n  input %x f32[N, 64]\n  input %z f32[64, 32]\n", `MatMul.13(%x, %z) "m"`), nil},
		"a vector": {single("  input %x f32[1, 64]\n  input %z f32[64, 32]\n", `MatMul.13(%x, %z) "m"`),
			[]string{"its operands are not constant, and tiles cannot read their order, or they have few rows"}},
		"float64": {single("  input %x f64[32, 64]\n"+w("f64", "64, 32", 2048), `MatMul.13(%x, @w) "m"`),
			[]string{"it sums f64; tiles sum f32"}},
		"a batch of weights":              {single("  input %x f32[4, 32, 64]\n"+w("f32", "4, 64, 32", 8192), `MatMul.13(%x, @w) "m"`), nil},
		"a batch of weights for few rows": {single("  input %x f32[4, 2, 64]\n"+w("f32", "4, 64, 32", 8192), `MatMul.13(%x, @w) "m"`), nil},
		"such a batch, last": {single("  input %x f32[4, 2, 64]\n"+w("f32", "4, 64, 32", 8192), `Einsum.12(%x, @w) {equation = "bik,bkj->ijb"} "m"`),
			[]string{"its weights have two axes of the result, as in a batch of products, in an order that tiles cannot read"}},
		"integers": {single("  input %x u8[32, 64]\n  input %z u8[64, 32]\n", `MatMulInteger.10(%x, %z) "m"`), nil},
		"a vector of integers": {single("  input %x u8[1, 640]\n  input %z u8[640, 32]\n", `MatMulInteger.10(%x, %z) "m"`),
			[]string{"or its rows do not share columns"}},
		"several that are equal": {attention(16, 64, "Relu.14", "Relu.14", "Relu.14"),
			[]string{`3 blocks, the first MatMul "score 0" + Relu "after 0":`, "its operands are not constant"}},
		"1 %": {attention(1, 64, "Relu.14"), []string{`MatMul "score 0" + Relu "after 0": no register tile for 2 % of`}},
		"sums of a run": {single("  symbol N 1..64\n  input %x f32[32, N]\n  input %z f32[N, 32]\n", `MatMul.13(%x, %z) "m"`),
			[]string{"the length of its sums is known only at run time"}},
		"a window of more points than sequences usually have": {single("  symbol N 1..1000000\n  input %x f64[1, 1, N]\n"+w("f64", "4, 1, 512", 2048), `Conv.11(%x, @w) {strides = [160]} "c"`),
			[]string{"no register tile for 100 % of"}},
		"many nodes": {single("  input %x f32[1, 64]\n  input %z f32[64, 32]\n"+`  %a ?[*] = MatMul.13(%x, %z) "m"
  %b ?[*] = Relu.14(%a) "r"
  %c ?[*] = Neg.13(%b) "n"
  %d ?[*] = Exp.13(%c) "e"
`, `Abs.13(%d) "a"`), []string{`MatMul "m" + Relu "r" + Neg "n" + 2 more nodes: no`}},
		"less than 1 %": {attention(1, 256, "Relu.14"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := warned(t, "x86_64_v3", c.graph, Options{})
			if c.want == nil {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Equal(t, Untiled, got[0].Kind)
			for _, part := range c.want {
				assert.Contains(t, got[0].Text, part)
			}
			assert.Empty(t, warned(t, "x86_64_v3", c.graph, Options{Disable: []string{"anchors"}}), "who switches tiles off is told so")
		})
	}
}

// TestEveryChip: a convolution with weights is tiled on every chip whose instructions multiply floats.
func TestEveryChip(t *testing.T) {
	all, err := chips.All()
	require.NoError(t, err)
	text := single("  symbol N 1..64\n  input %x f32[N, 16, 12, 12]\n  const @w f32[16, 16, 3, 3] = {"+ones(2304)+"}\n", `Conv.11(%x, @w) {pads = [1, 1, 1, 1]} "c"`)
	for _, c := range all {
		x, err := target.Parse(c.Facts)
		require.NoError(t, err)
		var untiled []plan.Warning
		for _, w := range warned(t, c.Name, text, Options{}) {
			if w.Kind == Untiled {
				untiled = append(untiled, w)
			}
		}
		assert.Equal(t, x.Tile(ir.F32) == nil, len(untiled) > 0, "%s: %v", c.Name, untiled)
	}
}

// TestManyWarnings: they are bounded, and the same each time.
func TestManyWarnings(t *testing.T) {
	after := []string{"Relu.14", "Neg.13", "Abs.13", "Exp.13", "Tanh.13", "Sigmoid.13", "Erf.13", "Sin.7", "Cos.7", "Floor.13", "Ceil.13", "Softplus.1", "Softsign.1"}
	text := attention(16, 64, after...)
	got := warned(t, "x86_64_v3", text, Options{})
	require.Len(t, got, maxWarnings)
	assert.Contains(t, got[maxWarnings-1].Text, "4 more kinds of blocks")
	for range 3 {
		assert.Equal(t, got, warned(t, "x86_64_v3", text, Options{}))
	}
}

func TestBaseline(t *testing.T) {
	text := single("  input %x f32[32, 64]\n", `Relu.14(%x) "r"`)
	for chip, want := range map[string]bool{"x86_64": true, "x86_64_v3": false, "x86_64_v4": false, "arm64": false} {
		got := warned(t, chip, text, Options{})
		require.Equal(t, want, len(got) == 1, chip)
		if want {
			assert.Equal(t, Baseline, got[0].Kind)
			assert.Contains(t, got[0].Text, "--platforms=@rules_dnn//platforms:linux_x86_64_v3")
		}
	}
}
