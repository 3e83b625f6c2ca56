package sel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// stored are the values that hold a value in its layouts.
type stored map[*ir.Value]map[layout.Layout]*ir.Value

// apply writes the solution into the choice and a graph: where a value is stored more than once,
// blocks copy it, right after what computes it.
func (s *selector) apply(c *Choice, g *block.Graph, other stored) {
	a := &applier{selector: s, c: c, g: g, other: other}
	blocks := g.Blocks
	g.Blocks = nil
	for _, v := range g.Inputs {
		a.copied(v, v, layout.RowMajor)
	}
	for _, b := range blocks {
		if b.Control != nil {
			a.control(b)
			continue
		}
		a.place(b, s.candidates[s.placed][c.Solution.Choice[s.placed]])
	}
}

// applier is the state of one graph's blocks.
type applier struct {
	*selector
	c     *Choice
	g     *block.Graph
	other stored
}

// control appends a block that runs graphs, whose values are given row-major on the host, as are those that it reads itself.
func (a *applier) control(b *block.Block) {
	own := func(v **ir.Value) {
		if *v != nil && a.c.Layouts[*v] != layout.RowMajor {
			*v = a.other[*v][layout.RowMajor]
		}
	}
	if x := b.Control.If; x != nil {
		own(&x.Cond)
	}
	if l := b.Control.Loop; l != nil {
		own(&l.Max)
		for k := range l.States {
			own(&l.States[k].Init)
		}
	}
	for _, r := range b.Control.Graphs() {
		a.apply(a.c, r, a.other)
	}
	a.g.Blocks = append(a.g.Blocks, b)
	for _, v := range b.Results {
		a.copied(v, v, layout.RowMajor)
	}
}

// place appends a block that reads and writes values in the layouts of its candidate.
func (a *applier) place(b *block.Block, chosen candidate) {
	a.placed++
	c := a.c
	renamed := *b
	renamed.Operands = slices.Clone(b.Operands)
	renamed.Results = slices.Clone(b.Results)
	for n, v := range b.Operands {
		if c.Layouts[v] != chosen.layout(v) {
			renamed.Operands[n] = a.other[v][chosen.layout(v)]
		}
	}
	for n, v := range b.Results {
		if a.g.IsOutput(v) && chosen.layout(v) != layout.RowMajor {
			renamed.Results[n] = a.twin(v, chosen.layout(v))
		}
		c.Layouts[renamed.Results[n]] = chosen.layout(v)
	}
	a.g.Blocks = append(a.g.Blocks, &renamed)
	a.classOf[&renamed] = a.classOf[b]
	if chosen.view {
		c.Views[&renamed], _ = a.viewsIn(&renamed, func(v *ir.Value) layout.Layout { return c.Layouts[v] })
	} else {
		c.Kernels[&renamed] = a.lower(c, &renamed, chosen.kernel)
	}
	for n, v := range b.Results {
		a.copied(v, renamed.Results[n], chosen.layout(v))
	}
}

// lower makes the kernel of a block whose layouts are chosen. Blocks that are equal up to names share it, but where it packs constants in
// a way of its own. The name of its kernel may be known.
func (s *selector) lower(c *Choice, b *block.Block, name string) Kernel {
	lay := func(v *ir.Value) layout.Layout { return c.Layouts[v] }
	kernels, layouts := s.shared(b, lay)
	if k, ok := kernels[layouts]; ok {
		l := *k.Lowered
		if l.Args = lower.Values(b); l.ArgsOf != nil {
			l.Args = l.ArgsOf(b)
		}
		if l.Args != nil {
			return Kernel{Lowered: &l, Cycles: k.Cycles, Space: k.Space}
		}
		kernels = nil // it wants a kernel of its own
	}
	k, err := s.known(b, lay, name)
	if err == nil && s.o.Candidate > 0 && b.Call == nil {
		k, err = s.candidate(b, lay, k)
	}
	if err == nil && k.Lowered != nil {
		err = k.Make()
	}
	if err != nil || k.Lowered == nil {
		panic(fmt.Sprintf("block %s has an estimate, but no kernel: %v", b.Label(), err))
	}
	if kernels != nil && (k.ArgsOf != nil || !hasConstants(b) && takesValues(k, b)) {
		kernels[layouts] = k
	}
	return k
}

// takesValues reports whether a kernel's arguments are the block's values and nothing else.
func takesValues(k Kernel, b *block.Block) bool {
	args, err := k.Args()
	return err == nil && slices.Equal(args, slices.Concat(b.Operands, b.Results))
}

