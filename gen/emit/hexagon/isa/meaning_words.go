package isa

import "math"

// bytes is a function of bytes.
func bytes(f func(a, b byte) byte) func(c *Context) {
	return func(c *Context) {
		a, b := c.v(1), c.v(2)
		for l := range a {
			a[l] = f(a[l], b[l])
		}
		c.setV(0, a)
	}
}

// timesLower is the upper part of words times the lower halves of others, which have no sign.
func timesLower(c *Context) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := range Bytes / 4 {
		setWord(&out, l, int32(int64(word(&a, l))*int64(uint16(word(&b, l)))>>16))
	}
	c.setV(0, out)
}

// timesUpper adds words times the upper halves of others, and shifts the sums by 15.
func timesUpper(c *Context) {
	out, a, b := c.v(0), c.v(1), c.v(2)
	for l := range Bytes / 4 {
		sum := (int64(word(&out, l)) + int64(word(&a, l))*int64(word(&b, l)>>16)) >> 15
		setWord(&out, l, int32(max(math.MinInt32, min(math.MaxInt32, sum))))
	}
	c.setV(0, out)
}

// shiftWords shifts words by a scalar.
func shiftWords(f func(x int32, n uint32) int32) func(c *Context) {
	return func(c *Context) {
		a := c.v(1)
		for l := range Bytes / 4 {
			setWord(&a, l, f(word(&a, l), c.r(2)&31))
		}
		c.setV(0, a)
	}
}

// packHalves puts the second operand's words, saturated, before the first one's.
func packHalves(c *Context) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := range Bytes / 4 {
		setHalf(&out, l, halfOf(word(&b, l)))
		setHalf(&out, Bytes/4+l, halfOf(word(&a, l)))
	}
	c.setV(0, out)
}

// packSigned does so with halves.
func packSigned(c *Context) {
	a, b, out := c.v(1), c.v(2), V{}
	for l := range Bytes / 2 {
		out[l] = byte(int8(max(math.MinInt8, min(math.MaxInt8, half(&b, l)))))
		out[Bytes/2+l] = byte(int8(max(math.MinInt8, min(math.MaxInt8, half(&a, l)))))
	}
	c.setV(0, out)
}

func splatByte(c *Context) {
	var v V
	for l := range v {
		v[l] = byte(c.r(1))
	}
	c.setV(0, v)
}

// firstBytes is a mask of the first n bytes of a vector.
func firstBytes(c *Context, n uint32) {
	var q [Bytes]bool
	for l := range n {
		q[l] = true
	}
	c.setQ(0, q)
}

// andNot is bytes that are in one mask and not in another.
func andNot(c *Context) {
	a, b := c.q(1), c.q(2)
	for l := range a {
		a[l] = a[l] && !b[l]
	}
	c.setQ(0, a)
}

// vectorStoreMasked stores some bytes.
func vectorStoreMasked(c *Context) {
	q, v, at := c.q(0), c.v(3), place(c, c.r(1)+c.imm(2)*Bytes)
	for l := range v {
		if q[l] {
			c.write(at+uint32(l), []byte{v[l]})
		}
	}
}
