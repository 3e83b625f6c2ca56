package ckernel

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// neighbours is how many of the first statements store vectors of which each lies one element behind the one before, and the lanes apart, as many as
// the dialect stores together; less than 2: none.
func (w *Kernel) neighbours(body []loop.Stmt) int {
	t, ok := w.d.(Turner)
	first, isStore := body[0].(loop.Store)
	if !ok || w.lanes == 0 || !isStore || first.Buf.Image != nil || !first.Index.Uses(w.lane) {
		return 0
	}
	n := 1
	for n < len(body) && n < int(w.lanes) {
		x, isStore := body[n].(loop.Store)
		if !isStore || x.Buf != first.Buf || !sym.Sub(x.Index, first.Index).Is(int64(n)) {
			break
		}
		n++
	}
	a := w.access(first.Buf, first.Index, first.Texel)
	for ; n > 1; n-- {
		if int64(n) <= a.Stride && t.Turns(a, n) {
			return n
		}
	}
	return 0
}

// turned prints such statements as one.
func (w *Kernel) turned(body []loop.Stmt) {
	first := body[0].(loop.Store)
	values := make([]string, len(body))
	for i, s := range body {
		x := s.(loop.Store)
		values[i] = w.bind(x.Value.DType(), w.scalar(x.Value))
	}
	w.Line("%s", w.d.(Turner).StoreTurned(w.access(first.Buf, first.Index, first.Texel), values))
}
