package opaque

import (
	"encoding/binary"
	"math"
	"math/bits"

	"rules_dnn/gen/ir"
)

// Draw says how random numbers are drawn.
type Draw struct {
	// Normal: of the normal distribution around A with the deviation B; otherwise A + B*u with u of [0, 1).
	Normal bool
	A, B   float32
	// Stream numbers the node: each has numbers of its own.
	Stream int64
}

// Random draws the elements of a tensor. They depend on the seed, the stream, the iteration and their place alone.
//
// Block i of four words is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011) of the counter
// {i, iteration, upper half of iteration, stream} with the halves of the seed as key. An element takes one word: for uniform numbers the
// upper 24 bits; of the normal distribution two words give two elements (Box and Muller 1958). These are computed
// in integers, and no product of floats is rounded before it is added, so that every machine draws the same bits.
func Random(t ir.DType, shape []int64, d Draw, seed, iteration int64) *ir.Tensor {
	y := ir.NewTensor(t, shape...)
	n := int(y.Len())
	for i := 0; i < n; i += 4 {
		four := d.numbers(words(int64(i/4), iteration, d.Stream, seed))
		for k := range min(4, n-i) {
			putFloat(y, i+k, float64(four[k]))
		}
	}
	return y
}

// words are a block of Philox.
func words(block, iteration, stream, seed int64) [4]uint32 {
	c := [4]uint32{uint32(block), uint32(iteration), uint32(uint64(iteration) >> 32), uint32(stream)}
	k0, k1 := uint32(seed), uint32(uint64(seed)>>32)
	for range 10 {
		a, b := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return c
}

func (d *Draw) numbers(w [4]uint32) (out [4]float32) {
	var x [4]float32
	for i := 0; i < 4; i += 2 {
		if d.Normal {
			x[i], x[i+1] = normals(w[i], w[i+1])
		} else {
			x[i], x[i+1] = float32(w[i]>>8)/(1<<24), float32(w[i+1]>>8)/(1<<24)
		}
	}
	for i := range out { // the product of two f32 is exact in f64
		out[i] = float32(float64(float64(x[i])*float64(d.B)) + float64(d.A))
	}
	return out
}

// normals are two independent numbers of the normal distribution: of a length that one word gives, in a direction that the other one gives.
func normals(length, turn uint32) (x, y float32) {
	r := root(uint64(twiceLog(length)) << 25) // of 28 binary digits, and the products of 59
	s, c := sinCos(turn)
	return float32(r*c) / (1 << 59), float32(r*s) / (1 << 59)
}

// root is the whole part of a square root.
func root(x uint64) int64 {
	r := uint64(0)
	for bit := uint64(1) << 31; bit > 0; bit >>= 1 {
		if t := r | bit; t*t <= x {
			r = t
		}
	}
	return int64(r)
}

// one is 1 as numbers of 31 binary digits behind the point have it; times multiplies two of them.
const one = int64(1) << 31

func times(a, b int64) int64 { return (a * b) >> 31 }

// twiceLog is -2 times the natural logarithm of (w + 1/2) / 2^32, by the series of the area hyperbolic tangent.
func twiceLog(w uint32) int64 {
	m := uint64(w)<<1 | 1 // of 2^33
	e := int64(bits.Len64(m))
	x := int64(m << (32 - (e - 1))) // 1 to 2, of 32 binary digits
	if x > 6074000999 {             // the root of 2: half of it lies nearer to 1
		x, e = x>>1, e+1
	}
	s := ((x - 1<<32) << 29) / ((x + 1<<32) >> 2)
	z := times(s, s)
	p := int64(165191050)
	for _, c := range [...]int64{195225786, 238609294, 306783378, 429496730, 715827883, one} {
		p = times(p, z) + c
	}
	return max(-2*((e-34)*1488522236+2*times(s, p)), 0)
}

// sinCos are sine and cosine of so many parts of 2^32 of a turn.
func sinCos(turn uint32) (s, c int64) {
	quarter := (turn + 1<<29) >> 30
	a := (int64(int32(turn-quarter<<30)) * 1686629713) >> 29 // -pi/4 to pi/4
	z := times(a, a)
	s, c = one, one
	for _, k := range [...]int64{19522579, 29826162, 51130563, 107374182, 357913941} {
		s = one - times(times(z, k), s)
	}
	for _, k := range [...]int64{16268816, 23860929, 38347922, 71582788, 178956971, one / 2} {
		c = one - times(times(z, k), c)
	}
	s = times(a, s)
	switch quarter & 3 {
	case 1:
		return c, -s
	case 2:
		return -s, -c
	case 3:
		return -c, s
	}
	return s, c
}

// Integer is the only element of an integer tensor, or 0 of none.
func Integer(t *ir.Tensor) (int64, error) { return scalarOf[int64](t, 0) }

// Float32Bits are the bits of a number, as an argument.
func Float32Bits(x float32) int64 {
	return int64(binary.LittleEndian.Uint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))))
}
