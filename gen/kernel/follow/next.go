package follow

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// fetchNext gives each call of a tile whose schedule says so its part of the next W.
func (f *follower) fetchNext(body []loop.Stmt) []loop.Stmt {
	if len(f.next) == 0 {
		return body
	}
	n := &nextW{follower: f, bound: map[string]sym.Expr{}, axes: append([]te.Axis{}, f.k.Grid...)}
	return n.body(body)
}

// maxCalls bounds the calls that share what they fetch: of more, each has next to nothing to do.
const maxCalls = 1 << 12

type nextW struct {
	*follower
	bound map[string]sym.Expr // variables of Index statements
	axes  []te.Axis           // of the loops around, outermost first
}

func (n *nextW) body(body []loop.Stmt) []loop.Stmt {
	out := make([]loop.Stmt, len(body))
	for i, s := range body {
		switch x := s.(type) {
		case loop.Index:
			n.bound[x.Var] = x.Value.Subst(n.bound, n.facts)
		case loop.For:
			n.axes = append(n.axes, te.Axis{Var: x.Var, Extent: x.Extent})
			x.Body = n.body(x.Body)
			n.axes = n.axes[:len(n.axes)-1]
			s = x
		case loop.If:
			x.Then, x.Else = n.body(x.Then), n.body(x.Else)
			s = x
		case loop.Tile:
			s = n.tile(x)
		}
		out[i] = s
	}
	return out
}

// tile gives a call its part of the W that follows its own. In the order of calls, those that share their own are
// the points of the loops within the innermost one along which W moves.
func (n *nextW) tile(x loop.Tile) loop.Tile {
	next := n.next[x.Micro]
	if next == 0 {
		return x
	}
	at := x.At.Subst(n.bound, n.facts)
	moves := len(n.axes) - 1
	for moves >= 0 && !at.Uses(n.axes[moves].Var) {
		moves--
	}
	calls, number := int64(1), sym.Const(0)
	for _, l := range n.axes[moves+1:] {
		_, count := l.Extent.Bounds(n.facts)
		if count < 1 || count > maxCalls/calls {
			return x
		}
		calls, number = calls*count, sym.Add(sym.Scale(number, count), sym.Var(l.Var))
	}
	if moves < 0 || calls < 2 {
		return x
	}
	m := *x.Micro
	own := m.Steps() * m.Vectors * m.Lanes()
	m.Fetch = (m.Vectors*m.Lanes()*next/own + calls - 1) / calls
	part := sym.Mod(sym.Scale(number, m.Steps()*m.Fetch), sym.Const(own), n.facts)
	x.Micro, x.FetchAt = &m, sym.Add(x.At, sym.Const(own), part)
	return x
}
