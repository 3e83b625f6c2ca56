package sel

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
)

// apply writes the solution into the choice and the graph: where a value is stored twice, a
// block copies it, right after what computes it.
func (s *selector) apply(c *Choice) {
	blocks := s.g.Blocks
	s.g.Blocks = nil
	other := map[*ir.Value]*ir.Value{} // a value in its second layout
	for _, v := range s.g.Inputs {
		s.copied(c, v, v, rowMajor, other)
	}
	for i, b := range blocks {
		s.place(c, b, s.candidates[i][c.Solution.Choice[i]], other)
	}
}

// place appends a block that reads and writes values in the layouts of its candidate.
func (s *selector) place(c *Choice, b *block.Block, chosen candidate, other map[*ir.Value]*ir.Value) {
	renamed := *b
	renamed.Operands = slices.Clone(b.Operands)
	renamed.Results = slices.Clone(b.Results)
	for n, v := range b.Operands {
		if c.Layouts[v] != chosen.layout(v) {
			renamed.Operands[n] = other[v]
		}
	}
	for n, v := range b.Results {
		if s.g.IsOutput(v) && chosen.layout(v) != layout.RowMajor {
			renamed.Results[n] = s.twin(v, chosen.layout(v))
		}
		c.Layouts[renamed.Results[n]] = chosen.layout(v)
	}
	s.g.Blocks = append(s.g.Blocks, &renamed)
	c.Kernels = append(c.Kernels, s.lower(c, &renamed))
	for n, v := range b.Results {
		s.copied(c, v, renamed.Results[n], storageOf(chosen.layout(v)), other)
	}
}

// lower makes the kernel of a block whose layouts are chosen.
func (s *selector) lower(c *Choice, b *block.Block) Kernel {
	k, err := s.cheapest(b, func(v *ir.Value) layout.Layout { return c.Layouts[v] })
	if err != nil || k.Lowered == nil {
		panic(fmt.Sprintf("block %s has an estimate, but no kernel: %v", b.Label(), err))
	}
	return k
}

// twin is the value in another layout.
func (s *selector) twin(v *ir.Value, l layout.Layout) *ir.Value {
	return &ir.Value{Name: fmt.Sprintf("%s (%s)", v.Name, l), Type: v.Type, Shape: v.Shape, HasShape: true}
}

// copied adds the conversion of v, which was stored as `from` in the value `stored`, where the
// solution keeps it in both layouts.
func (s *selector) copied(c *Choice, v, stored *ir.Value, from storage, other map[*ir.Value]*ir.Value) {
	n, ok := s.node[v]
	if !ok || storages[c.Solution.Choice[n]] != rowMajor|blocked {
		return
	}
	to := layout.RowMajor
	if from == rowMajor {
		to = s.blocked
	}
	second := v // an output that was computed in blocks
	other[v] = stored
	if stored == v {
		second = s.twin(v, to)
		other[v] = second
	}
	c.Layouts[second] = to
	b := block.Copy(stored, second, fmt.Sprintf("layout %s of %q", to, v.Name), "Layout")
	s.g.Blocks = append(s.g.Blocks, b)
	c.Kernels = append(c.Kernels, s.lower(c, b))
	c.Conversions++
}

// Text is the choice for dumps: the solver's result, then each block's kernel and layouts.
func (c *Choice) Text(g *block.Graph) string {
	var out strings.Builder
	fmt.Fprintf(&out, "select: %s cycles, %d conversions\n", c.Solution, c.Conversions)
	for i, b := range g.Blocks {
		fmt.Fprintf(&out, "block %d: %s, %.0f cycles:", i, c.Kernels[i].Kernel.Anchor, c.Kernels[i].Cycles)
		for _, v := range append(slices.Clone(b.Operands), b.Results...) {
			if v.Const == nil {
				fmt.Fprintf(&out, " %q %s", v.Name, c.Layouts[v])
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}
