// Package subpixel replaces transposed convolutions by convolutions (Shi et al., "Is the
// deconvolution layer the same as a convolutional layer?", 2016): along an axis of stride s, result
// s*i + a is a sum over the taps a, a+s, a+2s, ... of the kernel only, so that a convolution with
// as many times the channels as strides multiply to computes all of these phases, and DepthToSpace, or where the axes are not two of
// one stride, what it does an axis at a time, puts them in their places. Phases with fewer taps are convolutions of their own where that takes less (form.go). What
// is gained is that kernels of convolutions are tuned, and no result is asked which taps reach it. Of one element any stride gives the same, and one as wide as the kernel
// has the fewest products.
//
// A ConvTranspose is replaced that has constant weights, pads that are numbers, and dilations along axes
// of stride 1 only; shapes must have been inferred.
package subpixel

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Run replaces every ConvTranspose that it can and reports whether it changed the graph or its regions.
func Run(g *ir.Graph) (bool, error) { return run(g, shape.Facts(g)) }

func run(g *ir.Graph, facts sym.Facts) (bool, error) {
	changed := false
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		t := transposedOf(n, facts)
		if t == nil {
			nodes = append(nodes, n)
			continue
		}
		with, err := t.replacement(g)
		if err != nil {
			return false, n.Errorf("as a convolution: %w", err)
		}
		nodes, changed = append(nodes, with...), true
	}
	g.Nodes = nodes
	var err error
	edit.EachRegion(g, func(r *ir.Graph) {
		inner, failed := run(r, facts)
		if changed = changed || inner; failed != nil {
			err = failed
		}
	})
	return changed, err
}

// mostGaps is how many times further than a kernel is wide the next one may be, along an axis: all results between them are phases without taps.
// mostGrowth is how many times as many weights there may be with the zeros of these phases, of all axes.
const mostGaps, mostGrowth = 4, 16

// transposed is a ConvTranspose that can be replaced.
type transposed struct {
	n                    *ir.Node
	w                    *ir.Value
	group                int64
	strides, dilations   []int64 // of the spatial axes, as all that follows
	before, after, extra []int64 // pads and output_padding
	channels, perGroup   int64   // of the operand; of the result, of a group
	kernel, least        []int64 // least: that the operand's extents may be
	form                 form
}

// transposedOf reads a node, nil where it is none that can be replaced.
func transposedOf(n *ir.Node, facts sym.Facts) *transposed {
	if n.Op != "ConvTranspose" || len(n.Inputs) < 2 || n.Inputs[1].Const == nil || !n.Inputs[0].HasShape ||
		n.Input(2) != nil && n.Inputs[2].Const == nil {
		return nil
	}
	shape, ok := n.Inputs[1].Static()
	rank := len(shape) - 2
	if !ok || rank < 1 || slices.Min(shape) == 0 || slices.ContainsFunc(n.Inputs[0].Shape, func(d sym.Expr) bool { return d.Is(0) }) {
		return nil
	}
	pads, strides, dilations, extra := ints(n, "pads", 2*rank, 0), ints(n, "strides", rank, 1), ints(n, "dilations", rank, 1), slices.Clone(ints(n, "output_padding", rank, 0))
	if len(pads) != 2*rank || len(strides) != rank || len(dilations) != rank || len(extra) != rank {
		return nil
	}
	t := &transposed{n: n, w: n.Inputs[1], group: n.Int("group", 1), strides: strides, dilations: dilations, before: pads[:rank], after: pads[rank:],
		extra: extra, channels: shape[0], perGroup: shape[1], kernel: shape[2:]}
	if !t.crop() {
		return nil
	}
	t.stride()
	grown := 1.0
	for axis, k := range t.kernel {
		s := t.strides[axis]
		if s < 1 || s > mostGaps*k || s > 1 && t.dilations[axis] != 1 || t.before[axis] < 0 || t.after[axis] < 0 {
			return nil
		}
		n, _ := t.n.Inputs[0].Shape[2+axis].Bounds(facts)
		t.least = append(t.least, n)
		grown *= float64(sym.CeilInt(k, s)*s) / float64(k)
	}
	if grown > mostGrowth || t.mayBeRefused() || t.mayHaveNoImage(facts) || !t.forms() {
		return nil
	}
	return t
}

// mayBeRefused reports whether pads may cut off more than there is: such a run is refused, and a Slice would give nothing instead.
func (t *transposed) mayBeRefused() bool {
	for axis, n := range t.least {
		if t.strides[axis]*n+t.beyond(axis, t.before[axis]) < 0 {
			return true
		}
	}
	return false
}

