package opaque

import (
	"rules_dnn/gen/ir"
)

// Grams is the pool of a TfIdfVectorizer: pool[Starts[n-1]:Starts[n]] are the grams of n numbers,
// one after the other, and Columns are the results' columns of all grams.
type Grams struct {
	Pool, Starts, Columns []int64
	Weights               []float32 // by column; nil: each is 1
	// Least and Most numbers of a gram, and the most numbers that may lie between two neighbours
	// of one.
	Least, Most, Skips int64
	// Counts (TF) rather than presence, and times weights.
	Counts, Weighted bool
	Width            int64 // of a row of the result
}

// TfIdf counts the grams of the pool in each row.
func TfIdf(x *ir.Tensor, g *Grams) (*ir.Tensor, error) {
	l, err := listOf(x)
	if err != nil {
		return nil, err
	}
	rows, n := int64(1), x.Len()
	shape := []int64{g.Width}
	if len(x.Shape) == 2 {
		rows, n = x.Shape[0], x.Shape[1]
		shape = []int64{rows, g.Width}
	}
	y := ir.NewTensor(ir.F32, shape...)
	for r := range rows {
		counts := make([]int64, g.Width)
		g.count(l.ints[r*n:][:n], counts)
		for i, c := range counts {
			putFloat(y, int(r*g.Width)+i, float64(g.score(c, i)))
		}
	}
	return y, nil
}

// count counts, for each column, the ways to take its grams out of a row.
func (g *Grams) count(row []int64, counts []int64) {
	gram := int64(0)
	for size := int64(1); size < int64(len(g.Starts)); size++ {
		for at := g.Starts[size-1]; at+size <= g.Starts[size]; at += size {
			if size >= g.Least && size <= g.Most {
				counts[g.Columns[gram]] += occurrences(row, g.Pool[at:at+size], g.Skips)
			}
			gram++
		}
	}
}

// score is what a column's count is in the result.
func (g *Grams) score(count int64, column int) float32 {
	if !g.Counts {
		count = min(count, 1)
	}
	if g.Weighted && g.Weights != nil {
		return float32(float32(count) * g.Weights[column])
	}
	return float32(count)
}

// occurrences counts the starts and distances at which a row has a gram. Single numbers have no
// distance.
func occurrences(row, gram []int64, skips int64) int64 {
	n, size, found := int64(len(row)), int64(len(gram)), int64(0)
	if size == 1 {
		skips = 0
	}
	for step := int64(1); step <= skips+1; step++ {
		for at := int64(0); at+(size-1)*step < n; at++ {
			same := true
			for k := range size {
				same = same && row[at+k*step] == gram[k]
			}
			if same {
				found++
			}
		}
	}
	return found
}
