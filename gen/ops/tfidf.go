package ops

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

func tfIdf(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 1 && len(x) != 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want 1 or 2", len(x))
	}
	g, err := c.grams()
	if err != nil {
		return nil, err
	}
	width := sym.Const(g.Width)
	n := x[len(x)-1]
	outer := x[:len(x)-1]
	consts := []*ir.Tensor{i64Tensor(g.Pool), i64Tensor(g.Starts), i64Tensor(g.Columns)}
	if g.Weighted && g.Weights != nil {
		consts = append(consts, f32Tensor(g.Weights))
	}
	skips := g.Skips + 1
	return c.calls(&opaque.Call{
		Name: "TfIdf", Types: []ir.DType{c.Type(0)}, Consts: consts,
		Args: slices.Concat(pointers(5, 1, 1), opaque.Sizes(product(outer...), n, sym.Const(int64(len(g.Starts)-1)),
			sym.Const(g.Least), sym.Const(g.Most), sym.Const(g.Skips), width), opaque.Flags(g.Counts)),
		Results: []opaque.Tensor{{Type: ir.F32, Shape: append(slices.Clone(outer), width)}},
		Scratch: []opaque.Memory{{Type: ir.I64, Size: width}},
		Work:    sym.Scale(product(x...), max(1, int64(len(g.Columns)))*skips),
		Run: func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
			y, err := alone(opaque.TfIdf(in[0], g))
			return y, nil, err
		},
	}), nil
}

// grams reads the attributes of a TfIdfVectorizer.
func (c *Ctx) grams() (*opaque.Grams, error) {
	n := c.Node
	if n.Has("pool_strings") {
		return nil, fmt.Errorf("attribute pool_strings is set, but strings are not supported; use pool_int64s")
	}
	mode, err := c.choice("mode", "TF", "IDF", "TFIDF")
	if err != nil {
		return nil, err
	}
	g := &opaque.Grams{
		Pool: n.Ints("pool_int64s"), Columns: n.Ints("ngram_indexes"), Least: n.Int("min_gram_length", 0), Most: n.Int("max_gram_length", 0),
		Skips: n.Int("max_skip_count", 0), Counts: mode != "IDF", Weighted: mode != "TF",
	}
	const most = 1 << 31
	if g.Least < 1 || g.Most < g.Least || g.Skips < 0 || g.Skips >= most {
		return nil, fmt.Errorf("attributes min_gram_length, max_gram_length and max_skip_count are %d, %d and %d; want 1 <= min <= max, and skips of at least 0", g.Least, g.Most, g.Skips)
	}
	g.Starts = append(slices.Clone(n.Ints("ngram_counts")), int64(len(g.Pool)))
	grams := int64(0)
	for i, end := range g.Starts[1:] {
		start, size := g.Starts[i], int64(i+1)
		if start < 0 || end < start || end > int64(len(g.Pool)) || (end-start)%size != 0 {
			return nil, fmt.Errorf("attribute ngram_counts is %v: the grams of %d numbers would be pool_int64s[%d:%d] of %d", n.Ints("ngram_counts"), size, start, end, len(g.Pool))
		}
		grams += (end - start) / size
	}
	if int64(len(g.Starts)-1) < g.Most {
		return nil, fmt.Errorf("attribute ngram_counts has %d elements; max_gram_length is %d", len(g.Starts)-1, g.Most)
	}
	if int64(len(g.Columns)) != grams {
		return nil, fmt.Errorf("attribute ngram_indexes has %d elements; the pool has %d grams", len(g.Columns), grams)
	}
	for _, k := range g.Columns {
		if k < 0 || k >= most {
			return nil, fmt.Errorf("attribute ngram_indexes contains %d; want 0 or more", k)
		}
		g.Width = max(g.Width, k+1)
	}
	if n.Has("weights") {
		g.Weights = n.Floats("weights")
		if int64(len(g.Weights)) < g.Width {
			return nil, fmt.Errorf("attribute weights has %d elements for %d columns", len(g.Weights), g.Width)
		}
		g.Weights = g.Weights[:g.Width]
	}
	return g, nil
}

func i64Tensor(xs []int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return t
}

func f32Tensor(xs []float32) *ir.Tensor {
	t := ir.NewTensor(ir.F32, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
	}
	return t
}
