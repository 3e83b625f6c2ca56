package train

import "math/bits"

// random is a generator of numbers that are the same on every machine and in every release: splitmix64.
type random struct{ state uint64 }

// newRandom is a generator for a purpose: other keys give other numbers.
func newRandom(keys ...uint64) *random {
	r := &random{}
	for _, k := range keys {
		r.state = r.next() ^ k
	}
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (r *random) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// order is the numbers from 0 to n-1, shuffled.
func (r *random) order(n int) []int {
	out := make([]int, n)
	for i := range out {
		j := r.below(i + 1)
		out[i], out[j] = out[j], i
	}
	return out
}
