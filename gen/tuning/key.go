package tuning

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Key is what a block's kernels depend on, hashed: its stages, the types, shapes and layouts of its values, and the
// ranges of symbols. No names of nodes, values and variables are in it.
func Key(b *block.Block, lay func(*ir.Value) layout.Layout, symbols sym.Facts) string {
	sum := sha256.Sum256([]byte(keyText(b, lay, symbols)))
	return hex.EncodeToString(sum[:8])
}

// What describes a block to people.
func What(b *block.Block, lay func(*ir.Value) layout.Layout) string {
	var out strings.Builder
	out.WriteString(strings.Join(b.Ops, "+"))
	for i, v := range append(append([]*ir.Value{}, b.Results...), b.Operands...) {
		if i == len(b.Results) {
			out.WriteString(" of")
		}
		fmt.Fprintf(&out, " %s%s", v.Type, v.Shape)
		if l := lay(v); l != layout.RowMajor {
			fmt.Fprintf(&out, " %s", l)
		}
	}
	return out.String()
}

func keyText(b *block.Block, lay func(*ir.Value) layout.Layout, symbols sym.Facts) string {
	k := &keyWriter{used: map[string]bool{}}
	for _, s := range b.Stages() {
		k.stage(s)
	}
	first := map[*ir.Value]int{}
	for i, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if _, ok := first[v]; !ok {
			first[v] = i
		}
		kind := "value"
		if v.Const != nil {
			kind = "constant"
		}
		k.line("%s %d %s %s %s", kind, first[v], v.Type, k.exprs(v.Shape), lay(v))
	}
	k.line("depth %d, %d operands", b.Depth, len(b.Operands))
	for _, s := range slices.Sorted(maps.Keys(k.used)) {
		if r, ok := symbols[s]; ok {
			k.line("symbol %s %d..%d", s, r.Lo, r.Hi)
		}
	}
	return k.String()
}

// keyWriter writes stages with variables named by their order.
type keyWriter struct {
	strings.Builder
	names map[string]sym.Expr // of the stage's variables
	used  map[string]bool     // other symbols
}

func (k *keyWriter) line(format string, args ...any) {
	fmt.Fprintf(k, format+"\n", args...)
}

// bind names a variable.
func (k *keyWriter) bind(v string) string {
	name := fmt.Sprintf("v%d", len(k.names))
	k.names[v] = sym.Var(name)
	return name
}

// expr is an index with the new names.
func (k *keyWriter) expr(e sym.Expr) string {
	vars := map[string]bool{}
	e.Vars(vars)
	for v := range vars {
		if _, bound := k.names[v]; !bound {
			k.used[v] = true
		}
	}
	return e.Subst(k.names, nil).String()
}

func (k *keyWriter) exprs(es []sym.Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = k.expr(e)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (k *keyWriter) within(ws []te.Within) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = fmt.Sprintf("%s <= %s < %s", k.expr(w.Lo), k.expr(w.E), k.expr(w.Hi))
	}
	return strings.Join(out, " and ")
}

func (k *keyWriter) axes(what string, axes []te.Axis) {
	for _, a := range axes {
		extent := k.expr(a.Extent)
		k.line("%s %s < %s", what, k.bind(a.Var), extent)
	}
}

func (k *keyWriter) stage(s *te.Stage) {
	k.names = map[string]sym.Expr{}
	k.axes("for", s.Axes)
	k.axes("reduce", s.Reduce)
	if c := s.Combine; c != nil {
		k.line("combine %s", c.Name)
		k.all("init", c.Init)
		k.all("join", c.Join)
	}
	k.all("value", s.Values)
	k.all("result", s.Results)
	if u := s.Update; u != nil {
		k.axes("update", u.Axes)
		for _, b := range u.Binds {
			value := k.scalar(b.Value)
			k.line("bind %s = %s in %s..%s", k.bind(b.Var), value, k.expr(b.Lo), k.expr(b.Hi))
		}
		k.line("at %s from %s", k.exprs(u.At), k.exprs(u.Source()))
		k.all("update", []te.Expr{u.Value, u.Join})
	}
	k.names = nil
}

func (k *keyWriter) all(what string, es []te.Expr) {
	for _, e := range es {
		k.line("%s %s", what, k.scalar(e))
	}
}

// scalar is an expression as text.
func (k *keyWriter) scalar(e te.Expr) string {
	switch x := e.(type) {
	case nil:
		return "none"
	case te.Const:
		return fmt.Sprintf("%s:%x", x.Type, x.Bits)
	case te.Index:
		return fmt.Sprintf("%s(%s)", x.Type, k.expr(x.E))
	case te.Load:
		from := "operand"
		if x.Source.Stage {
			from = "stage"
		}
		text := fmt.Sprintf("%s %s %d.%d %s", x.Type, from, x.Source.N, x.Source.Part, k.exprs(x.Index))
		if len(x.Guard) > 0 {
			text = fmt.Sprintf("(%s if %s else %s)", text, k.within(x.Guard), k.scalar(x.Default))
		}
		return text
	case te.Call:
		args := make([]string, len(x.Args))
		for i, a := range x.Args {
			args[i] = k.scalar(a)
		}
		return fmt.Sprintf("%s %s(%s)", x.Type, x.Fn, strings.Join(args, ", "))
	case te.Let:
		value := k.scalar(x.Value)
		name := k.bind(x.Var)
		return fmt.Sprintf("let %s = %s in %s..%s: %s", name, value, k.expr(x.Lo), k.expr(x.Hi), k.scalar(x.Body))
	case te.Select:
		return fmt.Sprintf("(%s if %s else %s)", k.scalar(x.Then), k.within(x.Cond), k.scalar(x.Else))
	case te.Acc:
		return fmt.Sprintf("acc%d", x.N)
	case te.In:
		return fmt.Sprintf("in%d", x.N)
	}
	panic(fmt.Sprintf("an expression of type %T has no text", e))
}
