package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOrder checks the table against the constraints that its own rows state.
func TestOrder(t *testing.T) {
	for name, passes := range map[string][]Pass{"graph": GraphPasses, "compile": CompilePasses} {
		assert.NoError(t, checkOrder(passes), name)
	}
	a := Pass{Name: "a"}
	b := Pass{Name: "b", After: []Order{{"a", "because"}}}
	assert.NoError(t, checkOrder([]Pass{a, b}))
	assert.EqualError(t, checkOrder([]Pass{b, a}), "pass b must run after a: because")
	assert.EqualError(t, checkOrder([]Pass{b}), "pass b must run after a, which is not in the list")
	assert.EqualError(t, checkOrder([]Pass{a, a}), "pass a is listed twice")
	assert.EqualError(t, checkOrder([]Pass{a, {Name: "b", After: []Order{{"a", ""}}}}), "pass b runs after a, but without a reason")
}

// TestNames: every pass and switch has a name of its own and a description.
func TestNames(t *testing.T) {
	var seen []string
	for _, p := range append(slices.Clone(GraphPasses), CompilePasses...) {
		assert.NotContains(t, seen, p.Name)
		assert.NotEmpty(t, p.Doc, p.Name)
		assert.NotNil(t, p.Run, p.Name)
		seen = append(seen, p.Name)
	}
	for _, s := range Switches {
		assert.NotContains(t, seen, s.Name)
		assert.NotEmpty(t, s.Doc, s.Name)
		seen = append(seen, s.Name)
	}
	assert.NotContains(t, seen, all)
}
