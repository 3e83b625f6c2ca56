package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
)

// ifText is an If that captures x and y; the branches are lines, their last value %r.
func ifText(cond, then, other string) string {
	branch := func(lines string) string {
		return "    graph \"b\" opset 17 {\n  input %a ?[*]\n  input %b ?[*]\n" + lines + "  output %r\n    }\n"
	}
	return "  %z ?[*] = If.16(" + cond + "; %x, %y) {else_branch = region 1, then_branch = region 0} \"if\" regions {\n" + branch(then) + branch(other) + "  }\n"
}

const ifInputs = `
  symbol N 1..64
  symbol M 1..64
  const @yes bool[] = {1}
  const @minus i64[] = {-1}
  const @zero i64[1] = {0}
  const @flat i64[1] = {-1}
  input %c bool[]
  input %x f32[N, 3]
  input %y f32[N, 3]
  input %w f32[M, 3]
`

// last is what is known of the last node's first result.
func last(g *ir.Graph) string { return described(lastValue(g)) }

func described(v *ir.Value) string { return v.Type.String() + fmt.Sprint(v.Shape) }

func lastValue(g *ir.Graph) *ir.Value { return g.Nodes[len(g.Nodes)-1].Outputs[0] }

// unknownOf infers a graph whose structure cannot be known.
func unknownOf(t *testing.T, g *ir.Graph) *UnknownError {
	t.Helper()
	var unknown *UnknownError
	require.ErrorAs(t, Infer(g), &unknown)
	return unknown
}

func TestIf(t *testing.T) {
	const (
		add     = "  %r ?[*] = Add.14(%a, %b)\n"
		relu    = "  %r ?[*] = Relu.14(%a)\n"
		flatten = "  %r ?[*] = Reshape.14(%a, @flat)\n"
		shape   = "  %r ?[*] = Shape.15(%a)\n"
		cat     = "  %r ?[*] = Concat.13(%a, %b) {axis = 1}\n"
		wrong   = "  %r ?[*] = Transpose.13(%a) {perm = [0, 0]}\n"
		squeeze = "  %r ?[*] = Squeeze.13(%a, @zero)\n"
	)
	for _, c := range []struct{ name, cond, then, other, want, unknown string }{
		{"both agree", "%c", add, relu, "f32[N 3]", ""},
		{"only what is taken counts", "@yes", add, wrong, "f32[N 3]", ""},
		{"ranks differ", "%c", add, flatten, "", `result 0 ("z"): then_branch returns shape [N 3], else_branch [3*N]`},
		{"dimensions differ", "%c", add, cat, "f32[N z_dim1]", ""},
		{"a branch that may be wrong", "%c", relu, wrong, "", "a branch that may run is invalid: node Transpose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, ifInputs+ifText(c.cond, c.then, c.other)+"  output %z\n")
			if c.unknown != "" {
				unknown := unknownOf(t, g)
				require.Len(t, unknown.Causes, 1)
				require.ErrorContains(t, unknown, `node If "if": `+c.unknown)
				return
			}
			require.NoError(t, Infer(g))
			require.Equal(t, c.want, last(g))
			require.NoError(t, Infer(g), "again")
			require.Equal(t, c.want, last(g))
			require.NoError(t, ir.Verify(g))
		})
	}
	t.Run("elements that agree", func(t *testing.T) {
		g := irtest.Parse(t, ifInputs+ifText("%c", shape, shape)+"  output %z\n")
		require.NoError(t, Infer(g))
		require.Equal(t, "[N 3]", fmt.Sprint(lastValue(g).Elems))
	})
	t.Run("types differ", func(t *testing.T) {
		g := irtest.Parse(t, ifInputs+ifText("%c", add, shape)+"  output %z\n")
		require.ErrorContains(t, Infer(g), `node If "if": result 0 ("z"): then_branch returns type f32, else_branch i64`)
	})
	for name, node := range map[string]string{
		"types":        "  %r ?[*] = And.7(%a, %b)\n",
		"an attribute": "  %r ?[*] = Relu.14(%a) {alpha = 1}\n",
		"operands":     "  %r ?[*] = Add.14(%a)\n",
		"results":      "  %r ?[*], %s ?[*] = Relu.14(%a)\n",
	} {
		t.Run("a branch that is wrong whatever the shapes: "+name, func(t *testing.T) {
			err := Infer(irtest.Parse(t, ifInputs+ifText("%c", add, node)+"  output %z\n"))
			var unknown *UnknownError
			require.Error(t, err)
			require.False(t, errors.As(err, &unknown), "%v", err)
		})
	}
	t.Run("what a branch requires binds no symbol", func(t *testing.T) {
		g := irtest.Parse(t, ifInputs+ifText("%c", squeeze, squeeze)+"  output %z\n")
		require.NoError(t, Infer(g))
		require.Equal(t, "[N 3]", fmt.Sprint(g.Inputs[1].Shape))
	})
	t.Run("what the branch taken requires does", func(t *testing.T) {
		g := irtest.Parse(t, ifInputs+ifText("@yes", squeeze, squeeze)+"  output %z\n")
		require.NoError(t, Infer(g))
		require.Equal(t, "[1 3]", fmt.Sprint(g.Inputs[1].Shape))
		require.Equal(t, "f32[3]", last(g))
	})
	t.Run("a symbol that becomes another does so in regions", func(t *testing.T) {
		const reluB = "  %r ?[*] = Relu.14(%b)\n"
		text := strings.Replace(ifText("%c", reluB, reluB), "%x, %y", "%x, %w", 1)
		g := irtest.Parse(t, ifInputs+text+"  %s ?[*] = Concat.13(%z, %x) {axis = 1}\n  output %s\n")
		require.NoError(t, Infer(g))
		require.NoError(t, ir.Verify(g))
		require.Equal(t, "f32[N 6]", last(g))
		for _, r := range g.Nodes[0].Regions {
			require.Equal(t, "f32[N 3]", described(r.Inputs[1]))
			require.Equal(t, "f32[N 3]", described(r.Outputs[0]))
		}
	})
}

