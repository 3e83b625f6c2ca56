package run

// keptMemory is scratch memory that so many tasks share which follow each other, of those that one call runs: the first one writes it.
type keptMemory struct {
	*memory
	tasks int64
}

// keeps finds the scratch memory that tasks leave to those after them. Their axes are the innermost ones of the grid.
func (k *Kernel) keeps(c *compiler, symbols map[string]int64) {
	for i, b := range k.loop.Scratch {
		inner, kept := k.loop.KeepsScratch()[b]
		if !kept {
			continue
		}
		n, grid := int64(1), k.loop.Grid
		for _, a := range grid[max(len(grid)-len(inner), 0):] {
			n *= max(c.size(a.Extent, symbols, "the number of tasks along "+a.Var), 1)
		}
		k.kept = append(k.kept, keptMemory{k.scratch[i], n})
	}
}
