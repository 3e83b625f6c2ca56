package scalar

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// odd are the numbers at which operations of floats differ from each other: zeros of both signs, infinities, numbers that are none of both
// signs, some with a payload, denormals, the least and greatest normal ones, and numbers whose results are rounded.
var odd = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)),
	math.Float32frombits(0x7fc00000), math.Float32frombits(0xffc00000), math.Float32frombits(0x7fc01234),
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.Float32frombits(0x007fffff), math.Float32frombits(0x00800000),
	math.MaxFloat32, -math.MaxFloat32, 0.1, -0.3, 16777217, 3,
}

// sameBits compares bits; numbers that are none are one value, since processors differ in which of two they pass on.
func sameBits(t *testing.T, want, got []float32, text string) {
	for i, w := range want {
		if w != w && got[i] != got[i] {
			continue
		}
		if math.Float32bits(w) != math.Float32bits(got[i]) {
			assert.Fail(t, text, "element %d of %d is %x, want %x", i, len(want), math.Float32bits(got[i]), math.Float32bits(w))
			return
		}
	}
}

// oddly gives n elements of each of four operands; over as many elements as there are pairs, each pair of odd numbers meets in the first two.
func oddly(n, start int) (out [4][]float32) {
	for j := range out {
		out[j] = make([]float32, n)
		for i := range out[j] {
			at := start + i
			k := [4]int{at, at + at/len(odd), 2*at + 5, 3*at + 1}[j]
			out[j][i] = odd[k%len(odd)]
		}
	}
	return out
}

// TestVectors: functions by vector instructions give the bits of Go's loops, at all lengths and for all pairs of odd numbers, and write
// nothing behind the last element.
func TestVectors(t *testing.T) {
	vectorized := hardware
	defer func() { hardware = vectorized }()
	binary := map[string]func(dst *Vec, args []*Vec){"add": addF32, "sub": subF32, "mul": mulF32, "div": divF32, "max": maxF32}
	each := func(f func(n, start int)) {
		for n := range 41 {
			f(n, 3*n)
		}
		f(len(odd)*len(odd), 0) // all pairs
	}
	for name, f := range binary {
		each(func(n, start int) {
			x := oddly(n, start)
			of := func(how vectors) []float32 {
				hardware = how
				memory := make([]float32, n+16)
				Fill(memory, 42)
				f(&Vec{F32: memory[8 : 8+n]}, []*Vec{{F32: x[0]}, {F32: x[1]}})
				return memory
			}
			sameBits(t, of(vectors{}), of(vectorized), fmt.Sprintf("%s of %d", name, n))
		})
	}
	for _, name := range []string{"gt", "eq"} {
		each(func(n, start int) {
			x := oddly(n, start)
			of := func(how vectors) []float32 {
				hardware = how
				memory := make([]float32, n+16)
				Fill(memory, 42)
				PickOf(name).Apply(memory[8:8+n], x[0], x[1], x[2], x[3])
				return memory
			}
			sameBits(t, of(vectors{}), of(vectorized), fmt.Sprintf("choice by %s of %d", name, n))
		})
	}
}

// TestFill: all elements, and none of a slice without.
func TestFill(t *testing.T) {
	for n := range 41 {
		v := make([]int64, n)
		Fill(v, 5)
		for _, x := range v {
			assert.EqualValues(t, 5, x)
		}
	}
}
