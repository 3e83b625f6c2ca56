// Package subpixel replaces transposed convolutions by convolutions (Shi et al., "Is the
// deconvolution layer the same as a convolutional layer?", 2016): along an axis of stride s, result
// s*i + a is a sum over the taps a, a+s, a+2s, ... of the kernel only, so that a convolution with
// as many times the channels as strides multiply to computes all of them, and DepthToSpace, or where the axes are not two of
// one stride, what it does an axis at a time, puts them in their places. What
// is gained is that kernels of convolutions are tuned, and no result is asked which taps reach it. Of one element any stride gives the same, and one as wide as the kernel
// has the fewest products.
//
// A ConvTranspose is replaced that has constant weights, pads that are numbers, and dilations along axes
// of stride 1 only; shapes must have been inferred.
package subpixel

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/passes/edit"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/sym"
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
	kernel, taps         []int64 // taps: of a phase
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
	for axis, k := range t.kernel {
		s := t.strides[axis]
		t.taps = append(t.taps, (k+s-1)/s)
		if s < 1 || s > mostGaps*k || s > 1 && t.dilations[axis] != 1 || t.before[axis] < 0 || t.after[axis] < 0 || t.cut(axis) < 0 {
			return nil
		}
		if s == 1 && max(t.before[axis], t.after[axis]) > (k-1)*t.dilations[axis] { // results that no convolution of all places leaves out by pads
			return nil
		}
	}
	if t.phases()*product(t.taps) > mostGrowth*product(t.kernel) || t.mayBeEmpty(facts) {
		return nil
	}
	return t
}

// mayBeEmpty reports whether the convolution may have no place along an axis, which none is defined for: the operand of a run may have no element
// there, or none of its results along an axis of stride 1 be wanted. Of no images, a Reshape cannot tell how far an axis and its phases reach.
func (t *transposed) mayBeEmpty(facts sym.Facts) bool {
	pads, rank := t.pads(), len(t.taps)
	if images, _ := t.n.Inputs[0].Shape[0].Bounds(facts); images < 1 && t.phases() > 1 && !t.squares() {
		return true
	}
	for axis, n := range t.taps {
		least, _ := t.n.Inputs[0].Shape[2+axis].Bounds(facts)
		if least < 1-pads[axis]-pads[rank+axis]+(n-1)*t.dilations[axis] {
			return true
		}
	}
	return false
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

// cut is how many of the results of all phases lie behind the last one that is wanted.
func (t *transposed) cut(axis int) int64 {
	return t.taps[axis]*t.strides[axis] - t.kernel[axis] + t.after[axis] - t.extra[axis]
}

// squares reports whether DepthToSpace puts phases in their places.
func (t *transposed) squares() bool { return len(t.strides) == 2 && t.strides[0] == t.strides[1] }

// phases is how many results there are for each place of the operand.
func (t *transposed) phases() int64 { return product(t.strides) }

// replacement are the nodes that stand for the node: convolution, DepthToSpace, and what cuts off its pads.
func (t *transposed) replacement(g *ir.Graph) ([]*ir.Node, error) {
	names := edit.NewNamer(g)
	weights, err := t.weights(names)
	if err != nil {
		return nil, err
	}
	inputs := []*ir.Value{t.n.Inputs[0], weights}
	if b := t.n.Input(2); b != nil {
		bias, err := t.bias(names)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, bias)
	}
	attrs := ir.Attrs{"kernel_shape": t.taps, "group": t.group, "dilations": t.dilations, "pads": t.pads()}
	phases := t.node(g, "Conv", &ir.Value{Name: names.Name(t.n.Outputs[0].Name + ".phases")}, attrs, inputs...)
	m := &mover{t, g, names, []*ir.Node{phases}}
	m.interleave()
	m.slice()
	return m.nodes, nil
}

