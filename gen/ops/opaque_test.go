package ops

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops/opaque"
)

func opaqueExamples() []example {
	grams := attrs("mode", "TFIDF", "min_gram_length", 1, "max_gram_length", 2, "max_skip_count", 1, "ngram_counts", ints(0, 2),
		"ngram_indexes", ints(0, 1, 3), "pool_int64s", ints(5, 6, 5, 6), "weights", []float32{1, 2, 3, 4})
	return []example{
		example{node("TopK", nil, f32("N", 8), vec(3)), "[N 3]", ManyToMany, dependent}.outputs(2),
		{node("NonMaxSuppression", nil, f32("N", "B", 4), f32("N", 3, "B"), num64(5), num32(0.5)), "[computed_0 3]", ManyToMany, dependent},
		{node("NonZero", nil, f32("N", 8)), "[2 computed_0]", ManyToMany, dependent},
		{node("Compress", attrs("axis", 1), f32("N", 8), val(ir.Bool, 8)), "[N computed_0]", ManyToMany, dependent},
		example{node("Unique", attrs("axis", 0), f32("N", 8)), "[computed_0 8]", ManyToMany, dependent}.outputs(4),
		{node("Det", nil, f32("N", 8, 8)), "[N]", ManyToMany, dependent},
		{node("TfIdfVectorizer", grams, i64("N", 8)), "[N 4]", ManyToMany, dependent},
	}
}

// TestOpaqueRows lists the operators that are no tensor expressions: one more is a decision. Their
// meaning is a call, and that of no other operator is.
func TestOpaqueRows(t *testing.T) {
	var names []string
	for _, r := range Table() {
		if r.Form == Opaque {
			names = append(names, r.Name)
		}
	}
	assert.Equal(t, []string{"Compress", "Det", "NonMaxSuppression", "NonZero", "TfIdfVectorizer", "TopK", "Unique"}, names)
	left := map[string]bool{}
	for _, x := range examples() {
		m, err := Build(x.n, nil)
		if strings.HasPrefix(x.n.Op, Microsoft) {
			assert.Error(t, err, "%s stands for others", x.n.Op)
			continue
		}
		if err != nil {
			left[x.n.Op] = true
			continue
		}
		assert.Equal(t, slices.Contains(names, x.n.Op), m.Call != nil, x.n.Op)
		if m.Call != nil {
			checkCall(t, m.Call)
		}
	}
	assert.Equal(t, map[string]bool{"GRU": true, "If": true, "LSTM": true, "LinearAttention": true, "Loop": true, "RNN": true, "Scan": true}, left,
		"these run graphs, or stand for them")
}

// checkCall: arguments name what there is.
func checkCall(t *testing.T, c *opaque.Call) {
	t.Helper()
	computed := 0
	for i, a := range c.Args {
		what := fmt.Sprintf("argument %d of %s", i, c.Name)
		switch a.Kind {
		case opaque.Result:
			assert.Less(t, a.N, len(c.Results), what)
		case opaque.Scratch:
			assert.Less(t, a.N, len(c.Scratch), what)
		case opaque.Computed:
			assert.Less(t, a.N, len(c.Computes), what)
			computed++
		}
	}
	assert.Len(t, c.Computes, computed, "%s must be told where all that it computes goes", c.Name)
	require.NotNil(t, c.Run)
	_, hi := c.Work.Bounds(nil)
	assert.Positive(t, hi, c.Name)
}

