package isa

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// place is the address that a vector load or store has: vmem ignores the low bits, of which a compiler's mistake would make use.
func place(c *Context, base uint32) uint32 {
	if strings.Contains(c.inst.Row.Text, "vmemu") {
		return base
	}
	return base &^ (Bytes - 1)
}

func vectorLoad(c *Context) {
	var v V
	c.read(place(c, c.r(1)+c.imm(2)*Bytes), v[:])
	c.setV(0, v)
}

func vectorLoadStep(c *Context) {
	var v V
	c.read(place(c, c.r(1)), v[:])
	c.setV(0, v)
	c.setR(1, c.r(1)+c.imm(2)*Bytes)
}

// stored is the value of a store, its last operand.
func stored(c *Context) []byte {
	i := len(c.inst.Args) - 1
	v := V{}
	if c.inst.Row.Operands[i].New {
		v = c.fresh(i)
	} else {
		v = c.v(i)
	}
	return v[:]
}

func vectorStore(c *Context) { c.write(place(c, c.r(0)+c.imm(1)*Bytes), stored(c)) }

func vectorStoreStep(c *Context) {
	c.write(place(c, c.r(0)), stored(c))
	c.setR(0, c.r(0)+c.imm(1)*Bytes)
}

func extend(b byte, signed bool) int32 {
	if signed {
		return int32(int8(b))
	}
	return int32(b)
}

// second is a vector, or a scalar as a vector of it.
func second(c *Context, i int) V {
	if c.inst.Row.Operands[i].Class == Vector {
		return c.v(i)
	}
	return repeat(c.r(i))
}

func repeat(x uint32) V {
	var v V
	for l := 0; l < Bytes; l += 4 {
		binary.LittleEndian.PutUint32(v[l:], x)
	}
	return v
}

func splat(c *Context) { c.setV(0, repeat(c.r(1))) }

// fours multiplies bytes and adds the products of four neighbours.
func fours(adds, firstSigned, secondSigned bool) func(c *Context) {
	return func(c *Context) {
		var out V
		if adds {
			out = c.v(0)
		}
		a, b := c.v(1), second(c, 2)
		for l := 0; l < Bytes; l += 4 {
			sum := binary.LittleEndian.Uint32(out[l:])
			for g := range 4 {
				sum += uint32(extend(a[l+g], firstSigned) * extend(b[l+g], secondSigned))
			}
			binary.LittleEndian.PutUint32(out[l:], sum)
		}
		c.setV(0, out)
	}
}

func half(v *V, l int) int32 { return int32(int16(binary.LittleEndian.Uint16(v[2*l:]))) }

func setHalf(v *V, l int, x int32) { binary.LittleEndian.PutUint16(v[2*l:], uint16(x)) }

func word(v *V, l int) int32 { return int32(binary.LittleEndian.Uint32(v[4*l:])) }

func setWord(v *V, l int, x int32) { binary.LittleEndian.PutUint32(v[4*l:], uint32(x)) }

// pairs makes halves of a pair from bytes: f gives what lane l of the lower and of the upper half take.
func pairs(c *Context, adds bool, f func(l int) (low, high int32)) {
	var low, high V
	if adds {
		low, high = c.v(0), c.high(0)
	}
	for l := range Bytes / 2 {
		a, b := f(l)
		setHalf(&low, l, half(&low, l)+a)
		setHalf(&high, l, half(&high, l)+b)
	}
	c.setPair(0, low, high)
}

func halves(adds bool) func(c *Context) {
	return func(c *Context) {
		a, r := c.v(1), repeat(c.r(2))
		pairs(c, adds, func(l int) (int32, int32) {
			return int32(a[2*l]) * extend(r[2*l], true), int32(a[2*l+1]) * extend(r[2*l+1], true)
		})
	}
}

func twos(adds bool) func(c *Context) {
	return func(c *Context) {
		a, b, r := c.v(1), c.high(1), repeat(c.r(2))
		pairs(c, adds, func(l int) (int32, int32) {
			return int32(a[2*l])*extend(r[0], true) + int32(b[2*l])*extend(r[1], true),
				int32(a[2*l+1])*extend(r[2], true) + int32(b[2*l+1])*extend(r[3], true)
		})
	}
}

func addBytes(adds bool) func(c *Context) {
	return func(c *Context) {
		a, b := c.v(1), c.v(2)
		pairs(c, adds, func(l int) (int32, int32) {
			return int32(a[2*l]) + int32(b[2*l]), int32(a[2*l+1]) + int32(b[2*l+1])
		})
	}
}

