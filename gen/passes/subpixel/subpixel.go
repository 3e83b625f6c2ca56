// Package subpixel replaces transposed convolutions by convolutions (Shi et al., "Is the
// deconvolution layer the same as a convolutional layer?", 2016): along an axis of stride s, result
// s*i + a is a sum over the taps a, a+s, a+2s, ... of the kernel only, so that a convolution with
// s*s times the channels computes all of them, and DepthToSpace puts them in their places. What
// is gained is that kernels of convolutions are tuned, and no result is asked which taps reach it.
//
// A ConvTranspose is replaced that has two spatial axes of one stride above 1, no dilation, constant
// weights and pads that are given as numbers; shapes must have been inferred.
package subpixel

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/passes/edit"
)

// Run replaces every ConvTranspose that it can and reports whether it changed the graph or its regions.
func Run(g *ir.Graph) (bool, error) {
	changed := false
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		t := transposedOf(n)
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
		inner, failed := Run(r)
		if changed = changed || inner; failed != nil {
			err = failed
		}
	})
	return changed, err
}

// transposed is a ConvTranspose that can be replaced.
type transposed struct {
	n                    *ir.Node
	w                    *ir.Value
	stride, group        int64
	before, after, extra []int64 // pads and output_padding, of the two axes
	channels, perGroup   int64   // of the operand; of the result, of a group
	kernel, taps         []int64 // taps: of a phase
}

// transposedOf reads a node, nil where it is none that can be replaced.
func transposedOf(n *ir.Node) *transposed {
	if n.Op != "ConvTranspose" || len(n.Inputs) < 2 || n.Inputs[1].Const == nil || len(n.Inputs[1].Shape) != 4 || !n.Inputs[0].HasShape ||
		n.Input(2) != nil && n.Inputs[2].Const == nil || n.Has("output_shape") || n.Has("auto_pad") && n.Str("auto_pad", "") != "NOTSET" {
		return nil
	}
	strides, pads, extra := n.Ints("strides"), n.Ints("pads"), n.Ints("output_padding")
	if pads == nil {
		pads = make([]int64, 4)
	}
	if extra == nil {
		extra = make([]int64, 2)
	}
	if len(strides) != 2 || strides[0] != strides[1] || strides[0] < 2 || len(pads) != 4 || len(extra) != 2 ||
		slices.ContainsFunc(n.Ints("dilations"), func(d int64) bool { return d != 1 }) || slices.Min(pads) < 0 {
		return nil
	}
	t := &transposed{n: n, w: n.Inputs[1], stride: strides[0], group: n.Int("group", 1), before: pads[:2], after: pads[2:], extra: extra}
	shape, ok := t.w.Static()
	if !ok {
		return nil
	}
	t.channels, t.perGroup, t.kernel = shape[0], shape[1], shape[2:]
	for axis, k := range t.kernel {
		t.taps = append(t.taps, (k+t.stride-1)/t.stride)
		if t.cut(axis) < 0 {
			return nil
		}
	}
	return t
}

// cut is how many of the results of all phases lie behind the last one that is wanted.
func (t *transposed) cut(axis int) int64 {
	return t.taps[axis]*t.stride - t.kernel[axis] + t.after[axis] - t.extra[axis]
}

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
	pad0, pad1 := t.taps[0]-1, t.taps[1]-1
	phases := t.node(g, "Conv", &ir.Value{Name: names.Name(t.n.Outputs[0].Name + ".phases")}, ir.Attrs{
		"kernel_shape": t.taps, "group": t.group, "pads": []int64{pad0, pad1, pad0, pad1}}, inputs...)
	out := &ir.Value{Name: names.Name(t.n.Outputs[0].Name + ".all")}
	places := t.node(g, "DepthToSpace", out, ir.Attrs{"blocksize": t.stride, "mode": t.mode()}, phases.Outputs[0])
	return []*ir.Node{phases, places, t.slice(g, names, out)}, nil
}

