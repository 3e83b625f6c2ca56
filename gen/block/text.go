package block

import (
	"fmt"
	"strings"
)

// String is the blocks for dumps: what each stands for, its loops, operands and results.
func (g *Graph) String() string {
	var out strings.Builder
	for i, b := range g.Blocks {
		fmt.Fprintf(&out, "block %d: %s\n", i, b.Label())
		for _, a := range b.Stage.Axes {
			fmt.Fprintf(&out, "  for %s < %s\n", a.Var, a.Extent)
		}
		for _, a := range b.Stage.Reduce {
			fmt.Fprintf(&out, "  reduce %s < %s by %s\n", a.Var, a.Extent, b.Stage.Combine.Name)
		}
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
