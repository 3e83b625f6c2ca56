package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// fetchAhead lets micro-kernels that read the same registers of W again and again, from the second-level
// cache, fetch there what the next ones read, each call a part of it: without, the first call of them all waits
// for memory, which has nothing to do while the others compute.
func fetchAhead(t *target.Target, k *loop.Kernel) {
	if t.PrefetchBytes == 0 {
		return
	}
	a := &ahead{t: t, facts: k.Facts, bound: map[string]sym.Expr{}, axes: append([]te.Axis{}, k.Grid...)}
	k.Body = a.body(k.Body)
}

// maxCalls bounds the calls that share what they fetch: of more, each has next to nothing to do.
const maxCalls = 1 << 12

type ahead struct {
	t     *target.Target
	facts sym.Facts
	bound map[string]sym.Expr // variables of Index statements
	axes  []te.Axis           // of the loops around, outermost first
}

func (a *ahead) body(body []loop.Stmt) []loop.Stmt {
	out := make([]loop.Stmt, len(body))
	for i, s := range body {
		switch x := s.(type) {
		case loop.Index:
			a.bound[x.Var] = x.Value.Subst(a.bound, a.facts)
		case loop.For:
			a.axes = append(a.axes, te.Axis{Var: x.Var, Extent: x.Extent})
			x.Body = a.body(x.Body)
			a.axes = a.axes[:len(a.axes)-1]
			s = x
		case loop.If:
			x.Then, x.Else = a.body(x.Then), a.body(x.Else)
			s = x
		case loop.Tile:
			s = a.tile(x)
		}
		out[i] = s
	}
	return out
}

// tile gives a call its part of the W that follows its own. In the order of calls, those that share their own are
// the points of the loops within the innermost one along which W moves.
func (a *ahead) tile(x loop.Tile) loop.Tile {
	m := *x.Micro
	if m.Kept != nil || m.VecStep == 0 && len(m.K) > 0 && m.K[len(m.K)-1].WStep != m.Vectors*m.Lanes() {
		return x // its own are parts of groups, between those of other tiles
	}
	own := m.Steps() * m.Vectors * m.Lanes()
	room := a.t.L2/int64(m.W().Size()) - own
	if room < own/2 || m.PrefetchW == 0 || m.Instr.Group > 1 {
		return x
	}
	at := x.At.Subst(a.bound, a.facts)
	moves := len(a.axes) - 1
	for moves >= 0 && !at.Uses(a.axes[moves].Var) {
		moves--
	}
	calls, number := int64(1), sym.Const(0)
	for _, l := range a.axes[moves+1:] {
		_, n := l.Extent.Bounds(a.facts)
		if n < 1 || n > maxCalls/calls {
			return x
		}
		calls, number = calls*n, sym.Add(sym.Scale(number, n), sym.Var(l.Var))
	}
	if moves < 0 || calls < 2 {
		return x
	}
	m.Fetch = (m.Vectors*m.Lanes()*min(room, own)/own + calls - 1) / calls
	part := sym.Mod(sym.Scale(number, m.Steps()*m.Fetch), sym.Const(own), a.facts)
	x.Micro, x.FetchAt = &m, sym.Add(x.At, sym.Const(own), part)
	return x
}