// TestComputedBounds: what a call computes is bounded by the operands' dimensions.
func TestComputedBounds(t *testing.T) {
	for _, c := range []struct {
		n    *ir.Node
		most string
	}{
		{node("NonZero", nil, f32("N", "M", 3)), "3*M*N"},
		{node("NonZero", nil, f32()), "1"},
		{node("Compress", nil, f32("N", 8), val(ir.Bool, "M")), "min(8*N, M)"},
		{node("Compress", attrs("axis", -1), f32("N", 8), val(ir.Bool, 5)), "5"},
		{node("Unique", nil, f32("N", 8)), "8*N"},
		{node("Unique", attrs("axis", 1), f32("N", 8)), "8"},
		{node("NonMaxSuppression", nil, f32("N", 100, 4), f32("N", 3, 100)), "0"},
		{node("NonMaxSuppression", nil, f32("N", 100, 4), f32("N", 3, 100), num64(5)), "15*N"},
		{node("NonMaxSuppression", nil, f32("N", 100, 4), f32("N", 3, 100), num64(500)), "300*N"},
		{node("NonMaxSuppression", nil, f32("N", 100, 4), f32("N", 3, 100), num64(-1)), "0"},
		{node("NonMaxSuppression", nil, f32("N", 100, 4), f32("N", 3, 100), i64()), "300*N"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		require.Len(t, m.Call.Computes, 1)
		assert.Equal(t, c.most, m.Call.Computes[0].Max.String(), c.n.Op)
	}
}

func TestOpaqueErrors(t *testing.T) {
	grams := func(kv ...any) ir.Attrs {
		at := attrs("mode", "TF", "min_gram_length", 1, "max_gram_length", 2, "max_skip_count", 1, "ngram_counts", ints(0, 2),
			"ngram_indexes", ints(0, 1, 3), "pool_int64s", ints(5, 6, 5, 6))
		for k, v := range attrs(kv...) {
			at[k] = v
		}
		return at
	}
	two := func(n *ir.Node) *ir.Node { return example{n: n}.outputs(2).n }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{two(node("TopK", nil, f32(4), vec(5))), "the axis must have at least K elements: found 4 and 5"},
		{two(node("TopK", nil, f32(4), vec(-1))), "K: found -1 and 0"},
		{two(node("TopK", nil, f32(4), vec(1, 2))), "operand 1 has 2 elements; want 1"},
		{two(node("TopK", nil, f32(4), i64(1))), `the value of operand 1 ("x1") is not known`},
		{two(node("TopK", attrs("axis", 1), f32(4), vec(1))), "attribute axis is 1; the rank is 1"},
		{two(node("TopK", attrs("sorted", 2), f32(4), vec(1))), "attribute sorted is 2"},
		{node("Compress", nil, f32(4), val(ir.Bool, 4, 1)), "operand 1 (condition) has rank 2; want 1"},
		{node("NonMaxSuppression", nil, f32(1, 5, 4), f32(1, 2, 6)), "dimension 1 of operand 0: found 5 and 6"},
		{node("NonMaxSuppression", nil, f32(5, 4), f32(1, 2, 5)), "have ranks 2 and 3; want 3"},
		{node("NonMaxSuppression", nil, f32(1, 5, 4), f32(1, 2, 5), i64(2)), "elements of operand 2: found 2 and 1"},
		{node("Det", nil, f32(4)), "operand 0 has rank 1; want at least 2"},
		{node("Det", nil, f32(3, 4)), "the last two dimensions of operand 0: found 3 and 4"},
		{node("TfIdfVectorizer", grams(), i64(1, 2, 3)), "operand 0 has rank 3; want 1 or 2"},
		{node("TfIdfVectorizer", grams("mode", "IFD"), i64(8)), `attribute mode is "IFD"`},
		{node("TfIdfVectorizer", grams("pool_strings", []string{"a"}), i64(8)), "strings are not supported"},
		{node("TfIdfVectorizer", grams("min_gram_length", 3), i64(8)), "max_gram_length and max_skip_count are 3, 2 and 1"},
		{node("TfIdfVectorizer", grams("ngram_counts", ints(0, 3)), i64(8)), "the grams of 2 numbers would be pool_int64s[3:4] of 4"},
		{node("TfIdfVectorizer", grams("ngram_counts", ints(0)), i64(8)), "ngram_counts has 1 elements; max_gram_length is 2"},
		{node("TfIdfVectorizer", grams("ngram_indexes", ints(0, 1)), i64(8)), "ngram_indexes has 2 elements; the pool has 3 grams"},
		{node("TfIdfVectorizer", grams("ngram_indexes", ints(0, 1, -1)), i64(8)), "ngram_indexes contains -1"},
		{node("TfIdfVectorizer", grams("mode", "IDF", "weights", []float32{1, 2}), i64(8)), "attribute weights has 2 elements for 4 columns"},
	} {
		_, err := Build(c.n, nil)
		require.ErrorContains(t, err, c.want)
	}
}

// TestTopLines: the runtime looks through as many lines together as it is given scratch memory for.
func TestTopLines(t *testing.T) {
	header, err := os.ReadFile("../../runtime/dnn_select.h")
	require.NoError(t, err)
	assert.Contains(t, string(header), fmt.Sprintf("constexpr int64_t kLines = %d;", topLines))
}
