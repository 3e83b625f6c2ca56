package inline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

const sequenceInputs = `
  symbol N 1..64
  const @zero i64[] = {0}
  const @one i64[] = {1}
  const @two i64[] = {2}
  const @three i64[] = {3}
  const @minus i64[] = {-1}
  const @lengths i64[2] = {1, 2}
  const @wrong i64[2] = {1, 3}
  const @yes bool[] = {1}
  input %x f32[3, 2]
  input %n f32[N, 2]
  input %p i64[]
  input %c bool[]
`

// sequenceResult simplifies a graph, which must then have no operator of sequences, and runs it with x = 1..6.
func sequenceResult(t *testing.T, nodes string, cond byte) (*ir.Tensor, error) {
	t.Helper()
	g := irtest.Parse(t, sequenceInputs+nodes+"\n  output %y\n")
	if err := simplify.Run(g); err != nil {
		return nil, err
	}
	require.NotRegexp(t, `= \w*Sequence\w*\.\d`, print(t, g))
	one := edit.FloatTensor(ir.F32, []float64{0, 0}, 1, 2)
	y, err := interp.Graph(g, map[string]*ir.Tensor{
		"x": edit.FloatTensor(ir.F32, []float64{1, 2, 3, 4, 5, 6}, 3, 2), "n": one, "p": edit.IntTensor(ir.I64, []int64{0}), "c": edit.IntTensor(ir.Bool, []int64{int64(cond)}),
	})
	if err != nil {
		return nil, err
	}
	return y[0], nil
}

// loopOfSequence appends the sums of a loop's iterations to a sequence.
const loopOfSequence = `
  %rows ?[*] = SplitToSequence.11(%x) {axis = 0, keepdims = 0}
  %none ?[*] = SequenceEmpty.11()
  %first f32[2] = ReduceMin.13(%x) {axes = [0], keepdims = 0}
  %last ?[*], %all ?[*] = Loop.16(TRIPS, @yes, %first, %none; %rows) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i i64[]
      input %go bool[]
      input %sum f32[2]
      input %so ?[*]
      input %rows ?[*]
      %row ?[*] = SequenceAt.11(%rows, %i)
      %more ?[*] = Add.14(%sum, %row)
      %longer ?[*] = SequenceInsert.11(%so, %more)
      output %go
      output %more
      output %longer
    }
  }
  %y ?[*] = ConcatFromSequence.11(%all) {axis = 0, new_axis = 1}`

// ifOfSequences has branches with sequences of as many tensors, one of which is captured.
const ifOfSequences = `
  %s ?[*] = SplitToSequence.11(%x)
  %r ?[*] = If.16(%c; %s) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      input %s ?[*]
      %a ?[*] = SequenceAt.11(%s, @zero)
      %t ?[*] = SequenceConstruct.11(%a, %a, ELSE)
      output %t
    }
    graph "then" opset 17 {
      input %s ?[*]
      output %s
    }
  }
  %y ?[*] = ConcatFromSequence.11(%r) {axis = 1}`

