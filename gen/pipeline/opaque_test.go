package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/run"
)

var nan = float32(math.NaN())

// opaqueCase is a graph with an opaque operator. Without wanted results, all that run it must refuse it.
type opaqueCase struct {
	name, graph string
	dims        map[string]int64
	inputs      []*ir.Tensor
	want        []*ir.Tensor
	disable     []string
	// bound reports that only the user's bound refuses it, of which the interpreter of nodes does
	// not know.
	bound bool
}

func bools(xs ...int64) *ir.Tensor { return edit.IntTensor(ir.Bool, xs, int64(len(xs))) }

// line is a vector of f32.
func line(xs ...float32) *ir.Tensor { return floats([]int64{int64(len(xs))}, xs...) }

func vector(xs ...int64) *ir.Tensor { return ints([]int64{int64(len(xs))}, xs...) }

const topK = `
  symbol N 1..99
  const @k i64[1] = {3}
  input %x f32[N]
  %v ?[*], %i ?[*] = TopK.11(%x, @k) {largest = LARGEST}
  output %v
  output %i
}`

// rows: what reads the result has its shape; so has what only shares it.
const nonZeroRows = `
  symbol N 1..9
  const @one i64[1] = {1}
  const @rest i64[1] = {-1}
  const @half f32[] = {0.5}
  input %x f32[N, 4]
  %z ?[*] = NonZero.13(%x)
  %zt ?[*] = Transpose.13(%z) {perm = [1, 0]}
  %v ?[*] = GatherND.13(%x, %zt)
  %y ?[*] = Mul.14(%v, @half)
  %s ?[*] = Shape.15(%v)
  %two ?[*] = Concat.13(%s, @one) {axis = 0}
  %o ?[*] = ConstantOfShape.9(%two)
  output %y
  output %o
  output %s
}`

// sums: dimensions that two operators compute must agree in a run.
const compressedSum = `
  input %x f32[6]
  input %c bool[6]
  input %d bool[6]
  %p ?[*] = Compress.11(%x, %c) {axis = 0}
  %q ?[*] = Compress.11(%x, %d) {axis = 0}
  %y ?[*] = Add.14(%p, %q)
  output %y
}`

const uniqueSome = `
  input %x f32[N, 2]
  _, %f ?[*], _, %n ?[*] = Unique.11(%x) {axis = 0, sorted = SORTED}
  output %f
  output %n
}`

const uniqueAll = `
  symbol N 0..9
  input %x f32[N]
  %y ?[*], %f ?[*], %i ?[*], %n ?[*] = Unique.11(%x) {sorted = SORTED}
  output %y
  output %f
  output %i
  output %n
}`

const suppress = `
  const @most i64[] = {10}
  input %b f32[1, 5, 4]
  input %s f32[1, 1, 5]
  input %o f32[]
  %y ?[*] = NonMaxSuppression.11(%b, %s, @most, %o) {center_point_box = 0}
  output %y
}`

// inLoop: each iteration computes its own number of rows.
const inLoop = `
  const @yes bool[] = {1}
  const @axes i64[1] = {0}
  const @n i64[] = {3}
  input %x f32[4]
  input %step f32[4]
  %last f32[4], %sums ?[*] = Loop.16(@n, @yes, %x; %step) {body = region 0} "walk" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %go ?[*]
      input %v ?[*]
      input %step ?[*]
      %c ?[*] = Cast.13(%v) {to = 9}
      %p ?[*] = Compress.11(%v, %c) {axis = 0} "kept"
      %s ?[*] = ReduceSum.13(%p, @axes) {keepdims = 0}
      %w ?[*] = Sub.14(%v, %step)
      output %go
      output %w
      output %s
    }
  }
  output %last
  output %sums
}`

// either is what detection models do where nothing may be found: the branches differ in a dimension.
const either = `
  const @none i64[0] = {}
  const @to i64[1] = {-1}
  input %c bool[]
  input %x f32[4]
  %i ?[*] = If.16(%c; %x) {else_branch = region 1, then_branch = region 0} "found" regions {
    graph "then" opset 17 {
      input %x ?[*]
      %r ?[*] = Identity.16(@none)
      output %r
    }
    graph "else" opset 17 {
      input %x ?[*]
      %n ?[*] = NonZero.13(%x) "nonzero"
      %r ?[*] = Reshape.14(%n, @to)
      output %r
    }
  }
  %p ?[*] = Gather.13(%x, %i)
  %y ?[*] = Add.14(%p, %p)
  %s ?[*] = Shape.15(%i)
  output %y
  output %s
}`

