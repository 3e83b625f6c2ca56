package te

import (
	"fmt"
	"strings"

	"rules_dnn/gen/sym"
)

// Writer writes stages as text that tells apart all that compute something else: it names variables by their order,
// and leaves out stages' own names. Keys of blocks are made of it.
type Writer struct {
	strings.Builder
	names map[string]sym.Expr // of the stage's variables
	// Used are the symbols that expressions have besides the stages' variables.
	Used map[string]bool
}

// NewWriter is an empty text.
func NewWriter() *Writer { return &Writer{Used: map[string]bool{}} }

// Line appends a line.
func (w *Writer) Line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// Stage appends a stage.
func (w *Writer) Stage(s *Stage) {
	w.names = map[string]sym.Expr{}
	w.axes("for", s.Axes)
	w.axes("reduce", s.Reduce)
	if c := s.Combine; c != nil {
		w.Line("combine %s", c.Name)
		w.all("init", c.Init)
		w.all("join", c.Join)
	}
	w.all("value", s.Values)
	w.all("result", s.Results)
	if u := s.Update; u != nil {
		w.axes("update", u.Axes)
		for _, b := range u.Binds {
			value := w.scalar(b.Value)
			w.Line("bind %s = %s in %s..%s", w.bind(b.Var), value, w.expr(b.Lo), w.expr(b.Hi))
		}
		w.Line("at %s from %s", w.Exprs(u.At), w.Exprs(u.Source()))
		w.all("update", []Expr{u.Value, u.Join})
	}
	w.names = nil
}

// Exprs are indices as text.
func (w *Writer) Exprs(es []sym.Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = w.expr(e)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// bind names a variable.
func (w *Writer) bind(v string) string {
	name := fmt.Sprintf("v%d", len(w.names))
	w.names[v] = sym.Var(name)
	return name
}

// expr is an index with the new names.
func (w *Writer) expr(e sym.Expr) string {
	vars := map[string]bool{}
	e.Vars(vars)
	for v := range vars {
		if _, bound := w.names[v]; !bound {
			w.Used[v] = true
		}
	}
	return e.Subst(w.names, nil).String()
}

func (w *Writer) within(ws []Within) string {
	out := make([]string, len(ws))
	for i, x := range ws {
		out[i] = fmt.Sprintf("%s <= %s < %s", w.expr(x.Lo), w.expr(x.E), w.expr(x.Hi))
	}
	return strings.Join(out, " and ")
}

func (w *Writer) axes(what string, axes []Axis) {
	for _, a := range axes {
		extent := w.expr(a.Extent)
		w.Line("%s %s < %s", what, w.bind(a.Var), extent)
	}
}

func (w *Writer) all(what string, es []Expr) {
	for _, e := range es {
		w.Line("%s %s", what, w.scalar(e))
	}
}

// scalar is an expression as text. The type of an accumulator, and of what comes to it, is that of its Init.
func (w *Writer) scalar(e Expr) string {
	switch x := e.(type) {
	case nil:
		return "none"
	case Const:
		return fmt.Sprintf("%s:%x", x.Type, x.Bits)
	case Index:
		return fmt.Sprintf("%s(%s)", x.Type, w.expr(x.E))
	case Load:
		from := "operand"
		if x.Source.Stage {
			from = "stage"
		}
		text := fmt.Sprintf("%s %s %d.%d %s", x.Type, from, x.Source.N, x.Source.Part, w.Exprs(x.Index))
		if len(x.Guard) > 0 {
			text = fmt.Sprintf("(%s if %s else %s)", text, w.within(x.Guard), w.scalar(x.Default))
		}
		return text
	case Call:
		args := make([]string, len(x.Args))
		for i, a := range x.Args {
			args[i] = w.scalar(a)
		}
		return fmt.Sprintf("%s %s(%s)", x.Type, x.Fn, strings.Join(args, ", "))
	case Let:
		value := w.scalar(x.Value)
		name := w.bind(x.Var)
		return fmt.Sprintf("let %s = %s in %s..%s: %s", name, value, w.expr(x.Lo), w.expr(x.Hi), w.scalar(x.Body))
	case Select:
		return fmt.Sprintf("(%s if %s else %s)", w.scalar(x.Then), w.within(x.Cond), w.scalar(x.Else))
	case Acc:
		return fmt.Sprintf("acc%d", x.N)
	case In:
		return fmt.Sprintf("in%d", x.N)
	}
	panic(fmt.Sprintf("an expression of type %T has no text", e))
}
