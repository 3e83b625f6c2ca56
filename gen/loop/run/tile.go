package run

import (
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
)

// tile compiles a call of a micro-kernel. Where the instruction does not round products, they are
// added in 64 bits, whose rounding is the one difference from a fused multiply-add.
func (c *compiler) tile(x loop.Tile) action {
	m, f := x.Micro, c.frame
	if c.width > 1 {
		f.fail("a tile in a vector loop")
	}
	t := &tile{MicroKernel: m, x: c.memory(x.X), w: c.memory(x.W), acc: c.memory(x.Acc), steps: steps(m)}
	for _, b := range []*memory{t.x, t.w, t.acc} {
		if b.Type != ir.F32 {
			f.fail("a tile of %s, which is %s", b.name, b.Type)
		}
	}
	if !m.Instr.Allows(m.X) || m.Instr.Group != 1 {
		f.fail("instruction %s, of groups of %d, and X of kind %s", m.Instr.Name, m.Instr.Group, m.X)
	}
	if m.X == instr.Lane {
		// Registers of X are read whole: neighbours along the innermost K loop.
		if k := m.K[len(m.K)-1]; k.XStep != 1 || k.Extent%m.Lanes() != 0 {
			f.fail("lanes of X along %d elements in steps of %d; a register has %d", k.Extent, k.XStep, m.Lanes())
		}
	}
	if t.acc.kind != array {
		f.fail("a tile into %s, which is no local array", x.Acc.Name)
	}
	xAt, wAt := c.index(x.XAt), c.index(x.At)
	return func() { t.run(xAt.base(), wAt.base()) }
}

type tile struct {
	*loop.MicroKernel
	x, w, acc *memory
	steps     []tileStep
}

// tileStep is the offsets of one point of the K loops.
type tileStep struct{ x, w int64 }

func steps(m *loop.MicroKernel) []tileStep {
	out := []tileStep{{}}
	for _, k := range m.K {
		var next []tileStep
		for _, s := range out {
			for i := range k.Extent {
				next = append(next, tileStep{s.x + i*k.XStep, s.w + i*k.WStep})
			}
		}
		out = next
	}
	return out
}

func (t *tile) run(xAt, wAt int64) {
	n := t.Vectors * t.Lanes()
	t.acc.write(0, 1, 0, int(t.Rows*n))
	acc := t.acc.F32[:t.Rows*n]
	clear(acc)
	for _, s := range t.steps {
		t.w.read(wAt+s.w, 1, 0, int(n))
		w := t.w.F32[wAt+s.w:][:n]
		for r := range t.Rows {
			at, row := xAt+s.x+r*t.RowStep, acc[r*n:][:n]
			if t.Broadcast() {
				t.x.read(at, 1, 0, 1)
				t.add(row, t.x.F32[at:at+1], w)
			} else {
				t.x.read(at, 1, 0, int(n))
				t.add(row, t.x.F32[at:][:n], w)
			}
		}
	}
}

// add adds products of x, one element or one for each of w, to the accumulators.
func (t *tile) add(acc, x, w []float32) {
	mask := len(x) - 1 // 0, or all bits that an index into w has
	if mask > 0 {
		mask = -1
	}
	if t.Instr.Fused {
		for j, v := range w {
			acc[j] = float32(float64(x[j&mask])*float64(v) + float64(acc[j]))
		}
		return
	}
	for j, v := range w {
		acc[j] += float32(x[j&mask] * v)
	}
}
