package block

import (
	"fmt"
	"strings"

	"rules_dnn/gen/te"
)

// String is the blocks for dumps: what each stands for, its loops, operands and results, and
// before them what a run's dimensions must satisfy.
func (g *Graph) String() string {
	var out strings.Builder
	for _, c := range g.Checks {
		fmt.Fprintf(&out, "check %s\n", c)
	}
	for i, b := range g.Blocks {
		fmt.Fprintf(&out, "block %d: %s\n", i, b.Label())
		for k, s := range b.Placed {
			fmt.Fprintf(&out, "  stage %d %q at axis %d\n", k, s.Name, b.Depth)
			loops(&out, s, "  ")
		}
		loops(&out, b.Stage, "")
		for _, v := range b.Operands {
			kind := "reads"
			if v.Const != nil {
				kind = "constant"
			}
			fmt.Fprintf(&out, "  %s %q %s%v\n", kind, v.Name, v.Type, v.Shape)
		}
		for _, v := range b.Results {
			fmt.Fprintf(&out, "  gives %q %s%v\n", v.Name, v.Type, v.Shape)
		}
	}
	return out.String()
}

func loops(out *strings.Builder, s *te.Stage, indent string) {
	for _, a := range s.Axes {
		fmt.Fprintf(out, "%s  for %s < %s\n", indent, a.Var, a.Extent)
	}
	for _, a := range s.Reduce {
		fmt.Fprintf(out, "%s  reduce %s < %s by %s\n", indent, a.Var, a.Extent, s.Combine.Name)
	}
}
