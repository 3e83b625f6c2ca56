package follow

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target/instr"
)

// micro is the micro-kernel of the loops from i on.
func (f *follower) micro(c *stage, i int, x, w loop.Mem) (*loop.MicroKernel, error) {
	t := c.sched.Tile
	m := &loop.MicroKernel{Instr: c.row, X: t.X, Rows: 1, PrefetchW: t.Ahead, PrefetchX: t.AheadX, Narrow: t.Narrow}
	if w.Buf.Type != c.row.W {
		m.Stored = w.Buf.Type
	}
	wide := walk{lanes: c.row.Lanes, columns: 1}
	for k := i; k < len(c.sched.Loops); k++ {
		l := c.sched.Loops[k]
		if l.Stored {
			var err error
			if m.Kept, err = f.keep(c, x); err != nil {
				return nil, err
			}
			m.Kept.Alone, m.Kept.Held, m.Kept.Early = t.Alone, t.Held, t.Early
			continue
		}
		xs, ws, err := f.steps(l.Var, x, w)
		if err != nil {
			return nil, err
		}
		n, _ := f.extent(c, k).Const()
		if l.Kind == sched.Rows && c.single {
			n = 1
		}
		if !wide.add(m, l.Kind, n, xs, ws, c.sumsStored()) {
			return nil, unsuited("loop %s (%s) steps X by %d and W by %d elements; instruction %s cannot read them so", l.Var, l.Kind, xs, ws, c.row.Name)
		}
	}
	if !wide.end(m) {
		return nil, unsuited("the registers of a column of W are not contiguous")
	}
	if n := len(m.K); m.X == instr.Lane && (n == 0 || m.K[n-1].XStep != c.row.Group || m.K[n-1].Extent%c.row.Lanes != 0) {
		return nil, unsuited("the lanes of X are not contiguous along the innermost loop of the sum")
	}
	if c.row.Matrix > 0 && !m.ReadsMatrices() {
		return nil, unsuited("the rows of matrices in X do not have a constant stride, or the innermost loop of the sum is not contiguous")
	}
	if n := f.ahead[x.Buf]; n == m.Rows*m.RowStep && m.InARow() { // the next one's; of one with fewer rows there is none
		m.FetchX = n
	}
	if c.row.Aligned {
		return m, f.aligned(c, i, m, x, w)
	}
	return m, nil
}

// walk is how a micro-kernel goes through W: columns of so many lanes, so many elements apart; or through X, of which the next column is so many
// elements further.
type walk struct{ columns, lanes, apart, next int64 }

// add adds a loop of n iterations to a micro-kernel, each of which is so many elements further in X and W; false where it does not
// read them so. Of kernels that are stored, each weight is one element for all lanes of an X that is a vector.
func (v *walk) add(m *loop.MicroKernel, kind sched.Kind, n, x, w int64, stored bool) bool {
	if stored && !m.Broadcast() && kind == sched.Columns { // registers beside each other
		v.columns, v.next = n, x
		return w == 0
	}
	if stored && !m.Broadcast() && kind != sched.Rows {
		v.lanes = n
		return kind == sched.Lanes && w == 0 && x == 1 && (v.columns == 1 || v.next == n)
	}
	switch kind {
	case sched.Rows:
		if m.Rows > 1 { // those before are runs
			m.Run, m.RunStep = n, m.RowStep
		}
		m.Rows, m.RowStep = m.Rows*n, x
		return w == 0
	case sched.Columns:
		v.columns, v.apart = n, w
		return n == 1 || x == 0 && m.Broadcast() || x > 0 && !m.Broadcast()
	case sched.Lanes:
		v.lanes = n
		return w == m.Instr.Group && (x == 0 && m.Broadcast() || x == m.Instr.Group && !m.Broadcast())
	case sched.Sum:
		m.K = append(m.K, loop.KLoop{Extent: n, XStep: x, WStep: w})
	case sched.Dot:
		return x == 1 && w == 1
	}
	return true
}

// end counts the registers; false where a column is none, or several, and columns lie apart.
func (v *walk) end(m *loop.MicroKernel) bool {
	m.Vectors = v.columns * v.lanes / m.Lanes()
	if v.columns > 1 && v.next == 0 && v.apart != v.lanes*m.Instr.Group {
		m.VecStep = v.apart
		return v.lanes == m.Lanes()
	}
	return true
}

// factors are the loads of X and W: W is the one that the lanes' axis walks and the rows' axis does not.
func (f *follower) factors(c *stage, i int) (x, w loop.Mem, err error) {
	mul, ok := c.te.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return x, w, unsuited("a tile of a stage that is not a contraction")
	}
	var loads [2]loop.Mem
	for k, a := range mul.Args {
		if cast, ok := a.(te.Call); ok && cast.Fn == "cast" {
			a = cast.Args[0]
		}
		m, ok := f.flatten(c, a).(loop.Mem)
		if !ok {
			return x, w, unsuited("factor %d of a tile is not a load, or a load that may be out of bounds", k)
		}
		loads[k] = m
	}
	if c.sumsStored() {
		if loads[0].Buf == f.in[c.stored.Operand].enc.values {
			loads[0], loads[1] = loads[1], loads[0]
		}
		return loads[0], loads[1], f.typed(c, loads[0], loads[1])
	}
	for _, l := range c.sched.Loops[i:] {
		switch in0, in1 := loads[0].Index.Uses(l.Var), loads[1].Index.Uses(l.Var); {
		case l.Kind == sched.Rows && in0 != in1:
			if in1 {
				loads[0], loads[1] = loads[1], loads[0]
			}
			return loads[0], loads[1], f.typed(c, loads[0], loads[1])
		case l.Kind == sched.Lanes && in0 != in1:
			if in0 {
				loads[0], loads[1] = loads[1], loads[0]
			}
			return loads[0], loads[1], f.typed(c, loads[0], loads[1])
		}
	}
	return loads[0], loads[1], f.typed(c, loads[0], loads[1])
}

// typed checks the types of factors: W may be stored in one that loads convert.
func (f *follower) typed(c *stage, x, w loop.Mem) error {
	converts := f.t.LoadsConvert(w.Buf.Type) || c.sumsStored() && f.t.SumsStoredOf(w.Buf.Type)
	if x.Buf.Type != c.row.X || w.Buf.Type != c.row.W && !(c.row.W == ir.F32 && converts) {
		return unsuited("instruction %s multiplies %s by %s; X is %s and W is %s", c.row.Name, c.row.X, c.row.W, x.Buf.Type, w.Buf.Type)
	}
	return nil
}

// steps are how many elements apart X and W are for neighbours of a loop.
func (f *follower) steps(v string, x, w loop.Mem) (xs, ws int64, err error) {
	e, ok := sym.Coefficient(x.Index, v, f.facts)
	xs, isConst := e.Const()
	g, ok2 := sym.Coefficient(w.Index, v, f.facts)
	ws, isConst2 := g.Const()
	if !ok || !ok2 || !isConst || !isConst2 {
		return 0, 0, unsuited("loop %s of a tile steps X at %s and W at %s; want constant steps", v, x.Index, w.Index)
	}
	return xs, ws, nil
}
