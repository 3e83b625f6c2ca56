package ir

// Constants are the constants that nodes read, of the graph and of those in its nodes, each once.
func (g *Graph) Constants() []*Tensor {
	var out []*Tensor
	seen := map[*Tensor]bool{}
	var add func(g *Graph)
	add = func(g *Graph) {
		for _, n := range g.Nodes {
			for _, v := range n.Inputs {
				if v != nil && v.Const != nil && !seen[v.Const] {
					seen[v.Const] = true
					out = append(out, v.Const)
				}
			}
			for _, r := range n.Regions {
				add(r)
			}
		}
	}
	add(g)
	return out
}
