package neon

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// mostPointers is the maximum number of addresses of a finish, because each needs a register.
const mostPointers = 12

// finishOf returns the finish that the statement after a tile describes, and whether it does: loops
// of constant extents that store a function of each register of accumulators.
func finishOf(t loop.Tile, s loop.Stmt, facts sym.Facts) (*loop.Finish, bool) {
	m := t.Micro
	if m.Adds || m.Instr.Acc != ir.F32 && !m.Instr.InHalves() || !t.Acc.Local {
		return nil, false
	}
	f := &finder{tile: t, facts: facts, of: m.Instr.Acc, size: int64(m.Instr.Acc.Size()), stores: make([]*found, m.Rows*m.Vectors)}
	if !f.walk(s, map[string]sym.Expr{}, "") || slices.Contains(f.stores, nil) {
		return nil, false
	}
	return f.finish()
}

// found is the store of one register of accumulators, and the values of the loops' variables.
type found struct {
	store loop.Store
	at    map[string]sym.Expr
	lane  string
}

type finder struct {
	tile   loop.Tile
	facts  sym.Facts
	of     ir.DType // of accumulators and results
	size   int64    // of an element
	stores []*found // by accumulator
	loads  [][]loop.Mem
	out    loop.Finish
}

// walk visits the points of loops and keeps each store by its accumulator.
func (f *finder) walk(s loop.Stmt, at map[string]sym.Expr, lane string) bool {
	switch x := s.(type) {
	case loop.For:
		n, known := x.Extent.Const()
		step := int64(1)
		if x.Lanes > 0 {
			step, lane = f.tile.Micro.Lanes(), x.Var
		}
		if !known || x.Items || x.Lanes > 0 && (x.Lanes != step || n%step != 0 || x.Halves != (f.of == ir.F16)) {
			return false
		}
		for i := int64(0); i < n; i += step {
			at[x.Var] = sym.Const(i)
			if !f.all(x.Body, at, lane) {
				return false
			}
		}
		delete(at, x.Var)
		return true
	case loop.Store:
		return f.keep(x, at, lane)
	}
	return false
}

// all visits statements. All but the last must define indices.
func (f *finder) all(body []loop.Stmt, at map[string]sym.Expr, lane string) bool {
	for i, s := range body {
		x, ok := s.(loop.Index)
		if !ok {
			return i == len(body)-1 && f.walk(s, at, lane)
		}
		at[x.Var] = x.Value.Subst(at, f.facts)
	}
	return false
}

// keep adds a store to stores. All its loads of accumulators must be from the same register.
func (f *finder) keep(s loop.Store, at map[string]sym.Expr, lane string) bool {
	if lane == "" || s.Buf.Type != f.of || s.Buf.Image != nil || s.Value.DType() != f.of {
		return false
	}
	x := &found{s, map[string]sym.Expr{}, lane}
	for k, v := range at {
		x.at[k] = v
	}
	own, lanes := int64(-1), f.tile.Micro.Lanes()
	for _, l := range loadsOf(s.Value) {
		if l.Buf != f.tile.Acc {
			continue
		}
		i, known := sym.Sub(l.Index.Subst(x.at, f.facts), f.tile.AccAt).Const()
		if !known || i%lanes != 0 || own >= 0 && i != own || !sym.Step(l.Index, lane, f.facts).Is(1) {
			return false
		}
		own = i
	}
	if own < 0 || own/lanes >= int64(len(f.stores)) || f.stores[own/lanes] != nil {
		return false
	}
	f.stores[own/lanes] = x
	return true
}

// loadsOf returns the loads of an expression, from left to right.
func loadsOf(e te.Expr) []loop.Mem {
	switch x := e.(type) {
	case loop.Mem:
		return []loop.Mem{x}
	case te.Call:
		var out []loop.Mem
		for _, a := range x.Args {
			out = append(out, loadsOf(a)...)
		}
		return out
	}
	return nil
}

// finish returns the function that all stores compute.
func (f *finder) finish() (*loop.Finish, bool) {
	for _, s := range f.stores {
		f.loads = append(f.loads, loadsOf(s.store.Value))
	}
	next := 0
	if _, ok := f.node(f.stores[0].store.Value, &next); !ok {
		return nil, false
	}
	for i, s := range f.stores {
		if len(f.loads[i]) != next || !sameFunction(s.store.Value, f.stores[0].store.Value) || s.store.Buf != f.stores[0].store.Buf ||
			!sym.Step(s.store.Index, s.lane, f.facts).Is(1) {
			return nil, false
		}
	}
	var ok bool
	f.out.To, ok = f.place(16, func(s int) (*loop.Buffer, sym.Expr) { return f.stores[s].store.Buf, f.stores[s].store.Index })
	return &f.out, ok && f.apart()
}

