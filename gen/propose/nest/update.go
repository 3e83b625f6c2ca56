package nest

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// UpdateAnchor begins the names of these kernels.
const UpdateAnchor = "update"

// Update lowers a block whose stage stores further elements into its result; other blocks
// give nil. It is one task, unless it is a scan: updates run in order, and may meet one element.
func Update(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	u := b.Stage.Update
	if u == nil || env.Layouts(b.Results[0]) != layout.RowMajor {
		return nil, nil
	}
	n, err := NewNest(b, env)
	if err != nil {
		return nil, err
	}
	if axis, ok := scanned(b.Stage, n.Facts); ok && n.Combiner == nil {
		k := n.scan(b, env, axis)
		return env.Done(k, lower.Values(b)), nil
	}
	n.collapse()
	k := &loop.Kernel{Anchor: UpdateAnchor, Buffers: append(append([]*loop.Buffer{}, n.In...), n.Out...)}
	k.Body = append(n.run(n.Axes), n.updates(b, env, u)...)
	k.Syms, k.Facts = SymbolsOf(k, env.Symbols), n.Facts
	return env.Done(k, lower.Values(b)), nil
}

// updates are the loops of the update, over variables of their own.
func (n *Nest) updates(b *block.Block, env *lower.Env, u *te.Update) []loop.Stmt {
	m := map[string]sym.Expr{}
	var axes []te.Axis
	for i, a := range u.Axes {
		axes = append(axes, te.Axis{Var: fmt.Sprintf("u%d", i), Extent: a.Extent})
		m[a.Var] = sym.Var(axes[i].Var)
	}
	n.AddRanges(axes)
	var body []loop.Stmt
	for i, d := range u.Binds {
		v := fmt.Sprintf("at%d", i)
		lo, _ := d.Lo.Bounds(n.Facts)
		_, hi := d.Hi.Bounds(n.Facts)
		n.Facts[v] = sym.Range{Lo: lo, Hi: hi}
		body = append(body, loop.Bind{Var: v, Value: n.Flatten(b, []te.Expr{d.Value}, m, env.Layouts)[0], Lo: d.Lo, Hi: d.Hi})
		m[d.Var] = sym.Var(v)
	}
	value := n.Flatten(b, []te.Expr{u.Value}, m, env.Layouts)[0]
	hoisted, value := loop.HoistLets(value)
	element := func(index []sym.Expr) loop.Mem {
		at := make([]sym.Expr, len(index))
		for i, e := range index {
			at[i] = e.Subst(m, n.Facts)
		}
		return loop.Mem{Buf: n.Out[0], Index: layout.RowMajor.Offset(b.Stage.Shape(), at, n.Facts)}
	}
	to, from := element(u.At), element(u.Source())
	joined := te.Map(u.Join, func(e te.Expr) te.Expr {
		switch e.(type) {
		case te.Acc:
			return from
		case te.In:
			return value
		}
		return e
	})
	body = append(append(body, hoisted...), loop.Store{Buf: to.Buf, Index: to.Index, Value: joined})
	return Loops(axes, body)
}
