package opencl

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	planned "rules_dnn/gen/program/plan"
)

// So many neighbours of 16 bits are loaded or stored by one instruction where they lie at a multiple of as many.
var runs = []int64{8, 4}

// aligned are the operands of a call's kernel whose memory begins at a multiple of so many elements, of runs: all values do that lie in a space's own memory, but
// for those that are parts of others. What the application brings may begin at any element.
func aligned(p *planned.Program, c *planned.Call) map[*loop.Buffer]int64 {
	out := map[*loop.Buffer]int64{}
	for i, b := range c.Kernel.Buffers {
		place, placed := p.Places[c.Args[i]]
		if own := place.Region == planned.Arena || place.Region == planned.Weights; !placed || !own || !pairedType(b.Type) {
			continue
		}
		for _, n := range runs {
			if sym.Mod(place.Offset, sym.Const(n*int64(b.Type.Size())), p.Facts).Is(0) {
				out[b] = n
				break
			}
		}
	}
	return out
}

// runOf is how many neighbours a loop is over, of those that one instruction copies; 0: it is another one.
func runOf(x loop.For) int64 {
	n, _ := x.Extent.Const()
	if len(x.Body) != 1 || !slices.Contains(runs, n) {
		return 0
	}
	return n
}

// quad prints a loop over a run of neighbours of 16 bits that are copied as one: those that an item fetches from memory, or stores to memory that items share;
// false where it is another loop.
func (d dialect) quad(w *ckernel.Kernel, x loop.For) bool {
	if d.square(w, x) {
		return true
	}
	s, from, cond := d.copies(x, w.Facts())
	if from == nil {
		return false
	}
	n := runOf(x)
	to, at := d.first(s.Index, x), d.first(from.Index, x)
	text, one := d.run(w, "__global const", from.Buf, at, n), d.aligned[from.Buf] >= n && d.walks(from.Index, x) && whole(w, at, n)
	if !one {
		var lanes []string
		for i := range n {
			lanes = append(lanes, d.element(w, from.Buf, d.fixed(from.Index, x, i)))
		}
		text = runOfLanes(s.Buf, lanes)
	}
	text = orZeros(w, s.Buf, cond, text, n)
	switch {
	case d.sharesRuns(w, s.Buf, to, n):
		w.Line("%s = %s;", d.run(w, "__local", s.Buf, to, n), text)
	case one && s.Buf.Local:
		w.Line("{")
		w.Writer.Indent++
		w.Line("const %s%d quad = %s;", storage(s.Buf.Type), n, text)
		for i := range n {
			w.Line("%s = quad.s%d;", d.element(w, s.Buf, sym.Add(to, sym.Const(i))), i)
		}
		w.Writer.Indent--
		w.Line("}")
	default:
		return false
	}
	return true
}

// element is one of a buffer, and run so many from one on.
func (d dialect) element(w *ckernel.Kernel, b *loop.Buffer, at sym.Expr) string {
	return d.Bits(ckernel.Access{Buf: b, Index: w.Index(at)})
}

func (d dialect) run(w *ckernel.Kernel, space string, b *loop.Buffer, at sym.Expr, n int64) string {
	return fmt.Sprintf("*(%s %s%d*)&%s", space, storage(b.Type), n, d.element(w, b, at))
}

// sharesRuns reports whether runs in memory that items share lie at multiples of their size.
func (d dialect) sharesRuns(w *ckernel.Kernel, b *loop.Buffer, at sym.Expr, n int64) bool {
	return slices.Contains(d.k.Shared, b) && alignedTo(d.k, b) >= n*int64(b.Type.Size()) && whole(w, at, n)
}

// whole reports whether a place is a multiple of a number.
func whole(w *ckernel.Kernel, at sym.Expr, n int64) bool {
	return sym.Mod(at, sym.Const(n), w.Facts()).Is(0)
}

// runOfLanes is elements as one, and orZeros what is copied where conditions hold.
func runOfLanes(b *loop.Buffer, lanes []string) string {
	return fmt.Sprintf("(%s%d)(%s)", storage(b.Type), len(lanes), strings.Join(lanes, ", "))
}

func orZeros(w *ckernel.Kernel, b *loop.Buffer, cond []te.Within, text string, n int64) string {
	if cond == nil {
		return text
	}
	return fmt.Sprintf("%s ? %s : (%s%d)(0)", w.Cond(cond), text, storage(b.Type), n)
}

