package ckernel

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Kernel writes one kernel's statements.
type Kernel struct {
	Writer
	exprs
	temps int
	// known are the texts that have a name and still mean the same: common subexpressions
	// (DNNFusion 3.4.4) are computed once.
	known map[string]string
	err   error // the first one
}

// New is a writer for a kernel whose variables lie in the ranges of facts.
func New(d Dialect, facts sym.Facts) *Kernel {
	w := &Kernel{exprs: exprs{d: d, facts: facts, conds: map[string]string{}}}
	w.exprs.name = w.bind
	return w
}

// Err is the first error.
func (w *Kernel) Err() error { return w.err }

// Index prints an index expression.
func (w *Kernel) Index(e sym.Expr) string { return w.index(e) }

// Cond prints conditions.
func (w *Kernel) Cond(cs []te.Within) string { return w.cond(cs) }

// Scalar prints a scalar expression, after statements that compute parts of it.
func (w *Kernel) Scalar(e te.Expr) string { return w.scalar(e) }

// Facts are the ranges of the kernel's variables.
func (w *Kernel) Facts() sym.Facts { return w.facts }

// bind defines a local constant before the statement that is being printed.
func (w *Kernel) bind(t ir.DType, text string) string {
	if name, ok := w.known[text]; ok {
		return name
	}
	name := fmt.Sprintf("t%d", w.temps)
	w.temps++
	w.Line("const %s %s = %s;", w.d.Type(t, w.lanes), name, Strip(text))
	if w.known != nil {
		w.known[text] = name
	}
	return name
}

// Statements prints statements in their order.
func (w *Kernel) Statements(body []loop.Stmt) {
	outer := w.known
	w.known = map[string]string{}
	for i := 0; i < len(body); i++ {
		s := body[i]
		if n := w.neighbours(body[i:]); n > 1 {
			w.turned(body[i : i+n])
			i += n - 1
		} else {
			w.stmt(s, body[i+1:])
		}
		if _, pure := s.(loop.Def); !pure {
			clear(w.known) // memory, variables or scopes have changed
		}
	}
	w.known = outer
}

func (w *Kernel) stmt(s loop.Stmt, rest []loop.Stmt) {
	switch x := s.(type) {
	case loop.For:
		if x.Items {
			w.fail(fmt.Errorf("no %s for a loop over work-items", w.d.Name()))
		}
		if l, ok := w.d.(Looper); !ok || !l.Loop(w, x) {
			w.For(x)
		}
	case loop.Index:
		w.indexVar(x, rest)
	case loop.Bind:
		w.bounded(x, rest)
	case loop.Def:
		w.Line("%s %s = %s;", w.d.Type(x.Init.DType(), w.lanes), x.Name, w.scalar(x.Init))
	case loop.Set:
		w.Line("%s = %s;", x.Name, w.scalar(x.Value))
	case loop.Alloc:
		w.Line("%s", w.d.Array(x.Buf, Strip(w.index(x.Buf.Size))))
	case loop.Store:
		if bits, ok := w.copied(x); ok {
			w.Line("%s", w.d.(Copier).StoreBits(w.access(x.Buf, x.Index, x.Texel), Strip(bits)))
			return
		}
		a := w.access(x.Buf, x.Index, x.Texel)
		v, _ := stored(x)
		a.Exact = v.DType() == x.Buf.Type
		w.Line("%s", w.d.Store(a, w.Stored(x)))
	case loop.Claim:
		if c, ok := w.d.(Claimer); ok {
			w.Line("%s", c.Claim(w.access(x.Buf, x.Index, loop.Texel{}), x.Later))
		}
	case loop.Barrier:
		b, ok := w.d.(Grouper)
		if !ok {
			w.fail(fmt.Errorf("no %s for groups of work-items", w.d.Name()))
			return
		}
		w.Line("%s", b.Barrier())
	case loop.If:
		w.ifStmt(x)
	case loop.Tile:
		acc := x.Acc.Name
		if !x.AccAt.Is(0) {
			acc += " + " + w.index(x.AccAt)
		}
		at := TileAt{X: w.index(x.XAt), W: w.index(x.At), Acc: acc, Fetch: w.index(x.FetchAt), Index: w.index(x.IndexAt), Ends: w.index(x.EndsAt)}
		if x.Finish != nil {
			for _, p := range x.Finish.Pointers {
				at.Pointers = append(at.Pointers, w.index(p.At))
			}
		}
		text, err := w.d.Tile(x, at)
		if err != nil {
			w.fail(err)
		}
		w.Line("%s", text)
	default:
		w.fail(fmt.Errorf("no %s for statement %T", w.d.Name(), s))
	}
}

