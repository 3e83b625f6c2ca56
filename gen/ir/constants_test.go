package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConstants: a constant that several nodes read is there once, those of inner graphs are there, too.
func TestConstants(t *testing.T) {
	a, b := ConstValue("a", NewTensor(F32, 2)), ConstValue("b", NewTensor(F32, 3))
	x := &Value{Name: "x"}
	inner := &Graph{Nodes: []*Node{{Op: "Add", Inputs: []*Value{b, x}}}}
	g := &Graph{Inputs: []*Value{x}, Nodes: []*Node{{Op: "Add", Inputs: []*Value{x, a}}, {Op: "Clip", Inputs: []*Value{a, nil, nil}}, {Op: "If", Regions: []*Graph{inner, {}}}}}
	assert.Equal(t, []*Tensor{a.Const, b.Const}, g.Constants())
}
