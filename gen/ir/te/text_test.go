package te_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ir/te/tetest"
)

// whole has every field of a stage, and every kind of expression with all of its fields.
func whole() te.Stage {
	v := sym.Var
	within := func(e, hi string) te.Within { return te.Within{E: v(e), Lo: v("N"), Hi: v(hi)} }
	load := te.Load{Source: te.Source{Stage: true, N: 2, Part: 1}, Type: ir.F32, Index: []sym.Expr{v("i"), v("j")},
		Guard: []te.Within{within("i", "P")}, Default: te.Const{Type: ir.F32, Bits: 7}}
	return te.Stage{
		Name:   "s",
		Axes:   []te.Axis{{Var: "i", Extent: v("M")}, {Var: "j", Extent: v("M")}},
		Reduce: []te.Axis{{Var: "k", Extent: v("P")}},
		Combine: &te.Combiner{Name: "sum", Init: []te.Expr{te.Const{Type: ir.F32, Bits: 3}},
			Join: []te.Expr{te.Call{Fn: "add", Type: ir.F32, Args: []te.Expr{te.Acc{N: 1, Type: ir.F32}, te.In{N: 1, Type: ir.F32}}}}},
		Values: []te.Expr{load, te.Index{Type: ir.F32, E: v("k")}},
		Results: []te.Expr{te.Select{Cond: []te.Within{within("j", "M")}, Then: load, Else: te.Let{Var: "g", Known: true, Value: te.Index{Type: ir.I64, E: v("i")},
			Lo: v("N"), Hi: v("P"), Body: te.Index{Type: ir.F32, E: v("g")}}}},
		Update: &te.Update{
			Axes:  []te.Axis{{Var: "u", Extent: v("P")}},
			Binds: []te.Bind{{Var: "b", Value: te.Index{Type: ir.I64, E: v("u")}, Lo: v("N"), Hi: v("M")}},
			At:    []sym.Expr{v("b"), v("u")}, From: []sym.Expr{v("u"), v("b")}, Value: load, Join: te.In{N: 1, Type: ir.F32},
		},
	}
}

// silent are the fields that a text leaves out, and why.
var silent = map[string]string{
	"Stage.Name": "messages have it",
	"Acc.Type":   "it is that of Combiner.Init",
	"In.Type":    "it is that of Combiner.Init, or of Update.Value",
}

// TestTextIsComplete changes each field of a stage, its expressions' included, and finds it in the text. A field that is added
// is found here until the sample above has it and the text too.
func TestTextIsComplete(t *testing.T) {
	text := func(s te.Stage) string {
		w := te.NewWriter()
		w.Stage(&s)
		return w.String()
	}
	want, seen, quiet := text(whole()), map[string]int{}, map[string]bool{}
	c := &tetest.Changer{T: t}
	c.Each("", reflect.ValueOf(whole()), func(path string, v reflect.Value) {
		fields := strings.Split(path, "/")
		for _, f := range fields {
			seen[f]++
		}
		field := fields[len(fields)-1]
		if _, left := silent[field]; left {
			quiet[field] = true
			assert.Equal(t, want, text(v.Interface().(te.Stage)), path)
			return
		}
		assert.NotEqual(t, want, text(v.Interface().(te.Stage)), path)
	})
	for _, x := range []any{te.Stage{}, te.Axis{}, te.Combiner{}, te.Update{}, te.Bind{}, te.Within{}, te.Source{}, te.Const{}, te.Index{}, te.Load{},
		te.Call{}, te.Let{}, te.Select{}, te.Acc{}, te.In{}} {
		for i := range reflect.TypeOf(x).NumField() {
			name := reflect.TypeOf(x).Name() + "." + reflect.TypeOf(x).Field(i).Name
			assert.Positive(t, seen[name], "%s is not in the sample", name)
		}
	}
	assert.Len(t, quiet, len(silent))
}

// TestTextHasNoNames: variables and the stage are called otherwise, and the text is the same.
func TestTextHasNoNames(t *testing.T) {
	text := func(i, j, k string) (string, map[string]bool) {
		w := te.NewWriter()
		w.Stage(&te.Stage{
			Name: i, Axes: []te.Axis{{Var: i, Extent: sym.Var("N")}}, Reduce: []te.Axis{{Var: j, Extent: sym.Const(4)}}, Combine: te.Sum(ir.F32),
			Values: []te.Expr{te.Let{Var: k, Value: te.Operand(1, ir.I64, sym.Var(j)), Lo: sym.Const(0), Hi: sym.Const(3),
				Body: te.Operand(0, ir.F32, sym.Add(sym.Var(i), sym.Var(k)))}},
			Results: []te.Expr{te.Acc{Type: ir.F32}},
		})
		return w.String(), w.Used
	}
	want, used := text("i", "j", "k")
	got, _ := text("c", "b", "a")
	assert.Equal(t, want, got)
	assert.Equal(t, map[string]bool{"N": true}, used)
}
