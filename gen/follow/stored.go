package follow

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
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
	add := func(name string, t ir.DType, n int64) *loop.Buffer {
		b := &loop.Buffer{Name: fmt.Sprintf("a%d_%s", i, name), Type: t, Size: sym.Const(n), Const: true}
		f.k.Buffers = append(f.k.Buffers, b)
		return b
	}
	f.in[i].enc = &encoded{
		offset:  add("offset", ir.I32, filters+1),
		reorder: add("reorder", ir.U16, filters),
		index:   add("index", ir.U16, z.Encoding.Kernels),
		stride:  add("stride", ir.U16, filters*int64(len(z.Patterns)+1)),
		values:  add("values", f.w.Operands[i].Type, z.Encoding.Kernels*int64(z.Entries())),
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

// filter tells the statements of an iteration which filter is stored there.
func (f *follower) filter(c *stage, body []loop.Stmt) []loop.Stmt {
	z := c.stored
	n, _ := z.Filter.Extent.Const()
	l := c.sched.Loops[z.Filters]
	return append([]loop.Stmt{f.bind(filterName(l), element(f.in[z.Operand].enc.reorder, sym.Var(l.Var)), max(n, 1)-1)}, body...)
}

// filterName is the variable of the filter that an iteration computes.
func filterName(l sched.Loop) string { return l.Var + "_filter" }

// kernels is code for the kernels of a filter that are stored: without branches, as all of a pattern lie together, for each pattern a loop
// over its kernels with the taps written out (2.5.2).
func (f *follower) kernels(c *stage, body func() ([]loop.Stmt, error)) ([]loop.Stmt, error) {
	z, e := c.stored, f.in[c.stored.Operand].enc
	filter, name := sym.Var(c.sched.Loops[z.Filters].Var), c.sched.Loops[z.Kernels].Var
	channels, _ := z.Channel.Extent.Const()
	var out []loop.Stmt
	for p, pattern := range z.Patterns {
		v := func(s string) string { return fmt.Sprintf("%s%d_%s", name, p, s) }
		row := sym.Add(sym.Scale(filter, int64(len(z.Patterns)+1)), sym.Const(int64(p)))
		first, end := element(e.stride, row), element(e.stride, sym.Add(row, sym.Const(1)))
		out = append(out,
			f.bind(v("first"), te.Fn(ir.I64, "add", element(e.offset, filter), first), z.Encoding.Kernels),
			f.bind(v("count"), te.Fn(ir.I64, "sub", end, first), channels))
		f.facts[v("k")] = sym.Range{Lo: 0, Hi: max(channels, 1) - 1}
		at := sym.Add(sym.Var(v("first")), sym.Var(v("k")))
		inner := []loop.Stmt{f.bind(v("channel"), element(e.index, at), max(channels, 1)-1)}
		for i, tap := range pattern.Taps() {
			c.coords[z.Channel.Var] = sym.Var(v("channel"))
			for d := len(z.Taps) - 1; d >= 0; d-- {
				n, _ := z.Taps[d].Extent.Const()
				c.coords[z.Taps[d].Var] = sym.Const(int64(tap) % n)
				tap /= int(n)
			}
			e.at = sym.Add(sym.Scale(at, int64(z.Entries())), sym.Const(int64(i)))
			one, err := body()
			if err != nil {
				return nil, err
			}
			inner = append(inner, one...)
		}
		out = append(out, loop.For{Var: v("k"), Extent: sym.Var(v("count")), Body: inner})
	}
	return out, nil
}
