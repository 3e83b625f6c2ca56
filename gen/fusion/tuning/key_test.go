package tuning

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target"
)

func rowMajor(*ir.Value) layout.Layout { return layout.RowMajor }

// only is the block of a graph with one node.
func only(t *testing.T, text string) (*block.Block, sym.Facts) {
	t.Helper()
	g := irtest.Parse(t, text)
	require.NoError(t, shape.Infer(g))
	b, err := block.Form(g)
	require.NoError(t, err)
	require.Len(t, b.Blocks, 1)
	return b.Blocks[0], b.Facts
}

const conv = `
  symbol N 1..8
  const @w f32[2, 1, 1, 1] = {1, 2}
  input %x f32[N, 1, 5, 5]
  %y f32[N, 2, 3, 3] = Conv.11(%x, @w) {strides = [2, 2]}
  output %y
`

// TestKey: what a kernel depends on is in the key, and nothing else.
func TestKey(t *testing.T) {
	b, f := only(t, conv)
	chip := &target.Target{Name: "a chip", L2: 1 << 20}
	want := Key(b, rowMajor, f, chip)
	assert.Equal(t, want, Key(b, rowMajor, f, chip))
	assert.Equal(t, "79ea", want[:4], "records that are checked in have it: another one makes them stale")
	assert.Equal(t, "Conv f32[N 2 3 3] of f32[N 1 5 5] f32[2 1 1 1]", What(b, rowMajor))
	renamed, other := *chip, *chip
	renamed.Name, other.L2 = "the same chip", 2<<20
	assert.Equal(t, want, Key(b, rowMajor, f, &renamed))
	assert.NotEqual(t, want, Key(b, rowMajor, f, &other), "kernels were measured on another chip")
	changed := func(old, new string) string {
		b, f := only(t, strings.ReplaceAll(conv, old, new))
		return Key(b, rowMajor, f, chip)
	}
	for old, new := range map[string]string{"%x": "%other", "@w": "@filters", "%y": "%z", "{1, 2}": "{3, 4}"} {
		assert.Equal(t, want, changed(old, new), "%s as %s", old, new)
	}
	for old, new := range map[string]string{"1..8": "1..9", "5, 5]": "6, 6]", "symbol N 1..8": "", "strides = [2, 2]": "strides = [2, 2], pads = [1, 1, 0, 0]"} {
		text := strings.ReplaceAll(conv, old, new)
		if new == "" {
			text = strings.ReplaceAll(text, "[N,", "[4,")
		}
		b, f := only(t, text)
		assert.NotEqual(t, want, Key(b, rowMajor, f, chip), "%s as %s", old, new)
	}
	blocked := func(v *ir.Value) layout.Layout {
		if v.Name == "x" {
			return layout.Blocked(1, 8)
		}
		return layout.RowMajor
	}
	assert.NotEqual(t, want, Key(b, blocked, f, chip))
}

// TestKeyTexts: each kind of expression and stage has a text of its own.
func TestKeyTexts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`
  input %x f32[4]
  %y f32[4] = Relu.14(%x)
  output %y
`, "for v0 < 4"},
		{`
  input %x f32[4, 3]
  input %i i64[2]
  %y f32[2, 3] = Gather.13(%x, %i)
  output %y
`, "let v2 = i64 select(bool lt(i64 operand 0.0 [v0], i64:0), i64 add(i64 operand 0.0 [v0], i64:4), i64 operand 0.0 [v0]) in 0..3: f32 operand 1.0 [v2, v1]"},
		{`
  input %x f32[4]
  input %i i64[2, 1]
  input %u f32[2]
  %y f32[4] = ScatterND.16(%x, %i, %u)
  output %y
`, "i64 operand 2.0 [v1, 0]) in 0..3\nat [v2] from [v2]"},
		{`
  input %x f32[4, 3]
  %y f32[4, 1] = ReduceSum.11(%x) {axes = [1]}
  output %y
`, "reduce v2 < 3\ncombine sum\ninit f32:0"},
	} {
		b, f := only(t, c.text)
		assert.Contains(t, keyText(b, rowMajor, f), c.want)
	}
}