// mayHaveNoImage reports whether there may be none where a Reshape, of no image, could not tell how far an axis and its phases reach.
func (t *transposed) mayHaveNoImage(facts sym.Facts) bool {
	images, _ := t.n.Inputs[0].Shape[0].Bounds(facts)
	return images < 1 && t.phases() > 1 && !t.squares()
}

// crop makes pads of the extents that the node wants by auto_pad or output_shape, and reports whether they are numbers. Where results end before
// what is wanted, there are more at the end.
func (t *transposed) crop() bool {
	mode, want := t.n.Str("auto_pad", "NOTSET"), t.n.Ints("output_shape")
	if want == nil && (mode == "VALID" || mode == "NOTSET") {
		return true
	}
	rank := len(t.kernel)
	t.before, t.after = make([]int64, rank), make([]int64, rank)
	for axis, k := range t.kernel {
		over := (k-1)*t.dilations[axis] + 1 + t.extra[axis] - t.strides[axis] // of stride times the operand's extent
		if want != nil {
			in, known := t.n.Inputs[0].Shape[2+axis].Const()
			if !known || len(want) != rank {
				return false
			}
			over += in*t.strides[axis] - want[axis]
		}
		if over < 0 {
			t.extra[axis], over = t.extra[axis]-over, 0
		}
		if t.before[axis] = over / 2; mode != "SAME_UPPER" {
			t.before[axis] = over - over/2
		}
		t.after[axis] = over - t.before[axis]
	}
	return true
}

// stride makes the stride of axes of one element, where any gives the same results, as wide as the kernel: each phase has one tap then, none of them in padding.
func (t *transposed) stride() {
	t.strides = slices.Clone(t.strides)
	for axis, k := range t.kernel {
		if t.n.Inputs[0].Shape[2+axis].Is(1) && t.dilations[axis] == 1 && t.before[axis] < k && t.after[axis] < k && t.extra[axis] <= t.after[axis] {
			t.strides[axis] = k
		}
	}
}

// ints is an attribute with a number for each of n things.
func ints(n *ir.Node, name string, count int, otherwise int64) []int64 {
	if xs := n.Ints(name); xs != nil {
		return xs
	}
	return slices.Repeat([]int64{otherwise}, count)
}

// squares reports whether DepthToSpace puts phases in their places.
func (t *transposed) squares() bool { return len(t.strides) == 2 && t.strides[0] == t.strides[1] }

// phases is how many results there are for each place of the operand.
func (t *transposed) phases() int64 { return product(t.strides) }

// replacement are the nodes that stand for the node: convolutions, what puts phases in their places, and what cuts off pads.
func (t *transposed) replacement(g *ir.Graph) ([]*ir.Node, error) {
	m := &mover{transposed: t, g: g, names: edit.NewNamer(g)}
	var parts []*ir.Value
	for _, p := range t.form.parts {
		n, err := t.convolution(g, m.names, p)
		if err != nil {
			return nil, err
		}
		m.nodes, parts = append(m.nodes, n), append(parts, n.Outputs[0])
	}
	if len(parts) > 1 {
		all := &ir.Value{Name: m.names.Name(t.n.Outputs[0].Name + ".phases")}
		m.nodes = append(m.nodes, t.node(g, "Concat", all, ir.Attrs{"axis": int64(1)}, parts...))
	}
	m.interleave()
	m.slice()
	return m.nodes, nil
}

// convolution computes a part of the phases.
func (t *transposed) convolution(g *ir.Graph, names *ir.Names, p part) (*ir.Node, error) {
	weights, err := t.weights(names, p)
	if err != nil {
		return nil, err
	}
	inputs := []*ir.Value{t.n.Inputs[0], weights}
	if b := t.n.Input(2); b != nil {
		bias, err := t.bias(names, p)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, bias)
	}
	attrs := ir.Attrs{"kernel_shape": p.taps(), "group": t.group, "dilations": t.dilations, "pads": t.pads(p)}
	return t.node(g, "Conv", &ir.Value{Name: names.Name(t.n.Outputs[0].Name + ".phases")}, attrs, inputs...), nil
}

func (t *transposed) node(g *ir.Graph, op string, v *ir.Value, attrs ir.Attrs, inputs ...*ir.Value) *ir.Node {
	v.Def = &ir.Node{Op: op, Version: edit.Version(op, g), Name: t.n.Name, Inputs: inputs, Outputs: []*ir.Value{v}, Attrs: attrs, Origins: t.n.Origins}
	return v.Def.MadeFor(t.n)
}

func product(xs []int64) int64 {
	out := int64(1)
	for _, x := range xs {
		out *= x
	}
	return out
}
