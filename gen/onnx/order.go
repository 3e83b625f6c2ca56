package onnx

import (
	"fmt"

	"rules_dnn/gen/onnx/onnxpb"
)

// ONNX wants nodes after those whose results they use, but engines load files that do not obey, and
// converters write them. sortNodes puts the nodes of all graphs, subgraphs and functions into such an
// order, in time linear in the file: a node stays where the file has it, and what it needs
// and stands after it comes right before it. Nodes that are in order stay as they are.
func sortNodes(m *onnxpb.ModelProto) error {
	for _, f := range m.GetFunctions() {
		o := newOrder(f.Node)
		for _, name := range f.Input {
			o.given[name] = true
		}
		if _, err := o.sort(); err != nil {
			return fmt.Errorf("function %s: %w", show(f.GetName()), err)
		}
	}
	_, err := sortGraph(m.GetGraph())
	return err
}

// sortGraph sorts the nodes of a graph and of those within. It gives the names that these use of
// the graphs around.
func sortGraph(g *onnxpb.GraphProto) ([]string, error) {
	o := newOrder(g.GetNode())
	for _, in := range g.GetInput() {
		o.given[in.GetName()] = true
	}
	for _, t := range g.GetInitializer() {
		o.given[t.GetName()] = true
	}
	for _, t := range g.GetSparseInitializer() {
		o.given[t.GetValues().GetName()] = true
	}
	for _, out := range g.GetOutput() {
		o.use(out.GetName())
	}
	return o.sort()
}

// order sorts the nodes of one graph.
type order struct {
	nodes  []*onnxpb.NodeProto
	given  map[string]bool // names of inputs and initializers
	from   map[string]int  // the nodes that results are of
	sorted []*onnxpb.NodeProto
	state  []visit
	outer  []string // names used of the graphs around
	seen   map[string]bool
}

// visit is how far a node is sorted.
type visit uint8

const (
	unvisited visit = iota
	waiting         // for nodes whose results it uses
	done
)

func newOrder(nodes []*onnxpb.NodeProto) *order {
	o := &order{
		nodes: nodes, given: map[string]bool{}, from: make(map[string]int, len(nodes)), sorted: make([]*onnxpb.NodeProto, 0, len(nodes)),
		state: make([]visit, len(nodes)), seen: map[string]bool{},
	}
	for i, n := range nodes {
		for _, out := range n.GetOutput() {
			if _, ok := o.from[out]; !ok && out != "" {
				o.from[out] = i
			}
		}
	}
	return o
}

// use notes a name that the graph, or one within, uses.
func (o *order) use(name string) {
	if _, ok := o.from[name]; ok || name == "" || o.given[name] || o.seen[name] {
		return
	}
	o.seen[name] = true
	o.outer = append(o.outer, name)
}

// step is a node on the way to those that it needs.
type step struct {
	node  int
	needs []int
}

// sort puts the nodes in order and gives the names used of the graphs around.
func (o *order) sort() ([]string, error) {
	for i := range o.nodes {
		if err := o.visit(i); err != nil {
			return nil, err
		}
	}
	copy(o.nodes, o.sorted)
	return o.outer, nil
}

// visit appends a node, after those that it needs. Chains of such may be as long as the graph, so that
// the way is a list and not a recursion.
func (o *order) visit(i int) error {
	if o.state[i] == done {
		return nil
	}
	way, err := o.enter(nil, i)
	for err == nil && len(way) > 0 {
		top := &way[len(way)-1]
		if len(top.needs) == 0 {
			o.state[top.node] = done
			o.sorted = append(o.sorted, o.nodes[top.node])
			way = way[:len(way)-1]
			continue
		}
		next := top.needs[0]
		top.needs = top.needs[1:]
		switch o.state[next] {
		case unvisited:
			way, err = o.enter(way, next)
		case waiting:
			err = o.cycle(way, next)
		}
	}
	return err
}

// enter begins with a node.
func (o *order) enter(way []step, i int) ([]step, error) {
	o.state[i] = waiting
	needs, err := o.needs(o.nodes[i])
	return append(way, step{i, needs}), err
}

// needs are the nodes of this graph whose results a node uses, itself or in its subgraphs.
func (o *order) needs(n *onnxpb.NodeProto) ([]int, error) {
	var list []int
	add := func(names []string) {
		for _, name := range names {
			if i, ok := o.from[name]; ok && !o.given[name] {
				list = append(list, i)
			}
			o.use(name)
		}
	}
	add(n.GetInput())
	for _, a := range n.GetAttribute() {
		for _, g := range subgraphs(a) {
			names, err := sortGraph(g)
			if err != nil {
				return nil, fmt.Errorf("node %s, attribute %s: %w", nodeLabel(n), show(a.GetName()), err)
			}
			add(names)
		}
	}
	return list, nil
}

// subgraphs are the graphs that an attribute holds.
func subgraphs(a *onnxpb.AttributeProto) []*onnxpb.GraphProto {
	if g := a.GetG(); g != nil {
		return append([]*onnxpb.GraphProto{g}, a.GetGraphs()...)
	}
	return a.GetGraphs()
}

// cycle is the error about the nodes of the way from a node on, each of which needs the next and the
// last one the first.
func (o *order) cycle(way []step, first int) error {
	at := len(way) - 1
	for way[at].node != first {
		at--
	}
	var labels []string
	for _, s := range way[at:] {
		labels = append(labels, nodeLabel(o.nodes[s.node]))
	}
	if len(labels) == 1 {
		return fmt.Errorf("node %s uses its own result; a value carried between steps needs a Loop or a Scan", labels[0])
	}
	return fmt.Errorf("the nodes %s form a cycle: each uses a result of the next one, and the last one of the first; a value carried between steps needs a Loop or a Scan",
		list(labels))
}

// nodeLabel names a node by its operator, and its name or its first result.
func nodeLabel(n *onnxpb.NodeProto) string {
	name := n.GetName()
	if name == "" && len(n.GetOutput()) > 0 {
		return fmt.Sprintf("%s (result %s)", show(n.GetOpType()), show(n.GetOutput()[0]))
	}
	return show(n.GetOpType()) + " " + show(name)
}