// Stored is what a store stores.
func (w *Kernel) Stored(x loop.Store) string {
	if h, ok := w.d.(Halver); ok && h.HoldsHalves() {
		return Strip(w.scalar(x.Value))
	}
	v, narrowed := stored(x)
	text := Strip(w.scalar(v))
	if narrowed {
		return w.d.Held(x.Buf.Type, text)
	}
	return text
}

// For prints a loop as every dialect does.
func (w *Kernel) For(x loop.For) {
	if x.Lanes > 0 {
		w.vectorLoop(x)
		return
	}
	w.Block(fmt.Sprintf("for (%s %s = 0; %s < %s; ++%s)", w.d.IndexType(), x.Var, x.Var, Strip(w.index(x.Extent)), x.Var), func() { w.Statements(x.Body) })
}

// vectorLoop prints a loop whose steps are vectors, and one over the rest where they do not
// fill the extent, or a last vector that overlaps the one before.
func (w *Kernel) vectorLoop(x loop.For) {
	n, isConst := x.Extent.Const()
	t := w.d.IndexType()
	if isConst && n%x.Lanes == 0 {
		w.Block(fmt.Sprintf("for (%s %s = 0; %s < %d; %s += %d)", t, x.Var, x.Var, n, x.Var, x.Lanes), func() { w.vectorBody(x) })
		return
	}
	if x.Overlaps() {
		step, last := x.Var+"_step", n-x.Lanes
		w.Block(fmt.Sprintf("for (%s %s = 0; %s < %d; %s += %d)", t, step, step, n, step, x.Lanes), func() {
			w.Line("const %s %s = %s < %d ? %s : %d;", t, x.Var, step, last, step, last)
			w.vectorBody(x)
		})
		return
	}
	w.Line("{")
	w.Writer.Indent++
	w.Line("const %s %s_end = %s;", t, x.Var, Strip(w.index(x.Extent)))
	w.Line("%s %s = 0;", t, x.Var)
	w.Block(fmt.Sprintf("for (; %s + %d <= %s_end; %s += %d)", x.Var, x.Lanes, x.Var, x.Var, x.Lanes), func() { w.vectorBody(x) })
	w.Block(fmt.Sprintf("for (; %s < %s_end; ++%s)", x.Var, x.Var, x.Var), func() { w.Statements(x.Body) })
	w.Writer.Indent--
	w.Line("}")
}

func (w *Kernel) vectorBody(x loop.For) {
	saved := w.exprs
	n, known := x.Extent.Const()
	w.exprs.lane, w.exprs.lanes, w.exprs.whole, w.exprs.bytes = x.Var, x.Lanes, known && n%x.Lanes == 0, map[string]bool{}
	if v, ok := w.d.(Vectorer); ok {
		w.exprs.d = v.Vectors(x)
	}
	w.Statements(x.Body)
	w.exprs = saved
}

// indexVar leaves out a variable that nothing after it reads.
func (w *Kernel) indexVar(x loop.Index, rest []loop.Stmt) {
	if uses(rest, x.Var) {
		w.Line("const %s %s = %s;", w.d.IndexType(), x.Var, Strip(w.index(x.Value)))
	}
}

// bounded prints an integer that is checked. Along an axis of one element only the check remains: nothing reads the integer.
func (w *Kernel) bounded(x loop.Bind, rest []loop.Stmt) {
	if b := x.Byte(); w.lanes > 0 && b != nil {
		w.Line("const %s %s = %s;", w.d.Type(ir.U8, w.lanes), x.Var, Strip(w.scalar(b)))
		w.bytes[x.Var] = true
		return
	}
	text := w.scalar(x.Value)
	switch {
	case !x.Known:
		text = w.d.Bounded(text, w.index(x.Lo), w.index(x.Hi))
	case !uses(rest, x.Var):
		return
	}
	if uses(rest, x.Var) {
		text = fmt.Sprintf("const %s %s = %s", w.d.IndexType(), x.Var, text)
	}
	w.Line("%s;", text)
}

// uses reports whether statements read an index variable; C++ compilers warn of those that nothing reads.
func uses(body []loop.Stmt, name string) bool {
	used := false
	loop.Exprs(body, func(e sym.Expr) { used = used || e.Uses(name) })
	return used
}

func (w *Kernel) ifStmt(x loop.If) {
	w.Line("if (%s) {", w.cond(x.Cond))
	w.Writer.Indent++
	w.Statements(x.Then)
	w.Writer.Indent--
	if len(x.Else) > 0 {
		w.Line("} else {")
		w.Writer.Indent++
		w.Statements(x.Else)
		w.Writer.Indent--
	}
	w.Line("}")
}

func (w *Kernel) scalar(e te.Expr) string {
	s, err := w.value(e)
	if err != nil {
		w.fail(err)
	}
	return s
}

func (w *Kernel) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