func (t *transposed) node(g *ir.Graph, op string, v *ir.Value, attrs ir.Attrs, inputs ...*ir.Value) *ir.Node {
	v.Def = &ir.Node{Op: op, Version: edit.Version(op, g), Name: t.n.Name, Inputs: inputs, Outputs: []*ir.Value{v}, Attrs: attrs, Origins: t.n.Origins}
	return v.Def
}

// slice gives the node's result: all of the phases' but for the pads.
func (t *transposed) slice(g *ir.Graph, names *ir.Names, all *ir.Value) *ir.Node {
	ends := make([]int64, 2)
	for axis := range ends {
		if ends[axis] = -t.cut(axis); ends[axis] == 0 {
			ends[axis] = math.MaxInt64
		}
	}
	base := t.n.Outputs[0].Name
	list := func(what string, xs []int64) *ir.Value {
		return ir.ConstValue(names.Name(base+what), edit.IntTensor(ir.I64, xs, int64(len(xs))))
	}
	slice := t.node(g, "Slice", t.n.Outputs[0], ir.Attrs{}, all, list(".starts", t.before), list(".ends", ends), list(".axes", []int64{2, 3}))
	slice.Version = max(slice.Version, 10) // starts and ends as operands
	return slice
}

// mode is the order of the convolution's channels. Where all of a phase's follow each other, neighbouring channels
// move to the same place, in vectors; with groups, a group's channels must follow each other.
func (t *transposed) mode() string {
	if t.group == 1 {
		return "DCR"
	}
	return "CRD"
}

// phaseOf tells what the convolution's channel computes: a channel of the result, at phase (a, b).
func (t *transposed) phaseOf(at int64) (channel, a, b int64) {
	s, phase := t.stride, at%(t.stride*t.stride)
	channel = at / (s * s)
	if t.mode() == "DCR" {
		channel, phase = at%t.perGroup, at/t.perGroup
	}
	return channel, phase / s, phase % s
}

// weights are the kernel's taps by phase, last ones first: for a result channel and phase (a, b),
// element [c, i, j] is the tap (a + stride*(taps-1-i), b + stride*(taps-1-j)), or zero where there is none.
func (t *transposed) weights(names *ir.Names) (*ir.Value, error) {
	data, err := t.w.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size, s := t.w.Type.Size(), t.stride
	each := t.channels / t.group
	out := ir.NewTensor(t.w.Type, t.group*t.perGroup*s*s, each, t.taps[0], t.taps[1])
	to := 0
	for at := range t.group * t.perGroup * s * s {
		o, a, b := t.phaseOf(at)
		group, o := o/t.perGroup, o%t.perGroup
		for c := range each {
			for i := range t.taps[0] {
				for j := range t.taps[1] {
					y, x := a+s*(t.taps[0]-1-i), b+s*(t.taps[1]-1-j)
					if y < t.kernel[0] && x < t.kernel[1] {
						from := ((((group*each+c)*t.perGroup+o)*t.kernel[0]+y)*t.kernel[1] + x) * int64(size)
						copy(out.Data[to:to+size], data[from:])
					}
					to += size
				}
			}
		}
	}
	return ir.ConstValue(names.Name(t.w.Name+".phases"), out), nil
}

// bias is the node's, once for each phase of a channel.
func (t *transposed) bias(names *ir.Names) (*ir.Value, error) {
	b := t.n.Inputs[2]
	data, err := b.Const.Bytes()
	if err != nil {
		return nil, err
	}
	size := b.Type.Size()
	out := ir.NewTensor(b.Type, t.group*t.perGroup*t.stride*t.stride)
	for i := range int(out.Len()) {
		channel, _, _ := t.phaseOf(int64(i))
		copy(out.Data[i*size:(i+1)*size], data[int(channel)*size:])
	}
	return ir.ConstValue(names.Name(b.Name+".phases"), out), nil
}
