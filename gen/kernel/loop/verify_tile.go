package loop

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/target/instr"
)

// tile checks that a micro-kernel gets the types that its instruction takes, and stays in its buffers.
func (v *verifier) tile(x Tile) {
	if x.Micro == nil || x.Micro.Instr == nil {
		v.fail("a tile without an instruction")
		return
	}
	for i, b := range []*Buffer{x.X, x.W, x.Acc} {
		if v.flat(b, i == 2); v.err != nil {
			return
		}
		if want := []ir.DType{x.Micro.Instr.X, x.Micro.W(), x.Micro.Instr.Acc}[i]; b.Type != want {
			v.fail("a tile reads or writes %q of type %s; instruction %s wants %s", b.Name, b.Type, x.Micro.Instr.Name, want)
		}
	}
	for _, b := range v.k.Buffers {
		if x.Acc == b {
			v.fail("a tile writes to %q; want a local array or the worker's memory", b.Name)
		}
	}
	if v.vectors {
		v.fail("a tile in a vectorized loop")
	}
	v.micro(x.Micro)
	if v.err == nil {
		v.keptArrays(x)
	}
	v.indices(x.XAt, x.At, x.AccAt, x.FetchAt)
	if v.err == nil && v.ranges {
		v.reach(x)
	}
}

// micro checks a micro-kernel against its instruction's row.
func (v *verifier) micro(m *MicroKernel) {
	if !m.Instr.Allows(m.X) || m.X != instr.Vector && m.Rows < 1 || m.Vectors < 1 || (m.Instr.Blocks || m.Instr.Aligned) && !m.Broadcast() {
		v.fail("instruction %s gets X of kind %s in %d rows of %d registers", m.Instr.Name, m.X, m.Rows, m.Vectors)
		return
	}
	if m.Stored != ir.Invalid && (m.Instr.W != ir.F32 || !slices.Contains(Halves, m.Stored)) {
		v.fail("loads of W convert %s for instruction %s, which takes %s; only 16-bit floats can be converted to f32", m.Stored, m.Instr.Name, m.Instr.W)
		return
	}
	for _, k := range m.K {
		if k.Extent < 1 {
			v.fail("a loop of a micro-kernel has %d points", k.Extent)
		}
	}
	if m.Kept != nil {
		if wrong := m.checkKept(); wrong != "" {
			v.fail("%s", wrong)
			return
		}
	}
	if m.Adds && m.Instr.Acc != ir.F32 {
		v.fail("instruction %s adds to existing sums; only instructions for floats can", m.Instr.Name)
		return
	}
	if m.FetchX != 0 && (m.FetchX < 0 || !m.InARow()) {
		v.fail("X is fetched %d elements ahead as one row; want contiguous rows", m.FetchX)
		return
	}
	if m.Instr.Down > 0 && !m.together() {
		v.fail("items apply instruction %s together to pairs of rows and %d groups of the sum; want an even number of rows, and one loop of the sum over a multiple of the groups", m.Instr.Name, m.Instr.Across)
		return
	}
	if m.Instr.Matrix > 0 && !m.ReadsMatrices() {
		v.fail("instruction %s reads matrices; want rows of X with a constant stride, and a contiguous innermost loop", m.Instr.Name)
		return
	}
	if m.Instr.Matrix > 0 && (m.PrefetchW > 0 || m.PrefetchX || m.Fetch > 0 || m.FetchX > 0) {
		v.fail("instruction %s multiplies matrices; its micro-kernels cannot fetch ahead", m.Instr.Name)
		return
	}
	if !m.Instr.Narrows(m.Narrow) || m.Narrow > 0 && len(m.K) == 0 {
		v.fail("instruction %s adds products of %d points in 16 bits; want a multiple of %d up to %d, in a sum with a loop, if the instruction has 16-bit sums, and 0 otherwise", m.Instr.Name, m.Narrow, m.Instr.Together(), instr.MostNarrow)
		return
	}
	if m.Run < 0 {
		v.fail("a micro-kernel has runs of %d rows", m.Run)
	}
	if m.X != instr.Lane {
		return
	}
	if n := len(m.K); n == 0 || m.K[n-1].XStep != m.Instr.Group || m.K[n-1].Extent%m.Lanes() != 0 {
		v.fail("instruction %s takes lanes of X; want a contiguous innermost loop over a multiple of %d elements, a register", m.Instr.Name, m.Lanes()*m.Instr.Group)
	}
}

// reach checks that the elements which a tile reads and writes lie in its buffers.
func (v *verifier) reach(x Tile) {
	m := x.Micro
	// The least and the greatest offset that the K loops add to each operand's.
	var xs, ws [2]int64
	for _, k := range m.K {
		for i, step := range []int64{k.XStep, k.WStep} {
			to := []*[2]int64{&xs, &ws}[i]
			last := (k.Extent - 1) * step
			to[0], to[1] = to[0]+min(last, 0), to[1]+max(last, 0)
		}
	}
	if m.Kept != nil {
		xs[0], xs[1] = m.Kept.spread()
		v.reachKept(x)
	}
	group := m.Instr.Group
	for r := range m.Rows {
		at := m.RowAt(r)
		wide := group
		if !m.Broadcast() {
			wide = m.Vectors * m.Lanes() * group
		}
		v.inside(x.X, sym.Add(x.XAt, sym.Const(at+xs[0])))
		v.inside(x.X, sym.Add(x.XAt, sym.Const(at+xs[1]+wide-1)))
	}
	v.inside(x.W, sym.Add(x.At, sym.Const(ws[0])))
	if m.Kept == nil || m.Broadcast() {
		v.inside(x.W, sym.Add(x.At, sym.Const(m.VectorAt(m.Vectors-1)+ws[1]+m.Lanes()*group-1)))
	}
	v.inside(x.Acc, x.AccAt)
	v.inside(x.Acc, sym.Add(x.AccAt, sym.Const(m.Rows*m.Vectors*m.Lanes()-1)))
}
