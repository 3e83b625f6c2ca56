package rewrite

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// The greatest element of a window is that of the greatest ones along one axis: a pool of 3x3x3 elements is one of 3 elements and one of 3x3,
// which compare 12 elements instead of 27. Windows that hardly overlap gain nothing, for the first of both pools computes more results.

// perPool is what a pool costs besides the elements that it compares, in these: its results are stored, and read again.
const perPool = 3

// mostAxes is of how many axes all orders are tried. Pools have three at most; a file may have as many as tensors have.
const mostAxes = 4

// separate makes several pools of each MaxPool that takes less so, and reports whether there are some.
func separate(g *ir.Graph) bool {
	changed := false
	var nodes []*ir.Node
	var names *ir.Names // made once: it reads the whole graph
	for _, n := range g.Nodes {
		w := windowsOf(n)
		order := w.cheapest()
		if len(order) == 0 {
			nodes = append(nodes, n)
			continue
		}
		if names == nil {
			names = edit.NewNamer(g)
		}
		nodes, changed = append(nodes, w.pools(names, order)...), true
	}
	g.Nodes = nodes
	return changed
}

// windows are those of a MaxPool, by spatial axis.
type windows struct {
	n                     *ir.Node
	kernel, strides, pads []int64
	dilations             []int64
}

// windowsOf is nil where a node is no pool, or has positions as a second result.
func windowsOf(n *ir.Node) *windows {
	kernel := n.Ints("kernel_shape")
	if n.Op != "MaxPool" || len(n.Outputs) > 1 && n.Outputs[1] != nil || len(kernel) < 2 {
		return nil
	}
	w := &windows{n: n, kernel: kernel, strides: n.Ints("strides"), pads: n.Ints("pads"), dilations: n.Ints("dilations")}
	for _, xs := range []*[]int64{&w.strides, &w.dilations} {
		if *xs == nil {
			*xs = slices.Repeat([]int64{1}, len(kernel))
		}
	}
	if len(w.strides) != len(kernel) || len(w.dilations) != len(kernel) || w.pads != nil && len(w.pads) != 2*len(kernel) {
		return nil // which type inference refuses
	}
	return w
}

// cheapest are the axes that have a pool of their own, in the order of these; nil where one pool of all is hardly dearer.
func (w *windows) cheapest() []int {
	if w == nil {
		return nil
	}
	var axes []int
	for k, n := range w.kernel {
		if n > 1 {
			axes = append(axes, k)
		}
	}
	if len(axes) > mostAxes {
		return nil
	}
	cost, order := w.best(axes)
	if 3*cost > 2*w.whole(axes) {
		return nil
	}
	return order
}

// whole is what one pool of some axes costs, for each of its results.
func (w *windows) whole(axes []int) float64 {
	n := 1.0
	for _, k := range axes {
		n *= float64(w.kernel[k])
	}
	return n + perPool
}

// best is what pools of some axes cost for each of the last one's results, and the axes that are to have one of their own.
func (w *windows) best(axes []int) (cost float64, order []int) {
	cost = w.whole(axes)
	for i, k := range axes {
		rest := slices.Delete(slices.Clone(axes), i, i+1)
		if len(rest) == 0 {
			break
		}
		first := float64(w.kernel[k] + perPool)
		for _, j := range rest {
			first *= float64(w.strides[j])
		}
		if more, after := w.best(rest); first+more < cost {
			cost, order = first+more, append([]int{k}, after...)
		}
	}
	return cost, order
}

// pools are one of each axis, and one of all others.
func (w *windows) pools(names *ir.Names, order []int) []*ir.Node {
	var out []*ir.Node
	from := w.n.Inputs[0]
	last := make([]int, 0, len(w.kernel))
	for k := range w.kernel {
		if !slices.Contains(order, k) {
			last = append(last, k)
		}
	}
	for _, k := range order {
		to := &ir.Value{Name: names.Name(w.n.Outputs[0].Name + ".max")}
		out = append(out, w.pool(from, to, []int{k}))
		from = to
	}
	return append(out, w.pool(from, w.n.Outputs[0], last))
}

// pool is that of some axes.
func (w *windows) pool(from, to *ir.Value, axes []int) *ir.Node {
	attrs, rank := ir.Attrs{}, len(w.kernel)
	for name, v := range w.n.Attrs {
		attrs[name] = v
	}
	only := func(xs []int64, other int64) []int64 {
		out := slices.Clone(xs)
		for i := range out {
			if !slices.Contains(axes, i%rank) {
				out[i] = other
			}
		}
		return out
	}
	attrs["kernel_shape"], attrs["strides"] = only(w.kernel, 1), only(w.strides, 1)
	if w.n.Has("dilations") {
		attrs["dilations"] = only(w.dilations, 1)
	}
	if w.pads != nil {
		attrs["pads"] = only(w.pads, 0)
	}
	n := w.n
	to.Def = &ir.Node{Op: n.Op, Version: n.Version, Name: n.Name, Inputs: []*ir.Value{from}, Outputs: []*ir.Value{to}, Attrs: attrs, Origins: n.Origins}
	return to.Def.MadeFor(n)
}
