package ir_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/wildtest"
)

const fuzzText = `graph "g\n\xff" opset 17 {
  symbol N 1..64
  symbol H 0..2147483647
  const @w f32[100] = model[16, 400]
  const @v f16[2, 2] = file "dir/w \"1\".bin"[0, 8]
  const @c i64[2] = {-1, 9223372036854775807}
  const @"a b" f32[2] = hex "0000803f0000c07f"
  const @n bf16[4] = {0x7fc1, +Inf, -0, 1e-40}
  input %x:0 f32[N, (H + 1) // 2, max(N, H % 3) - 1]
  input %c bool[]
  %s i64[3] <N, -1, 2*H - 3> = Shape.15(%x:0) {end = -1} "a/b" from ["a", "b"]
  _, %"odd name" ?[*] = "odd op".0(%s, _, @w, @v) {fs = f32 [0.5, NaN], "f x" = f32 -Inf, i = 1, s = "\x00*/", ss = str ["", "\""], t = tensor u8[0] = {}}
  %z ?[*] = If.16(%c; %s) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      input %s i64[3]
      output %s
    }
    graph "then" opset 17 {
      input %t i64[3]
      %r ?[*] = Add.14(%t, @c)
      output %r
    }
  }
  output %z
  output @c
}
`

// FuzzText reads broken texts. What can be read is printed, read and printed again as it was; so
// are graphs of arbitrary nodes.
func FuzzText(f *testing.F) {
	model := &ir.File{R: bytes.NewReader(make([]byte, 500)), Size: 500}
	files := map[string]*ir.File{"": model, "dir/w \"1\".bin": {Name: "dir/w \"1\".bin", R: model.R, Size: 500}}
	_, err := ir.Parse(strings.NewReader(fuzzText), files)
	require.NoError(f, err)
	f.Add(fuzzText)
	f.Add("graph \"\" opset 0 {\n  symbol N 0..1\n  const @c f16[2] = {1, 0x7e01}\n  () = a.1(@c; @c) {t = tensor u8[1] = {3}}\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		wildtest.Guard(t, func() string { return text })
		wild := wildtest.Graph(wildtest.NewSource([]byte(text)))
		require.NoError(t, ir.Verify(wild))
		stays(t, wild, nil)
		g, err := ir.Parse(strings.NewReader(text), files)
		if err != nil {
			require.Less(t, len(err.Error()), 10000, "a message shows parts of the text only")
			return
		}
		_ = ir.Verify(g) // which has much to say of most
		stays(t, g, files)
	})
}

// stays checks that a graph's text is read back as it was.
func stays(t *testing.T, g *ir.Graph, files map[string]*ir.File) {
	var once, again bytes.Buffer
	require.NoError(t, ir.Print(&once, g))
	for _, c := range once.Bytes() {
		require.True(t, c == '\n' || c >= ' ' && c < 0x7f, "the text is ASCII: %q", c)
	}
	back, err := ir.Parse(bytes.NewReader(once.Bytes()), files)
	require.NoError(t, err, once.String())
	require.NoError(t, ir.Print(&again, back))
	require.Equal(t, once.String(), again.String())
}
