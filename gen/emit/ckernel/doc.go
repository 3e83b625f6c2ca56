package ckernel

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// Doc returns the lines of a comment on what computes a block: the nodes, then each buffer with the name, type, shape and layout of the value in it.
// Several blocks may share a function, of which each has lines of its own.
func Doc(p *plan.Program, c *plan.Call) []string {
	lines := []string{ctext.Comment(c.Block.Label())}
	for i, v := range c.Args {
		lines = append(lines, ctext.Comment(fmt.Sprintf("  %s: %s", c.Kernel.Buffers[i].Name, describe(v, p.Layouts[v]))))
	}
	return lines
}

// describe is a value's name, type, shape and layout.
func describe(v *ir.Value, l layout.Layout) string {
	name := ir.Show(v.Name)
	if v.Const != nil && v.Name == "" {
		name = "constant"
	}
	dims := make([]string, len(v.Shape))
	for i, d := range v.Shape {
		dims[i] = d.String()
	}
	return fmt.Sprintf("%s %s[%s], %s", name, v.Type, strings.Join(dims, ", "), l)
}
