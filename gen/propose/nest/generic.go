package nest

import (
	"fmt"
	"slices"
	"sort"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// maxLanes is the longest innermost axis whose accumulators are kept side by side.
const maxLanes = 64

// GenericAnchor begins the names of these kernels.
const GenericAnchor = "generic"

// Generic lowers any block of one stage to a loop nest over its result; a block with placed
// stages gives nil.
func Generic(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	if len(b.Placed) > 0 || b.Stage.Update != nil {
		return nil, nil
	}
	n, err := NewNest(b, env)
	if err != nil {
		return nil, err
	}
	n.oneFilter()
	n.unflatten()
	n.collapse()
	n.splitLanes()
	n.alongMemory()
	n.turn()
	n.splitPeriod()
	n.jam()
	n.linesTogether()
	k := &loop.Kernel{Anchor: GenericAnchor, Buffers: append(append([]*loop.Buffer{}, n.In...), n.Out...)}
	grid, inner := n.splitTasks()
	k.Grid, k.Body = grid, n.run(n.reorder(inner))
	if n.trims {
		k.Anchor = lower.WindowAnchor
	}
	k.Syms, k.Facts = SymbolsOf(k, env.Symbols), n.Facts
	return env.Done(k, n.args(b)), nil
}

// Subst puts expressions in the place of variables.
func (n *Nest) Subst(m map[string]sym.Expr) {
	for i, e := range n.Values {
		n.Values[i] = loop.SubstIndices(e, m, n.Facts)
	}
	for i, e := range n.Results {
		n.Results[i] = loop.SubstIndices(e, m, n.Facts)
	}
	n.At = n.At.Subst(m, n.Facts)
	for i, w := range n.within {
		n.within[i].E = w.E.Subst(m, n.Facts)
	}
}

// Loops are those over axes, outermost first, around a body.
func Loops(axes []te.Axis, body []loop.Stmt) []loop.Stmt {
	for i := len(axes) - 1; i >= 0; i-- {
		if axes[i].Extent.Is(1) {
			body = append([]loop.Stmt{loop.Index{Var: axes[i].Var, Value: sym.Const(0)}}, body...)
			continue
		}
		body = []loop.Stmt{loop.For{Var: axes[i].Var, Extent: axes[i].Extent, Body: body}}
	}
	return body
}

// run computes the elements of the axes, in the form that suits the accesses.
func (n *Nest) run(axes []te.Axis) []loop.Stmt {
	if body := n.lifted(axes); body != nil {
		return body
	}
	if parts := n.interior(axes); parts != nil {
		return parts
	}
	if parts := n.stretches(axes); parts != nil {
		return parts
	}
	if rows := n.separate(axes); rows != nil {
		return rows
	}
	if rows := n.shared(axes); rows != nil {
		return rows
	}
	bounds := n.trim()
	if block := n.lastBlock(axes); block != nil {
		return Loops(axes[:len(axes)-1], append(bounds, block...))
	}
	return n.elements(axes, bounds)
}

// elements is run below statements that bind bounds.
func (n *Nest) elements(axes []te.Axis, bounds []loop.Stmt) []loop.Stmt {
	a, ok := n.laneAxis(axes)
	inRegisters := ok && n.parted && n.vectorises(a, 1) // of a window, which has few points
	if ok && !inRegisters && (n.vectorises(a, 1) || !n.rowReduction(axes)) {
		n.cacheTexels(axes)
		return Loops(axes[:len(axes)-1], slices.Concat(bounds, n.fetched(axes), n.lanePoint(a)))
	}
	if !inRegisters && n.rowReduction(axes) && !n.sideBySide(axes) {
		return Loops(axes, append(bounds, n.rowPoint()...))
	}
	n.cacheTexels(axes)
	around := max(0, len(axes)-1)
	body := Loops(axes[:around], append(n.fetched(axes), Loops(axes[around:], append(bounds, n.point()...))...))
	if n.stride > 1 {
		body = n.strided(body, axes[len(axes)-1])
	}
	return body
}

// accName is the name of accumulator k.
func (n *Nest) accName(k int) string { return fmt.Sprintf("acc%d%s", k, n.tag) }

// point computes one element, or those of all phases.
func (n *Nest) point() []loop.Stmt {
	if n.phase.Var != "" {
		return n.phased()
	}
	var body []loop.Stmt
	accs := func(k int) te.Expr { return loop.Ref{Name: n.accName(k), Type: n.Values[k].DType()} }
	for k := range n.Values {
		body = append(body, loop.Def{Name: n.accName(k), Init: n.Combiner.Init[k]})
	}
	if len(n.Values) > 0 {
		body = append(body, n.reduceLoops(n.accumulate(n.Values, accs))...)
	}
	body = append(body, n.Stores(accs, n.At)...)
	if len(n.within) == 0 {
		return body
	}
	return []loop.Stmt{loop.If{Cond: n.within, Then: body, Else: n.zeros(n.At)}}
}

// accumulate joins values into accumulators that are variables.
func (n *Nest) accumulate(values []te.Expr, accs func(int) te.Expr) []loop.Stmt {
	body := n.joined(values, accs)
	for k, v := range values {
		body = append(body, loop.Set{Name: n.accName(k), Value: n.newValue(k, v)})
	}
	return body
}

// newValue is what joined computed for accumulator k.
func (n *Nest) newValue(k int, v te.Expr) te.Expr {
	return loop.Ref{Name: fmt.Sprintf("new%d%s", k, n.tag), Type: v.DType()}
}

// joined computes new accumulators of one point of the reduction into new0, new1, ...
func (n *Nest) joined(values []te.Expr, acc func(int) te.Expr) []loop.Stmt {
	var body []loop.Stmt
	ins := make([]te.Expr, len(values))
	for k, v := range values {
		hoisted, e := loop.HoistLets(v)
		body = append(body, hoisted...)
		ins[k] = e
		if len(values) > 1 {
			name := fmt.Sprintf("in%d%s", k, n.tag)
			body = append(body, loop.Def{Name: name, Init: e})
			ins[k] = loop.Ref{Name: name, Type: e.DType()}
		}
	}
	for k, j := range n.Combiner.Join {
		e := te.Map(j, func(x te.Expr) te.Expr {
			switch y := x.(type) {
			case te.Acc:
				return acc(y.N)
			case te.In:
				return ins[y.N]
			}
			return x
		})
		body = append(body, loop.Def{Name: fmt.Sprintf("new%d%s", k, n.tag), Init: e})
	}
	return body
}

// Stores are those of an element's results.
func (n *Nest) Stores(acc func(int) te.Expr, at layout.Position) []loop.Stmt {
	var body []loop.Stmt
	for k, r := range n.Results {
		r = te.Map(r, func(x te.Expr) te.Expr {
			if a, ok := x.(te.Acc); ok {
				return acc(a.N)
			}
			return x
		})
		hoisted, e := loop.HoistLets(r)
		body = append(append(body, hoisted...), store(n.Out[k], at, e))
	}
	return body
}

func (n *Nest) zeros(at layout.Position) []loop.Stmt {
	var body []loop.Stmt
	for k := range n.Results {
		body = append(body, store(n.Out[k], at, te.Number(n.Out[k].Type, 0)))
	}
	return body
}

// SymbolsOf are the dimension symbols that a kernel's body mentions.
func SymbolsOf(k *loop.Kernel, symbols sym.Facts) []string {
	used := map[string]bool{}
	loop.Exprs(k.Statements(), func(e sym.Expr) { e.Vars(used) })
	var out []string
	for s := range used {
		if _, ok := symbols[s]; ok {
			out = append(out, s)
		}
	}
	sort.Strings(out)
	return out
}
