package block

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// parse reads a graph's lines and infers its shapes.
func parse(t *testing.T, lines string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n"+lines+"}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	return g
}

func form(t *testing.T, lines string) *Graph {
	t.Helper()
	b, err := Form(parse(t, lines))
	require.NoError(t, err)
	return b
}

// text is the dump of blocks, indented as tests write it.
func text(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "\n\t\t\t", "\n"), "\n")
}

// TestForm states the blocks of graphs.
func TestForm(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"a block a stage", `
			input %x f32[2, 3]
			%y f32[2, 3] = Softmax.13(%x) {axis = 1} "s"
			output %y
			`, `
			block 0: Softmax "s"
			  for i0 < 2
			  reduce r0 < 3 by max
			  reads "x" f32[2 3]
			  gives "y.stage0.0" f32[2]
			block 1: Softmax "s"
			  for i0 < 2
			  for i1 < 3
			  reads "x" f32[2 3]
			  reads "y.stage0.0" f32[2]
			  gives "y.stage1.0" f32[2 3]
			block 2: Softmax "s"
			  for i0 < 2
			  reduce r0 < 3 by sum
			  reads "y.stage1.0" f32[2 3]
			  gives "y.stage2.0" f32[2]
			block 3: Softmax "s"
			  for i0 < 2
			  for i1 < 3
			  reads "y.stage1.0" f32[2 3]
			  reads "y.stage2.0" f32[2]
			  gives "y" f32[2 3]
			`},
		{"a node with two results", `
			input %x f32[4]
			const @r f32[] = {0.5}
			%y f32[4], %m bool[4] = Dropout.13(%x, @r)
			output %y
			output %m
			`, `
			block 0: Dropout (result "y")
			  for i0 < 4
			  reads "x" f32[4]
			  gives "y" f32[4]
			block 1: Dropout (result "y")
			  for i0 < 4
			  gives "m" bool[4]
			`},
		{"an output that is an input", `
			input %x f32[2]
			output %x
			`, `
			block 0: output "x"
			  for i0 < 2
			  reads "x" f32[2]
			  gives "x" f32[2]
			`},
		{"an output that is a constant", `
			const @c i64[2] = {1, 2}
			input %x f32[2]
			%y f32[2] = Neg.13(%x)
			output %y
			output @c
			`, `
			block 0: Neg (result "y")
			  for i0 < 2
			  reads "x" f32[2]
			  gives "y" f32[2]
			block 1: output "c"
			  for i0 < 2
			  constant "c" i64[2]
			  gives "c" i64[2]
			`},
		{"an output that is listed twice", `
			input %x f32[2]
			%y f32[2] = Neg.13(%x)
			output %y
			output %y
			`, `
			block 0: Neg (result "y")
			  for i0 < 2
			  reads "x" f32[2]
			  gives "y" f32[2]
			block 1: output "y"
			  for i0 < 2
			  reads "y" f32[2]
			  gives "y" f32[2]
			`},
		{"checks, each once", `
			symbol M 1..8
			symbol N 1..64
			input %a f32[N]
			input %b f32[M]
			%c ?[*] = Add.14(%a, %b) "first"
			%d ?[*] = Mul.14(%b, %c) "second"
			%e ?[*] = Sub.14(%b, %a) "third"
			output %d
			output %e
			`, `
			check Add "first": dimensions must be equal or 1 to broadcast: N broadcasts with M
			check Mul "second": dimensions must be equal or 1 to broadcast: M broadcasts with max(M, N)
			block 0: Add "first"
			  for i0 < max(M, N)
			  reads "a" f32[N]
			  reads "b" f32[M]
			  gives "c" f32[max(M, N)]
			block 1: Mul "second"
			  for i0 < max(M, N)
			  reads "b" f32[M]
			  reads "c" f32[max(M, N)]
			  gives "d" f32[max(M, N)]
			block 2: Sub "third"
			  for i0 < max(M, N)
			  reads "b" f32[M]
			  reads "a" f32[N]
			  gives "e" f32[max(M, N)]
			`},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, text(c.want), form(t, c.graph).String()) })
	}
}

