package run

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// fault is what a failed check panics with, to leave the compiled code; rescue makes it an error.
type fault struct{ err error }

func (f *frame) fail(format string, args ...any) {
	panic(fault{f.at.wrap(f, fmt.Errorf(format, args...))})
}

func (f *frame) rescue(err *error) {
	switch x := recover().(type) {
	case nil:
	case fault:
		*err = x.err
		f.at = nil
	default:
		panic(x)
	}
}

// where is a statement for messages.
type where struct {
	text string
	vars []variableAt
}

type variableAt struct {
	name string
	slot int
}

// wrap says where an error happened; while the kernel is compiled the variables have no values.
func (w *where) wrap(f *frame, err error) error {
	if w == nil {
		return err
	}
	if w.vars == nil {
		return fmt.Errorf("statement %s: %w", w.text, err)
	}
	at := []string{fmt.Sprintf("task %d", f.task)}
	for _, v := range w.vars {
		at = append(at, fmt.Sprintf("%s = %d", v.name, f.v[v.slot]))
	}
	if f.hi > 1 {
		at = append(at, fmt.Sprintf("lanes %d to %d", f.lo, f.hi-1))
	}
	return fmt.Errorf("statement %s, %s: %w", w.text, strings.Join(at, ", "), err)
}

// mark makes s the statement that is being compiled and gives what the compiled code marks it with.
func (c *compiler) mark(s loop.Stmt) *where {
	c.frame.at = &where{text: describe(s)}
	return c.frame.at
}

// locate notes the variables that the statement reads, once they are compiled.
func (c *compiler) locate(w *where, s loop.Stmt) {
	used := map[string]bool{}
	loop.Exprs([]loop.Stmt{shallow(s)}, func(e sym.Expr) { e.Vars(used) })
	used[loop.TaskVar], used[loop.FirstVar] = false, false
	w.vars = []variableAt{}
	for i := len(c.scopes) - 1; i >= 0; i-- {
		for _, name := range c.scopes[i].order {
			if slot, ok := c.scopes[i].names[name].(int); ok && used[name] {
				w.vars = append(w.vars, variableAt{name, slot})
				used[name] = false
			}
		}
	}
}

// shallow is a statement without those inside it.
func shallow(s loop.Stmt) loop.Stmt {
	return loop.WithInner(s, func([]loop.Stmt) []loop.Stmt { return nil })
}

// describe is a statement as messages show it.
func describe(s loop.Stmt) string {
	switch x := s.(type) {
	case loop.For:
		if x.Lanes > 0 {
			return fmt.Sprintf("for %s < %s in vectors of %d", x.Var, x.Extent, x.Lanes)
		}
		return fmt.Sprintf("for %s < %s", x.Var, x.Extent)
	case loop.Index:
		return fmt.Sprintf("%s = %s", x.Var, x.Value)
	case loop.Bind:
		return fmt.Sprintf("%s = a loaded integer in [%s, %s]", x.Var, x.Lo, x.Hi)
	case loop.Def:
		return "define " + x.Name
	case loop.Set:
		return "set " + x.Name
	case loop.Alloc:
		return "declare " + x.Buf.Name
	case loop.Store:
		if x.Buf.Image != nil {
			return fmt.Sprintf("%s(%s, %s)[%s] = ...", x.Buf.Name, x.X, x.Y, x.Index)
		}
		return fmt.Sprintf("%s[%s] = ...", x.Buf.Name, x.Index)
	case loop.Claim:
		return "claim a line of " + x.Buf.Name
	case loop.If:
		return "if " + conditions(x.Cond)
	case loop.Barrier:
		return "barrier"
	case loop.Call:
		return "call of " + x.Name
	case loop.Tile:
		return fmt.Sprintf("tile of %s + (%s), %s + (%s) into %s", x.X.Name, x.XAt, x.W.Name, x.At, x.Acc.Name)
	}
	return fmt.Sprintf("%T", s)
}

func conditions(ws []te.Within) string {
	var parts []string
	for _, w := range ws {
		parts = append(parts, fmt.Sprintf("%s <= %s < %s", w.Lo, w.E, w.Hi))
	}
	return strings.Join(parts, " and ")
}