// loopText is a Loop that carries %v and captures %x; the body's lines make %again, %r
// and, to be stacked, %s.
func loopText(operands, lines string) string {
	return "  %z ?[*], %stack ?[*] = Loop.16(" + operands + ", %v; %x) {body = region 0} \"loop\" regions {\n    graph \"body\" opset 17 {\n" +
		"  input %i i64[]\n  input %go bool[]\n  input %p ?[*]\n  input %a ?[*]\n" + lines + "  output %r\n  output %s\n    }\n  }\n"
}

const loopInputs = `
  symbol N 1..64
  const @yes bool[] = {1}
  const @no bool[] = {0}
  const @none i64[] = {0}
  const @four i64[] = {4}
  const @dim i64[] = {0}
  const @axis i64[1] = {0}
  input %c bool[]
  input %m i64[]
  input %x f32[N, 3]
  input %v f32[N, 3]
  %shape ?[*] = Shape.15(%x)
  %n ?[*] = Gather.13(%shape, @dim)
`

func TestLoop(t *testing.T) {
	const (
		passes = "  %r ?[*] = Add.14(%p, %a)\n  %s ?[*] = Shape.15(%p)\n  output %go\n"
		yes    = "  %r ?[*] = Add.14(%p, %a)\n  %s ?[*] = Shape.15(%p)\n  output @yes\n"
		no     = "  %r ?[*] = Add.14(%p, %a)\n  %s ?[*] = Shape.15(%p)\n  output @no\n"
		grows  = "  %r ?[*] = Concat.13(%p, %a) {axis = 0}\n  %s ?[*] = Shape.15(%a)\n  output %go\n"
		decide = "  %r ?[*] = Add.14(%p, %a)\n  %s ?[*] = Shape.15(%p)\n  %again ?[*] = Not.1(%go)\n  %both ?[*] = And.7(%again, %c)\n  output %both\n"
	)
	for _, c := range []struct{ name, operands, body, stack, unknown string }{
		{"a constant count", "@four, _", passes, "i64[4 2]", ""},
		{"a symbol", "%n, _", passes, "i64[N 2]", ""},
		{"a condition that stays true", "@four, @yes", yes, "i64[4 2]", ""},
		{"a condition that is passed on", "@four, @yes", passes, "i64[4 2]", ""},
		{"a condition that is ignored", "@four, _", no, "i64[4 2]", ""},
		{"a condition that falls", "@four, @yes", no, "i64[1 2]", ""},
		{"a condition that falls after a symbol's first", "%n, @yes", no, "i64[1 2]", ""},
		{"a condition that never holds", "%m, @no", passes, "i64[0 2]", ""},
		{"no iterations", "@none, %c", passes, "i64[0 2]", ""},
		{"a count that is computed", "%m, _", passes, "i64[z_iterations 2]", ""},
		{"a condition that is computed", "@four, %c", passes, "i64[z_iterations 2]", ""},
		{"neither ends it", "_, @yes", yes, "i64[z_iterations 2]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, loopInputs+loopText(c.operands, c.body)+"  output %z\n  output %stack\n")
			err := Infer(g)
			stack := g.Outputs[1]
			require.Equal(t, "[N 3]", fmt.Sprint(g.Outputs[0].Shape), "%v", err)
			if c.unknown != "" {
				var unknown *UnknownError
				require.ErrorAs(t, err, &unknown)
				require.Len(t, unknown.Causes, 1)
				require.ErrorContains(t, err, `node Loop "loop": `+c.unknown)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.stack, described(stack))
			require.NoError(t, Infer(g), "again")
			require.NoError(t, ir.Verify(g))
		})
	}
	t.Run("a rank that grows", func(t *testing.T) {
		g := irtest.Parse(t, loopInputs+loopText("@four, _", "  %r ?[*] = Unsqueeze.13(%p, @axis)\n  %s ?[*] = Shape.15(%a)\n  output %go\n")+"  output %z\n  output %stack\n")
		err := unknownOf(t, g)
		require.Len(t, err.Causes, 1)
		require.ErrorContains(t, err, `node Loop "loop": the carried value "p" begins with shape [N 3] and has shape [1 N 3] after an iteration; supported are values that keep their rank`)
		require.Equal(t, "[4 2]", fmt.Sprint(g.Outputs[1].Shape), "what does not depend on it is known")
		body := g.Nodes[2].Regions[0]
		require.False(t, body.Inputs[2].HasShape, "no shape holds for every iteration")
		require.False(t, body.Nodes[0].Outputs[0].HasShape)
	})
	t.Run("a shape that is declared in a body stays", func(t *testing.T) {
		const lines = "  %r ?[*] = Add.14(%p, %a)\n  %e ?[*] = ReduceMax.13(%a) {keepdims = 0}\n  %k ?[*] = Cast.13(%e) {to = 7}\n" +
			"  %u ?[*] = Unsqueeze.13(%k, @axis)\n  %s ?[7, 3] = Expand.13(%a, %u)\n  output %go\n"
		g := irtest.Parse(t, loopInputs+loopText("%m, _", lines)+"  output %z\n  output %stack\n")
		for range 2 { // a second inference changes nothing
			require.ErrorContains(t, unknownOf(t, g), "Expand")
			require.NoError(t, ir.Verify(g))
			require.Equal(t, "[7 3]", fmt.Sprint(g.Nodes[2].Regions[0].Outputs[2].Shape))
		}
	})
	t.Run("parts that iterations may make longer", func(t *testing.T) {
		g := irtest.Parse(t, loopInputs+loopText("@four, _", "  %r ?[*] = Concat.13(%p, %a) {axis = 0}\n  %s ?[*] = Neg.13(%r)\n  output %go\n")+"  output %z\n  output %stack\n")
		require.NoError(t, Infer(g))
		require.NoError(t, Infer(g), "again")
		require.NoError(t, ir.Verify(g))
		require.Equal(t, "[z_dim0 3]", fmt.Sprint(g.Outputs[0].Shape))
		require.Equal(t, "[4 stack_dim1 3]", fmt.Sprint(g.Outputs[1].Shape))
		require.Equal(t, "6*N", g.Symbols[2].Max.String(), "no better is known")
	})
	t.Run("elements change from one iteration to the next", func(t *testing.T) {
		g := irtest.Parse(t, loopInputs+loopText("@four, _", "  %r ?[*] = Mul.14(%p, %p)\n  %s ?[*] = Add.14(%i, %i)\n  output %go\n")+"  output %z\n  output %stack\n")
		require.NoError(t, Infer(g))
		require.Nil(t, g.Outputs[1].Elems)
		require.Nil(t, g.Nodes[2].Regions[0].Nodes[1].Outputs[0].Elems)
	})
}

