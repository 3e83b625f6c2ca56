package follow

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// encoded is the arrays of a constant in the encoding of package fkw, which are buffers of the kernel in its place.
type encoded struct {
	offset, reorder, index, stride, values *loop.Buffer
	// at is the element of values that the statement at hand reads.
	at sym.Expr
}

// encode makes the buffers of an operand that is encoded.
func (f *follower) encode(i int, z *sched.Nonzeros) {
	filters, _ := z.Filter.Extent.Const()
	channels, _ := z.Channel.Extent.Const()
	filters = z.Stored(filters)
	elements, _ := z.Elements()
	add := func(name string, t ir.DType, n int64) *loop.Buffer {
		b := &loop.Buffer{Name: fmt.Sprintf("a%d_%s", i, name), Type: t, Size: sym.Const(n), Const: true}
		f.k.Buffers = append(f.k.Buffers, b)
		return b
	}
	f.in[i].enc = &encoded{
		offset:  add("offset", ir.I32, filters+1),
		reorder: add("reorder", ir.U16, filters),
		index:   add("index", ir.U16, z.Encoding.Kernels),
		stride:  add("stride", ir.U16, filters*z.Ends(channels)),
		values:  add("values", f.w.Operands[i].Type, elements),
	}
}

// bind gives an integer of an array a name, from 0 to most.
func (f *follower) bind(name string, v te.Expr, most int64) loop.Stmt {
	f.facts[name] = sym.Range{Lo: 0, Hi: most}
	return loop.Bind{Var: name, Value: v, Lo: sym.Const(0), Hi: sym.Const(most)}
}

// element is one of an array of indices.
func element(b *loop.Buffer, at sym.Expr) te.Expr {
	return te.Fn(ir.I64, "cast", loop.Mem{Buf: b, Index: at})
}

// filter tells the statements of an iteration which filter is stored there, or which group, and a tile where its kernels begin.
func (f *follower) filter(c *stage, body []loop.Stmt) []loop.Stmt {
	z, e, l := c.stored, f.in[c.stored.Operand].enc, c.sched.Loops[c.stored.Filters]
	n, _ := e.reorder.Size.Const()
	var out []loop.Stmt
	if name := filterName(l); uses(body, name) {
		out = append(out, f.bind(name, element(e.reorder, c.storedNumber()), max(n, 1)-1))
	}
	if k := c.sched.Loops[z.Kernels]; k.Kind == sched.Sum && uses(body, firstName(k)) {
		out = append(out, f.bind(firstName(k), element(e.offset, c.storedNumber()), z.Encoding.Kernels))
	}
	return append(out, body...)
}

// uses reports whether an index in some statements uses a variable.
func uses(body []loop.Stmt, name string) bool {
	found := false
	loop.Exprs(body, func(e sym.Expr) { found = found || e.Uses(name) })
	return found
}

// storedNumber is the number of the filter at hand, or of its group, among those that are stored.
func (c *stage) storedNumber() sym.Expr {
	at := sym.Const(0)
	for _, p := range c.filterSpans() {
		for _, i := range p.Loops {
			if i <= c.stored.Filters {
				at = sym.Add(at, sym.Scale(sym.Var(c.sched.Loops[i].Var), c.sched.Within(i)*p.Step/c.stored.Share))
			}
		}
	}
	return at
}

// filterSpans are what loops over filters walk: one, or the two parts of filters that are dealt out.
func (c *stage) filterSpans() []sched.Span {
	return slices.DeleteFunc(slices.Clone(c.spans), func(p sched.Span) bool { return p.Reduce || len(p.Axes) > 1 || p.Axes[0].Var != c.stored.Filter.Var })
}

// filterName is the variable of the filter that an iteration computes, or of the group, and firstName that of its first kernel.
func filterName(l sched.Loop) string { return l.Var + "_filter" }
func firstName(l sched.Loop) string  { return l.Var + "_first" }

// storedFilter puts the filter that an iteration computes in place of the numbers of the iteration.
func (c *stage) storedFilter() map[string]sym.Expr {
	out := map[string]sym.Expr{}
	for _, p := range c.filterSpans() {
		for _, i := range p.Loops {
			if i < c.stored.Filters {
				out[c.sched.Loops[i].Var] = sym.Const(0)
			}
		}
	}
	l := c.sched.Loops[c.stored.Filters]
	out[l.Var] = sym.Var(filterName(l))
	return out
}

