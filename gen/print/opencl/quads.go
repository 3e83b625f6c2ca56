package opencl

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/loop"
	planned "rules_dnn/gen/plan"
	"rules_dnn/gen/print/ckernel"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// quadLanes neighbours of 16 bits are loaded or stored by one instruction where they lie at a multiple of as many.
const quadLanes = 4

// aligned are the operands of a call's kernel whose memory begins at a multiple of quads: all values do that lie in a space's own memory, but for
// those that are parts of others. What the application brings may begin at any element.
func aligned(p *planned.Program, c *planned.Call) map[*loop.Buffer]bool {
	out := map[*loop.Buffer]bool{}
	for i, b := range c.Kernel.Buffers {
		place, placed := p.Places[c.Args[i]]
		own := place.Region == planned.Arena || place.Region == planned.Weights
		out[b] = placed && own && isHalf(b.Type) && sym.Mod(place.Offset, sym.Const(quadLanes*int64(b.Type.Size())), p.Facts).Is(0)
	}
	return out
}

// quad prints a loop over four neighbours of 16 bits that are copied as one: those that an item fetches from memory to its own array, or those
// that it stores from there to memory that items share; false where it is another loop.
func (d dialect) quad(w *ckernel.Kernel, x loop.For) bool {
	s, from, cond := d.copies(x)
	if from == nil {
		return false
	}
	to, at := d.first(s.Index, x), d.first(from.Index, x)
	index := func(b *loop.Buffer, at sym.Expr) string {
		return ckernel.Strip(d.Bits(ckernel.Access{Buf: b, Index: w.Index(at)}))
	}
	whole := func(at sym.Expr) bool { return sym.Mod(at, sym.Const(quadLanes), w.Facts()).Is(0) }
	type_, name := storage(s.Buf.Type), fmt.Sprintf("*(%%s%s%d*)&%%s", storage(s.Buf.Type), quadLanes)
	switch {
	case s.Buf.Local && d.aligned[from.Buf] && whole(at):
		text := fmt.Sprintf(name, "__global const ", index(from.Buf, at))
		if cond != nil {
			text = fmt.Sprintf("%s ? %s : (%s%d)(0)", w.Cond(cond), text, type_, quadLanes)
		}
		w.Line("{")
		w.Line("  const %s%d quad = %s;", type_, quadLanes, text)
		for i := range int64(quadLanes) {
			w.Line("  %s = quad.s%d;", index(s.Buf, sym.Add(to, sym.Const(i))), i)
		}
		w.Line("}")
		return true
	case cond == nil && from.Buf.Local && slices.Contains(d.k.Shared, s.Buf) && alignedTo(d.k, s.Buf) >= quadLanes*int64(s.Buf.Type.Size()) && whole(to):
		var lanes []string
		for i := range int64(quadLanes) {
			lanes = append(lanes, index(from.Buf, sym.Add(at, sym.Const(i))))
		}
		w.Line("%s = (%s%d)(%s);", fmt.Sprintf(name, "__local ", index(s.Buf, to)), type_, quadLanes, strings.Join(lanes, ", "))
		return true
	}
	return false
}

// copies are the store of such a loop, the element that it stores, and under which conditions, else zero; nil where the loop does something else.
func (d dialect) copies(x loop.For) (s loop.Store, from *loop.Mem, cond []te.Within) {
	if !x.Extent.Is(quadLanes) || len(x.Body) != 1 {
		return s, nil, nil
	}
	s, is := x.Body[0].(loop.Store)
	if !is || !isHalf(s.Buf.Type) || s.Buf.Image != nil {
		return s, nil, nil
	}
	v := s.Value
	if y, is := v.(te.Select); is {
		zero, known := y.Else.(te.Const)
		if !known || zero.Bits != 0 || slices.ContainsFunc(y.Cond, func(c te.Within) bool { return c.E.Uses(x.Var) || c.Lo.Uses(x.Var) || c.Hi.Uses(x.Var) }) {
			return s, nil, nil
		}
		v, cond = y.Then, y.Cond
	}
	m, is := v.(loop.Mem)
	if !is || m.Buf.Type != s.Buf.Type || m.Buf.Image != nil || !d.walks(s.Index, x) || !d.walks(m.Index, x) {
		return s, nil, nil
	}
	return s, &m, cond
}

// walks reports whether an index is of neighbours in a loop, and first is the first one's.
func (d dialect) walks(e sym.Expr, x loop.For) bool {
	step, linear := sym.Coefficient(e, x.Var, d.k.Facts)
	return linear && step.Is(1)
}

func (d dialect) first(e sym.Expr, x loop.For) sym.Expr {
	return e.Subst(map[string]sym.Expr{x.Var: sym.Const(0)}, d.k.Facts)
}
