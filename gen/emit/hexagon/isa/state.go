package isa

import (
	"encoding/binary"
	"fmt"
)

// Bytes is the size of a vector.
const Bytes = 128

// V is a vector.
type V [Bytes]byte

// Storage is memory. Errors of reads and writes end a run.
type Storage interface {
	Read(at uint32, to []byte) error
	Write(at uint32, from []byte) error
}

// State is registers and memory.
type State struct {
	R   [32]uint32
	V   [32]V
	P   [4]bool
	Q   [4][Bytes]bool
	Mem Storage
}

// Outcome is what a packet does besides: it begins a loop, within another one perhaps, goes to a label, or jumps to an address.
type Outcome struct {
	Loop, Outer       string
	Count, OuterCount int64
	Goto              string
	Jump              uint32
	Jumped            bool
}

// Context is an instruction's view while its packet runs: registers as they were before, but for what .cur, .tmp and .new give.
type Context struct {
	Outcome
	inst *Inst
	old  *State
	// given are results of .cur and .tmp loads; next are all that the packet writes to registers.
	given map[int64]*V
	nextV map[int64]V
	nextR map[int64]uint32
	nextP map[int64]bool
	nextQ map[int64][Bytes]bool
	mem   []func() error
	err   error
}

// Step runs a packet. Its instructions read what was there before it.
func (s *State) Step(packet []Inst) (Outcome, error) {
	c := &Context{old: s, given: map[int64]*V{}, nextV: map[int64]V{}, nextR: map[int64]uint32{}, nextP: map[int64]bool{}, nextQ: map[int64][Bytes]bool{}}
	for pass := range 3 {
		for i := range packet {
			if order(&packet[i]) == pass {
				c.inst = &packet[i]
				c.inst.Row.run(c)
				if c.err != nil {
					return Outcome{}, fmt.Errorf("%s: %w", packet[i], c.err)
				}
			}
		}
	}
	for n, v := range c.nextV {
		s.V[n] = v
	}
	for n, r := range c.nextR {
		s.R[n] = r
	}
	for n, p := range c.nextP {
		s.P[n] = p
	}
	for n, q := range c.nextQ {
		s.Q[n] = q
	}
	for _, store := range c.mem {
		if err := store(); err != nil {
			return Outcome{}, err
		}
	}
	return c.Outcome, nil
}

// order is when an instruction's value is there for others of its packet.
func order(i *Inst) int {
	if i.Row.Form != Plain {
		return 0
	}
	for _, o := range i.Row.Operands {
		if o.New {
			return 2
		}
	}
	return 1
}

func (c *Context) v(i int) V      { return c.vector(c.inst.Args[i]) }
func (c *Context) high(i int) V   { return c.vector(c.inst.Args[i] + 1) }
func (c *Context) r(i int) uint32 { return c.old.R[c.inst.Args[i]] }
func (c *Context) imm(i int) uint32 {
	return uint32(int32(c.inst.Args[i]))
}

func (c *Context) vector(n int64) V {
	if v := c.given[n]; v != nil {
		return *v
	}
	return c.old.V[n]
}

// fresh is the value that the packet gives a register.
func (c *Context) fresh(i int) V {
	v, ok := c.nextV[c.inst.Args[i]]
	if !ok && c.err == nil {
		c.err = fmt.Errorf("nothing in the packet writes v%d", c.inst.Args[i])
	}
	return v
}

func (c *Context) setV(i int, v V) {
	n := c.inst.Args[i]
	if c.inst.Row.Form != Plain {
		c.given[n] = &v
	}
	if c.inst.Row.Form != Tmp {
		c.writeV(n, v)
	}
}

func (c *Context) writeV(n int64, v V) {
	if _, twice := c.nextV[n]; twice && c.err == nil {
		c.err = fmt.Errorf("v%d is written twice", n)
	}
	c.nextV[n] = v
}

// freshR is the value that the packet gives a scalar register.
func (c *Context) freshR(i int) uint32 {
	r, ok := c.nextR[c.inst.Args[i]]
	if !ok && c.err == nil {
		c.err = fmt.Errorf("nothing in the packet writes r%d", c.inst.Args[i])
	}
	return r
}

// p is a predicate, or its new value.
func (c *Context) p(i int) bool {
	if c.inst.Row.Operands[i].New {
		return c.nextP[c.inst.Args[i]]
	}
	return c.old.P[c.inst.Args[i]]
}

// setP sets a predicate; what several instructions of a packet set is true where all set it so.
func (c *Context) setP(i int, x bool) {
	n := c.inst.Args[i]
	if was, twice := c.nextP[n]; twice {
		x = x && was
	}
	c.nextP[n] = x
}

func (c *Context) q(i int) [Bytes]bool { return c.old.Q[c.inst.Args[i]] }

func (c *Context) setQ(i int, q [Bytes]bool) {
	n := c.inst.Args[i]
	if _, twice := c.nextQ[n]; twice && c.err == nil {
		c.err = fmt.Errorf("q%d is written twice", n)
	}
	c.nextQ[n] = q
}

func (c *Context) jumpIf(taken bool) {
	if taken && c.Goto == "" {
		c.Goto = c.inst.Target
	}
}

func (c *Context) setPair(i int, low, high V) {
	c.writeV(c.inst.Args[i], low)
	c.writeV(c.inst.Args[i]+1, high)
}

func (c *Context) setR(i int, x uint32) { c.writeR(c.inst.Args[i], x) }

func (c *Context) writeR(n int64, x uint32) {
	if _, twice := c.nextR[n]; twice && c.err == nil {
		c.err = fmt.Errorf("r%d is written twice", n)
	}
	c.nextR[n] = x
}

func (c *Context) setDouble(i int, x uint64) {
	c.writeR(c.inst.Args[i], uint32(x))
	c.writeR(c.inst.Args[i]+1, uint32(x>>32))
}

func (c *Context) getDouble(i int) uint64 {
	n := c.inst.Args[i]
	return uint64(c.old.R[n+1])<<32 | uint64(c.old.R[n])
}

func (c *Context) read(at uint32, to []byte) {
	if err := c.old.Mem.Read(at, to); err != nil && c.err == nil {
		c.err = err
	}
}

func (c *Context) write(at uint32, from []byte) {
	c.mem = append(c.mem, func() error { return c.old.Mem.Write(at, from) })
}

// aligned is an address of a scalar of so many bytes, which must be a multiple of them.
func (c *Context) aligned(at uint32, bytes uint32) uint32 {
	if at%bytes != 0 && c.err == nil {
		c.err = fmt.Errorf("address %#x is not a multiple of %d", at, bytes)
	}
	return at
}

func (c *Context) word(at uint32) uint32 {
	var b [4]byte
	c.read(c.aligned(at, 4), b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (c *Context) double(at uint32) uint64 {
	var b [8]byte
	c.read(c.aligned(at, 8), b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func (c *Context) storeWord(at, x uint32) {
	c.write(c.aligned(at, 4), binary.LittleEndian.AppendUint32(nil, x))
}

func (c *Context) storeDouble(at uint32, x uint64) {
	c.write(c.aligned(at, 8), binary.LittleEndian.AppendUint64(nil, x))
}
