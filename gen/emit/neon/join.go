package neon

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Join returns a kernel's statements. A tile has a finish if assembly can compute the statement
// after it and nothing else reads its accumulators.
func Join(k *loop.Kernel) []loop.Stmt {
	j := &joiner{facts: k.Facts, readers: map[*loop.Buffer]int{}, joined: map[*loop.Buffer]bool{}}
	body := k.Statements()
	j.count(body)
	body = j.join(body)
	used := map[*loop.Buffer]bool{}
	loop.Walk(body, func(s loop.Stmt) bool {
		loads(s, func(b *loop.Buffer) { used[b] = true })
		if t, ok := s.(loop.Tile); ok && t.Finish == nil {
			used[t.Acc] = true
		}
		if x, ok := s.(loop.Store); ok {
			used[x.Buf] = true
		}
		return true
	})
	return without(body, func(b *loop.Buffer) bool { return j.joined[b] && !used[b] })
}

// without leaves out the arrays that f holds for.
func without(body []loop.Stmt, f func(*loop.Buffer) bool) []loop.Stmt {
	var out []loop.Stmt
	for _, s := range body {
		if a, ok := s.(loop.Alloc); ok && f(a.Buf) {
			continue
		}
		out = append(out, loop.WithInner(s, func(inner []loop.Stmt) []loop.Stmt { return without(inner, f) }))
	}
	return out
}

type joiner struct {
	facts sym.Facts
	// readers counts statements that read a buffer of accumulators, other than those after its tiles.
	readers map[*loop.Buffer]int
	// joined are the buffers of tiles that got finishes.
	joined map[*loop.Buffer]bool
}

// count finds the readers.
func (j *joiner) count(body []loop.Stmt) {
	for i, s := range body {
		var own *loop.Buffer
		if i > 0 {
			if t, ok := body[i-1].(loop.Tile); ok {
				own = t.Acc
			}
		}
		j.countIn(s, own)
	}
}

// countIn counts a statement's loads from all buffers but its own.
func (j *joiner) countIn(s loop.Stmt, own *loop.Buffer) {
	loads(s, func(b *loop.Buffer) {
		if b != own {
			j.readers[b]++
		}
	})
	for _, inner := range loop.Inner(s) {
		if own == nil {
			j.count(inner)
			continue
		}
		for _, s := range inner {
			j.countIn(s, own)
		}
	}
}

// loads calls f for the buffers that a statement itself loads from.
func loads(s loop.Stmt, f func(b *loop.Buffer)) {
	expr := func(e te.Expr) {
		te.Walk(e, func(x te.Expr) {
			if l, ok := x.(loop.Mem); ok {
				f(l.Buf)
			}
		})
	}
	switch x := s.(type) {
	case loop.Bind:
		expr(x.Value)
	case loop.Def:
		expr(x.Init)
	case loop.Set:
		expr(x.Value)
	case loop.Store:
		expr(x.Value)
	case loop.Tile:
		f(x.X)
		f(x.W)
	}
}

// join returns statements in which tiles have finishes.
func (j *joiner) join(body []loop.Stmt) []loop.Stmt {
	var out []loop.Stmt
	for i := 0; i < len(body); i++ {
		t, ok := body[i].(loop.Tile)
		if !ok || i+1 == len(body) || j.readers[t.Acc] > 0 {
			out = append(out, loop.WithInner(body[i], j.join))
			continue
		}
		if f, ok := finishOf(t, body[i+1], j.facts); ok {
			t.Finish = f
			if _, ok := New(t); ok {
				out = append(out, t)
				j.joined[t.Acc] = true
				i++
				continue
			}
		}
		out = append(out, body[i])
	}
	return out
}