// copies are the store of such a loop, the element that it stores, and under which conditions, else zero; nil where the loop does something else.
func (d dialect) copies(x loop.For, facts sym.Facts) (s loop.Store, from *loop.Mem, cond []te.Within) {
	if runOf(x) == 0 {
		return s, nil, nil
	}
	s, is := x.Body[0].(loop.Store)
	if !is || !isHalf(s.Buf.Type) || s.Buf.Image != nil {
		return s, nil, nil
	}
	v := s.Value
	if y, is := v.(te.Select); is {
		zero, known := y.Else.(te.Const)
		if !known || zero.Bits != 0 {
			return s, nil, nil
		}
		var alike bool
		if cond, alike = d.alike(y.Cond, x, facts); !alike {
			return s, nil, nil
		}
		v = y.Then
	}
	m, is := v.(loop.Mem)
	if !is || m.Buf.Type != s.Buf.Type || m.Buf.Image != nil || !d.walks(s.Index, x) {
		return s, nil, nil
	}
	return s, &m, cond
}

// alike are conditions that hold of all neighbours or of none, as of the first, but for those that are certain; false of others.
func (d dialect) alike(conds []te.Within, x loop.For, facts sym.Facts) (out []te.Within, ok bool) {
	whole := func(e sym.Expr) bool { return !e.Uses(x.Var) && sym.Mod(e, x.Extent, facts).Is(0) }
	for _, c := range conds {
		first := c
		first.E = d.first(c.E, x)
		switch {
		case sym.AtLeast(sym.Sub(c.E, c.Lo), 0, facts) && sym.AtLeast(sym.Sub(c.Hi, c.E), 1, facts):
			continue
		case !c.E.Uses(x.Var) && !c.Lo.Uses(x.Var) && !c.Hi.Uses(x.Var):
		case d.walks(c.E, x) && whole(first.E) && whole(c.Lo) && whole(c.Hi):
		default:
			return nil, false
		}
		out = append(out, first)
	}
	return out, true
}

// square prints two loops over runs of neighbours, of which the inner one's lie together where an item copies them to, and the outer one's where they are
// from, so that as many are fetched at once; false where they are others.
func (d dialect) square(w *ckernel.Kernel, x loop.For) bool {
	n := runOf(x)
	if n == 0 {
		return false
	}
	inner, is := x.Body[0].(loop.For)
	if !is || runOf(inner) == 0 {
		return false
	}
	s, is := inner.Body[0].(loop.Store)
	if !is {
		return false
	}
	across := x // as if these were neighbours in both
	across.Body = []loop.Stmt{loop.Store{Buf: s.Buf, Index: sym.Var(x.Var), Value: s.Value}}
	_, from, cond := d.copies(across, w.Facts())
	if from == nil || d.aligned[from.Buf] < n || !d.walks(from.Index, x) {
		return false
	}
	rows, shares := runOf(inner), d.walks(s.Index, inner)
	for i := range rows {
		if !whole(w, d.first(d.fixed(from.Index, inner, i), x), n) {
			return false
		}
	}
	for lane := range n {
		shares = shares && d.sharesRuns(w, s.Buf, d.fixed(d.fixed(s.Index, inner, 0), x, lane), rows)
	}
	if !shares && !s.Buf.Local {
		return false
	}
	w.Line("{")
	w.Writer.Indent++
	for i := range rows {
		var here []te.Within
		for _, c := range cond {
			here = append(here, te.Within{E: d.fixed(c.E, inner, i), Lo: d.fixed(c.Lo, inner, i), Hi: d.fixed(c.Hi, inner, i)})
		}
		at := d.first(d.fixed(from.Index, inner, i), x)
		w.Line("const %s%d quad%d = %s;", storage(s.Buf.Type), n, i, orZeros(w, s.Buf, here, d.run(w, "__global const", from.Buf, at, n), n))
	}
	for lane := range n {
		var lanes []string
		for i := range rows {
			lanes = append(lanes, fmt.Sprintf("quad%d.s%d", i, lane))
			if !shares {
				w.Line("%s = %s;", d.element(w, s.Buf, d.fixed(d.fixed(s.Index, inner, i), x, lane)), lanes[i])
			}
		}
		if shares {
			w.Line("%s = %s;", d.run(w, "__local", s.Buf, d.fixed(d.fixed(s.Index, inner, 0), x, lane), rows), runOfLanes(s.Buf, lanes))
		}
	}
	w.Writer.Indent--
	w.Line("}")
	return true
}

// walks reports whether an index is of neighbours in a loop.
func (d dialect) walks(e sym.Expr, x loop.For) bool {
	step, linear := sym.Coefficient(e, x.Var, d.k.Facts)
	return linear && step.Is(1)
}

// fixed is an index in an iteration of a loop, and first in the first one.
func (d dialect) fixed(e sym.Expr, x loop.For, i int64) sym.Expr {
	return e.Subst(map[string]sym.Expr{x.Var: sym.Const(i)}, d.k.Facts)
}

func (d dialect) first(e sym.Expr, x loop.For) sym.Expr { return d.fixed(e, x, 0) }