func hasConstants(b *block.Block) bool {
	return slices.ContainsFunc(b.Operands, func(v *ir.Value) bool { return v.Const != nil })
}

// shared are the kernels of the block's class by layouts, and the block's own layouts; nil where its kernel may be its own:
// it is an opaque operator, or is one that was measured.
func (s *selector) shared(b *block.Block, lay lower.Layouts) (map[string]Kernel, string) {
	if b.Stage == nil || s.tuned() || s.o.Candidate > 0 {
		return nil, ""
	}
	class, err := s.class(b)
	if err != nil {
		return nil, ""
	}
	var layouts strings.Builder
	for _, v := range slices.Concat(b.Operands, b.Results) {
		fmt.Fprintln(&layouts, lay(v))
	}
	return class.kernels, layouts.String()
}

// twin is the value in another layout.
func (s *selector) twin(v *ir.Value, l layout.Layout) *ir.Value {
	return &ir.Value{Name: fmt.Sprintf("%s (%s)", v.Name, l), Type: v.Type, Shape: v.Shape, HasShape: true}
}

// copied adds the conversions of v, which was written in the layout `from` as the value `written`, to
// the other layouts in which the solution keeps it.
func (a *applier) copied(v, written *ir.Value, from layout.Layout) {
	c := a.c
	n, ok := a.node[v]
	if !ok {
		return
	}
	a.other[v] = map[layout.Layout]*ir.Value{from: written}
	kept := a.storages(v)[c.Solution.Choice[n]]
	todo := slices.DeleteFunc(a.layouts(v), func(to layout.Layout) bool { return to == from || !a.has(kept, v, to) })
	// What others are made from comes first: layouts of the space where the value was written, then row-major of the other one.
	slices.SortStableFunc(todo, func(x, y layout.Layout) int { return cmp.Compare(distance(from, x), distance(from, y)) })
	for _, to := range todo {
		copy := v // an output that was computed in another layout
		if to != layout.RowMajor || written == v {
			copy = a.twin(v, to)
		}
		a.other[v][to] = copy
		c.Layouts[copy] = to
		b := block.Copy(a.other[v][source(from, to)], copy, fmt.Sprintf("layout %s of %q", to, v.Name), "Layout")
		a.g.Blocks = append(a.g.Blocks, b)
		c.Conversions++
		if source(from, to).Space != to.Space {
			c.Transfers[b] = true
			continue
		}
		c.Kernels[b] = a.lower(c, b, "")
	}
}

// distance is how many copies after another layout a value has one at the earliest.
func distance(from, to layout.Layout) int {
	n := 0
	for to != from {
		to, n = source(from, to), n+1
		if n > maxCopies {
			panic(fmt.Sprintf("no way from layout %s to %s", from, to))
		}
	}
	return n
}

// maxCopies are a conversion to row-major, a transfer and a conversion in the other space.
const maxCopies = 3

// KernelTexts are the chosen kernels for dumps.
func (c *Choice) KernelTexts(g *block.Graph) string {
	var l loop.Listing
	g.All(func(r *block.Graph) {
		for i, b := range r.Blocks {
			if k := c.Kernels[b]; k.Lowered != nil {
				l.Add(k.Kernel, fmt.Sprintf("block %d: %s", i, b.Label()))
			}
		}
	})
	return l.String()
}

// Text is the choice for dumps: the solver's result, then each block's kernel and layouts.
func (c *Choice) Text(g *block.Graph) string {
	var out strings.Builder
	fmt.Fprintf(&out, "select: %s cycles, %d conversions\n", c.Solution, c.Conversions)
	g.All(func(r *block.Graph) {
		for i, b := range r.Blocks {
			if b.Control != nil {
				continue
			}
			if k := c.Kernels[b]; k.Lowered != nil {
				fmt.Fprintf(&out, "block %d: %s, %.0f cycles:", i, k.Kernel.Anchor, k.Cycles)
			} else if c.Transfers[b] {
				fmt.Fprintf(&out, "block %d: transfer:", i)
			} else {
				fmt.Fprintf(&out, "block %d: view:", i)
			}
			for _, v := range append(slices.Clone(b.Operands), b.Results...) {
				if v.Const == nil {
					fmt.Fprintf(&out, " %q %s", v.Name, c.Layouts[v])
				}
			}
			out.WriteString("\n")
		}
	})
	return out.String()
}
