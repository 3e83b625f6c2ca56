package nodetest

import (
	"bytes"
	_ "embed" // what shapes ONNX Runtime takes
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

//go:embed testdata/microsoft_shapes.txt
var microsoftShapes string

//go:embed testdata/microsoft_values.txt
var microsoftValues string

// exception are operands that we take, or refuse, of other shapes or values than ONNX Runtime does, as OPERATOR.NUMBER or
// CASE.NUMBER; "-" in front leaves a case out.
type exception struct{ operands, changed, why string }

// wider are shapes that ONNX Runtime refuses and we take.
var wider = []exception{
	{"QLinearAdd.1 QLinearAdd.2 QLinearAdd.4 QLinearAdd.5 QLinearAdd.6 QLinearAdd.7 QLinearMul.1 QLinearMul.2 QLinearMul.4 QLinearMul.5 QLinearMul.6 QLinearMul.7 " +
		"QLinearAveragePool.1 QLinearAveragePool.2 QLinearAveragePool.3 QLinearAveragePool.4", "1", "one number is a scalar: others of its operators take it"},
	{"QGemm.4 QGemm.5", "1 scalar", "one scale, or zero point, of all columns beside one of each"},
	{"MultiHeadAttention_heads.2", "2x2x5x1 2x2x5x5", "values of another size than keys, as it takes them where heads are in a row"},
	{"DynamicQuantizeMatMul.1 MatMulIntegerToFloat.1", "1x24x9", "scales of columns are those of each matrix"},
}

// narrower are shapes that ONNX Runtime takes and we refuse, or that make it read other memory.
var narrower = []exception{
	{"QLinearSoftmax.2 QLinearSoftmax.3 QLinearSoftmax.4 QLinearConcat.6 QLinearConcat.7", "2 1x1", "it reads the first number and leaves the others out"},
	{"Attention.3 QAttention.5", "2x1 8", "masks of rank 1 with begins and ends, and of one column, are not supported"},
	{"Attention_lengths.0", "1x4x8", "a mask of twice as many numbers as batches: begins and ends"},
	{"DynamicQuantizeMatMul.3 MatMulIntegerToFloat.5", "1x9", "a matrix of zero points"},
	{"DynamicQuantizeMatMul.4 MatMulIntegerToFloat.6", "9x1", "it counts the elements of a bias"},
	{"EmbedLayerNormalization.8", "2x4x1", "it counts the elements of places"},
	{"SkipLayerNormalization.0 -SkipLayerNormalization_plain.0 SkipSimplifiedLayerNormalization.0", "3x5x8 1x5x8",
		"it repeats, or leaves out, batches of the other operand"},
	{"SkipLayerNormalization.1 SkipSimplifiedLayerNormalization.1", "3x5x8", "it leaves out a batch"},
	{"GroupQueryAttention_chunk.0 GroupQueryAttention_places_chunk_first.0", "2x4x33 2x3x33", "it leaves out a column"},
	{"GroupQueryAttention.9", "2x1x1 2x2 2x3x1 2x4", "it reads places in another order than the shape says, or not all"},
	{"MultiHeadAttention_past.0", "2x1x8", "with unidirectional, engines differ in what the last query sees"},
	{"RotaryEmbedding_offset.0", "2x3x4x5", "elements that turn come in pairs"},
}

// widerValues and narrowerValues are the same of values.
var (
	widerValues = []exception{
		{"GroupQueryAttention_bias.5 GroupQueryAttention_chunk.5 GroupQueryAttention_places_chunk_first.5", "0 1 2", "fewer keys than new ones: queries that are padding, as in a prompt"},
		{"GroupQueryAttention_prompt_packed.6", "5", "room for more keys than there are"},
		{"GroupQueryAttention_prompt.6 GroupQueryAttention_prompt_rotary.6 GroupQueryAttention_prompt_packed.6", "6", "room for more keys than there are"},
		{"GroupQueryAttention.6 -GroupQueryAttention_bias.6", "7 8 9 10 11 12", "room for more keys than there are"},
	}
	narrowerValues = []exception{}
)

// TestMicrosoftShapes: operands of ONNX Runtime's own operators in other shapes, as testdata/microsoft_shapes.py makes them (axes swapped,
// added and left out, other lengths, other shapes of as many elements), are taken or refused as ONNX Runtime does, and a refusal
// names the node. No shape makes the compiler panic.
func TestMicrosoftShapes(t *testing.T) {
	tried, operators := microsoftLike(t, microsoftShapes, wider, narrower, func(c *microsoftCase, operand int, text string) *microsoftCase {
		return c.withShape(t, operand, shapeOf(t, text))
	})
	assert.GreaterOrEqual(t, tried, 2500)
	for _, r := range ops.Table() {
		if name, own := strings.CutPrefix(r.Name, ops.Microsoft); own && name != "QLinearReduceMean" { // which has no kernel there
			assert.True(t, operators[name], "no shapes of %s", name)
		}
	}
}

// TestMicrosoftValues: places, lengths and counts that are operands of ONNX Runtime's own operators, negative, at the ends of their types,
// and around the ends of what they count (testdata/microsoft_values.py), are taken or refused as ONNX Runtime does.
func TestMicrosoftValues(t *testing.T) {
	tried, _ := microsoftLike(t, microsoftValues, widerValues, narrowerValues, func(c *microsoftCase, operand int, text string) *microsoftCase {
		x, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		out, in := *c, *c.Inputs[operand]
		in.Data = slices.Clone(in.Data)
		in.Data[0] = float64(x)
		out.Inputs = slices.Clone(c.Inputs)
		out.Inputs[operand] = &in
		return &out
	})
	assert.GreaterOrEqual(t, tried, 500)
}

// microsoftLike changes operands of cases as lines of outcomes say, and compares what becomes of them. It returns how many it tried, and of
// which operators.
func microsoftLike(t *testing.T, lines string, wider, narrower []exception, change func(c *microsoftCase, operand int, text string) *microsoftCase) (int, map[string]bool) {
	var cases []*microsoftCase
	require.NoError(t, json.Unmarshal(microsoftResults, &cases))
	tried, operators := 0, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		words := strings.Fields(line)
		k := slices.IndexFunc(cases, func(c *microsoftCase) bool { return c.Name == words[0] })
		require.GreaterOrEqual(t, k, 0, line)
		operand, err := strconv.Atoi(words[1])
		require.NoError(t, err)
		operators[cases[k].Op] = true
		list := wider
		if words[2] == "ok" {
			list = narrower
		}
		for _, text := range words[3:] {
			tried++
			label := strings.Join(words[:2], " ") + " " + text
			err := survives(func() error { return change(cases[k], operand, text).computes(t) })
			listed := exceptionTo(list, []string{cases[k].Op + "." + words[1], cases[k].Name + "." + words[1]}, text)
			if taken := (words[2] == "ok") == (listed == ""); taken {
				assert.NoError(t, err, "%s %s", label, listed)
			} else {
				assert.Error(t, err, "%s %s", label, listed)
			}
			if err != nil {
				assert.NotContains(t, err.Error(), "panic", label)
				assert.Contains(t, err.Error(), "node", label)
			}
		}
	}
	return tried, operators
}

