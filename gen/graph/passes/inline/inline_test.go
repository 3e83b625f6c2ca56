package inline_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/inline"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

func print(t *testing.T, g *ir.Graph) string {
	t.Helper()
	require.NoError(t, ir.Verify(g))
	var b strings.Builder
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

const body = `{body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i i64[]
      input %go bool[]
      input %p i64[2]
      input %x i64[2]
      %y i64[2] = Add.14(%p, %x) "add"
      %t i64[2] = Add.14(%y, %i)
      output AGAIN
      output %y
      output %t
    }
  }
  output %y
  output %s
`

func loop(operands, again string) string {
	return `
  const @yes bool[] = {1}
  const @no bool[] = {0}
  const @one i64[] = {1}
  const @none i64[] = {0}
  const @many i64[] = {7}
  input %c bool[]
  input %m i64[]
  input %x i64[2]
  input %v i64[2]
  %y i64[2], %s ?[*] = Loop.16(` + operands + `, %v; %x) ` + strings.ReplaceAll(body, "AGAIN", again)
}

// TestLoops: what runs once is its body, what never runs is gone, and the rest stays.
func TestLoops(t *testing.T) {
	const once = `graph "g" opset 17 {
  const @y.iteration i64[] = {0}
  const @s.axis i64[1] = {0}
  input %c bool[]
  input %m i64[]
  input %x i64[2]
  input %v i64[2]
  %y i64[2] = Add.14(%v, %x) "add"
  %t i64[2] = Add.14(%y, @y.iteration)
  %s i64[1, 2] = Unsqueeze.13(%t, @s.axis) "loop" for "Loop \"loop\""
  output %y
  output %s
}
`
	const never = `graph "g" opset 17 {
  const @s.empty i64[0, 2] = {}
  input %c bool[]
  input %m i64[]
  input %x i64[2]
  input %v i64[2]
  %y i64[2] = Identity.16(%v) "loop" for "Loop \"loop\""
  %s i64[0, 2] <> = Identity.16(@s.empty) "loop" for "Loop \"loop\""
  output %y
  output %s
}
`
	for _, c := range []struct{ operands, again, want string }{
		{"@one, _", "%go", once},
		{"@one, @yes", "%go", once},
		{"_, @yes", "@no", once},
		{"@many, @yes", "@no", once},
		{"@none, %c", "%go", never},
		{"%m, @no", "@yes", never},
		{"@many, _", "@no", ""},
		{"@many, @yes", "%go", ""},
		{"@one, %c", "%go", ""},
		{"%m, @yes", "@no", ""},
	} {
		g := irtest.Parse(t, loop(c.operands, c.again))
		before := print(t, g)
		err := simplify.Run(g)
		after := print(t, g)
		if c.want == "" {
			require.Contains(t, after, "Loop.16", c.operands)
			continue
		}
		require.NoError(t, err, before)
		require.Equal(t, c.want, after, c.operands)
	}
}

// TestIf: the branch taken stands where the node stood, under names that are free, and
// what is wrong with the other one does not matter.
func TestIf(t *testing.T) {
	const text = `
  const @yes bool[] = {1}
  const @zero f32[] = {0}
  const @minus f32[] = {-1}
  input %x f32[2, 3]
  %y f32[2, 3] = Neg.13(%x)
  %less ?[*] = Less.13(@minus, @zero)
  %z ?[*] = If.16(%less; %y) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      input %x ?[*]
      %y ?[*] = Transpose.13(%x) {perm = [7]}
      output %y
    }
    graph "then" opset 17 {
      input %x ?[*]
      %y ?[*] = Abs.13(%x) "abs"
      output %y
    }
  }
  %w ?[*] = Mul.14(%z, %y)
  output %w
  output %z
`
	g := irtest.Parse(t, text)
	require.NoError(t, simplify.Run(g))
	require.Equal(t, `graph "g" opset 17 {
  input %x f32[2, 3]
  %y f32[2, 3] = Neg.13(%x)
  %z f32[2, 3] = Abs.13(%y) "abs"
  %w f32[2, 3] = Mul.14(%z, %y)
  output %w
  output %z
}
`, print(t, g))
}

// TestCompositions: nodes that stand for others are replaced wherever they are, a branch that
// may run included, and compute the same.
func TestCompositions(t *testing.T) {
	const text = `
  const @w f32[1, 3, 2] = {0.5, -0.25, 0.125, 1, -1, 0.75}
  const @r f32[1, 3, 3] = {0.5, 0.25, -0.5, 1, 0.125, 0, -1, 0.5, 0.75}
  input %c bool[]
  input %x f32[4, 2, 2]
  %y ?[*], %h ?[*] = RNN.14(%x, @w, @r) "rnn"
  %z ?[*] = If.16(%c; %x, %h) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      input %x ?[*]
      input %h ?[*]
      %again ?[*], %last ?[*] = RNN.14(%x, @w, @r, _, _, %h) "inner"
      output %last
    }
    graph "then" opset 17 {
      input %x ?[*]
      input %h ?[*]
      output %h
    }
  }
  output %y
  output %z
`
	before, after := irtest.Parse(t, text), irtest.Parse(t, text)
	require.NoError(t, simplify.Run(after))
	require.NotContains(t, print(t, after), "RNN.")
	require.Equal(t, 2, strings.Count(print(t, after), "Scan.25"))
	x := ir.NewTensor(ir.F32, 4, 2, 2)
	for i := range x.Len() {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i)/8))
	}
	for _, cond := range []byte{0, 1} {
		inputs := map[string]*ir.Tensor{"c": {Type: ir.Bool, Shape: []int64{}, Data: []byte{cond}}, "x": x}
		want, err := interp.Graph(before, inputs)
		require.NoError(t, err)
		got, err := interp.Graph(after, inputs)
		require.NoError(t, err)
		require.Equal(t, want[0].Data, got[0].Data)
		require.Equal(t, want[1].Data, got[1].Data)
	}
}

