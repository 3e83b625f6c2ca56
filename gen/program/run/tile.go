package run

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// tile compiles a call of a micro-kernel. Where the instruction does not round products, they are
// added in 64 bits, whose rounding is the one difference from a fused multiply-add.
func (c *compiler) tile(x loop.Tile) action {
	m, f := x.Micro, c.frame
	if c.width > 1 {
		f.fail("a tile in a vector loop")
	}
	t := &tile{MicroKernel: m, x: c.memory(x.X), w: c.memory(x.W), acc: c.memory(x.Acc), steps: steps(m)}
	if m.Kept != nil {
		return c.kept(x, t)
	}
	for i, b := range []*memory{t.x, t.w, t.acc} {
		if want := []ir.DType{m.Instr.X, m.W(), m.Instr.Acc}[i]; b.Type != want {
			f.fail("a tile reads or writes %s of type %s; instruction %s wants %s", b.name, b.Type, m.Instr.Name, want)
		}
	}
	if !m.Instr.Allows(m.X) || m.Instr.Blocks && !m.Broadcast() {
		f.fail("instruction %s, of groups of %d, and X of kind %s", m.Instr.Name, m.Instr.Group, m.X)
	}
	if m.X == instr.Lane {
		// Registers of X are read whole: neighbours along the innermost K loop.
		if k := m.K[len(m.K)-1]; k.XStep != m.Instr.Group || k.Extent%m.Lanes() != 0 {
			f.fail("lanes of X along %d elements in steps of %d; a register has %d", k.Extent*m.Instr.Group, k.XStep, m.Lanes()*m.Instr.Group)
		}
	}
	if t.acc.kind == operand || t.acc.kind == result {
		f.fail("a tile into %s, which is neither a local array nor the worker's memory", x.Acc.Name)
	}
	xAt, wAt, accAt := c.index(x.XAt), c.index(x.At), c.index(x.AccAt)
	if m.Instr.InPairs() {
		p := t.newPairs()
		return func() { p.run(xAt.base(), wAt.base(), accAt.base()) }
	}
	if m.Instr.Acc == ir.F32 {
		t.wide, t.group = scalar.NewVec(m.W(), int(m.Lanes()*m.Instr.Group)), scalar.NewVec(m.Instr.X, int(m.Lanes()*m.Instr.Group))
		return func() { t.run(xAt.base(), wAt.base(), accAt.base()) }
	}
	if m.Instr.InHalves() {
		h := t.newHalves()
		return func() { h.run(xAt.base(), wAt.base(), accAt.base()) }
	}
	t.x64, t.w64 = make([]int64, m.Instr.Group), make([]int64, m.Lanes()*m.Instr.Group)
	if !m.Broadcast() {
		t.x64 = make([]int64, len(t.w64))
	}
	t.acc64 = make([]int64, m.Rows*m.Vectors*m.Lanes())
	if m.Narrow > 0 {
		t.narrow = make([]int64, int64(len(t.acc64))*m.Instr.Group)
	}
	return func() { t.runIntegers(xAt.base(), wAt.base(), accAt.base()) }
}

