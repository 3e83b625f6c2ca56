package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Signature is a kernel's declaration under the given name: buffers, symbols,
// the worker's scratch where it is used, where it reports indices that are out of bounds, then
// the range of tasks.
func Signature(k *loop.Kernel, name string) string {
	var ps []string
	for _, b := range k.Buffers {
		c := "const "
		if b.Write {
			c = ""
		}
		ps = append(ps, fmt.Sprintf("%s%s* __restrict %s", c, storage(b.Type), b.Name))
	}
	for _, s := range k.Syms {
		ps = append(ps, "int64_t "+variable(s))
	}
	for _, b := range k.Scratch {
		ps = append(ps, fmt.Sprintf("%s* __restrict %s", storage(b.Type), b.Name))
	}
	if loop.Binds(k.Body) {
		ps = append(ps, "int32_t* bad_index")
	}
	ps = append(ps, "int64_t first_task", "int64_t last_task")
	return fmt.Sprintf("void %s(%s)", name, strings.Join(ps, ", "))
}

// Body prints what stands between the braces of a kernel's definition.
func Body(k *loop.Kernel) (string, error) {
	w := &kernelWriter{exprs: exprs{facts: k.Facts}}
	w.exprs.name = w.bind
	w.indent = 1
	binds := loop.Binds(k.Body)
	if binds {
		w.line("int bad = 0;  // an index that is out of bounds")
	}
	w.block(fmt.Sprintf("for (int64_t %s = first_task; %s < last_task; ++%s)", loop.TaskVar, loop.TaskVar, loop.TaskVar), func() {
		if !usesTask(k) {
			w.line("(void)%s;", loop.TaskVar)
		}
		w.stmts(k.Statements())
	})
	if binds {
		w.line("if (bad) __atomic_store_n(bad_index, 1, __ATOMIC_RELAXED);")
	}
	return w.b.String(), w.err
}

func usesTask(k *loop.Kernel) bool {
	used := false
	loop.Exprs(k.Statements(), func(e sym.Expr) { used = used || e.Uses(loop.TaskVar) })
	return used
}

type kernelWriter struct {
	writer
	exprs
	temps int
	// known are the texts that have a name and still mean the same: common subexpressions
	// (DNNFusion 3.4.4) are computed once.
	known map[string]string
	err   error // the first one
}

// bind defines a local constant before the statement that is being printed.
func (w *kernelWriter) bind(t ir.DType, text string) string {
	if name, ok := w.known[text]; ok {
		return name
	}
	name := fmt.Sprintf("t%d", w.temps)
	w.temps++
	w.line("const %s %s = %s;", w.typeName(t), name, strip(text))
	if w.known != nil {
		w.known[text] = name
	}
	return name
}

func (w *kernelWriter) stmts(body []loop.Stmt) {
	outer := w.known
	w.known = map[string]string{}
	for i, s := range body {
		w.stmt(s, body[i+1:])
		if _, pure := s.(loop.Def); !pure {
			clear(w.known) // memory, variables or scopes have changed
		}
	}
	w.known = outer
}

func (w *kernelWriter) stmt(s loop.Stmt, rest []loop.Stmt) {
	switch x := s.(type) {
	case loop.For:
		if x.Lanes > 0 {
			w.vectorLoop(x)
			return
		}
		w.block(fmt.Sprintf("for (int64_t %s = 0; %s < %s; ++%s)", x.Var, x.Var, strip(w.index(x.Extent)), x.Var), func() { w.stmts(x.Body) })
	case loop.Index:
		w.indexVar(x, rest)
	case loop.Bind:
		w.line("const int64_t %s = dnn_bounded((int64_t)(%s), %s, %s, &bad);", x.Var, w.scalar(x.Value), w.index(x.Lo), w.index(x.Hi))
	case loop.Def:
		w.line("%s %s = %s;", w.typeName(x.Init.DType()), x.Name, w.scalar(x.Init))
	case loop.Set:
		w.line("%s = %s;", x.Name, w.scalar(x.Value))
	case loop.Alloc:
		w.line("%s %s[%s] __attribute__((aligned(64)));", local(x.Buf.Type), x.Buf.Name, strip(w.index(x.Buf.Size)))
	case loop.Store:
		w.store(x)
	case loop.If:
		w.ifStmt(x)
	case loop.Tile:
		if x.Micro.Instr.Text("cpp", "", "", "") == "" {
			w.fail(fmt.Errorf("no C++ for the tile instruction %s of the chip", x.Micro.Instr.Name))
		}
		w.line("%s(%s + %s, %s + %s, %s);", MicroName(x.Micro), x.X.Name, w.index(x.XAt), x.W.Name, w.index(x.At), x.Acc.Name)
	default:
		w.fail(fmt.Errorf("no C++ for statement %T", s))
	}
}

// vectorLoop prints a loop whose steps are vectors, and one over the rest where they do not
// fill the extent.
func (w *kernelWriter) vectorLoop(x loop.For) {
	n, isConst := x.Extent.Const()
	if isConst && n%x.Lanes == 0 {
		w.block(fmt.Sprintf("for (int64_t %s = 0; %s < %d; %s += %d)", x.Var, x.Var, n, x.Var, x.Lanes), func() { w.vectorBody(x) })
		return
	}
	w.line("{")
	w.indent++
	w.line("const int64_t %s_end = %s;", x.Var, strip(w.index(x.Extent)))
	w.line("int64_t %s = 0;", x.Var)
	w.block(fmt.Sprintf("for (; %s + %d <= %s_end; %s += %d)", x.Var, x.Lanes, x.Var, x.Var, x.Lanes), func() { w.vectorBody(x) })
	w.block(fmt.Sprintf("for (; %s < %s_end; ++%s)", x.Var, x.Var, x.Var), func() { w.stmts(x.Body) })
	w.indent--
	w.line("}")
}

func (w *kernelWriter) vectorBody(x loop.For) {
	saved := w.exprs
	w.exprs.lane, w.exprs.vector = x.Var, fmt.Sprintf("dnn_f32x%d", x.Lanes)
	w.stmts(x.Body)
	w.exprs = saved
}

// indexVar leaves out a variable that nothing after it reads.
func (w *kernelWriter) indexVar(x loop.Index, rest []loop.Stmt) {
	used := false
	loop.Exprs(rest, func(e sym.Expr) { used = used || e.Uses(x.Var) })
	if used {
		w.line("const int64_t %s = %s;", x.Var, strip(w.index(x.Value)))
	}
}

func (w *kernelWriter) ifStmt(x loop.If) {
	w.line("if (%s) {", w.cond(x.Cond))
	w.indent++
	w.stmts(x.Then)
	w.indent--
	if len(x.Else) > 0 {
		w.line("} else {")
		w.indent++
		w.stmts(x.Else)
		w.indent--
	}
	w.line("}")
}

func (w *kernelWriter) store(x loop.Store) {
	v := strip(w.scalar(x.Value))
	if w.vector != "" {
		w.line("dnn_store(%s + %s, %s);", x.Buf.Name, w.index(x.Index), v)
		return
	}
	if conv := toHalf[x.Buf.Type]; conv != "" && !x.Buf.Local {
		v = conv + "(" + v + ")"
	}
	w.line("%s[%s] = %s;", x.Buf.Name, strip(w.index(x.Index)), v)
}

func (w *kernelWriter) scalar(e te.Expr) string {
	s, err := w.value(e)
	if err != nil {
		w.fail(err)
	}
	return s
}

func (w *kernelWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
