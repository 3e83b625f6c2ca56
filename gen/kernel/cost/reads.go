package cost

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Reads is what a kernel's items read and write as its loops say, whatever caches hold: reads of texels, and bytes of buffers. What a group's items
// share and arrays of an item's own are not memory. A guarded access counts, too, unless the guard is on one variable alone.
type Reads struct{ Texels, Bytes, Stored float64 }

// Reading counts them. The symbols count as typical.
func Reading(k *loop.Kernel, symbols sym.Facts) Reads {
	c := &counter{estimate: estimate{facts: typical(k.Facts, symbols)}, near: map[*loop.Buffer]bool{}}
	for _, b := range k.Shared {
		c.near[b] = true
	}
	c.body(k.Statements(), c.trips(k.Tasks()), 1)
	return c.Reads
}

// counter adds up what statements do.
type counter struct {
	estimate
	near map[*loop.Buffer]bool // what items share
	Reads
}

func (c *counter) memory(b *loop.Buffer) bool { return b != nil && !b.Local && !c.near[b] }

// body counts statements that run so often, of whose accesses so many neighbours are one of a texel.
func (c *counter) body(body []loop.Stmt, times float64, lanes int64) {
	for _, s := range body {
		switch x := s.(type) {
		case loop.For:
			c.body(x.Body, float64(times*c.trips(x.Extent)), max(x.Lanes, 1))
		case loop.If:
			then, otherwise := times, times
			if f, known := c.fraction(x.Cond); known {
				then, otherwise = float64(f*times), float64((1-f)*times)
			}
			c.body(x.Then, then, lanes)
			c.body(x.Else, otherwise, lanes)
		case loop.Bind:
			c.expr(x.Value, times, lanes)
		case loop.Def:
			c.expr(x.Init, times, lanes)
		case loop.Set:
			c.expr(x.Value, times, lanes)
		case loop.Store:
			c.expr(x.Value, times, lanes)
			if c.memory(x.Buf) {
				c.Stored += float64(times * float64(x.Buf.Type.Size()))
			}
		case loop.Tile:
			c.tiled(x, times)
		case loop.Call:
			for _, b := range slices.Concat(x.Operands, x.Results) {
				if c.memory(b) {
					c.Bytes += float64(times * c.trips(b.Size) * float64(b.Type.Size()))
				}
			}
		}
	}
}

func (c *counter) expr(e te.Expr, times float64, lanes int64) {
	te.Walk(e, func(e te.Expr) {
		m, ok := e.(loop.Mem)
		switch {
		case !ok || !c.memory(m.Buf):
		case m.Buf.Image != nil:
			c.Texels += times / float64(lanes)
		default:
			c.Bytes += float64(times * float64(m.Buf.Type.Size()))
		}
	})
}

// tiled counts a micro-kernel's call: each row's elements and each vector once for each point of the sum.
func (c *counter) tiled(x loop.Tile, times float64) {
	m := x.Micro
	points := float64(times * float64(m.Steps()))
	read := func(b *loop.Buffer, elements int64) {
		if c.memory(b) {
			c.Bytes += float64(points * float64(elements*int64(b.Type.Size())))
		}
	}
	rows := m.Rows
	if !m.Broadcast() {
		rows *= m.Vectors * m.Lanes()
	}
	read(x.X, rows)
	read(x.W, m.Vectors*m.Lanes())
	if c.memory(x.Acc) {
		c.Stored += float64(times * float64(m.Rows*m.Vectors*m.Lanes()*int64(x.Acc.Type.Size())))
	}
}
