package pipeline

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
)

// one is a node of inputs %a, %b, ... of types and shapes, in the text form, and of constants.
func one(node, constants string, inputs ...string) string {
	var b strings.Builder
	b.WriteString("graph \"g\" opset 18 {\n symbol N 0..9\n" + constants)
	for i, in := range inputs {
		fmt.Fprintf(&b, " input %%%c %s\n", 'a'+i, in)
	}
	return b.String() + " %y ?[*] = " + node + " \"node\"\n output %y\n}"
}

// wrappingCases: integers wrap, whatever computes them.
func wrappingCases() (list []valueCase) {
	for _, t := range []ir.DType{ir.I32, ir.I64} {
		low, high := int64(math.MinInt64)>>(64-8*t.Size()), int64(math.MaxInt64)>>(64-8*t.Size())
		vec, name := t.String()+"[3]", t.String()
		add := func(what, graph string, want *ir.Tensor, in ...[]int64) {
			c := valueCase{name: what + " of " + name, graph: graph, want: want}
			for _, xs := range in {
				c.inputs = append(c.inputs, typed(t, xs...))
			}
			list = append(list, c)
		}
		ends, ones := []int64{low, high, -3}, []int64{-1, 1, 2}
		add("Abs", one("Abs.13(%a)", "", vec), typed(t, low, high, 3), ends)
		add("Neg", one("Neg.13(%a)", "", vec), typed(t, low, -high, 3), ends)
		add("Sign", one("Sign.13(%a)", "", vec), typed(t, -1, 1, -1), ends)
		add("Add", one("Add.14(%a, %b)", "", vec, vec), typed(t, high, low, -1), ends, ones)
		add("Sub", one("Sub.14(%a, %b)", "", vec, vec), typed(t, low+1, high-1, -5), ends, ones)
		add("Mul", one("Mul.14(%a, %b)", "", vec, vec), typed(t, low, high, -6), ends, ones)
		add("Pow", one("Pow.15(%a, %b)", "", vec, vec), typed(t, 0, 1, 4), []int64{0, 1, -2}, []int64{-1, low, 2})
		add("Pow of -1", one("Pow.15(%a, %b)", "", vec, vec), typed(t, -1, 1, 0), []int64{-1, -1, low}, []int64{-3, low, 2})
		add("ReduceSum", one("ReduceSum.13(%a) {keepdims = 0}", "", vec), edit.IntTensor(t, []int64{-4}), ends)
		add("ReduceProd", one("ReduceProd.18(%a) {keepdims = 0}", "", vec), nil, ends)
		add("ReduceL1", one("ReduceL1.18(%a) {keepdims = 0}", "", vec), nil, ends)
		add("ReduceSumSquare", one("ReduceSumSquare.18(%a) {keepdims = 0}", "", vec), nil, ends)
		add("ReduceMean", one("ReduceMean.18(%a) {keepdims = 0}", "", vec), nil, ends)
		add("CumSum", one("CumSum.14(%a, @axis)", " const @axis i64[] = {0}\n", vec), typed(t, low, -1, -4), ends)
		square := t.String() + "[3, 3]"
		add("MatMul", one("MatMul.13(%a, %a)", "", square), nil, []int64{low, high, -1, high, high, 2, low, low, high})
		list[len(list)-1].inputs[0].Shape = []int64{3, 3}
		add("Gemm", one("Gemm.13(%a, %a, %a) {alpha = f32 3, beta = f32 -2, transB = 1}", "", square), nil, []int64{low, high, -1, high, high, 2, low, low, high})
		list[len(list)-1].inputs[0].Shape = []int64{3, 3}
		add("Einsum", one(`Einsum.12(%a, %b) {equation = "i,j->ij"}`, "", vec, vec), nil, ends, []int64{low, high, -1})
		add("Clip", one("Clip.13(%a, @low, @high)", fmt.Sprintf(" const @low %s[] = {5}\n const @high %[1]s[] = {-5}\n", t), vec), nil, ends)
	}
	return list
}

// shiftCases: bits that leave the type are gone, however far they go.
func shiftCases() (list []valueCase) {
	for _, t := range []ir.DType{ir.U8, ir.U16, ir.U32, ir.U64} {
		width := int64(8 * t.Size())
		for _, direction := range []string{"LEFT", "RIGHT"} {
			want := typed(t, 0, 0, 0, 3)
			list = append(list, valueCase{
				name: fmt.Sprintf("BitShift %s of %s", direction, t), want: want,
				graph:  one(fmt.Sprintf("BitShift.11(%%a, %%b) {direction = %q}", direction), "", t.String()+"[4]", t.String()+"[4]"),
				inputs: []*ir.Tensor{typed(t, 3, -1, 1, 3), typed(t, width, -1, width+1, 0)},
			})
		}
	}
	return list
}