// TestOneElement: what control flow follows is a single element, of its type.
func TestOneElement(t *testing.T) {
	inputs := "  symbol N 1..64\n  const @four i64[] = {4}\n  input %pair bool[2]\n  input %some bool[N]\n  input %none i64[0]\n  input %one bool[1, 1]\n" +
		"  input %c bool[]\n  input %x f32[3]\n  input %y f32[3]\n  input %w f32[3]\n"
	branch := "  %r ?[*] = Add.14(%a, %b)\n"
	require.NoError(t, Infer(irtest.Parse(t, inputs+ifText("%one", branch, branch)+"  output %z\n")))
	for cond, shape := range map[string]string{"%pair": "[2]", "%some": "[N]"} {
		err := Infer(irtest.Parse(t, inputs+ifText(cond, branch, branch)+"  output %z\n"))
		require.ErrorContains(t, err, `node If "if": the condition, "`+cond[1:]+`", has type bool and shape `+shape+"; supported is one element of type bool")
	}
	loop := func(operands, cond string) error {
		return Infer(irtest.Parse(t, inputs+"%z ?[*] = Loop.16("+operands+", %x) {body = region 0} \"loop\" regions {\n graph \"body\" opset 17 {\n"+
			"input %i i64[]\ninput %go bool[]\ninput %p f32[3]\n"+cond+"output %r\noutput %p\n}\n}\n  output %z\n"))
	}
	same := "%r ?[*] = Identity.16(%go)\n"
	require.NoError(t, loop("@four, %c", same))
	require.ErrorContains(t, loop("%none, %c", same), `the number of iterations, "none", has type i64 and shape [0]`)
	require.ErrorContains(t, loop("_, %pair", same), `the condition, "pair", has type bool and shape [2]`)
	require.ErrorContains(t, loop("@four, %c", "%r ?[*] = Identity.16(%p)\n"), `the condition after an iteration, "r", has type f32 and shape [3]`)
	require.NoError(t, loop("@four, _", "%r ?[*] = Identity.16(%p)\n"), "nothing reads it")
}

