package ir

import "fmt"

// scope gives the values of one graph their names: equal ones get numbers.
type scope struct {
	p *printer
	namer
}

// namer tells equal names apart.
type namer struct {
	taken   map[string]bool
	numbers map[string]int // of names: how many like it are taken
}

func newNamer() namer { return namer{taken: map[string]bool{}, numbers: map[string]int{}} }

// unique is the text of a name that nothing else has.
func (n *namer) unique(sigil, name string) string {
	out := sigil + bareOr(name, isBareValue)
	for i := n.numbers[name]; n.taken[out]; i++ {
		out = sigil + bareOr(fmt.Sprintf("%s#%d", name, i+2), isBareValue)
		n.numbers[name] = i + 1
	}
	n.taken[out] = true
	return out
}

// name is the value's name as printed. The graph's values are named in the order in which it asks.
func (s *scope) name(v *Value) string {
	if v == nil {
		return "_"
	}
	if name, ok := s.p.names[v]; ok {
		return name
	}
	name := s.unique("%", v.Name)
	s.p.names[v] = name
	return name
}

// constNames finds the constants of a graph and of its regions and names them.
func (p *printer) constNames(g *Graph) {
	names := newNamer()
	visitConsts(g, func(v *Value) {
		if _, ok := p.names[v]; ok {
			return
		}
		p.names[v] = names.unique("@", v.Name)
		p.list = append(p.list, v)
	})
}

func visitConsts(g *Graph, f func(*Value)) {
	visit := func(vs []*Value) {
		for _, v := range vs {
			if v != nil && v.Const != nil {
				f(v)
			}
		}
	}
	for _, n := range g.Nodes {
		visit(n.Inputs)
		for _, r := range n.Regions {
			visitConsts(r, f)
		}
	}
	visit(g.Outputs)
}