// exceptionTo is why an operand's outcome is not ONNX Runtime's; empty if it is.
func exceptionTo(list []exception, operand []string, changed string) string {
	for _, x := range list {
		operands := strings.Fields(x.operands)
		named := func(prefix string) bool {
			return slices.ContainsFunc(operand, func(o string) bool { return slices.Contains(operands, prefix+o) })
		}
		if named("") && !named("-") && slices.Contains(strings.Fields(x.changed), changed) {
			return x.why
		}
	}
	return ""
}

func shapeOf(t *testing.T, text string) []int64 {
	shape := []int64{}
	if text == "scalar" {
		return shape
	}
	for _, d := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(d, 10, 64)
		require.NoError(t, err)
		shape = append(shape, n)
	}
	return shape
}

// withShape is the case with another shape of an operand, whose elements are repeated or cut off.
func (c *microsoftCase) withShape(t *testing.T, operand int, shape []int64) *microsoftCase {
	out := *c
	out.Inputs = slices.Clone(c.Inputs)
	x := *c.Inputs[operand]
	n, err := ir.Len(shape)
	require.NoError(t, err)
	x.Shape, x.Data = shape, make([]float64, n)
	for i := range x.Data {
		if data := c.Inputs[operand].Data; len(data) > 0 {
			x.Data[i] = data[i%len(data)]
		}
	}
	out.Inputs[operand] = &x
	return &out
}

// computes reports why the case is refused, before or while it runs.
func (c *microsoftCase) computes(t *testing.T) error {
	own, err := c.example(t).ownCase()
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(own.Model), Size: int64(len(own.Model))}, nil, onnx.Options{Supported: ops.Supported})
	if err != nil {
		return err
	}
	for _, y := range g.Outputs {
		y.Type, y.Shape, y.HasShape = ir.Invalid, nil, false
	}
	g, inputs := constants(g, own.Inputs, c.free())
	if err := simplify.Run(g); err != nil {
		return err
	}
	_, err = interp.Graph(g, inputs)
	return err
}
