package hvx

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// copies is a loop that copies bytes, converted or not, or fills memory; of turns it copies several lines whose elements are stored in turns.
type copies struct {
	loop  loop.For
	turns string // the variable of lines, "" where there is one
	lines int64
	store loop.Store
}

// fewCopied elements are copied one by one.
const fewCopied = 16

// scope prints statements with names of their own.
func scope(w *ckernel.Kernel, body func()) {
	w.Line("{")
	w.Writer.Indent++
	body()
	w.Writer.Indent--
	w.Line("}")
}

// findCopies recognises the loop, or gives nil.
func findCopies(x loop.For, f sym.Facts) *copies {
	if len(x.Body) != 1 || x.Lanes > 0 {
		return nil
	}
	c := &copies{loop: x, lines: 1}
	if inner, ok := x.Body[0].(loop.For); ok {
		if len(inner.Body) != 1 || inner.Lanes > 0 {
			return nil
		}
		c.turns = inner.Var
		c.lines, _ = inner.Extent.Const()
		x = inner
	}
	var ok bool
	if c.store, ok = x.Body[0].(loop.Store); !ok || c.store.Buf.Image != nil || !c.store.Buf.Type.IsInteger() || c.store.Buf.Type.Size() > 2 {
		return nil
	}
	n, known := c.loop.Extent.Const()
	step, ok := stepOf(c.store.Index, c.loop.Var, f)
	if !known || n*c.lines < fewCopied || !ok || step != c.lines || c.turns != "" && !c.inTurns(f) {
		return nil
	}
	return c
}

// inTurns reports whether bytes of two or four lines are stored in turns.
func (c *copies) inTurns(f sym.Facts) bool {
	step, ok := stepOf(c.store.Index, c.turns, f)
	return ok && step == 1 && (c.lines == 2 || c.lines == 4) && c.store.Buf.Type.Size() == 1
}

// print prints the loop; false where vectors cannot.
func (c *copies) print(w *ckernel.Kernel) bool {
	n, _ := c.loop.Extent.Const()
	each := bytesWide / int64(c.store.Buf.Type.Size())
	at := c.loop.Var + "_at"
	if !c.group(w, sym.Const(0), min(n, each), false) {
		return false
	}
	if n >= each {
		w.Block(fmt.Sprintf("for (%s %s = 0; %s < %d; %s += %d)", dialect{}.IndexType(), at, at, n/each*each, at, each), func() { c.group(w, sym.Var(at), each, true) })
	}
	if n%each > 0 {
		scope(w, func() { c.group(w, sym.Const(n/each*each), n%each, true) })
	}
	return true
}

// group prints n lanes from one on; without write it says whether it can.
func (c *copies) group(w *ckernel.Kernel, first sym.Expr, n int64, write bool) bool {
	var all []string
	var lines []string
	names := 0
	for r := range c.lines {
		line := map[string]sym.Expr{}
		if c.turns != "" {
			line[c.turns] = sym.Const(r)
		}
		p := &copied{w: w, v: c.loop.Var, first: first, n: n, names: names}
		text, ok := p.of(loop.SubstIndices(c.store.Value, line, w.Facts()), c.store.Buf.Type)
		if !ok {
			return false
		}
		names = p.names
		all, lines = append(all, text), append(lines, p.lines...)
	}
	if !write {
		return true
	}
	for _, l := range lines {
		w.Line("%s", l)
	}
	start := map[string]sym.Expr{c.loop.Var: first}
	if c.turns != "" {
		start[c.turns] = sym.Const(0)
	}
	to := fmt.Sprintf("%s + %s", c.store.Buf.Name, w.Index(c.store.Index.Subst(start, w.Facts())))
	if c.lines == 1 {
		c.put(w, to, 0, all[0], n*int64(c.store.Buf.Type.Size()))
		return true
	}
	name := c.loop.Var + "_lines"
	if c.lines == 2 {
		w.Line("const HVX_VectorPair %s = Q6_W_vshuff_VVR(%s, %s, -1);", name, all[1], all[0])
		c.put(w, to, 0, "Q6_V_lo_W("+name+")", min(2*n, bytesWide))
		c.put(w, to, bytesWide, "Q6_V_hi_W("+name+")", 2*n-bytesWide)
		return true
	}
	w.Line("const HVX_VectorPair %s_a = Q6_W_vshuff_VVR(%s, %s, -1);", name, all[1], all[0])
	w.Line("const HVX_VectorPair %s_b = Q6_W_vshuff_VVR(%s, %s, -1);", name, all[3], all[2])
	for i, half := range []string{"lo", "hi"} {
		if n <= int64(i)*bytesWide/2 {
			break
		}
		own := fmt.Sprintf("%s_%s", name, half)
		w.Line("const HVX_VectorPair %s = Q6_W_vshuff_VVR(Q6_V_%s_W(%s_b), Q6_V_%s_W(%s_a), -2);", own, half, name, half, name)
		for k, part := range []string{"lo", "hi"} {
			at := int64(2*i+k) * bytesWide
			c.put(w, to, at, fmt.Sprintf("Q6_V_%s_W(%s)", part, own), min(4*n-at, bytesWide))
		}
	}
	return true
}

// put stores some bytes of a vector so many bytes beyond an address, if there are any.
func (c *copies) put(w *ckernel.Kernel, to string, at int64, v string, bytes int64) {
	if at > 0 {
		to = fmt.Sprintf("%s + %d", to, at/int64(c.store.Buf.Type.Size()))
	}
	switch {
	case bytes >= bytesWide:
		w.Line("dnn_hvx_store_any(%s, %s);", to, v)
	case bytes > 0:
		w.Line("dnn_hvx_store_part(%s, %s, %d);", to, v, bytes)
	}
}