// TestCarried: a dimension that differs from one iteration to the next is a symbol of the loop's own, bounded
// where each iteration adds a number to it, makes it a number, or another one of them.
func TestCarried(t *testing.T) {
	const (
		inputs = "  symbol N 1..64\n  symbol M 0..5\n  const @four i64[] = {4}\n  const @lots i64[] = {9223372036854775807}\n  const @one i64[1] = {1}\n  const @end i64[1] = {9223372036854775807}\n" +
			"  const @zero i64[1] = {0}\n  const @row f32[1, 3] = {1, 2, 3}\n  input %n i64[]\n  input %c bool[]\n  input %v f32[N, 3]\n  input %w f32[M, 3]\n"
		body = "  %y ?[*], %z ?[*] = Loop.16(COUNT, _, %v, %w) {body = region 0} \"loop\" regions {\n    graph \"body\" opset 17 {\n" +
			"  input %i i64[]\n  input %go bool[]\n  input %p ?[*]\n  input %q ?[*]\n LINES  output %go\n  output %r\n  output %s\n    }\n  }\n  output %y\n  output %z\n"
		same = "  %s ?[*] = Neg.13(%q)\n"
	)
	unbounded := fmt.Sprintf("0..%d up to %d", sym.MaxDim, sym.MaxDim)
	atLeast := func(lo int64, most string) string { return fmt.Sprintf("%d..%d up to %s", lo, sym.MaxDim, most) }
	for _, c := range []struct{ name, count, lines, y, z, dims string }{
		{"grows by a constant", "@four", "%r ?[*] = Concat.13(%p, @row) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(1, "N + 4")},
		{"grows by what does not", "@four", "%r ?[*] = Concat.13(%p, %q) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(1, "4*M + N")},
		{"grows for nobody knows how long", "%n", "%r ?[*] = Concat.13(%p, @row) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(1, fmt.Sprint(sym.MaxDim))},
		{"grows without end", "@lots", "%r ?[*] = Concat.13(%p, @row) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(1, fmt.Sprint(sym.MaxDim))},
		{"doubles", "@four", "%r ?[*] = Concat.13(%p, %p) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + unbounded},
		{"shrinks", "%n", "%r ?[*] = Slice.13(%p, @one, @end, @zero)\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(0, "N")},
		{"becomes another", "%n", "%r ?[*] = Concat.13(%q, @row) {axis = 0}\n" + same, "[y_dim0 3]", "[M 3]", "y_dim0 " + atLeast(1, "max(M + 1, N)")},
		{"change places", "%n", "%r ?[*] = Neg.13(%q)\n  %s ?[*] = Neg.13(%p)\n", "[y_dim0 3]", "[z_dim0 3]",
			"y_dim0 " + atLeast(0, "max(M, N)") + ", z_dim0 " + atLeast(0, "max(M, N)")},
		{"one follows the other", "@four", "%r ?[*] = Concat.13(%p, @row) {axis = 0}\n  %s ?[*] = Neg.13(%p)\n", "[y_dim0 3]", "[z_dim0 3]",
			"y_dim0 " + atLeast(1, "N + 4") + ", z_dim0 " + atLeast(0, "max(M, N) + 4")},
		{"each is the sum of both", "@four", "%r ?[*] = Concat.13(%p, %q) {axis = 0}\n  %s ?[*] = Neg.13(%p)\n", "[y_dim0 3]", "[z_dim0 3]", "y_dim0 " + unbounded + ", z_dim0 " + unbounded},
		{"what the run computes", "%n", "%f ?[*] = Cast.13(%q) {to = 9}\n  %t ?[*] = NonZero.13(%f)\n  %u ?[*] = Transpose.13(%t) {perm = [1, 0]}\n" +
			"  %r ?[*] = Cast.13(%u) {to = 1}\n" + same, "[y_dim0 y_dim1]", "[M 3]", "y_dim0 " + atLeast(0, "max(3*M, N)") + ", y_dim1 " + atLeast(2, "3")},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, inputs+strings.ReplaceAll(strings.ReplaceAll(body, "COUNT", c.count), "LINES", c.lines))
			require.NoError(t, Infer(g))
			for range 2 {
				var dims []string
				for _, s := range g.Symbols {
					if s.Computed && strings.Contains(s.Name, "_dim") {
						dims = append(dims, fmt.Sprintf("%s %d..%d up to %s", s.Name, s.Lo, s.Hi, s.Max))
					}
				}
				require.Equal(t, c.dims, strings.Join(dims, ", "))
				require.Equal(t, c.y, fmt.Sprint(g.Outputs[0].Shape))
				require.Equal(t, c.z, fmt.Sprint(g.Outputs[1].Shape))
				require.NoError(t, ir.Verify(g))
				require.NoError(t, Infer(g), "again")
			}
		})
	}
}

// TestLoopsInLoops: inference of nested loops whose values change shapes takes no
// exponential time.
func TestLoopsInLoops(t *testing.T) {
	const depth = 40
	var b strings.Builder
	b.WriteString("  const @four i64[] = {4}\n  input %x f32[2]\n")
	for d := range depth {
		from := "%x"
		if d > 0 {
			from = "%p"
		}
		fmt.Fprintf(&b, "%%z ?[*] = Loop.16(@four, _, %s) {body = region 0} \"loop%d\" regions {\n graph \"body\" opset 17 {\n", from, d)
		b.WriteString("input %i i64[]\ninput %go bool[]\ninput %p f32[*]\n")
	}
	b.WriteString("%z ?[*] = Concat.13(%p, %p) {axis = 0}\n")
	for range depth {
		b.WriteString("output %go\noutput %z\n}\n}\n")
	}
	g := irtest.Parse(t, b.String()+"  output %z\n")
	require.NoError(t, Infer(g))
	require.Equal(t, fmt.Sprintf("[z_dim0_%d]", depth), fmt.Sprint(g.Outputs[0].Shape), "inner loops are named first")
	require.Len(t, g.Symbols, depth)
	require.NoError(t, ir.Verify(g))
}

func TestScan(t *testing.T) {
	text := func(version int, attrs, inputs, operands, body string) string {
		return inputs + fmt.Sprintf("  %%z ?[*], %%stack ?[*] = Scan.%d(%s) {body = region 0, num_scan_inputs = 1%s} \"scan\" regions {\n    graph \"body\" opset 17 {\n", version, operands, attrs) +
			"  input %p ?[*]\n  input %e ?[*]\n" + body + "    }\n  }\n  output %z\n  output %stack\n"
	}
	const (
		sum    = "  %r ?[*] = Add.14(%p, %e)\n  output %r\n  output %r\n"
		grows  = "  %r ?[*] = Concat.13(%p, %e) {axis = 0}\n  output %r\n  output %e\n"
		inputs = "  symbol N 1..64\n  input %v f32[3]\n  input %x f32[N, 3]\n"
		turned = "  symbol N 1..64\n  input %v f32[3]\n  input %x f32[3, N]\n"
		batch  = "  symbol N 1..64\n  symbol B 1..8\n  input %v f32[B, 3]\n  input %x f32[B, N, 3]\n"
	)
	for _, c := range []struct{ name, text, state, stack, unknown string }{
		{"along the first axis", text(16, "", inputs, "%v, %x", sum), "[3]", "[N 3]", ""},
		{"along the last axis", text(16, ", scan_input_axes = [-1], scan_output_axes = [1]", turned, "%v, %x", sum), "[3]", "[3 N]", ""},
		{"of a batch", text(8, "", batch, "_, %v, %x", sum), "[B 3]", "[B N 3]", ""},
		{"a state that grows", text(16, "", inputs, "%v, %x", grows), "[]", "[N 3]", `the carried value "p" begins with shape [3] and has shape [6]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.text)
			err := Infer(g)
			if c.unknown != "" {
				require.ErrorContains(t, err, `node Scan "scan": `+c.unknown)
			} else {
				require.NoError(t, err)
				require.NoError(t, Infer(g), "again")
			}
			require.Equal(t, c.state, fmt.Sprint(g.Outputs[0].Shape))
			require.Equal(t, c.stack, fmt.Sprint(g.Outputs[1].Shape))
		})
	}
	two := func(a, b string) *ir.Graph {
		return irtest.Parse(t, "  symbol N 1..64\n  symbol M 1..64\n  input %v "+a+"\n  input %x "+b+`
  %z ?[*] = Scan.16(%v, %x) {body = region 0, num_scan_inputs = 2} "scan" regions {
    graph "body" opset 17 {
      input %p ?[*]
      input %e ?[*]
      %r ?[*] = Add.14(%p, %e)
      output %r
    }
  }
  output %z
`)
	}
	t.Run("two sequences have one length", func(t *testing.T) {
		g := two("f32[N, 3]", "f32[M, 3]")
		require.NoError(t, Infer(g))
		require.Equal(t, "[N 3]", fmt.Sprint(g.Inputs[1].Shape))
		require.ErrorContains(t, Infer(two("f32[4, 3]", "f32[5, 3]")), `node Scan "scan": the length of operand 1 ("x") along its scan axis: found 5, and 4`)
	})
}

// TestUnknowable: shapes that are declared in a symbol that no input has are unknown once nothing infers them, and contradict nothing then.
func TestUnknowable(t *testing.T) {
	const (
		inputs = "  symbol N 1..64\n  symbol Q 1..8\n  input %c bool[]\n  input %d f32[4]\n  input %x f32[N, 3]\n  input %y f32[*]\n" +
			"  %i ?[*] = NonZero.13(%d)\n  %k ?[*] = Cast.13(%i) {to = 9}\n"
		branch = "    graph \"b\" opset 17 {\n  input %%a ?[*]\n  input %%b %s\n  %%r %s = Relu.14(%%%s)\n  output %%r\n    }\n"
	)
	for _, c := range []struct{ name, cond, capture, result, of, want string }{
		{"what a branch captures of an unknown value", "%c", "f32[Q, Q]", "?[*]", "b", "input %b f32[*]"},
		{"what a branch captures, whose condition is as many as a run finds", "%k", "f32[Q, Q]", "?[*]", "b", "input %b f32[*]"},
		{"a result of another rank in a branch", "%c", "?[*]", "?[Q]", "a", "%r f32[N, 3] = Relu"},
		{"an expression", "%c", "?[*]", "?[2*Q + 1, Q, N]", "a", "%r f32[N, 3] = Relu"},
		{"a result whose symbol an input has", "%c", "?[*]", "?[N, 3]", "a", "%r f32[N, 3] = Relu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := fmt.Sprintf(branch, c.capture, c.result, c.of)
			g := irtest.Parse(t, inputs+"  %z ?[*] = If.16("+c.cond+"; %x, %y) {else_branch = region 1, then_branch = region 0} \"if\" regions {\n"+b+b+"  }\n  output %z\n")
			for range 2 { // a second inference changes nothing
				require.ErrorContains(t, unknownOf(t, g), `input "y": the model does not declare its rank`)
				require.NoError(t, ir.Verify(g))
				require.Equal(t, -1, slices.IndexFunc(g.Symbols, func(s ir.Symbol) bool { return s.Name == "Q" }))
				var text strings.Builder
				require.NoError(t, ir.Print(&text, g))
				require.Equal(t, 2, strings.Count(text.String(), c.want), "%s", text.String())
			}
		})
	}
}
