package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir/sym"
)

// nested is a, for x { b, if { c } else { for y { d } } }, e.
func nested() []Stmt {
	return []Stmt{
		Def{Name: "a"},
		For{Var: "x", Extent: sym.Const(2), Body: []Stmt{
			Def{Name: "b"},
			If{Then: []Stmt{Def{Name: "c"}}, Else: []Stmt{For{Var: "y", Body: []Stmt{Def{Name: "d"}}}}},
		}},
		Def{Name: "e"},
	}
}

// label is the name that a statement makes, or "if".
func label(s Stmt) string {
	switch x := s.(type) {
	case Def:
		return x.Name
	case For:
		return x.Var
	}
	return "if"
}

func TestWalk(t *testing.T) {
	var all, outside []string
	Walk(nested(), func(s Stmt) bool {
		all = append(all, label(s))
		return true
	})
	assert.Equal(t, []string{"a", "x", "b", "if", "c", "y", "d", "e"}, all)
	Walk(nested(), func(s Stmt) bool {
		outside = append(outside, label(s))
		return label(s) != "if"
	})
	assert.Equal(t, []string{"a", "x", "b", "if", "e"}, outside, "what is in a statement for which f is false is left out")
}

func TestAny(t *testing.T) {
	asked := ""
	assert.True(t, Any(nested(), func(s Stmt) bool {
		asked += label(s)
		return label(s) == "c"
	}))
	assert.Equal(t, "axbifc", asked, "no more are asked")
	assert.False(t, Any(nested(), func(s Stmt) bool { return label(s) == "z" }))
}

// TestMap: inner statements are mapped before those around them, and the body that was stays as it was.
func TestMap(t *testing.T) {
	var order []string
	before := nested()
	after := Map(before, func(s Stmt) Stmt {
		order = append(order, label(s))
		switch x := s.(type) {
		case Def:
			x.Name += "'"
			return x
		case For:
			assert.Contains(t, []string{"b'", "d'"}, label(x.Body[0]))
			x.Lanes = 4
			return x
		}
		return s
	})
	assert.Equal(t, []string{"a", "b", "c", "d", "y", "if", "x", "e"}, order)
	assert.Equal(t, nested(), before)
	var labels []string
	Walk(after, func(s Stmt) bool {
		labels = append(labels, label(s))
		if x, ok := s.(For); ok {
			assert.Equal(t, int64(4), x.Lanes)
		}
		return true
	})
	assert.Equal(t, []string{"a'", "x", "b'", "if", "c'", "y", "d'", "e'"}, labels)
}