type tile struct {
	*loop.MicroKernel
	x, w, acc *memory
	// index and ends are those of stored kernels.
	index, ends *memory
	steps       []tileStep
	wide, group *scalar.Vec // a register of W, and one of X or its first group
	// Integers: a group of X, a register of W and all accumulators.
	x64, w64, acc64 []int64
	// narrow are sums in 16 bits of the products with each of a lane's neighbours, where there are some.
	narrow []int64
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

func (t *tile) run(xAt, wAt, accAt int64) {
	n := t.Vectors * t.Lanes()
	t.acc.write(accAt, 1, 0, int(t.Rows*n))
	acc := t.acc.F32[accAt:][:t.Rows*n]
	if t.Adds {
		t.acc.read(accAt, 1, 0, int(t.Rows*n))
	} else {
		clear(acc)
	}
	for _, s := range t.steps {
		t.point(acc, xAt+s.x, wAt+s.w)
	}
}

// point adds the products of one point of the sum, or of a group's.
func (t *tile) point(acc []float32, xAt, wAt int64) {
	lanes, group := t.Lanes(), t.Instr.Group
	n := t.Vectors * lanes
	for v := range t.Vectors {
		t.w.load(t.wide, wAt+t.VectorAt(v), 1, 0, int(lanes*group))
		w := t.wide.F32
		for r := range t.Rows {
			at, row := xAt+t.RowAt(r), acc[r*n+v*lanes:][:lanes]
			if group > 1 {
				t.x.load(t.group, at, 1, 0, int(group))
				addGroups(row, t.group.F32[:group], w)
			} else if t.Instr.WidensHalves() {
				x := 1
				if !t.Broadcast() {
					x, at = int(lanes), at+v*lanes
				}
				t.x.load(t.group, at, 1, 0, x)
				t.add(row, t.group.F32[:x], w)
			} else if t.Broadcast() {
				t.x.read(at, 1, 0, 1)
				t.add(row, t.x.F32[at:at+1], w)
			} else {
				at += v * lanes
				t.x.read(at, 1, 0, int(lanes))
				t.add(row, t.x.F32[at:][:lanes], w)
			}
		}
	}
}

// runIntegers adds products of integers; the sums wrap where they are stored.
func (t *tile) runIntegers(xAt, wAt, accAt int64) {
	lanes, group := t.Lanes(), t.Instr.Group
	clear(t.acc64)
	t.aligned(xAt, wAt)
	for i, s := range t.steps {
		t.widen(int64(i))
		for v := range t.Vectors {
			t.w.load(&scalar.Vec{I64: t.w64}, wAt+s.w+t.VectorAt(v), 1, 0, len(t.w64))
			for r := range t.Rows {
				at, own := xAt+s.x+t.RowAt(r), int64(0)
				if !t.Broadcast() {
					at, own = at+v*lanes*group, group
				}
				t.x.load(&scalar.Vec{I64: t.x64}, at, 1, 0, len(t.x64))
				row := t.acc64[(r*t.Vectors+v)*lanes:][:lanes]
				for l := range row {
					for g := range group {
						row[l] += t.x64[int64(l)*own+g] * t.w64[int64(l)*group+g]
					}
				}
				if t.Narrow > 0 {
					t.addNarrow((r*t.Vectors + v) * lanes * group)
				}
			}
		}
	}
	t.acc.store(&scalar.Vec{I64: t.acc64}, accAt, 1, 0, len(t.acc64))
}

// widen begins sums in 16 bits anew where those before are added to accumulators.
func (t *tile) widen(step int64) {
	if t.Narrow > 0 && step%t.K[len(t.K)-1].Extent%t.Narrow == 0 {
		clear(t.narrow)
	}
}

// addNarrow checks that sums in 16 bits from one of them on have room for the products at hand.
func (t *tile) addNarrow(first int64) {
	for i, w := range t.w64 {
		sum := &t.narrow[first+int64(i)]
		if *sum += t.x64[int64(i)%t.Instr.Group] * w; *sum != int64(int16(*sum)) {
			t.x.frame.fail("sums of %d points of %s by %s leave 16 bits", t.Narrow, t.x.name, t.w.name)
		}
	}
}

// aligned checks what an instruction asks of addresses: buffers begin at multiples of all that it loads.
func (t *tile) aligned(xAt, wAt int64) {
	if !t.Instr.Aligned {
		return
	}
	group, size := t.Instr.Group, t.Lanes()*t.Instr.Group
	for _, s := range t.steps {
		for r := range t.Rows {
			if at := xAt + s.x + t.RowAt(r); at%group != 0 {
				t.x.frame.fail("a group of %s is loaded at element %d, no multiple of %d", t.x.name, at, group)
			}
		}
	}
	if t.WholeRegisters() && wAt%size != 0 {
		t.x.frame.fail("a register of %s is loaded at element %d, no multiple of %d", t.w.name, wAt, size)
	}
}

// addGroups adds those of a group of x, which all lanes share, and of one of w for each lane.
func addGroups(acc, x, w []float32) {
	for g, v := range x {
		for l := range acc {
			acc[l] = float32(float64(v)*float64(w[l*len(x)+g]) + float64(acc[l]))
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