func opaqueCases() []opaqueCase {
	boxes := floats([]int64{1, 5, 4}, 0, 0, 1, 1, 0, 0, 1, 1, 0, 2, 1, 3, 1, 1, 0, 0, 0, 0, 0, 0)
	scores := func(xs ...float32) *ir.Tensor { return floats([]int64{1, 1, 5}, xs...) }
	number := func(x float32) *ir.Tensor { return floats(nil, x) }
	greatest, least := strings.ReplaceAll(topK, "LARGEST", "1"), strings.ReplaceAll(topK, "LARGEST", "0")
	sorted, found := strings.ReplaceAll(uniqueAll, "SORTED", "1"), strings.ReplaceAll(uniqueAll, "SORTED", "0")
	some := strings.ReplaceAll(strings.ReplaceAll(uniqueSome, "SORTED", "0"), "N, 2", "3, 2")
	n := func(x int64) map[string]int64 { return map[string]int64{"N": x} }
	rows := floats([]int64{2, 4}, 0, 1, 0, 2, 3, 0, 0, 4)
	box := func(xs ...int64) *ir.Tensor {
		all := []int64{}
		for _, x := range xs {
			all = append(all, 0, 0, x)
		}
		return ints([]int64{int64(len(xs)), 3}, all...)
	}
	return []opaqueCase{
		{name: "equal elements in their order", graph: greatest, dims: n(5), inputs: []*ir.Tensor{line(2, 7, 2, 7, 1)},
			want: []*ir.Tensor{line(7, 7, 2), vector(1, 3, 0)}},
		{name: "the least", graph: least, dims: n(5), inputs: []*ir.Tensor{line(2, 7, 2, 7, 1)}, want: []*ir.Tensor{line(1, 2, 2), vector(4, 0, 2)}},
		{name: "zeros of both signs", graph: greatest, dims: n(4), inputs: []*ir.Tensor{line(0, float32(math.Copysign(0, -1)), 0, 0)},
			want: []*ir.Tensor{line(0, float32(math.Copysign(0, -1)), 0), vector(0, 1, 2)}},
		{name: "NaN is not among the greatest", graph: greatest, dims: n(5), inputs: []*ir.Tensor{line(nan, 1, 2, nan, 3)},
			want: []*ir.Tensor{line(3, 2, 1), vector(4, 2, 1)}},
		{name: "NaN is not among the least", graph: least, dims: n(4), inputs: []*ir.Tensor{line(nan, 1, nan, 3)},
			want: []*ir.Tensor{line(1, 3, nan), vector(1, 3, 0)}},
		{name: "too few elements", graph: greatest, dims: n(2), inputs: []*ir.Tensor{line(1, 2)}},
		{name: "rows", graph: nonZeroRows, dims: n(2), inputs: []*ir.Tensor{rows},
			want: []*ir.Tensor{line(0.5, 1, 1.5, 2), floats([]int64{4, 1}, 0, 0, 0, 0), vector(4)}},
		{name: "rows, unfused", graph: nonZeroRows, dims: n(2), inputs: []*ir.Tensor{rows}, disable: []string{"fuse", "sweep", "anchors"},
			want: []*ir.Tensor{line(0.5, 1, 1.5, 2), floats([]int64{4, 1}, 0, 0, 0, 0), vector(4)}},
		{name: "no rows", graph: nonZeroRows, dims: n(1), inputs: []*ir.Tensor{floats([]int64{1, 4}, 0, 0, 0, 0)},
			want: []*ir.Tensor{line(), floats([]int64{0, 1}), vector(0)}},
		{name: "as many", graph: compressedSum, inputs: []*ir.Tensor{line(1, 2, 3, 4, 5, 6), bools(1, 0, 0, 1, 0, 0), bools(0, 1, 0, 0, 0, 1)},
			want: []*ir.Tensor{line(3, 10)}},
		{name: "one of many", graph: compressedSum, inputs: []*ir.Tensor{line(1, 2, 3, 4, 5, 6), bools(1, 0, 0, 1, 0, 0), bools(0, 1, 0, 0, 0, 0)},
			want: []*ir.Tensor{line(3, 6)}},
		{name: "not as many", graph: compressedSum, inputs: []*ir.Tensor{line(1, 2, 3, 4, 5, 6), bools(1, 0, 1, 1, 0, 0), bools(0, 1, 0, 0, 0, 1)}},
		{name: "unique, sorted", graph: sorted, dims: n(6), inputs: []*ir.Tensor{line(2, 1, 1, 3, 4, 3)},
			want: []*ir.Tensor{line(1, 2, 3, 4), vector(1, 0, 3, 4), vector(1, 0, 0, 2, 3, 2), vector(2, 1, 2, 1)}},
		{name: "unique, as found", graph: found, dims: n(6), inputs: []*ir.Tensor{line(2, 1, 1, 3, 4, 3)},
			want: []*ir.Tensor{line(2, 1, 3, 4), vector(0, 1, 3, 4), vector(0, 1, 1, 2, 3, 2), vector(1, 2, 2, 1)}},
		{name: "zeros of both signs are one", graph: sorted, dims: n(4), inputs: []*ir.Tensor{line(0, float32(math.Copysign(0, -1)), 1, 0)},
			want: []*ir.Tensor{line(0, 1), vector(0, 2), vector(0, 0, 1, 0), vector(3, 1)}},
		{name: "NaNs are one", graph: sorted, dims: n(5), inputs: []*ir.Tensor{line(nan, 2, nan, 1, 2)},
			want: []*ir.Tensor{line(1, 2, nan), vector(3, 1, 0), vector(2, 1, 2, 0, 1), vector(1, 2, 2)}},
		{name: "unique of nothing", graph: sorted, dims: n(0), inputs: []*ir.Tensor{line()}, want: []*ir.Tensor{line(), vector(), vector(), vector()}},
		{name: "only some results", graph: some, inputs: []*ir.Tensor{floats([]int64{3, 2}, 1, nan, 0, 1, 1, nan)}, want: []*ir.Tensor{vector(0, 1), vector(2, 1)}},
		{name: "boxes of equal scores", graph: suppress, inputs: []*ir.Tensor{boxes, scores(.5, .5, .5, .5, .5), number(0.5)}, want: []*ir.Tensor{box(0, 2, 4)}},
		{name: "boxes by score", graph: suppress, inputs: []*ir.Tensor{boxes, scores(.1, .9, .9, .9, .3), number(1)}, want: []*ir.Tensor{box(1, 2, 3, 4, 0)}},
		{name: "scores that are no numbers come last", graph: suppress, inputs: []*ir.Tensor{boxes, scores(nan, .5, .9, nan, .1), number(1)},
			want: []*ir.Tensor{box(2, 1, 4, 0, 3)}},
		{name: "a threshold beyond 1", graph: suppress, inputs: []*ir.Tensor{boxes, scores(.1, .9, .9, .9, .3), number(1.5)}},
		{name: "a threshold that is no number", graph: suppress, inputs: []*ir.Tensor{boxes, scores(.1, .9, .9, .9, .3), number(nan)}},
		{name: "one branch", graph: either, inputs: []*ir.Tensor{truth(true), line(1, 0, 2, 3)}, want: []*ir.Tensor{line(), vector(0)}},
		{name: "the other branch", graph: either, inputs: []*ir.Tensor{truth(false), line(1, 0, 2, 3)}, want: []*ir.Tensor{line(2, 4, 6), vector(3)}},
		{name: "in a loop", graph: inLoop, inputs: []*ir.Tensor{line(2, 1, 0, 3), line(1, 1, 0, 1)},
			want: []*ir.Tensor{line(-1, -2, 0, 0), line(6, 3, 0)}},
	}
}

