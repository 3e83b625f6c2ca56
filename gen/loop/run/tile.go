package run

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
)

// tile compiles a call of a micro-kernel. Products are added as a fused multiply-add does, but
// for a second rounding from 64 bits, which an FMA does not have.
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
				x := float64(t.x.F32[at])
				for j, v := range w {
					row[j] = float32(x*float64(v) + float64(row[j]))
				}
				continue
			}
			t.x.read(at, 1, 0, int(n))
			for j, x := range t.x.F32[at:][:n] {
				row[j] = float32(float64(x)*float64(w[j]) + float64(row[j]))
			}
		}
	}
}
