package plan

import (
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
)

// Dims is how many dimensions the grid of work-items has.
const Dims = 3

// Launch runs a kernel's tasks as work-items of the device: Global of them in each dimension, in work-groups of
// Local. Global is a multiple of Local: work-items beyond the kernel's extents (Extents) do nothing.
type Launch struct {
	*Call
	Global, Local [Dims]sym.Expr
}

// Range is some bytes of a value: Bytes of them from At on.
type Range struct {
	Value     *ir.Value
	At, Bytes sym.Expr
}

// Transfer copies bytes of a value to one of another space. Layouts are alike but for that: a change of layout is a kernel's.
type Transfer struct{ From, To Range }

// Move is the transfer of a whole value.
func (p *Program) Move(from, to *ir.Value) *Transfer {
	whole := func(v *ir.Value) Range { return Range{Value: v, At: sym.Const(0), Bytes: p.Bytes(v)} }
	return &Transfer{From: whole(from), To: whole(to)}
}

// Choose runs the first of its versions whose guard holds. All of them compute the same values; the last one has no guard.
type Choose struct {
	Label    string
	Versions []Version
}

// Version is steps for the runs in which Guard holds.
type Version struct {
	Guard Guard
	Steps []Step
}

// Guard holds where all of its conditions on symbols do, and the processor has all of its features, by the names of
// runtime/dnn_cpu.h. Without any it always holds.
type Guard struct {
	Dims     []ops.Check
	Features []string
}

// Always reports whether there is no condition.
func (g Guard) Always() bool { return len(g.Dims) == 0 && len(g.Features) == 0 }

// Narrow are facts of the runs in which the guard holds.
func (g Guard) Narrow(f sym.Facts) sym.Facts {
	f = maps.Clone(f)
	for _, c := range g.Dims {
		if c.Kind != ops.AtLeast {
			continue
		}
		bound(f, c.A, c.B, func(r *sym.Range, least int64) { r.Lo = max(r.Lo, least) })
		bound(f, c.B, c.A, func(r *sym.Range, most int64) { r.Hi = min(r.Hi, most) })
	}
	return f
}

// Guards are those of the calls that run where one holds alone.
func (p *Program) Guards() map[*Call]Guard {
	out := map[*Call]Guard{}
	p.Walk(func(s Step) {
		if s.Choose == nil {
			return
		}
		for _, v := range s.Choose.Versions {
			walk(v.Steps, func(s Step) {
				if c, _ := s.call(); c != nil && !v.Guard.Always() {
					out[c] = v.Guard
				}
			})
		}
	})
	return out
}

// bound changes what is known of a symbol that is compared with a number.
func bound(f sym.Facts, symbol, number sym.Expr, change func(*sym.Range, int64)) {
	name, isSymbol := symbol.AsVar()
	n, known := number.Const()
	if r, ok := f[name]; ok && isSymbol && known {
		change(&r, n)
		f[name] = r
	}
}

// calls are the calls of the versions, a call each; nil where a version is something else.
func (c *Choose) calls() []*Call {
	var out []*Call
	for _, v := range c.Versions {
		if len(v.Steps) != 1 || v.Steps[0].Call == nil {
			return nil
		}
		out = append(out, v.Steps[0].Call)
	}
	return out
}

// Extents are how many work-items have something to do in each dimension: the axes of a kernel's grid, the innermost
// first, of which the outer ones share the last dimension; the workers where tasks need memory of their own. Where tasks are groups
// of items, their items lie along the first dimension.
func Extents(k *loop.Kernel, workers int64) [Dims]sym.Expr {
	out := [Dims]sym.Expr{sym.Const(1), sym.Const(1), sym.Const(1)}
	if items := k.Items(); items > 1 {
		out[0] = sym.Scale(k.Tasks(), items)
		return out
	}
	if len(k.Scratch) > 0 {
		out[0] = sym.Const(workers)
		return out
	}
	for i := range k.Grid {
		d := min(i, Dims-1)
		out[d] = sym.Mul(out[d], k.Grid[len(k.Grid)-1-i].Extent)
	}
	return out
}

// square is the side of a group over two axes or more: neighbours in both directions share what
// the texture cache holds.
const square = 16

// alone is the most items of a group that have nothing to do with each other: a unit has as many items of several groups, and larger ones end later.
const alone = 256

// Groups chooses a power of two of work-items for each dimension, no more than it has, and in all no more than most; a task's items are a group.
func Groups(k *loop.Kernel, extents [Dims]sym.Expr, most int64) [Dims]int64 {
	if items := k.Items(); items > 1 {
		return [Dims]int64{items, 1, 1}
	}
	most = min(most, alone)
	out, left := [Dims]int64{}, most
	for d, e := range extents {
		_, hi := e.Bounds(k.Facts)
		most := left
		if d == 0 && !extents[1].Is(1) {
			most = min(most, square)
		}
		g := int64(1)
		for g < hi && g*2 <= most {
			g *= 2
		}
		out[d], left = g, left/g
	}
	return out
}

// Launch is a kernel's launch on the device: as many work-items as it has tasks, in whole groups.
func (d *Device) Launch(c *Call) *Launch {
	extents := Extents(c.Kernel, d.Workers)
	out := &Launch{Call: c}
	for i, n := range Groups(c.Kernel, extents, d.GroupItems) {
		out.Local[i] = sym.Const(n)
		out.Global[i] = sym.Scale(sym.CeilDiv(extents[i], sym.Const(n), c.Kernel.Facts), n)
	}
	return out
}