// castCases: floats out of an integer type's range saturate, and NaN is 0.
func castCases() (list []valueCase) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	codes := map[ir.DType]int{ir.U8: 2, ir.I8: 3, ir.U16: 4, ir.I16: 5, ir.I32: 6, ir.I64: 7, ir.U32: 12, ir.U64: 13, ir.Bool: 9}
	for _, t := range []ir.DType{ir.U8, ir.I8, ir.U16, ir.I16, ir.I32, ir.I64, ir.U32, ir.U64, ir.Bool} {
		list = append(list, valueCase{
			name: "Cast to " + t.String(), graph: one(fmt.Sprintf("Cast.13(%%a) {to = %d}", codes[t]), "", "f32[9]"),
			inputs: []*ir.Tensor{line(nan, inf, -inf, 3e38, -3e38, -0.5, 300.7, -1e10, 1<<31)},
		})
	}
	for _, node := range []string{"QuantizeLinear.13(%a, @s, @z)", "QuantizeLinear.13(%a, @s)"} {
		list = append(list, valueCase{
			name: node, graph: one(node, " const @s f32[] = {0}\n const @z i8[] = {-128}\n", "f32[5]"),
			inputs: []*ir.Tensor{line(nan, inf, -inf, 0, 1)},
		})
	}
	return list
}

// indexCases: what is out of bounds is refused, or means what ONNX says.
func indexCases() []valueCase {
	x, two := floats([]int64{3, 2}, 1, 2, 3, 4, 5, 6), floats([]int64{2}, 7, 8)
	reverse := one("ReverseSequence.10(%a, %b) {batch_axis = 1, time_axis = 0}", "", "f32[3, 2]", "i64[2]")
	scatter := one("ScatterElements.18(%a, %b, %c) {axis = 0}", "", "f32[3]", "i64[2]", "f32[2]")
	scatterND := one("ScatterND.18(%a, %b, %c)", "", "f32[3]", "i64[2, 1]", "f32[2]")
	hot := one("OneHot.11(%a, @d, %b)", " const @d i64[] = {3}\n", "i64[4]", "f32[2]")
	elements := one("GatherElements.13(%a, %b) {axis = 0}", "", "f32[3]", "i64[2]")
	loss := one("NegativeLogLikelihoodLoss.13(%a, %b)", "", "f32[3, 2]", "i64[3]")
	unpool := one("MaxUnpool.11(%a, %b) {kernel_shape = [2], strides = [2]}", "", "f32[1, 1, 2]", "i64[1, 1, 2]")
	attention := one("Attention.24(%a, %a, %a, _, _, _, %b) {is_causal = 1}", "", "f32[2, 1, 3, 2]", "i64[2]")
	queries := floats([]int64{2, 1, 3, 2}, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1)
	cases := []valueCase{
		{name: "Attention", graph: attention, inputs: []*ir.Tensor{queries, vector(3, 0)}},
		{name: "Attention, too many keys", graph: attention, inputs: []*ir.Tensor{queries, vector(3, 4)}, refused: true},
		{name: "Attention, fewer than none", graph: attention, inputs: []*ir.Tensor{queries, vector(-1, 3)}, refused: true},
		{name: "ReverseSequence", graph: reverse, inputs: []*ir.Tensor{x, vector(3, 0)}},
		{name: "ReverseSequence, too long", graph: reverse, inputs: []*ir.Tensor{x, vector(3, 4)}, refused: true},
		{name: "ReverseSequence, negative", graph: reverse, inputs: []*ir.Tensor{x, vector(-1, 2)}, refused: true},
		{name: "ScatterElements", graph: scatter, inputs: []*ir.Tensor{line(1, 2, 3), vector(-3, 2), two}},
		{name: "ScatterElements, outside", graph: scatter, inputs: []*ir.Tensor{line(1, 2, 3), vector(-4, 2), two}, refused: true},
		{name: "ScatterND, outside", graph: scatterND, inputs: []*ir.Tensor{line(1, 2, 3), ints([]int64{2, 1}, 3, 0), two}, refused: true},
		{name: "OneHot", graph: hot, inputs: []*ir.Tensor{vector(2, -1, 9, math.MinInt64), two}},
		{name: "GatherElements, outside", graph: elements, inputs: []*ir.Tensor{line(1, 2, 3), vector(math.MinInt64, 0)}, refused: true},
		{name: "NegativeLogLikelihoodLoss, outside", graph: loss, inputs: []*ir.Tensor{x, vector(0, 1, 2)}, refused: true},
		{name: "MaxUnpool, outside", graph: unpool, inputs: []*ir.Tensor{floats([]int64{1, 1, 2}, 1, 2), ints([]int64{1, 1, 2}, 1, 4)}, refused: true},
		{name: "MaxUnpool, negative", graph: unpool, inputs: []*ir.Tensor{floats([]int64{1, 1, 2}, 1, 2), ints([]int64{1, 1, 2}, 1, -1)}, refused: true},
	}
	for _, op := range []string{"ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"} {
		for _, t := range []ir.DType{ir.I32, ir.I64} {
			cases = append(cases, valueCase{name: op + " of no " + t.String(), graph: one(op+".18(%a) {keepdims = 0}", "", t.String()+"[N, 2]"),
				dims: map[string]int64{"N": 0}, inputs: []*ir.Tensor{ir.NewTensor(t, 0, 2)}})
		}
	}
	return cases
}