// filterPoint gives the axis of filters the one that an iteration computes. Of filters that are dealt out it is no sum of what their parts walk.
func (f *follower) filterPoint(c *stage) {
	v := c.stored.Filter.Var
	if len(c.filterSpans()) == 1 {
		c.coords[v] = c.coords[v].Subst(c.storedFilter(), f.facts)
		return
	}
	n, _ := c.stored.Filter.Extent.Const()
	c.logical[v], c.facts[v] = sym.Var(v), sym.Range{Lo: 0, Hi: max(n, 1) - 1}
	c.coords[v] = sym.Var(filterName(c.sched.Loops[c.stored.Filters]))
}

// weight is where the weight lies of a filter's kernel and tap, of the filter at hand among those that share them.
func (f *follower) weight(c *stage, kernel sym.Expr, tap int) sym.Expr {
	z := c.stored
	at := sym.Add(sym.Scale(kernel, int64(z.Entries())), sym.Const(int64(tap)))
	group := sym.Scale(sym.Var(filterName(c.sched.Loops[z.Filters])), z.Share)
	at = sym.Add(sym.Scale(at, z.Share), sym.Sub(c.coords[z.Filter.Var], group))
	if z.Planes > 0 {
		_, plane := z.Elements()
		at = sym.Add(at, sym.Scale(f.place(c, c.logical[z.Plane.Var]), plane))
	}
	return at
}

// kernels is code for the kernels of a filter that are stored: without branches, as all of a pattern lie together, for each pattern a loop
// over its kernels with the taps written out (2.5.2).
func (f *follower) kernels(c *stage, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	z, name := c.stored, c.sched.Loops[c.stored.Kernels].Var
	channels, _ := z.Channel.Extent.Const()
	if z.Given {
		return nil, unsuited("the kernels of a filter are in their given order; want a tile that sums them")
	}
	block, blocks := name+"_block", z.Blocks(channels)
	f.facts[block] = sym.Range{Lo: 0, Hi: blocks - 1}
	first := sym.Add(sym.Scale(c.storedNumber(), z.Ends(channels)), sym.Scale(sym.Var(block), int64(len(z.Patterns))))
	if blocks == 1 {
		first = first.Subst(map[string]sym.Expr{block: sym.Const(0)}, f.facts)
	}
	var out []loop.Stmt
	for p := range z.Patterns {
		run, err := f.run(c, p, sym.Add(first, sym.Const(int64(p))), body)
		if err != nil {
			return nil, err
		}
		out = append(out, run...)
	}
	if blocks > 1 {
		out = []loop.Stmt{loop.For{Var: block, Extent: sym.Const(blocks), Body: out}}
	}
	return out, nil
}

// run is the loop over the kernels of a pattern, of which the ends are in a row of the array.
func (f *follower) run(c *stage, p int, row sym.Expr, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	z, e := c.stored, f.in[c.stored.Operand].enc
	name := c.sched.Loops[z.Kernels].Var
	channels, _ := z.Channel.Extent.Const()
	v := func(s string) string { return fmt.Sprintf("%s%d_%s", name, p, s) }
	first, end := element(e.stride, row), element(e.stride, sym.Add(row, sym.Const(1)))
	out := []loop.Stmt{
		f.bind(v("first"), te.Fn(ir.I64, "add", element(e.offset, c.storedNumber()), first), z.Encoding.Kernels),
		f.bind(v("count"), te.Fn(ir.I64, "sub", end, first), channels),
	}
	f.facts[v("k")] = sym.Range{Lo: 0, Hi: max(channels, 1) - 1}
	at := sym.Add(sym.Var(v("first")), sym.Var(v("k")))
	inner := []loop.Stmt{f.bind(v("channel"), element(e.index, at), max(channels, 1)-1)}
	for i, tap := range z.Patterns[p].Taps() {
		c.coords[z.Channel.Var] = sym.Var(v("channel"))
		c.at(tap)
		e.at = f.weight(c, at, i)
		one, err := body()
		if err != nil {
			return nil, err
		}
		inner = append(inner, one...)
	}
	return append(out, loop.For{Var: v("k"), Extent: sym.Var(v("count")), Body: inner}), nil
}

// at fixes the axes of a kernel's taps at one of them.
func (c *stage) at(tap int) {
	z := c.stored
	for d := len(z.Taps) - 1; d >= 0; d-- {
		n, _ := z.Taps[d].Extent.Const()
		c.coords[z.Taps[d].Var] = sym.Const(int64(tap) % n)
		tap /= int(n)
	}
}
