package plan

import (
	"fmt"
	"strings"
)

// String is the program for dumps: each step with its kernel's anchor, its tasks, and where
// its values lie.
func (p *Program) String() string {
	var out strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&out, "step %d: %s\n  %s, tasks %s\n", i, s.Block.Label(), s.Kernel.Anchor, s.Kernel.Tasks)
		for k, v := range s.Args {
			verb := "reads"
			if s.Kernel.Buffers[k].Write {
				verb = "writes"
			}
			fmt.Fprintf(&out, "  %s %q %s%v %s", verb, v.Name, v.Type, v.Shape, p.Layouts[v])
			if at, ok := p.Places[v]; ok {
				fmt.Fprintf(&out, " at %s", at)
			}
			out.WriteString("\n")
		}
	}
	if p.Places != nil {
		fmt.Fprintf(&out, "arena %s (at least %s), scratch %s, weights %d bytes\n", p.ArenaBytes, p.LowerBoundBytes, p.ScratchBytes, p.WeightsBytes)
	}
	return out.String()
}

// String is the place for people: "arena + 64*N".
func (at Place) String() string {
	switch at.Region {
	case Input:
		return fmt.Sprintf("input %d", at.N)
	case Output:
		return fmt.Sprintf("output %d", at.N)
	case Weights:
		return "weights + " + at.Offset.String()
	}
	return "arena + " + at.Offset.String()
}
