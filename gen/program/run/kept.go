package run

import (
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// kept compiles a call of a micro-kernel over stored kernels.
func (c *compiler) kept(x loop.Tile, t *tile) action {
	if t.Instr.Group != 1 || t.X == instr.Lane {
		c.frame.fail("instruction %s, of groups of %d, and X of kind %s for stored kernels", t.Instr.Name, t.Instr.Group, t.X)
	}
	t.wide = scalar.NewVec(t.W(), int(t.Lanes()))
	t.index, t.ends = c.memory(x.Index), c.memory(x.Ends)
	xAt, wAt, accAt, indexAt, endsAt := c.index(x.XAt), c.index(x.At), c.index(x.AccAt), c.index(x.IndexAt), c.index(x.EndsAt)
	return func() { t.runKept(xAt.base(), wAt.base(), accAt.base(), indexAt.base(), endsAt.base()) }
}

// runKept adds the products of the kernels of all runs, one after the other.
func (t *tile) runKept(xAt, wAt, accAt, indexAt, endsAt int64) {
	k, n := t.Kept, t.Vectors*t.Lanes()
	t.acc.write(accAt, 1, 0, int(t.Rows*n))
	acc := t.acc.F32[accAt:][:t.Rows*n]
	if t.Adds {
		t.acc.read(accAt, 1, 0, int(t.Rows*n))
	} else {
		clear(acc)
	}
	for run := range k.Runs() {
		for i := t.element(t.ends, endsAt+run); i < t.element(t.ends, endsAt+run+1); i++ {
			channel, pattern := k.Of(t.element(t.index, indexAt+i), run)
			if channel >= k.Channels || pattern >= int64(len(k.Taps)) {
				t.x.frame.fail("kernel %d is of channel %d and pattern %d, and X has %d channels, and %d patterns are there", i, channel, pattern, k.Channels, len(k.Taps))
			}
			taps := k.Taps[pattern]
			if !t.Broadcast() {
				t.columns(acc, taps, xAt+k.At(channel), wAt+i*k.Entries())
				continue
			}
			for j, tap := range taps {
				t.point(acc, xAt+k.At(channel)+tap, wAt+(i*k.Entries()+int64(j))*n)
			}
		}
	}
}

// columns adds the products of a kernel where lanes are in X, in the order in which its taps are loaded.
func (t *tile) columns(acc []float32, taps []int64, xAt, wAt int64) {
	for _, c := range t.Columns(taps) {
		for _, tap := range c.Taps {
			t.neighbours(acc, xAt+taps[tap], wAt+tap)
		}
	}
}

// neighbours adds the products of one weight with the neighbours in X that are the lanes.
func (t *tile) neighbours(acc []float32, xAt, wAt int64) {
	n := t.Vectors * t.Lanes()
	t.w.load(t.wide, wAt, 1, 0, 1)
	for r := range t.Rows {
		at := xAt + t.RowAt(r)
		t.x.read(at, 1, 0, int(n))
		t.add(acc[r*n:][:n], t.wide.F32[:1], t.x.F32[at:][:n])
	}
}

// element is an integer of an array.
func (t *tile) element(m *memory, at int64) int64 {
	var one [1]int64
	m.load(&scalar.Vec{I64: one[:]}, at, 1, 0, 1)
	return one[0]
}