// TestRefusedDims: what operators do not allow of dims is an error of the compiler where they are numbers, and
// of the run where they are symbols, unless there is no result.
func TestRefusedDims(t *testing.T) {
	for _, op := range []string{"ArgMax", "ArgMin"} {
		graph := func(shape string, axis int) string {
			return one(fmt.Sprintf("%s.13(%%a) {axis = %d}", op, axis), "", "f32["+shape+"]")
		}
		for _, shape := range []string{"0", "0, 3", "0, 1"} {
			_, err := Run(GraphPasses, parse(t, graph(shape, 0)), Options{})
			assert.ErrorContains(t, err, fmt.Sprintf("node %s \"node\": axis 0 must have an element for each index in the result: found 0 and 1", op))
		}
		for _, c := range []struct {
			shape   string
			dims    []int64
			refused bool
		}{{"N", []int64{0}, true}, {"N", []int64{2}, false}, {"N, 2", []int64{0, 2}, true}, {"2, N", []int64{2, 0}, false}, {"N, N", []int64{0, 0}, false}, {"3, 0", []int64{3, 0}, false}} {
			got, err := run.Program(compile(t, graph(c.shape, 0)).Program, []*ir.Tensor{ir.NewTensor(ir.F32, c.dims...)})
			if !c.refused {
				require.NoError(t, err, "%s of %v", op, c.dims)
				assert.Equal(t, c.dims[1:], got[0].Shape[1:])
				continue
			}
			var refused *run.DimsError
			require.ErrorAs(t, err, &refused, "%s of %v", op, c.dims)
			assert.Contains(t, refused.Check.String(), `"node"`)
		}
	}
}

// TestRefusedConstants: what a run would refuse of constants is an error of the compiler, with the node's name.
func TestRefusedConstants(t *testing.T) {
	constants := " const @a i32[2] = {6, 7}\n const @b i32[2] = {2, 0}\n const @zero i32[] = {0}\n const @x f32[2, 2, 1] = {1, 2, 3, 4}\n" +
		" const @w f32[1, 2, 1] = {1, 1}\n const @r f32[1, 2, 2] = {1, 1, 1, 1}\n const @l i32[2] = {9, -1}\n const @i i64[1] = {9}\n"
	for _, node := range []string{"Div.14(@a, @b)", "Mod.13(@a, @b)", "Mod.13(@a, @zero) {fmod = 1}", "RNN.14(@x, @w, @r, _, @l) {hidden_size = 2}", "Gather.13(@a, @i)"} {
		s := parse(t, one(node, constants, "f32[2]"))
		_, err := Run(GraphPasses, s, Options{})
		if err == nil {
			_, err = Run(CompilePasses, s, Options{})
		}
		require.Error(t, err, node)
		assert.ErrorContains(t, err, "\"node\"", node)
		t.Log(err)
	}
}

// TestDivisionByLiterals: what cannot be 0 is not asked for.
func TestDivisionByLiterals(t *testing.T) {
	for node, checked := range map[string]bool{
		"Div.14(%a, @seven)": false, "Mod.13(%a, @seven)": false, "Div.14(%a, %b)": true, "Mod.13(%a, %b)": true, "Div.14(%c, %c)": false,
	} {
		text := kernels(t, compile(t, one(node, " const @seven i64[] = {7}\n", "i64[5]", "i64[5]", "f32[5]")))
		assert.Equal(t, checked, strings.Contains(text, "_checked<"), "%s:\n%s", node, text)
		assert.Equal(t, checked, strings.Contains(text, "bad_index"), "%s:\n%s", node, text)
		assert.Equal(t, checked, regexp.MustCompile(`dnn_refuse\(c, dnn_status::kBadValue, ".*node`).MatchString(text), "%s:\n%s", node, text)
	}
}
