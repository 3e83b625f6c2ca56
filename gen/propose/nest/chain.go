package nest

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vars"
)

// ChainAnchor begins the names of these kernels.
const ChainAnchor = "row chain"

// maxLocal is the most elements of a local array; larger scratch is the worker's memory.
const maxLocal = 256

// Chain lowers a block with placed stages: a task is a point of the common axes, at which the
// placed stages fill scratch memory and the dominant stage then reads it. It gives nil where
// the block has no placed stages or the result is not row-major.
func Chain(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	lay := env.Layouts
	for _, r := range b.Results {
		if len(b.Placed) == 0 || lay(r) != layout.RowMajor {
			return nil, nil
		}
	}
	n := StartNest(b, env)
	n.rows = rowsTogether(b, env)
	n.Buffers(b, lay)
	k := &loop.Kernel{Anchor: ChainAnchor, Buffers: append(append([]*loop.Buffer{}, n.In...), n.Out...)}
	var common []te.Axis
	for i, a := range b.Stage.Axes[:b.Depth] {
		if i == b.Depth-1 && n.rows.Var != "" {
			a.Extent = sym.FloorDiv(a.Extent, n.rows.Extent, n.Facts)
		}
		common = append(common, te.Axis{Var: vars.Axis(i), Extent: a.Extent})
	}
	n.AddRanges(common)
	if n.rows.Var != "" {
		n.AddRanges([]te.Axis{n.rows})
	}
	k.Grid = common
	var body []loop.Stmt
	for i, s := range b.Placed {
		p, allocs := n.place(k, b, lay, i, s)
		p.splitLanes()
		body = append(append(body, allocs...), p.eachRow(p.run(p.reorder(p.Axes)))...)
	}
	n.enter(b, lay, b.Stage, "p")
	n.At = layout.Position{Index: layout.Flat(b.Stage.Shape(), n.coordinates(b.Stage, "p"))}
	n.unflatten()
	n.collapse()
	n.splitLanes()
	k.Body = append(body, n.eachRow(n.run(n.reorder(n.Axes)))...)
	k.Syms, k.Facts = SymbolsOf(k, env.Symbols), n.Facts
	return env.Done(k, lower.Values(b)), nil
}

// place makes the nest of placed stage i, whose results go to scratch memory.
func (n *Nest) place(k *loop.Kernel, b *block.Block, lay lower.Layouts, i int, s *te.Stage) (*Nest, []loop.Stmt) {
	tag := fmt.Sprintf("_%d", i)
	p := &Nest{tag: tag, target: n.target, lanes: n.lanes, windows: n.windows, Combiner: s.Combine, In: n.In, scratch: n.scratch, Facts: n.Facts, rows: n.rows}
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
		results, p.Out, inner, row = nil, n.Out, b.Stage.Shape(), sym.Const(0)
	}
	for r, e := range results {
		buf := &loop.Buffer{Name: fmt.Sprintf("s%d_%d", i, r), Type: e.DType(), Write: true, Local: local, Size: n.allRows(size)}
		p.Out = append(p.Out, buf)
		if local {
			allocs = append(allocs, loop.Alloc{Buf: buf})
		} else {
			k.Scratch = append(k.Scratch, buf)
		}
	}
	for _, a := range s.Reduce {
		p.Reduce = append(p.Reduce, te.Axis{Var: a.Var + tag, Extent: a.Extent})
	}
	p.AddRanges(p.Reduce)
	prefix := "q" + fmt.Sprint(i) + "_"
	p.depth = b.Depth
	p.enter(b, lay, s, prefix)
	at := p.coordinates(s, prefix)
	p.At = layout.Position{Index: sym.Add(row, layout.Flat(inner, at[len(at)-len(inner):]))}
	p.unflatten()
	p.collapse()
	n.scratch = append(n.scratch, scratch{bufs: p.Out, inner: inner, row: row})
	return p, allocs
}

// coordinates are a stage's axes as loop variables: the common ones, then its own.
func (n *Nest) coordinates(s *te.Stage, prefix string) []sym.Expr {
	out := make([]sym.Expr, len(s.Axes))
	for i := range s.Axes {
		out[i] = sym.Var(vars.Axis(i))
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
func (n *Nest) enter(b *block.Block, lay lower.Layouts, s *te.Stage, prefix string) {
	n.depth = b.Depth
	logical := map[string]sym.Expr{}
	for i, e := range n.coordinates(s, prefix) {
		if v, _ := e.AsVar(); i >= b.Depth {
			n.Axes = append(n.Axes, te.Axis{Var: v, Extent: s.Axes[i].Extent})
		}
		logical[s.Axes[i].Var] = e
	}
	n.AddRanges(n.Axes)
	for _, a := range s.Reduce {
		logical[a.Var] = sym.Var(a.Var + n.tag)
	}
	n.Values = n.Flatten(b, s.Values, logical, lay)
	n.Results = n.Flatten(b, s.Results, logical, lay)
}