// TestWrongComposition: what a composition demands is held against its operands before
// nothing is left of it, and a branch that may never run may be wrong.
func TestWrongComposition(t *testing.T) {
	const node = "%y ?[*] = RNN.14(%x, @w, @r) \"rnn\"\n"
	const operands = `
  const @w f32[1, 3, 2] = {0, 0, 0, 0, 0, 0}
  const @r f32[1, 2, 2] = {0, 0, 0, 0}
  input %c bool[]
  input %x f32[4, 2, 2]
`
	g := irtest.Parse(t, operands+node+"output %y\n")
	require.ErrorContains(t, simplify.Run(g), `node RNN "rnn": W: dimension 1 of operand 1: found 3 and 2`)

	g = irtest.Parse(t, operands+`
  %z ?[*] = If.16(%c; %x) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      input %x ?[*]
      `+node+`
      output %y
    }
    graph "then" opset 17 {
      input %x ?[*]
      output %x
    }
  }
  output %z
`)
	require.NoError(t, simplify.Run(g))
	x := edit.FloatTensor(ir.F32, make([]float64, 16), 4, 2, 2)
	got, err := interp.Graph(g, map[string]*ir.Tensor{"c": edit.IntTensor(ir.Bool, []int64{1}), "x": x})
	require.NoError(t, err)
	require.Equal(t, x.Data, got[0].Data)
	_, err = interp.Graph(g, map[string]*ir.Tensor{"c": edit.IntTensor(ir.Bool, []int64{0}), "x": x})
	require.ErrorContains(t, err, "index 1 ", "the branch that is wrong runs")
}

// TestNothingKnown: a graph without known conditions stays as it is.
func TestNothingKnown(t *testing.T) {
	g := irtest.Parse(t, loop("%m, %c", "%go"))
	before := print(t, g)
	changed, err := inline.Run(g)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, before, print(t, g))
}

// random writes graphs of i64[2] values in which Ifs and Loops nest.
type random struct {
	*rand.Rand
	b    strings.Builder
	next int
}

func (r *random) name() string { r.next++; return fmt.Sprintf("%%v%d", r.next) }

func (r *random) pick(xs []string) string { return xs[r.IntN(len(xs))] }

// lines writes nodes and gives the values that are visible at the end.
func (r *random) lines(visible []string, depth int) []string {
	visible = append([]string{}, visible...)
	for range 1 + r.IntN(3) {
		y := r.name()
		switch op := r.IntN(5); {
		case op == 0 && depth > 0:
			cond := r.pick([]string{"@yes", "@no", "%c"})
			captures := r.captures(visible)
			fmt.Fprintf(&r.b, "%s ?[*] = If.16(%s; %s) {else_branch = region 1, then_branch = region 0} regions {\n", y, cond, strings.Join(captures, ", "))
			r.region(captures, nil, "", 1, depth-1)
			r.region(captures, nil, "", 1, depth-1)
			r.b.WriteString("}\n")
		case op == 1 && depth > 0:
			max := r.pick([]string{"@none", "@one", "@two", "%m"})
			cond, again := r.pick([]string{"_", "@yes", "@no", "%c"}), r.pick([]string{"@yes", "@no", "%go"})
			captures := r.captures(visible)
			fmt.Fprintf(&r.b, "%s ?[*], _ = Loop.16(%s, %s, %s; %s) {body = region 0} regions {\n", y, max, cond, r.pick(visible), strings.Join(captures, ", "))
			r.region(captures, []string{"%i i64[]", "%go bool[]", "%p ?[*]"}, again, 2, depth-1)
			r.b.WriteString("}\n")
		default:
			fmt.Fprintf(&r.b, "%s ?[*] = %s(%s, %s)\n", y, r.pick([]string{"Add.14", "Sub.14", "Mul.14"}), r.pick(visible), r.pick(visible))
		}
		visible = append(visible, y)
	}
	return visible
}