// TestFormKeepsTheGraph: the outputs that get copies are the blocks' own.
func TestFormKeepsTheGraph(t *testing.T) {
	g := parse(t, "input %x f32[2]\noutput %x\n")
	b, err := Form(g)
	require.NoError(t, err)
	assert.Same(t, g.Inputs[0], g.Outputs[0])
	assert.NotSame(t, b.Inputs[0], b.Outputs[0])
	assert.Equal(t, "x", b.Outputs[0].Name)
}

func TestFormErrors(t *testing.T) {
	g := parse(t, "input %x f32[2]\n%y f32[2] = Neg.13(%x) \"minus\"\noutput %y\n")
	g.Nodes[0].Op = "Nothing"
	_, err := Form(g)
	assert.ErrorContains(t, err, `node Nothing "minus": operator Nothing is not supported`)
}

// TestLiterals: constants of one element become part of the expressions, whatever their type.
func TestLiterals(t *testing.T) {
	for _, c := range []struct{ typ, value string }{
		{"f16", "0.5"}, {"bf16", "-2"}, {"f32", "1e-30"}, {"f64", "0.1"}, {"i8", "-128"}, {"u8", "255"}, {"i64", "-9223372036854775808"}, {"u64", "18446744073709551615"},
	} {
		b := form(t, "input %x "+c.typ+"[3]\nconst @c "+c.typ+"[1] = {"+c.value+"}\n%y ?[*] = Max.13(%x, @c)\noutput %y\n")
		require.NoError(t, Literals(b))
		require.Len(t, b.Blocks, 1)
		assert.Len(t, b.Blocks[0].Operands, 1, c.typ)
		assert.NotContains(t, b.String(), "constant")
	}
	padded := form(t, "input %x f32[3]\nconst @one f32[1] = {1}\nconst @p i64[2] = {1, 1}\n%y ?[*] = Pad.13(@one, @p)\n%z ?[*] = Add.14(%x, %y)\noutput %z\n")
	require.NoError(t, Literals(padded))
	assert.NotContains(t, padded.String(), "constant", "a load under a guard becomes a choice")
	kept := form(t, "input %x f32[2]\nconst @c f32[2] = {1, 2}\n%y ?[*] = Max.13(%x, @c)\noutput %y\n")
	require.NoError(t, Literals(kept))
	assert.Contains(t, kept.String(), `constant "c" f32[2]`)
}

// TestPadding: sums run over the taps alone that see something, whatever a run's images are.
func TestPadding(t *testing.T) {
	for _, c := range []struct {
		name, shape, kernel, attrs string
		taps                       []int64 // of the window's axes
	}{
		{"one pixel", "1, 4, 1, 1", "3, 3", "pads = [1, 1, 1, 1]", []int64{1, 1}},
		{"one row", "1, 4, 1, 9", "3, 3", "pads = [1, 1, 1, 1]", []int64{1, 3}},
		{"images of one pixel", "N, 4, 1, 1", "3, 3", "pads = [1, 1, 1, 1]", []int64{1, 1}},
		{"four pixels", "1, 4, 2, 2", "5, 3", "pads = [2, 1, 2, 1]", []int64{3, 3}},
		{"far taps", "1, 4, 14, 14", "3, 3", "pads = [12, 18, 12, 18], dilations = [12, 18]", []int64{3, 1}},
		{"frames", "1, 4, 49", "128", "pads = [64, 64]", []int64{98}},
		{"many frames", "1, 4, T", "128", "pads = [64, 64]", []int64{128}},
		{"taps at one end", "1, 4, 3", "5", "pads = [4, 0]", []int64{3}},
		{"padding alone", "1, 4, 2", "2", "pads = [4, 0], strides = [9]", []int64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := form(t, "  symbol N 1..9\n  symbol T 1..400\n  input %x f32["+c.shape+"]\n  input %w f32[8, 4, "+c.kernel+"]\n  %y ?[*] = Conv.11(%x, %w) {"+c.attrs+"}\n  output %y\n")
			var got []int64
			for _, a := range g.Blocks[0].Stage.Reduce[1:] {
				n, _ := a.Extent.Const()
				got = append(got, n)
			}
			assert.Equal(t, c.taps, got)
		})
	}
}
