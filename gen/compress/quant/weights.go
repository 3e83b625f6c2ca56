package quant

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// most is the greatest number of weights: both signs have as many, so that zero is the middle.
const most = 127

// part is how many elements of weights are read at a time.
const part = 1 << 14

// weights are quantized weights: a scale for each channel, or one.
type weights struct {
	of     *ir.Tensor
	axis   int
	scales []float32
}

// channelOf gives the channel of an element.
func channelOf(t *ir.Tensor, axis int) func(i int64) int64 {
	inner := int64(1)
	for _, d := range t.Shape[axis+1:] {
		inner *= d
	}
	n := t.Shape[axis]
	return func(i int64) int64 { return i / inner % n }
}

// eachPart reads floats a part at a time.
func eachPart(t *ir.Tensor, first, count int64, f func(at int64, xs []float32)) error {
	b, xs := make([]byte, 4*part), make([]float32, part)
	for at := first; at < first+count; at += part {
		n := min(part, first+count-at)
		if err := t.ReadBytes(b[:4*n], 4*at); err != nil {
			return err
		}
		for i := range xs[:n] {
			xs[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		f(at, xs[:n])
	}
	return nil
}

// newWeights chooses the scales of weights. It reports false where some are not finite.
func newWeights(t *ir.Tensor, axis int, perChannel bool) (*weights, bool, error) {
	channels, channel := t.Shape[axis], channelOf(t, axis)
	if !perChannel {
		channels, channel = 1, func(int64) int64 { return 0 }
	}
	greatest, finite := make([]float32, channels), true
	err := eachPart(t, 0, t.Len(), func(at int64, xs []float32) {
		for i, x := range xs {
			if x = float32(math.Abs(float64(x))); !(x <= math.MaxFloat32) {
				finite = false
			}
			c := channel(at + int64(i))
			greatest[c] = max(greatest[c], x)
		}
	})
	if err != nil || !finite {
		return nil, finite, err
	}
	for i, g := range greatest {
		if greatest[i] = max(g/most, leastScale); g == 0 {
			greatest[i] = 1
		}
	}
	return &weights{of: t, axis: axis, scales: greatest}, true, nil
}

// scale is that of a channel.
func (w *weights) scale(c int64) float32 { return w.scales[min(c, int64(len(w.scales)-1))] }

// tensor is the numbers, which are computed when they are read.
func (w *weights) tensor() *ir.Tensor {
	channel := channelOf(w.of, w.axis)
	return ir.Computed(ir.I8, w.of.Shape, 1, func(b []byte, first int64) error {
		return eachPart(w.of, first, int64(len(b)), func(at int64, xs []float32) {
			for i, x := range xs {
				e := at + int64(i)
				q := math.RoundToEven(float64(x / w.scale(channel(e))))
				b[e-first] = byte(int8(min(max(q, -most), most)))
			}
		})
	})
}

// fit makes scales large enough for biases, which are 32-bit multiples of the products of both operands' scales, and for these products to be no
// denormal numbers, however they are rounded.
func (w *weights) fit(bias []float64, activation float32) {
	const room = 1 << 30
	for c, scale := range w.scales {
		w.scales[c] = max(scale, 2*leastScale/activation)
	}
	for c, b := range bias {
		if least := float32(math.Abs(b) / room / float64(activation)); least > w.scale(int64(c)) {
			w.scales[min(c, len(w.scales)-1)] = least
		}
	}
}

// biases are numbers of 32 bits, and their scales.
func (w *weights) biases(bias []float64, activation float32) (numbers []int64, scales []float32) {
	numbers, scales = make([]int64, len(bias)), make([]float32, len(bias))
	for c, b := range bias {
		scales[c] = activation * w.scale(int64(c))
		numbers[c] = int64(min(max(math.RoundToEven(b/float64(scales[c])), math.MinInt32), math.MaxInt32))
	}
	return numbers, scales
}
