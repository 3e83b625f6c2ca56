package loop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/testing/wildtest"
)

// TestParseErrors: a message names the line, what was found there and what is wanted.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `line 1: want "kernel", found the end`},
		{"kernel test {", `line 1: want a quoted string, found "test {"`},
		{"kernel \"k\" { symbol N", `line 1: want the end of the line, found "symbol N"`},
		{"kernel \"k\" {\n", `line 2: want a statement or "}", found the end`},
		{"kernel \"k\" {\n}\n}", `line 3: want nothing more after the kernel, found "}"`},
		{"kernel \"k\" {\n  symbol N M\n}", `line 2: want the end of the line, found "M"`},
		{"kernel \"k\" {\n  symbol 7\n}", `line 2: want a name, found "7"`},
		{"kernel \"k\" {\n  index i = 0\n  symbol N\n}", `line 3: want a statement, found "symbol" before "N"`},
		{"kernel \"k\" {\n  facts N 1\n}", `line 3: want "..", found "}"`},
		{"kernel \"k\" {\n  facts N 1..2, N 1..2\n}", `line 2: the range of "N" is given twice`},
		{"kernel \"k\" {\n  operand x float[8]\n}", `line 2: unknown element type "float" before "[8]"`},
		{"kernel \"k\" {\n  operand x f32(8)\n}", `line 2: want "[", found "(8)"`},
		{"kernel \"k\" {\n  operand x f32[8] conts\n}", `line 2: want the end of the line, found "conts"`},
		{"kernel \"k\" {\n  operand x f32[8] image [2]\n}", `line 2: want an image's [width, height], found 1 extents`},
		{"kernel \"k\" {\n  micro m0 fma mem 6 x 2\n}", `line 2: no tile instruction "fma"; there are muladd_f32x4, `},
		{"kernel \"k\" {\n  micro m0 fma_f32x8 ram 6 x 2\n}", `line 2: want how X reaches the instruction, one of vec mem bcast lane scalar, found "ram 6 x 2"`},
		{"kernel \"k\" {\n  micro m0 fma_f32x8 mem 6 x 2\n  micro m0 fma_f32x8 mem 6 x 2\n}", `line 3: micro-kernel "m0" is defined twice`},
		{"kernel \"k\" {\n  micro m0 fma_f32x8 mem 6 x 2 k 3 by 1\n}", `line 3: want ",", found "}"`},
		{"kernel \"k\" {\n  grid i\n}", `line 3: want "<", found "}"`},
		{"kernel \"k\" {\n  tile m0 a[0] = x[0] * w[0]\n}", `line 2: no micro-kernel "m0" is defined before its use`},
		{"kernel \"k\" {\n  y[0] = f32:1\n}", `line 2: buffer "y" is not declared before its use`},
		{"kernel \"k\" {\n  for i < 8\n  }\n}", `line 3: want "{", found "}"`},
		{"kernel \"k\" {\n  for i < {\n  }\n}", `line 2: want an expression: a number, a variable or a parenthesis is missing before "{"`},
		{"kernel \"k\" {\n  for i < 8 { claim x[0]\n}", `line 2: want the end of the line, found "claim x[0]"`},
		{"kernel \"k\" {\n  for i < 8 {\n}", `line 3: want a statement or "}", found the end`},
		{"kernel \"k\" {\n  var v = v\n}", `line 3: variable "v" is not declared before its use: want its type after ":"`},
		{"kernel \"k\" {\n  var v = f32:one\n}", `line 3: unknown element type "one" before "}"`},
		{"kernel \"k\" {\n  var v = f32:1.5.2\n}", `line 2: want a number of type f32, found "1.5.2"`},
		{"kernel \"k\" {\n  var v = u8:-1\n}", `line 2: want a number of type u8, found "-1"`},
		{"kernel \"k\" {\n  var v = f32 add(f32:1, f32:2\n}", `line 3: want "," or ")", found "}"`},
		{"kernel \"k\" {\n  var v = f32 7(f32:1)\n}", `line 2: want a scalar function of type f32, found "7(f32:1)"`},
		{"kernel \"k\" {\n  var v = (f32:1 if 0 < i else f32:2)\n}", `line 2: want "<=", found "< i else f32:2)"`},
		{"kernel \"k\" {\n  var v = none\n}", `line 3: variable "none" is not declared before its use`},
		{"kernel \"k\" {\n  bind g = i64:1 in 0\n}", `line 3: want "..", found "}"`},
		{"kernel \"k\" {\n  operand x f32[1]\n  claim x[0; 1, 2]\n}", `line 3: a claim without a texel`},
		{"kernel \"k\" {\n  if 0 <= i < 2 {\n  } else if 0 <= i < 2 {\n  }\n}", `line 3: want "{", found "if 0 <= i < 2 {"`},
		{"kernel \"k\" {\n  call F<> {\n    args pointer 1\n  }\n}", `line 3: want an argument of a call, found "pointer 1"`},
		{"kernel \"k\" {\n  call F<> {\n    args flag yes\n  }\n}", `line 4: want true or false before "}"`},
		{"kernel \"k\" {\n  call F<> {\n    element 0 = 1\n    element 0 = 1\n  }\n}", `line 4: element 0 is given twice`},
		{"kernel \"k\" {\n  call F<> {\n    needs 3\n  }\n}", `line 3: want a line of a call or "}", found "needs 3"`},
		{"kernel \"k\" {\n  for i < 1 " + strings.Repeat("{\nfor i < 1 ", limit.KernelDepth), "are nested deeper than 10000"},
		{"kernel \"k\" {\n  var v = " + strings.Repeat("(", limit.KernelDepth), "line 2: statements and expressions are nested deeper than 10000"},
		{strings.Repeat("#", limit.KernelText+1), "want at most 67108864 bytes, found 67108865"},
	} {
		_, err := loop.Parse(c.text)
		assert.ErrorContains(t, err, c.want, "%.200s", c.text)
	}
}

// FuzzParse reads broken texts. What can be read is printed, read and printed again as it was, and Verify says what it likes.
func FuzzParse(f *testing.F) {
	f.Add(wholeText)
	f.Add(whole().String())
	for _, c := range append(append([]kernelText{}, right...), wrong...) {
		f.Add(c.text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		wildtest.Guard(t, func() string { return text })
		k, err := loop.Parse(text)
		if err != nil {
			require.Less(t, len(err.Error()), 10000, "a message shows parts of the text only")
			return
		}
		_ = loop.Verify(k)
		once := k.String()
		for _, c := range []byte(once) {
			require.True(t, c == '\n' || c >= ' ' && c < 0x7f, "the text is ASCII: %q", c)
		}
		back, err := loop.Parse(once)
		require.NoError(t, err, once)
		require.Equal(t, once, back.String())
	})
}
