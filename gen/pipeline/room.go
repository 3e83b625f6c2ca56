package pipeline

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/kernel/loop"
)

// room checks that the groups of every kernel have the work-items, and the memory that these share, in what runs them.
func (s *State) room() error {
	for _, x := range s.grouped() {
		t := s.Target
		if s.Device != nil {
			t = s.Device
		}
		g, err := t.WorkGroups()
		if err == nil {
			err = g.Takes(x.kernel.Items(), x.kernel.SharedBytes())
		}
		if err != nil {
			return fmt.Errorf("block %s: kernel %s: %w", x.block.Label(), x.kernel.Anchor, err)
		}
	}
	return nil
}

// grouped is a kernel of work-groups, and a block that it computes.
type grouped struct {
	block  *block.Block
	kernel *loop.Kernel
}

// grouped are the kernels of work-groups of the last form that there is, each once, in its order.
func (s *State) grouped() []grouped {
	var out []grouped
	seen := map[*loop.Kernel]bool{}
	add := func(b *block.Block, k *loop.Kernel) {
		if !seen[k] && (k.Items() > 1 || len(k.Shared) > 0) {
			out = append(out, grouped{b, k})
		}
		seen[k] = true
	}
	if s.Program != nil {
		for _, c := range s.Program.Calls() {
			add(c.Block, c.Kernel)
		}
		for _, l := range s.Program.Launches() {
			add(l.Block, l.Kernel)
		}
		return out
	}
	s.Blocks.All(func(g *block.Graph) {
		for _, b := range g.Blocks {
			if k := s.Choice.Kernels[b]; k.Lowered != nil {
				add(b, k.Kernel)
			}
			for _, v := range s.Choice.Versions[b] {
				add(b, v.Kernel.Kernel)
			}
		}
	})
	return out
}