// TestOpaque: the interpreters of nodes and of loops, and compiled C++, give what is expected of
// opaque operators and of what is computed from them, and refuse the same values. ONNX Runtime
// gives the same, but for NaNs: what it does with those depends on where they stand.
func TestOpaque(t *testing.T) {
	list := opaqueCases()
	states := make([]*State, len(list))
	cases := make([]cpptest.Case, len(list))
	for i, c := range list {
		states[i] = compile(t, "graph \"g\" opset 17 {"+c.graph, c.disable...)
		cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
	}
	results := cpptest.Run(t, "../..", cases, "-O1")
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) { c.compare(t, states[i], results[i]) })
	}
}

func (c opaqueCase) compare(t *testing.T, s *State, compiled cpptest.Result) {
	byName := map[string]*ir.Tensor{}
	for k, v := range s.Graph.Inputs {
		byName[v.Name] = c.inputs[k]
	}
	reference, err := interp.Graph(s.Graph, byName)
	looped, refused := run.Program(s.Program, c.inputs)
	if c.want == nil {
		assert.Equal(t, !c.bound, err != nil, "%v", err)
		assert.Error(t, refused)
		// A caller's dimensions that do not fit are refused before the program runs.
		if len(s.Program.Checks) == 0 {
			assert.EqualValues(t, badValue, compiled.Status)
		}
		return
	}
	require.NoError(t, err)
	require.NoError(t, refused, s.Program.String())
	require.Zero(t, compiled.Status)
	for k, w := range c.want {
		for who, got := range map[string]*ir.Tensor{"interpreter": reference[k], "loops": looped[k], "C++": compiled.Outputs[k]} {
			assert.Equal(t, w.Shape, append([]int64{}, got.Shape...), "%s, output %d", who, k)
			if w.Len() > 0 {
				assert.Equal(t, w.Data, got.Data, "%s, output %d", who, k)
			}
		}
	}
}