func (r *random) captures(visible []string) []string {
	out := []string{"%c", "%m"}
	for _, v := range visible {
		if r.IntN(2) == 0 && v != "%i" {
			out = append(out, v)
		}
	}
	return append(out, "%x")
}

// region writes a region whose inputs for captures have the captures' names.
func (r *random) region(captures, own []string, again string, outputs, depth int) {
	r.b.WriteString("graph \"r\" opset 17 {\n")
	for _, in := range own {
		r.b.WriteString("input " + in + "\n")
	}
	seen := map[string]bool{"%p": len(own) > 0, "%go": len(own) > 0}
	visible := []string{}
	if len(own) > 0 {
		visible = append(visible, "%p")
	}
	for _, c := range captures {
		name := c
		if seen[c] {
			name = r.name()
		}
		seen[c] = true
		r.b.WriteString("input " + name + " ?[*]\n")
		if c != "%c" && c != "%m" {
			visible = append(visible, name)
		}
	}
	visible = r.lines(visible, depth)
	if again != "" {
		r.b.WriteString("output " + again + "\n")
	}
	for range outputs {
		r.b.WriteString("output " + r.pick(visible) + "\n")
	}
	r.b.WriteString("}\n")
}

// TestRandom: inlining changes no result of graphs in which Ifs and Loops nest.
func TestRandom(t *testing.T) {
	inlined := 0
	for seed := range uint64(300) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
		visible := r.lines([]string{"%x", "%v"}, 3)
		text := `
  const @yes bool[] = {1}
  const @no bool[] = {0}
  const @none i64[] = {0}
  const @one i64[] = {1}
  const @two i64[] = {2}
  input %c bool[]
  input %m i64[]
  input %x i64[2]
  input %v i64[2]
` + r.b.String() + "  output " + visible[len(visible)-1] + "\n"
		before, after := irtest.Parse(t, text), irtest.Parse(t, text)
		require.NoError(t, simplify.Run(after), "seed %d:\n%s", seed, text)
		require.NoError(t, ir.Verify(after), "seed %d:\n%s", seed, text)
		if len(print(t, after)) < len(print(t, before)) {
			inlined++
		}
		for _, cond := range []byte{0, 1} {
			inputs := map[string]*ir.Tensor{
				"c": {Type: ir.Bool, Shape: []int64{}, Data: []byte{cond}}, "m": ints(int64(seed % 3)),
				"x": ints(2, 3), "v": ints(-1, 5),
			}
			inputs["m"].Shape = []int64{}
			want, err := interp.Graph(before, inputs)
			require.NoError(t, err, "seed %d:\n%s", seed, text)
			got, err := interp.Graph(after, inputs)
			require.NoError(t, err, "seed %d:\n%s", seed, text)
			require.Equal(t, want[0].Data, got[0].Data, "seed %d, condition %d:\n%s\n%s", seed, cond, text, print(t, after))
		}
	}
	require.Greater(t, inlined, 100)
}

func ints(xs ...int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return t
}

// TestOnceWithSymbols: in a loop that proves to run once, a symbol of a dimension is another number than after it.
func TestOnceWithSymbols(t *testing.T) {
	g := irtest.Parse(t, `
  const @dim i64[1] = {0}
  input %like f32[1, 5]
  input %a f32[2, 3]
  input %b f32[3, 2]
  %shape i64[2] = Shape.15(%like)
  %count i64[1] = Gather.13(%shape, @dim)
  %y ?[*], %z ?[*] = Loop.16(%count, _, %a, %b) {body = region 0} "exchange" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      input %q ?[*]
      %r ?[*] = Relu.14(%q)
      %s ?[*] = Neg.13(%p)
      output %c
      output %r
      output %s
    }
  }
  %to ?[*] = Shape.15(%z)
  %w ?[*] = Reshape.14(%y, %to)
  output %w
`)
	require.NoError(t, simplify.Run(g))
	require.Equal(t, `graph "g" opset 17 {
  const @to i64[2] = {2, 3}
  input %like f32[1, 5]
  input %a f32[2, 3]
  input %b f32[3, 2]
  %r f32[3, 2] = Relu.14(%b)
  %w f32[2, 3] = Reshape.14(%r, @to)
  output %w
}
`, print(t, g))
}