// pads are the convolution's: as far as the outermost tap of a phase reaches beyond the results, of which those along an axis of stride 1, where a
// result is a place, leave out at once what is not wanted.
func (t *transposed) pads() []int64 {
	rank := len(t.taps)
	out := make([]int64, 2*rank)
	for axis, n := range t.taps {
		reach := (n - 1) * t.dilations[axis]
		out[axis], out[rank+axis] = reach, reach
		if t.strides[axis] == 1 {
			out[axis], out[rank+axis] = reach-t.before[axis], reach-t.cut(axis)
		}
	}
	return out
}

func (t *transposed) node(g *ir.Graph, op string, v *ir.Value, attrs ir.Attrs, inputs ...*ir.Value) *ir.Node {
	v.Def = &ir.Node{Op: op, Version: edit.Version(op, g), Name: t.n.Name, Inputs: inputs, Outputs: []*ir.Value{v}, Attrs: attrs, Origins: t.n.Origins}
	return v.Def
}

// mode is the order of the convolution's channels. Where all of a phase's follow each other, neighbouring channels
// move to the same place, in vectors; with groups, a group's channels must follow each other.
func (t *transposed) mode() string {
	if t.group == 1 {
		return "DCR"
	}
	return "CRD"
}

// phaseOf tells what the convolution's channel computes: a channel of the result, at a phase, which is a place for each axis.
func (t *transposed) phaseOf(at int64) (channel int64, place []int64) {
	channel, phase := at/t.phases(), at%t.phases()
	if t.mode() == "DCR" {
		channel, phase = at%t.perGroup, at/t.perGroup
	}
	place = make([]int64, len(t.strides))
	for axis, s := range slices.Backward(t.strides) {
		place[axis], phase = phase%s, phase/s
	}
	return channel, place
}

// weights are the kernel's taps by phase, last ones first: for a result channel and a phase of place a along an axis,
// element i is the tap a + stride*(taps-1-i), or zero where there is none.
func (t *transposed) weights(names *ir.Names) (*ir.Value, error) {
	data, err := t.w.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size, each := int64(t.w.Type.Size()), t.channels/t.group
	out := ir.NewTensor(t.w.Type, append([]int64{t.group * t.perGroup * t.phases(), each}, t.taps...)...)
	taps, kernel := product(t.taps), product(t.kernel)
	to := int64(0)
	for at := range t.group * t.perGroup * t.phases() {
		o, place := t.phaseOf(at)
		group, o := o/t.perGroup, o%t.perGroup
		for c := range each {
			for i := range taps {
				if tap, ok := t.tap(i, place); ok {
					from := (((group*each+c)*t.perGroup+o)*kernel + tap) * size
					copy(out.Data[to:to+size], data[from:])
				}
				to += size
			}
		}
	}
	return ir.ConstValue(names.Name(t.w.Name+".phases"), out), nil
}

// tap is the kernel's one that is the i-th of a phase, where there is one.
func (t *transposed) tap(i int64, place []int64) (int64, bool) {
	at, unit := int64(0), int64(1)
	for axis, n := range slices.Backward(t.taps) {
		y := place[axis] + t.strides[axis]*(n-1-i%n)
		if y >= t.kernel[axis] {
			return 0, false
		}
		at, unit, i = at+y*unit, unit*t.kernel[axis], i/n
	}
	return at, true
}

func product(xs []int64) int64 {
	out := int64(1)
	for _, x := range xs {
		out *= x
	}
	return out
}

// bias is the node's, once for each phase of a channel.
func (t *transposed) bias(names *ir.Names) (*ir.Value, error) {
	b := t.n.Inputs[2]
	data, err := b.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size := b.Type.Size()
	out := ir.NewTensor(b.Type, t.group*t.perGroup*t.phases())
	for i := range int(out.Len()) {
		channel, _ := t.phaseOf(int64(i))
		copy(out.Data[i*size:(i+1)*size], data[int(channel)*size:])
	}
	return ir.ConstValue(names.Name(b.Name+".phases"), out), nil
}
