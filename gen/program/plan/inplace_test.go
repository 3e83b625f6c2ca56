package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// negation is a step that computes y of x, element by element, and so may write y over x.
func negation(x, y *ir.Value) Step {
	s := step(x, y)
	a, b := s.Kernel.Buffers[0], s.Kernel.Buffers[1]
	a.Size, b.Size = sym.Const(16), sym.Const(16)
	i := sym.Var("i0")
	s.Kernel.Body = []loop.Stmt{loop.For{Var: "i0", Extent: sym.Const(16), Body: []loop.Stmt{
		loop.Store{Buf: b, Index: i, Value: te.Fn(ir.F32, "neg", loop.Mem{Buf: a, Index: i})},
	}}}
	return s
}

// TestInPlace: what is written over a value of which others are parts. The value w is computed of the input, p lies in it,
// and y is computed of one of them.
func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		name      string
		parts     int64 // of w, of which p is the second
		of, later string
		want      string // what y is written over
	}{
		{"the whole, last", 2, "w", "", "w"},
		{"the whole while a part lives", 2, "w", "p", ""},
		{"the whole while it lives", 2, "w", "w", ""},
		{"a part, last", 2, "p", "", ""}, // others may be read by other names
		{"all, last", 1, "p", "", "p"},
		{"all while it lives by its other name", 1, "p", "w", ""},
		{"the other name of all that lives", 1, "w", "p", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sixteen := sym.Const(16)
			x, w, p := value("x", ir.F32, sixteen), value("w", ir.F32, sixteen), value("p", ir.F32, sixteen)
			y, z := value("y", ir.F32, sixteen), value("z", ir.F32, sixteen)
			if c.parts > 1 && c.of == "p" {
				w.Shape = ir.Shape{sym.Const(c.parts), sixteen}
			} else if c.parts > 1 {
				p.Shape = ir.Shape{sym.Const(16 / c.parts)}
			}
			named := map[string]*ir.Value{"w": w, "p": p, "": y}
			at := sym.Scale(sixteen, c.parts-1)
			program := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{z}, Layouts: map[*ir.Value]layout.Layout{},
				Homes: map[*ir.Value]Home{p: {Of: w, At: at, Whole: c.parts == 1}},
				Steps: []Step{step(x, w), step(p, value("other", ir.F32, sixteen)), negation(named[c.of], y), step(y, named[c.later], z)}}
			InPlace(program)
			var over []string
			for _, v := range program.Steps[2].Over {
				over = append(over, v.Name)
			}
			if c.want == "" {
				assert.Empty(t, over)
			} else {
				assert.Equal(t, []string{c.want}, over)
			}
			run(t, program)
			for v, h := range program.Homes {
				want := program.Places[h.Of]
				want.Offset = sym.Add(want.Offset, sym.Scale(h.At, 4))
				assert.Equal(t, want, program.Places[v], v.Name)
			}
			apart := program.Places[y].Offset.Equal(program.Places[w].Offset)
			assert.Equal(t, c.want != "", apart, "y lies where w does: %s", program)
		})
	}
}

// reversal is a step that computes y of x from the end, and so may not write y over x.
func reversal(x, y *ir.Value) Step {
	s := negation(x, y)
	loops := s.Kernel.Body[0].(loop.For)
	store := loops.Body[0].(loop.Store)
	store.Index = sym.Sub(sym.Const(15), store.Index)
	s.Kernel.Body = []loop.Stmt{loop.For{Var: loops.Var, Extent: loops.Extent, Body: []loop.Stmt{store}}}
	return s
}

// TestInPlaceOfVersions: versions of one step write over an operand if all of them can, and it is read by none after them.
func TestInPlaceOfVersions(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(x, w, y, z *ir.Value) (first, second Step, later []Step)
		want  string
	}{
		{"both can", func(_, w, y, _ *ir.Value) (Step, Step, []Step) { return negation(w, y), negation(w, y), nil }, "w"},
		{"one cannot", func(_, w, y, _ *ir.Value) (Step, Step, []Step) { return negation(w, y), reversal(w, y), nil }, ""},
		{"the other cannot", func(_, w, y, _ *ir.Value) (Step, Step, []Step) { return reversal(w, y), negation(w, y), nil }, ""},
		{"one does not read it", func(x, w, y, _ *ir.Value) (Step, Step, []Step) { return negation(w, y), negation(x, y), nil }, ""},
		{"it lives on", func(_, w, y, z *ir.Value) (Step, Step, []Step) {
			return negation(w, y), negation(w, y), []Step{step(w, z)}
		}, ""},
		{"it is the caller's", func(x, _, y, _ *ir.Value) (Step, Step, []Step) { return negation(x, y), negation(x, y), nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sixteen := sym.Const(16)
			x, w := value("x", ir.F32, sixteen), value("w", ir.F32, sixteen)
			y, z := value("y", ir.F32, sixteen), value("z", ir.F32, sixteen)
			first, second, later := c.build(x, w, y, z)
			p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{z}, Layouts: map[*ir.Value]layout.Layout{}, Homes: map[*ir.Value]Home{}}
			p.Steps = append([]Step{step(x, w), {Choose: &Choose{Label: "versions", Versions: []Version{{Steps: []Step{first}}, {Steps: []Step{second}}}}}},
				append(later, step(y, z))...)
			InPlace(p)
			for _, s := range []Step{first, second} {
				var over []string
				for _, v := range s.Over {
					over = append(over, v.Name)
				}
				if c.want == "" {
					assert.Empty(t, over)
				} else {
					assert.Equal(t, []string{c.want}, over)
				}
			}
			run(t, p)
			if c.want != "" {
				assert.Equal(t, p.Places[w], p.Places[y], "%s", p)
			}
		})
	}
}