// TestOpaqueTypes: the C++ function of each opaque operator agrees with the Go function, for every
// type that the operator allows, on elements of which many are equal.
func TestOpaqueTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var states []*State
	var cases []cpptest.Case
	for _, x := range []struct{ op, text string }{
		{"TopK", `%y ?[*], %i ?[*] = TopK.24(%x, @k) {axis = 1, largest = 1}`},
		{"TopK", `%y ?[*], %i ?[*] = TopK.24(%x, @k) {axis = 0, largest = 0}`},
		{"NonZero", `%y ?[*] = NonZero.13(%x)`},
		{"Compress", `%y ?[*] = Compress.28(%x, @c) {axis = 1}`},
		{"Compress", `%y ?[*] = Compress.28(%x, @c)`},
		{"Unique", `%y ?[*], %i ?[*], %j ?[*], %n ?[*] = Unique.28(%x) {axis = 1}`},
		{"Unique", `%y ?[*], %i ?[*], %j ?[*], %n ?[*] = Unique.28(%x) {sorted = 0}`},
		{"Det", `%y ?[*] = Det.22(%x)`},
		{"TfIdfVectorizer", `%y ?[*] = TfIdfVectorizer.9(%x) {mode = "TFIDF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 2, ` +
			`ngram_counts = [0, 2], ngram_indexes = [3, 0, 1, 2], pool_int64s = [1, 2, 0, 1, 2, 1], weights = f32 [0.5, 2, 3, 0.25]}`},
	} {
		for _, typ := range ops.Lookup(x.op).Inputs[0].Types {
			text := fmt.Sprintf("graph \"g\" opset 24 {\n const @k i64[1] = {3}\n const @c bool[4] = {1, 0, 1, 1}\n input %%x %s[4, 4]\n %s\n", typ, x.text)
			for _, name := range strings.Split(strings.Split(x.text, " = ")[0], ",") {
				text += " output " + strings.Fields(name)[0] + "\n"
			}
			states = append(states, compile(t, text+"}"))
			in := []*ir.Tensor{few(r, typ, 4, 4)}
			cases = append(cases, cpptest.Case{Name: fmt.Sprintf("%s of %s", x.text, typ), Program: states[len(states)-1].Program, Inputs: in})
		}
	}
	for i, got := range cpptest.Run(t, "../..", cases, "-O1") {
		want, err := interp.Graph(states[i].Graph, map[string]*ir.Tensor{"x": cases[i].Inputs[0]})
		require.NoError(t, err, cases[i].Name)
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range want {
			assert.Equal(t, w.Shape, got.Outputs[k].Shape, "%s, output %d", cases[i].Name, k)
			assert.Equal(t, w.Data, got.Outputs[k].Data, "%s, output %d", cases[i].Name, k)
		}
	}
}

// few makes a tensor of few different small integers, which every type holds.
func few(r *rand.Rand, t ir.DType, shape ...int64) *ir.Tensor {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	xs, fs := make([]int64, n), make([]float64, n)
	for i := range xs {
		xs[i] = r.Int64N(3)
		if t == ir.Bool {
			xs[i] %= 2
		}
		fs[i] = float64(xs[i])
	}
	if t.IsFloat() {
		return edit.FloatTensor(t, fs, shape...)
	}
	return edit.IntTensor(t, xs, shape...)
}