// apart reports whether stored elements are read only for their own values, if at all. Then the
// order of stores makes no difference.
func (f *finder) apart() bool {
	to := f.out.To
	for _, n := range f.out.Nodes {
		if n.Kind == loop.FinishLoad && f.out.Pointers[n.From.Pointer[0]].Buf == f.out.Pointers[to.Pointer[0]].Buf &&
			!(slices.Equal(n.From.Pointer, to.Pointer) && slices.Equal(n.From.Offset, to.Offset)) {
			return false
		}
	}
	return true
}

// sameFunction reports whether expressions differ only in what they load from the same buffers.
func sameFunction(a, b te.Expr) bool {
	switch x := a.(type) {
	case te.Const:
		return x == b
	case loop.Mem:
		y, ok := b.(loop.Mem)
		return ok && x.Buf == y.Buf
	case te.Call:
		y, ok := b.(te.Call)
		return ok && x.Fn == y.Fn && slices.EqualFunc(x.Args, y.Args, sameFunction)
	}
	return false
}

// node appends the nodes of an expression of the first store. next counts the loads before it.
func (f *finder) node(e te.Expr, next *int) (int, bool) {
	switch x := e.(type) {
	case te.Const:
		if x.Type != f.of {
			return 0, false
		}
		return f.add(loop.FinishNode{Kind: loop.FinishConst, Value: float32(math.Float64frombits(x.Bits))}), true
	case loop.Mem:
		n := *next
		*next++
		if x.Buf == f.tile.Acc {
			return f.add(loop.FinishNode{Kind: loop.FinishSum}), true
		}
		return f.load(x, n)
	case te.Call:
		row := scalar.Lookup(x.Fn)
		out := loop.FinishNode{Kind: loop.FinishComputed}
		for _, a := range x.Args {
			n, ok := f.node(a, next)
			if !ok {
				return 0, false
			}
			out.Args = append(out.Args, n)
		}
		if out.Op = row.A64(); out.Op == "" || x.Type != f.of {
			return 0, false
		}
		return f.add(out), true
	}
	return 0, false
}

// add appends a node, or returns the number of one that is the same.
func (f *finder) add(n loop.FinishNode) int {
	for i, o := range f.out.Nodes {
		if o.Text() == n.Text() {
			return i
		}
	}
	f.out.Nodes = append(f.out.Nodes, n)
	return len(f.out.Nodes) - 1
}

// load appends a node for load number n of the stores.
func (f *finder) load(x loop.Mem, n int) (int, bool) {
	if x.Buf.Type != f.of || x.Buf.Image != nil {
		return 0, false
	}
	out := loop.FinishNode{Kind: loop.FinishLoad}
	for i, s := range f.stores {
		if n >= len(f.loads[i]) || f.loads[i][n].Buf != x.Buf {
			return 0, false
		}
		step, known := sym.Step(f.loads[i][n].Index, s.lane, f.facts).Const()
		if !known || step != 0 && step != 1 || i > 0 && out.Same != (step == 0) {
			return 0, false
		}
		out.Same = step == 0
	}
	bytes := int64(16)
	if out.Same {
		bytes = f.size
	}
	var ok bool
	out.From, ok = f.place(bytes, func(s int) (*loop.Buffer, sym.Expr) { return x.Buf, f.loads[s][n].Index })
	return f.add(out), ok
}

// place finds pointers from which instructions of a size in bytes reach the elements of all stores.
func (f *finder) place(bytes int64, element func(s int) (*loop.Buffer, sym.Expr)) (loop.FinishPlace, bool) {
	var out loop.FinishPlace
	for s := range f.stores {
		buf, index := element(s)
		at := index.Subst(f.stores[s].at, f.facts)
		pointer := -1
		for i, p := range f.out.Pointers {
			if off, known := sym.Sub(at, p.At).Const(); p.Buf == buf && known && reaches(f.size*off, bytes) {
				pointer = i
				out.Offset = append(out.Offset, f.size*off)
				break
			}
		}
		if pointer < 0 {
			pointer = len(f.out.Pointers)
			f.out.Pointers = append(f.out.Pointers, loop.Pointer{Buf: buf, At: at})
			out.Offset = append(out.Offset, 0)
		}
		out.Pointer = append(out.Pointer, pointer)
		if len(f.out.Pointers) > mostPointers {
			return out, false
		}
	}
	return out, true
}
