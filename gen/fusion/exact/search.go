package exact

import (
	"cmp"
	"math"
	"slices"

	"rules_dnn/gen/ir/te"
)

// replaced is an expression with fewer divisions that quantizes to the same; nil where none is found and none is needed. What a compiler could
// contract, so that integers would be others, is written so that it cannot.
func (q quantization) replaced(k known) te.Expr {
	s := &space{known: k}
	x, ok := s.abstract(q.x)
	if !ok || len(s.leaves) == 0 || divisions(x) == 0 || work(x, s.count()) > mostOnce {
		return nil
	}
	key := s.key(q, x)
	by, known := k.recall(key)
	if !known {
		by = q.equal(x, s.all(), &budget{left: mostWork})
		k.remember(key, by)
	}
	if by == nil {
		return nil
	}
	return s.concrete(by)
}

// equal is replaced among a space's variables.
func (q quantization) equal(x te.Expr, all *points, b *budget) te.Expr {
	t := q.trial(x, all, b)
	if t == nil {
		return nil
	}
	for _, rounded := range []bool{false, true} {
		for _, f := range forms(x) {
			if rounded {
				f.expr = roundedProducts(f.expr)
			}
			if divisions(f.expr) >= divisions(x) {
				continue
			}
			if params := t.search(f); params != nil {
				return f.with(params)
			}
		}
	}
	if ways := contractions(x); ways != nil && t.holds(t.all, &form{expr: x}, ways, nil) {
		return nil
	}
	return roundedProducts(x)
}

// trial is what forms are to be equal to.
type trial struct {
	quantization
	all, close *test
	*budget
}

// test is points, and the integers that an expression is quantized to at each.
type test struct {
	*points
	want []int64
}

// closeness is how near to the middle between two integers an expression is where another one is tried first: rounding is no more than
// that for what is not saturated.
const closeness = 0x1p-6

// trial evaluates x as ONNX means it; nil where that cannot be.
func (q quantization) trial(x te.Expr, all *points, b *budget) *trial {
	v := &evaluation{points: all, contracted: make([]int, sumsOfProducts(x))}
	value := b.value(v, x)
	if value == nil {
		return nil
	}
	var at []int
	for i, y := range value.F32 {
		fraction := float64(y) - math.Floor(float64(y))
		if !(math.Abs(fraction-0.5) > closeness) { // or no number
			at = append(at, i)
		}
	}
	want := q.quantized(value)
	if want == nil {
		return nil
	}
	t := &trial{q, &test{all, want.I64}, &test{points: all.only(at)}, b}
	for _, i := range at {
		t.close.want = append(t.close.want, want.I64[i])
	}
	return t
}

// search gives constants with which the form is equal, contracted or not; nil where none are found.
func (t *trial) search(f *form) []float32 {
	ways := contractions(f.expr)
	if ways == nil || slices.ContainsFunc(f.near, notFinite) {
		return nil
	}
	for _, steps := range candidates(len(f.near)) {
		params := make([]float32, len(f.near))
		for i, n := range steps {
			params[i] = neighbour(f.near[i], n)
		}
		if t.holds(t.close, f, ways, params) && t.holds(t.all, f, ways, params) {
			return params
		}
	}
	return nil
}

// holds reports whether a form with some constants is equal at points.
func (t *trial) holds(at *test, f *form, ways [][]int, params []float32) bool {
	if at.n == 0 {
		return true
	}
	for _, w := range ways {
		v := &evaluation{points: at.points, params: params, contracted: w}
		x := t.value(v, f.expr)
		if x == nil {
			return false
		}
		if got := t.quantized(x); !slices.Equal(got.I64, at.want) {
			return false
		}
	}
	return true
}

func notFinite(x float32) bool { return x-x != 0 }

// candidates are how many units in the last place each of n constants is from where it is expected, those that are near first.
func candidates(n int) [][]int {
	most := map[int]int{0: 0, 1: 16, 2: 5, 3: 2}[n]
	out := [][]int{nil}
	for range n {
		var more [][]int
		for _, c := range out {
			for k := -most; k <= most; k++ {
				more = append(more, append(c[:len(c):len(c)], k))
			}
		}
		out = more
	}
	far := func(c []int) int {
		sum := 0
		for _, k := range c {
			sum += max(k, -k)
		}
		return sum
	}
	slices.SortStableFunc(out, func(a, b []int) int { return cmp.Compare(far(a), far(b)) })
	return out
}

// neighbour is the number n units in the last place from x, outwards.
func neighbour(x float32, n int) float32 {
	return math.Float32frombits(uint32(int64(math.Float32bits(x)) + int64(n)))
}
