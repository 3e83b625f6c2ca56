package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// maxLocal is the most elements of a local array; larger scratch is the worker's memory.
const maxLocal = 256

// Chain lowers a block with placed stages: a task is a point of the common axes, at which the
// placed stages fill scratch memory and the dominant stage then reads it. It gives nil where
// the block has no placed stages, the result is not row-major, or neighbouring items better share rows (GroupRows, Attention).
func Chain(b *block.Block, env *Env) (*Lowered, error) {
	lay := env.Layouts
	for _, r := range b.Results {
		if len(b.Placed) == 0 || lay(r) != layout.RowMajor {
			return nil, nil
		}
	}
	if env.Only == "" && env.Target.InStep() {
		if rows, err := GroupRows(b, env); rows != nil || err != nil {
			return nil, err
		}
	}
	if env.Only == "" {
		rows := *env // in which values that lie otherwise are brought
		rows.Layouts = func(*ir.Value) layout.Layout { return layout.RowMajor }
		if all, err := Attention(b, &rows); len(all) > 0 || err != nil {
			return nil, err
		}
	}
	n := startNest(b, env)
	n.rows = rowsTogether(b, env)
	n.buffers(b, lay)
	k := &loop.Kernel{Anchor: "row chain", Buffers: append(append([]*loop.Buffer{}, n.in...), n.out...)}
	var common []te.Axis
	for i, a := range b.Stage.Axes[:b.Depth] {
		if i == b.Depth-1 && n.rows.Var != "" {
			a.Extent = sym.FloorDiv(a.Extent, n.rows.Extent, n.facts)
		}
		common = append(common, te.Axis{Var: axisVar(i), Extent: a.Extent})
	}
	n.addRanges(common)
	if n.rows.Var != "" {
		n.addRanges([]te.Axis{n.rows})
	}
	k.Grid = common
	var body []loop.Stmt
	for i, s := range b.Placed {
		p, allocs := n.place(k, b, lay, i, s)
		p.splitLanes()
		body = append(append(body, allocs...), p.eachRow(p.run(p.reorder(p.axes)))...)
	}
	n.enter(b, lay, b.Stage, "p")
	n.at = layout.Position{Index: layout.Flat(b.Stage.Shape(), n.coordinates(b.Stage, "p"))}
	n.unflatten()
	n.collapse()
	n.splitLanes()
	k.Body = append(body, n.eachRow(n.run(n.reorder(n.axes)))...)
	k.Syms, k.Facts = symbolsOf(k, env.Symbols), n.facts
	return env.done(k, Values(b)), nil
}

// place makes the nest of placed stage i, whose results go to scratch memory.
func (n *nest) place(k *loop.Kernel, b *block.Block, lay Layouts, i int, s *te.Stage) (*nest, []loop.Stmt) {
	tag := fmt.Sprintf("_%d", i)
	p := &nest{tag: tag, target: n.target, lanes: n.lanes, windows: n.windows, combiner: s.Combine, in: n.in, scratch: n.scratch, facts: n.facts, rows: n.rows}
	var inner ir.Shape
	size := sym.Const(1)
	for _, a := range s.Axes[b.Depth:] {
		inner = append(inner, a.Extent)
		size = sym.Mul(size, a.Extent)
	}
	c, isConst := size.Const()
	local := isConst && c <= maxLocal
	var allocs []loop.Stmt
	results, row := s.Results, n.ofRow(size)
	if n.inResult(b, i) {
		results, p.out, inner, row = nil, n.out, b.Stage.Shape(), sym.Const(0)
	}
	for r, e := range results {
		buf := &loop.Buffer{Name: fmt.Sprintf("s%d_%d", i, r), Type: e.DType(), Write: true, Local: local, Size: n.allRows(size)}
		p.out = append(p.out, buf)
		if local {
			allocs = append(allocs, loop.Alloc{Buf: buf})
		} else {
			k.Scratch = append(k.Scratch, buf)
		}
	}
	for _, a := range s.Reduce {
		p.reduce = append(p.reduce, te.Axis{Var: a.Var + tag, Extent: a.Extent})
	}
	p.addRanges(p.reduce)
	prefix := "q" + fmt.Sprint(i) + "_"
	p.depth = b.Depth
	p.enter(b, lay, s, prefix)
	at := p.coordinates(s, prefix)
	p.at = layout.Position{Index: sym.Add(row, layout.Flat(inner, at[len(at)-len(inner):]))}
	p.unflatten()
	p.collapse()
	n.scratch = append(n.scratch, scratch{bufs: p.out, inner: inner, row: row})
	return p, allocs
}

// coordinates are a stage's axes as loop variables: the common ones, then its own.
func (n *nest) coordinates(s *te.Stage, prefix string) []sym.Expr {
	out := make([]sym.Expr, len(s.Axes))
	for i := range s.Axes {
		out[i] = sym.Var(axisVar(i))
		if i == n.depth-1 && n.rows.Var != "" {
			out[i] = sym.Add(sym.Mul(out[i], n.rows.Extent), sym.Var(n.rows.Var))
		}
		if i >= n.depth {
			out[i] = sym.Var(fmt.Sprintf("%s%d", prefix, i))
		}
	}
	return out
}

// enter gives the nest a stage's own axes, values and results.
func (n *nest) enter(b *block.Block, lay Layouts, s *te.Stage, prefix string) {
	n.depth = b.Depth
	logical := map[string]sym.Expr{}
	for i, e := range n.coordinates(s, prefix) {
		if v, _ := e.AsVar(); i >= b.Depth {
			n.axes = append(n.axes, te.Axis{Var: v, Extent: s.Axes[i].Extent})
		}
		logical[s.Axes[i].Var] = e
	}
	n.addRanges(n.axes)
	for _, a := range s.Reduce {
		logical[a.Var] = sym.Var(a.Var + n.tag)
	}
	n.values = n.flatten(b, s.Values, logical, lay)
	n.results = n.flatten(b, s.Results, logical, lay)
}
