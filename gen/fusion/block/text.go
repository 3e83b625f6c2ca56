package block

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir/te"
)

// String is the blocks for dumps: what each stands for, its loops, operands and results, and
// before them what a run's dimensions must satisfy. Graphs that a block runs stand below it.
func (g *Graph) String() string {
	var out strings.Builder
	g.text(&out, "")
	return out.String()
}

func (g *Graph) text(out *strings.Builder, indent string) {
	for _, c := range g.Checks {
		fmt.Fprintf(out, "%scheck %s\n", indent, c)
	}
	for i, b := range g.Blocks {
		fmt.Fprintf(out, "%sblock %d: %s\n", indent, i, b.Label())
		for k, s := range b.Placed {
			fmt.Fprintf(out, "%s  stage %d %q at axis %d\n", indent, k, s.Name, b.Depth)
			loops(out, s, indent+"  ")
		}
		switch {
		case b.Control != nil:
			b.Control.text(out, indent+"  ")
		case b.Call != nil:
			fmt.Fprintf(out, "%s  calls %s, which computes %v\n", indent, b.Call.Name, b.Computes())
		default:
			loops(out, b.Stage, indent)
		}
		for _, v := range b.Operands {
			kind := "reads"
			if v.Const != nil {
				kind = "constant"
			}
			fmt.Fprintf(out, "%s  %s %q %s%v\n", indent, kind, v.Name, v.Type, v.Shape)
		}
		for _, v := range b.Results {
			fmt.Fprintf(out, "%s  gives %q %s%v\n", indent, v.Name, v.Type, v.Shape)
		}
	}
}

func (c *Control) text(out *strings.Builder, indent string) {
	if c.If != nil {
		fmt.Fprintf(out, "%sif %q\n", indent, c.If.Cond.Name)
		c.If.Then.text(out, indent+"  ")
		fmt.Fprintf(out, "%selse\n", indent)
		c.If.Else.text(out, indent+"  ")
		for _, s := range c.If.Sets {
			fmt.Fprintf(out, "%sthen %s is %s, or else %s\n", indent, s.Name, s.Then, s.Else)
		}
		return
	}
	l := c.Loop
	fmt.Fprintf(out, "%srepeat %s < %s", indent, l.Counter, l.Trips)
	if l.Max != nil {
		fmt.Fprintf(out, ", at most %q", l.Max.Name)
	}
	if l.While {
		fmt.Fprintf(out, ", while %q", l.States[0].In.Name)
	}
	if l.Made != "" {
		fmt.Fprintf(out, ", %s times", l.Made)
	}
	out.WriteString("\n")
	for _, s := range l.States {
		fmt.Fprintf(out, "%s  state %q = %q, then %q\n", indent, s.In.Name, s.Init.Name, s.Next.Name)
		for _, d := range s.Dims {
			fmt.Fprintf(out, "%s    %s is %s, then %s\n", indent, d.Name, d.First, d.Next)
		}
	}
	for _, p := range l.Parts {
		fmt.Fprintf(out, "%s  part %q at %s of %q\n", indent, p.Value.Name, p.At(l), p.Whole.Name)
		for _, d := range p.Dims {
			fmt.Fprintf(out, "%s    %s is %s at first, always %s\n", indent, d.Name, d.First, d.Next)
		}
	}
	l.Body.text(out, indent+"  ")
}

func loops(out *strings.Builder, s *te.Stage, indent string) {
	for _, a := range s.Axes {
		fmt.Fprintf(out, "%s  for %s < %s\n", indent, a.Var, a.Extent)
	}
	for _, a := range s.Reduce {
		fmt.Fprintf(out, "%s  reduce %s < %s by %s\n", indent, a.Var, a.Extent, s.Combine.Name)
	}
}