func widen(c *Context) {
	a := c.v(1)
	pairs(c, false, func(l int) (int32, int32) { return int32(a[2*l]), int32(a[2*l+1]) })
}

func addHalves(c *Context) {
	a, b, x, y := c.v(1), c.high(1), c.v(2), c.high(2)
	pairs(c, false, func(l int) (int32, int32) { return half(&a, l) + half(&x, l), half(&b, l) + half(&y, l) })
}

// words is a function of words.
func words(f func(a, b int32) int32) func(c *Context) {
	return func(c *Context) {
		a, b, out := c.v(1), c.v(2), V{}
		for l := range Bytes / 4 {
			setWord(&out, l, f(word(&a, l), word(&b, l)))
		}
		c.setV(0, out)
	}
}

// shuffle interleaves two vectors: parts of the sizes that are set in the scalar change places.
func shuffle(c *Context) {
	high, low, sizes := c.v(1), c.v(2), c.r(3)
	for size := 1; size < Bytes; size *= 2 {
		if sizes&uint32(size) == 0 {
			continue
		}
		for k := range Bytes {
			if k&size == 0 {
				high[k], low[k+size] = low[k+size], high[k]
			}
		}
	}
	c.setPair(0, low, high)
}

// evenBytes puts even bytes of the second operand in even places, and those of the first one in odd places.
func evenBytes(c *Context) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := 0; l < Bytes; l += 2 {
		out[l], out[l+1] = b[l], a[l]
	}
	c.setV(0, out)
}

// align is the vector that begins so many bytes after the second operand, which the first one follows.
func align(c *Context) {
	all := append(slices.Clone(vectorBytes(c.v(2))), vectorBytes(c.v(1))...)
	c.setV(0, V(all[c.r(3)%Bytes:][:Bytes]))
}

func vectorBytes(v V) []byte { return v[:] }

// alignLow is the vector that ends so many bytes before the first operand's end, which follows the second one.
func alignLow(c *Context) {
	all := append(slices.Clone(vectorBytes(c.v(2))), vectorBytes(c.v(1))...)
	c.setV(0, V(all[Bytes-c.r(3)%Bytes:][:Bytes]))
}

func bytesOf(x int32) byte { return byte(max(0, min(255, x))) }

func halfOf(x int32) int32 { return max(math.MinInt16, min(math.MaxInt16, x)) }

// joined makes a vector of lanes of the second operand (even ones) and of the first (odd ones).
func joinedBytes(c *Context, f func(int32) byte) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := range Bytes / 2 {
		out[2*l], out[2*l+1] = f(half(&b, l)), f(half(&a, l))
	}
	c.setV(0, out)
}

func joinedHalves(c *Context, f func(int32) int32) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := range Bytes / 4 {
		setHalf(&out, 2*l, f(word(&b, l)))
		setHalf(&out, 2*l+1, f(word(&a, l)))
	}
	c.setV(0, out)
}

func saturateBytes(c *Context)  { joinedBytes(c, bytesOf) }
func saturateHalves(c *Context) { joinedHalves(c, halfOf) }

func shiftToBytes(c *Context) {
	n := c.r(3) & 7
	joinedBytes(c, func(x int32) byte { return bytesOf(x >> n) })
}

func shiftToHalves(c *Context) {
	n := c.r(3) & 15
	joinedHalves(c, func(x int32) int32 { return halfOf(x >> n) })
}

// packBytes puts the bytes of the second operand's halves before those of the first one's.
func packBytes(saturates bool) func(c *Context) {
	return func(c *Context) {
		a, b, out := c.v(1), c.v(2), V{}
		for l := range Bytes / 2 {
			x, y := half(&b, l), half(&a, l)
			if saturates {
				x, y = int32(bytesOf(x)), int32(bytesOf(y))
			}
			out[l], out[Bytes/2+l] = byte(x), byte(y)
		}
		c.setV(0, out)
	}
}

// allocateFrame keeps where the caller's frame is and where the function returns to, and makes room below.
func allocateFrame(c *Context) {
	at := c.old.R[29] - 8
	c.storeDouble(at, uint64(c.old.R[31])<<32|uint64(c.old.R[30]))
	c.writeR(30, at)
	c.writeR(29, at-c.imm(0))
}

// freeFrame undoes it.
func freeFrame(c *Context) {
	x := c.double(c.old.R[30])
	c.writeR(30, uint32(x))
	c.writeR(31, uint32(x>>32))
	c.writeR(29, c.old.R[30]+8)
}
