package te

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir/sym"
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
			value := w.text(b.Value)
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
		w.WriteString(what + " ")
		w.scalar(e)
		w.WriteString("\n")
	}
}

// text is an expression as text by itself.
func (w *Writer) text(e Expr) string {
	part := &Writer{names: w.names, Used: w.Used}
	part.scalar(e)
	return part.String()
}

// Text is an expression that tells apart all that compute something else.
func Text(e Expr) string { return NewWriter().text(e) }

// scalar appends an expression: a deep one is not copied at each level. The type of an accumulator, and of what comes to
// it, is that of its Init.
func (w *Writer) scalar(e Expr) {
	switch x := e.(type) {
	case nil:
		w.WriteString("none")
	case Const:
		fmt.Fprintf(w, "%s:%x", x.Type, x.Bits)
	case Index:
		fmt.Fprintf(w, "%s(%s)", x.Type, w.expr(x.E))
	case Load:
		w.load(x)
	case Call:
		fmt.Fprintf(w, "%s %s(", x.Type, x.Fn)
		for i, a := range x.Args {
			if i > 0 {
				w.WriteString(", ")
			}
			w.scalar(a)
		}
		w.WriteString(")")
	case Let:
		value := w.text(x.Value) // what it binds is named first
		known := map[bool]string{true: " known"}[x.Known]
		fmt.Fprintf(w, "let %s = %s in %s..%s%s: ", w.bind(x.Var), value, w.expr(x.Lo), w.expr(x.Hi), known)
		w.scalar(x.Body)
	case Select:
		w.WriteString("(")
		w.scalar(x.Then)
		fmt.Fprintf(w, " if %s else ", w.within(x.Cond))
		w.scalar(x.Else)
		w.WriteString(")")
	case Acc:
		fmt.Fprintf(w, "acc%d", x.N)
	case In:
		fmt.Fprintf(w, "in%d", x.N)
	default:
		panic(fmt.Sprintf("an expression of type %T has no text", e))
	}
}

func (w *Writer) load(x Load) {
	from := "operand"
	if x.Source.Stage {
		from = "stage"
	}
	text := fmt.Sprintf("%s %s %d.%d %s", x.Type, from, x.Source.N, x.Source.Part, w.Exprs(x.Index))
	if len(x.Guard) == 0 {
		w.WriteString(text)
		return
	}
	fmt.Fprintf(w, "(%s if %s else ", text, w.within(x.Guard))
	w.scalar(x.Default)
	w.WriteString(")")
}