func TestSequences(t *testing.T) {
	for _, c := range []struct {
		name, nodes string
		cond        byte
		want        []float64
	}{
		{"parts of one length, of which the last is shorter", "%s ?[*] = SplitToSequence.11(%x, @two)\n%y ?[*] = SequenceAt.11(%s, @minus)", 0, []float64{5, 6}},
		{"lengths", "%s ?[*] = SplitToSequence.11(%x, @lengths)\n%y ?[*] = SequenceAt.11(%s, @one)", 0, []float64{3, 4, 5, 6}},
		{"rows", "%s ?[*] = SplitToSequence.11(%x) {keepdims = 0}\n%y ?[*] = ConcatFromSequence.11(%s) {axis = -1, new_axis = 1}", 0, []float64{1, 3, 5, 2, 4, 6}},
		{"insert", "%s ?[*] = SplitToSequence.11(%x)\n%a ?[*] = SequenceAt.11(%s, @two)\n%r ?[*] = SequenceInsert.11(%s, %a, @zero)\n" +
			"%y ?[*] = ConcatFromSequence.11(%r) {axis = 0}", 0, []float64{5, 6, 1, 2, 3, 4, 5, 6}},
		{"erase", "%s ?[*] = SplitToSequence.11(%x)\n%r ?[*] = SequenceErase.11(%s)\n%q ?[*] = SequenceErase.11(%r, @zero)\n" +
			"%y ?[*] = ConcatFromSequence.11(%q) {axis = 0}", 0, []float64{3, 4}},
		{"an empty one, and Identity", "%s ?[*] = SequenceEmpty.11()\n%r ?[*] = SequenceInsert.11(%s, %x)\n%i ?[*] = Identity.16(%r)\n%y ?[*] = SequenceAt.11(%i, @zero)", 0,
			[]float64{1, 2, 3, 4, 5, 6}},
		{"length", "%s ?[*] = SplitToSequence.11(%x)\n%l i64[] = SequenceLength.11(%s)\n%y f32[] = Cast.13(%l) {to = 1}", 0, []float64{3}},
		{"loop", replaced(loopOfSequence, "TRIPS", "@three"), 0, []float64{2, 4, 5, 8, 10, 14}},
		{"then", replaced(ifOfSequences, "ELSE", "%a"), 1, []float64{1, 2, 3, 4, 5, 6}},
		{"else", replaced(ifOfSequences, "ELSE", "%a"), 0, []float64{1, 2, 1, 2, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y, err := sequenceResult(t, c.nodes, c.cond)
			require.NoError(t, err)
			got, err := edit.Floats(y)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// TestSequenceErrors: what is not known, or wrong, is named.
func TestSequenceErrors(t *testing.T) {
	const split = "%s ?[*] = SplitToSequence.11(%x, @two) \"s\"\n"
	for _, c := range []struct{ nodes, want string }{
		{"%s ?[*] = SplitToSequence.11(%n) \"s\"\n%y ?[*] = SequenceAt.11(%s, @zero)", `node SplitToSequence "s": the number of tensors into which it splits operand 0`},
		{split + "%y ?[*] = SequenceAt.11(%s, %p) \"at\"", `node SequenceAt "at": the length of the sequence, operand 0, or the position, operand 1, is not known`},
		{split + "%y ?[*] = SequenceAt.11(%s, @two) \"at\"", `node SequenceAt "at": position "two" is 2; the sequence has 2 places: want -2 to 1`},
		{split + "%y ?[*] = SequenceAt.11(%x, @two) \"at\"", `node SequenceAt "at": operand 0 ("x") is a tensor; want a sequence`},
		{split + "%y ?[*] = Relu.14(%s) \"relu\"", `node Relu "relu": the element type of operand 0 ("s") is not known`},
		{split + "%y ?[*] = Identity.16(%s)", `is an output of the network, but is a sequence; supported are tensors`},
		{"%s ?[*] = SequenceEmpty.11()\n%y ?[*] = ConcatFromSequence.11(%s) {axis = 0} \"cat\"", `node ConcatFromSequence "cat": the sequence is empty`},
		{"%s ?[*] = SequenceEmpty.11()\n%y ?[*] = SequenceErase.11(%s) \"e\"", `node SequenceErase "e": the sequence is empty`},
		{"%s ?[*] = SplitToSequence.11(%x, @zero) \"s\"\n%y ?[*] = SequenceAt.11(%s, @zero)", `node SplitToSequence "s": operand 1 (split) is 0; want at least 1`},
		{"%s ?[*] = SplitToSequence.11(%x, @wrong) \"s\"\n%y ?[*] = SequenceAt.11(%s, @zero)", `node SplitToSequence "s": the sizes of a split add up to the dimension`},
		{"%s ?[*] = SplitToSequence.11(%x) {axis = 2} \"s\"\n%y ?[*] = SequenceAt.11(%s, @zero)", `node SplitToSequence "s": attribute axis is 2; the rank is 2`},
		{"%s ?[*] = SplitToSequence.11(%x) {axes = 2} \"s\"\n%y ?[*] = SequenceAt.11(%s, @zero)", `attribute "axes" is unknown to the operator`},
		{replaced(loopOfSequence, "TRIPS", "%p"), `node Loop "loop": the length of a sequence that its graphs use, or the number of their iterations, is not known`},
		{replaced(ifOfSequences, "ELSE", "%a, %a"), `node If "if": the length of a sequence that its graphs use`},
	} {
		_, err := sequenceResult(t, c.nodes, 0)
		require.ErrorContains(t, err, c.want, c.nodes)
	}
}

func replaced(text, name, with string) string { return strings.ReplaceAll(text, name, with) }
