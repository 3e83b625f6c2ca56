package shape

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// results prints what is known of each node's results: "name type[shape] <elements>".
func results(g *ir.Graph) []string {
	var b strings.Builder
	if err := ir.Print(&b, g); err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, line := range strings.Split(b.String(), "\n") {
		line = strings.TrimSpace(line)
		if left, _, ok := strings.Cut(line, " = "); ok && strings.HasPrefix(line, "%") {
			out = append(out, left)
		} else if strings.HasPrefix(line, "symbol") {
			out = append(out, line)
		}
	}
	return out
}

// TestInfer states what is inferred for the nodes of small graphs.
func TestInfer(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"flatten by shape, gather, concat and reshape", `
  symbol N 1..64
  const @zero i64[1] = {0}
  const @rest i64[1] = {-1}
  input %x f32[N, 8, 4, 4]
  %s ?[*] = Shape.15(%x)
  %n ?[*] = Gather.13(%s, @zero)
  %to ?[*] = Concat.13(%n, @rest) {axis = 0}
  %y ?[*] = Reshape.14(%x, %to)
  output %y
`, []string{"symbol N 1..64", "%s i64[4] <N, 8, 4, 4>", "%n i64[1] <N>", "%to i64[2] <N, -1>", "%y f32[N, 128]"}},
		{"expand by where and equal, as exporters write it", `
  symbol N 1..64
  symbol T 1..512
  const @minus i64[3] = {-1, -1, -1}
  const @ones i64[3] = {1, 1, 1}
  const @mul i64[3] = {-1, -1, -1}
  input %x f32[N, 1, 1]
  input %like f32[N, T, 4]
  %s ?[*] = Shape.15(%like)
  %is ?[*] = Equal.13(%s, @minus)
  %to ?[*] = Where.9(%is, @ones, %s)
  %y ?[*] = Expand.13(%x, %to)
  output %y
`, []string{"symbol N 1..64", "symbol T 1..512", "%s i64[3] <N, T, 4>", "%is bool[3] <0, 0, 0>", "%to i64[3] <N, T, 4>", "%y f32[N, T, 4]"}},
		{"product of dimensions", `
  symbol H 1..64
  input %x f32[2, H, 3]
  %s ?[*] = Shape.15(%x)
  %n ?[*] = ReduceProd.13(%s) {keepdims = 1}
  %y ?[*] = Reshape.14(%x, %n)
  output %y
`, []string{"symbol H 1..64", "%s i64[3] <2, H, 3>", "%n i64[1] <6*H>", "%y f32[6*H]"}},
		{"a dimension halved in floats", `
  symbol H 2..64
  const @two f32[] = {2}
  const @axis i64[] = {0}
  const @begin i64[1] = {0}
  const @step i64[1] = {1}
  input %x f32[H]
  %s ?[*] = Shape.15(%x)
  %f ?[*] = Cast.13(%s) {to = 1}
  %q ?[*] = Div.14(%f, @two)
  %r ?[*] = Floor.13(%q)
  %i ?[*] = Cast.13(%r) {to = 7}
  %y ?[*] = Slice.13(%x, @begin, %i, @begin, @step)
  output %y
`, []string{"symbol H 2..64", "%s i64[1] <H>", "%f f32[1]", "%q f32[1]", "%r f32[1]", "%i i64[1] <((H) // (2))>", "%y f32[((H) // (2))]"}},
		{"symbols that must be equal", `
  symbol A 1..64
  symbol B 4..128
  input %x f32[A, 3]
  input %y f32[B, 5]
  %z ?[*] = Concat.13(%x, %y) {axis = 1}
  output %z
`, []string{"symbol A 4..64", "%z f32[A, 8]"}},
		{"a symbol that must be a number", `
  symbol N 1..64
  const @to i64[2] = {1, 6}
  input %x f32[N, 6]
  %y ?[*] = Reshape.14(%x, @to)
  output %y
`, []string{"%y f32[1, 6]"}},
		{"a bound symbol and one of no input", `
  symbol N 3..3
  symbol M 1..9
  input %x f32[N]
  %y f32[M] = Relu.14(%x)
  output %y
`, []string{"%y f32[3]"}},
		{"no elements of data", `
  input %x i64[3]
  %y ?[*] = Add.14(%x, %x)
  output %y
`, []string{"%y i64[3]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.text)
			require.NoError(t, Infer(g))
			require.NoError(t, ir.Verify(g))
			require.Equal(t, c.want, results(g))
			require.NoError(t, Infer(g), "inferring again")
			require.Equal(t, c.want, results(g))
		})
	}
}

func TestInferErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"unknown structure, all places", `
  input %x f32[2, 3]
  input %r f32[*]
  input %a i64[2]
  input %b i64[1]
  %y ?[*] = Reshape.14(%x, %a) "first"
  %z ?[*] = Relu.14(%y) "dependent"
  %w ?[*] = Expand.13(%x, %b) "second"
  %v ?[*] = Relu.14(%r) "of the input"
  output %z
  output %w
  output %v
`, []string{`input "r"`, `node Reshape "first"`, `"a"`, `node Expand "second"`, "and 2 nodes"}},
		{"declared rank", `
  input %x f32[2, 3]
  %y f32[6] = Relu.14(%x) "r"
  output %y
`, []string{`Relu "r"`, `result "y"`, "[2 3]", "[6]"}},
		{"another dimension", `
  input %x f32[2, 3]
  %y f32[2, 4] = Relu.14(%x) "r"
  output %y
`, []string{"dimension 1", "is 3", "was 4"}},
		{"declared type", `
  input %x f32[2, 3]
  %y i32[2, 3] = Relu.14(%x) "r"
  output %y
`, []string{"type f32", "declares i32"}},
		{"shapes that do not fit", `
  input %x f32[2, 3]
  input %y f32[2, 4]
  %z ?[*] = Add.14(%x, %y) "a"
  output %z
`, []string{`Add "a"`}},
		{"bounds that exclude each other", `
  symbol A 1..4
  symbol B 5..8
  input %x f32[A, 3]
  input %y f32[B, 5]
  %z ?[*] = Concat.13(%x, %y) {axis = 1} "c"
  output %z
`, []string{`Concat "c"`}},
		{"a branch with inputs", `
  input %c bool[]
  %z ?[*] = If.16(%c) {else_branch = region 1, then_branch = region 0} "if" regions {
    graph "then" opset 17 {
      input %t f32[1]
      output %t
    }
    graph "else" opset 17 {
      input %t f32[1]
      output %t
    }
  }
  output %z
`, []string{`If "if"`, "attribute then_branch: the graph has 1 inputs; If passes it 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Infer(irtest.Parse(t, c.text))
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
		})
	}
}
