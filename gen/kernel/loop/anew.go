package loop

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// FirstVar is the variable that a kernel's body sees as the number of the first of the tasks that a worker runs one after the other in a call.
const FirstVar = "first_task"

// Anew is a body that only some tasks run, and whose results stay in the worker's scratch memory for those after them in its call: the first one of the
// call, and each with which the inner axes of the grid begin anew, along which the body computes the same.
func Anew(inner []string, body []Stmt) Stmt {
	number := sym.Const(0)
	for _, v := range inner {
		number = sym.Add(number, sym.Var(v))
	}
	since := sym.Sub(sym.Var(TaskVar), sym.Var(FirstVar))
	return If{Cond: []te.Within{{E: sym.Min(number, since, nil), Lo: sym.Const(0), Hi: sym.Const(1)}}, Then: body}
}

// Anew reports whether a statement is one of those, and which axes are its inner ones.
func (x If) Anew() (inner []string, is bool) {
	if len(x.Cond) != 1 || len(x.Else) > 0 || !x.Cond[0].E.Uses(FirstVar) {
		return nil, false
	}
	used := map[string]bool{}
	x.Cond[0].E.Vars(used)
	delete(used, FirstVar)
	delete(used, TaskVar)
	return slices.Sorted(maps.Keys(used)), true
}

// KeepsScratch are the scratch buffers that tasks leave to those after them, by the inner axes of the grid of these.
func (k *Kernel) KeepsScratch() map[*Buffer][]string {
	out := map[*Buffer][]string{}
	for _, s := range k.Body {
		x, isIf := s.(If)
		inner, anew := x.Anew()
		if !isIf || !anew {
			continue
		}
		Walk(x.Then, func(s Stmt) bool {
			if w, stores := s.(Store); stores && slices.Contains(k.Scratch, w.Buf) {
				out[w.Buf] = inner
			}
			return true
		})
	}
	return out
}
