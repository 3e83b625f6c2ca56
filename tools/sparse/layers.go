package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// layer is one of VGG-16's 3x3 convolutions of 224x224 images, with its number in the network.
type layer struct {
	name          string
	in, out, size int64
	times         int
}

// layers are the nine unique ones, by the paper's names.
var layers = []layer{
	{"L1", 3, 64, 224, 1}, {"L2", 64, 64, 224, 1}, {"L3", 64, 128, 112, 1}, {"L4", 128, 128, 112, 1}, {"L5", 128, 256, 56, 1},
	{"L6", 256, 256, 56, 2}, {"L7", 256, 512, 28, 1}, {"L8", 512, 512, 28, 2}, {"L9", 512, 512, 14, 3},
}

const taps = 9

// macs returns the number of multiply-adds of the dense layer.
func (l layer) macs() float64 { return float64(l.in * l.out * taps * l.size * l.size) }

func (l layer) shape() []int64 { return []int64{l.out, l.in, 3, 3} }

func (l layer) String() string { return fmt.Sprintf("%s %d->%d @%d", l.name, l.in, l.out, l.size) }

// pruning is what becomes of a layer's weights: none of 0 patterns. The first layer keeps all its
// kernels, as there are few.
type pruning struct {
	patterns     int
	connectivity float64
	share        int
}

// weights returns random weights for a seed, pruned, and the number of remaining ones.
func (l layer) weights(p pruning, seed uint64) (w []float32, kept int, err error) {
	r := rand.New(rand.NewPCG(uint64(l.in*l.size)+seed<<32, uint64(l.out)))
	w = make([]float32, l.in*l.out*taps)
	for i := range w {
		w[i] = float32(r.NormFloat64() / math.Sqrt(float64(l.in*taps)))
	}
	if p.patterns == 0 {
		return w, len(w), nil
	}
	x := &prune.Layer{Name: "w", Node: l.name, Op: "Conv", Shape: l.shape(), Groups: 1}
	counts := prune.Counts{}
	const entries = 4
	if err := counts.Count(x, w, entries, p.share); err != nil {
		return nil, 0, err
	}
	rate := p.connectivity
	if l.in == 3 {
		rate = 1
	}
	mask, w, err := prune.Project(x, w, prune.Settings{Patterns: counts.Top(p.patterns), Connectivity: rate, Share: p.share})
	if err != nil {
		return nil, 0, err
	}
	_, left := mask.Kept()
	return w, int(left), nil
}

// network is a chain of convolutions, with poolings where images become smaller.
type network struct {
	name   string
	layers []layer
}

// whole returns VGG-16 without its fully connected layers.
func whole() network {
	n := network{name: "the network"}
	for _, l := range layers {
		for range l.times {
			n.layers = append(n.layers, l)
		}
	}
	return n
}

// macs returns the number of multiply-adds with the given number of remaining weights of each
// layer.
func (n network) macs(kept []int) float64 {
	sum := 0.0
	for i, k := range kept {
		sum += float64(k) * float64(n.layers[i].size*n.layers[i].size)
	}
	return sum
}

// write writes the network, with biases and Relus, and returns the number of remaining weights of
// each layer.
func (n network) write(path string, p pruning) (kept []int, err error) {
	first := n.layers[0]
	m := onnxtest.Model(onnxtest.Floats("x", 1, int(first.in), int(first.size), int(first.size)))
	x, size := "x", first.size
	for i, l := range n.layers {
		name := func(what string) string { return fmt.Sprintf("%s%d", what, i) }
		if l.size < size {
			m.Graph.Node = append(m.Graph.Node, onnxtest.Op("MaxPool", x, name("pool"), "kernel_shape", []int64{2, 2}, "strides", []int64{2, 2}))
			x, size = name("pool"), l.size
		}
		w, left, err := l.weights(p, uint64(i))
		if err != nil {
			return nil, err
		}
		bias := make([]float32, l.out)
		for k := range bias {
			bias[k] = float32(k%7) / 8
		}
		kept = append(kept, left)
		onnxtest.With(m, tensor(name("w"), l.shape(), w), tensor(name("b"), []int64{l.out}, bias))
		m.Graph.Node = append(m.Graph.Node, onnxtest.Op("Conv", x+" "+name("w")+" "+name("b"), name("c"), "pads", []int64{1, 1, 1, 1}), onnxtest.Op("Relu", name("c"), name("y")))
		x = name("y")
	}
	m.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(x)}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return kept, os.WriteFile(path, data, 0o666)
}

func tensor(name string, shape []int64, values []float32) *onnxpb.TensorProto {
	t := ir.NewTensor(ir.F32, shape...)
	for i, v := range values {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
	return onnxtest.Tensor(name, t)
}
