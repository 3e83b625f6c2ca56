package quant

import (
	"encoding/binary"
	"errors"
	"math"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// blocks are weights of 4 bits: those of a product's second factor, a constant matrix, with a scale for each block of rows in each column.
type blocks struct {
	of            *ir.Tensor
	turned        bool // the constant has columns first
	rows, columns int64
	size          int64     // rows in a block; the last one may have fewer
	scales        []float32 // of each column, those of its blocks
}

// newBlocks chooses the scales.
func newBlocks(t *ir.Tensor, turned bool, size int64) (*blocks, error) {
	w := &blocks{of: t, turned: turned, rows: t.Shape[0], columns: t.Shape[1], size: size}
	if turned {
		w.rows, w.columns = w.columns, w.rows
	}
	w.scales = make([]float32, w.columns*w.count())
	finite := true
	err := w.each(0, w.columns, func(column, block int64, xs []float32) {
		s, ok := closestScale(xs)
		w.scales[column*w.count()+block], finite = s, finite && ok
	})
	if err == nil && !finite {
		err = errors.New("its weights are not all finite; leave the node float")
	}
	return w, err
}

// count is that of blocks in a column.
func (w *blocks) count() int64 { return (w.rows + w.size - 1) / w.size }

// smaller reports whether the weights take less memory than floats.
func (w *blocks) smaller() bool { return w.count()*(w.size/2+4) < 4*w.rows }

// each shows all blocks of some columns.
func (w *blocks) each(first, last int64, f func(column, block int64, xs []float32)) error {
	if w.turned {
		column := make([]float32, w.rows)
		for c := first; c < last; c++ {
			if err := readFloats(w.of, c*w.rows, column); err != nil {
				return err
			}
			for k := range w.count() {
				f(c, k, column[k*w.size:min((k+1)*w.size, w.rows)])
			}
		}
		return nil
	}
	wide := last - first
	slab, xs := make([]float32, w.size*wide), make([]float32, w.size)
	for k := range w.count() {
		tall := min(w.size, w.rows-k*w.size)
		for i := range tall {
			if err := readFloats(w.of, (k*w.size+i)*w.columns+first, slab[i*wide:(i+1)*wide]); err != nil {
				return err
			}
		}
		for c := range wide {
			for i := range tall {
				xs[i] = slab[i*wide+c]
			}
			f(first+c, k, xs[:tall])
		}
	}
	return nil
}

// readFloats fills xs with the elements of a constant of f32 from the first on.
func readFloats(t *ir.Tensor, first int64, xs []float32) error {
	b := make([]byte, 4*len(xs))
	if err := t.ReadBytes(b, 4*first); err != nil {
		return err
	}
	for i := range xs {
		xs[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// The numbers of 4 bits.
const (
	lowest4  = -8
	highest4 = 7
)

// number4 is the number of a weight.
func number4(x, scale float32) int64 {
	return int64(min(max(math.RoundToEven(float64(x/scale)), lowest4), highest4))
}

// tried are how many scales of a block are compared, those in which the greatest weight is -7, -7.25, ... -10: there is one number more below zero
// than above, so a scale has the other sign than the greatest weight, which is cut off where that serves the others.
const tried = 13

// closestScale is the scale of a block whose squared error is the least of those that are tried, each of which is replaced by the best one
// for the numbers that it gives: with x = s*q that is sum(x*q) / sum(q*q). It reports false where a weight is not finite.
func closestScale(xs []float32) (float32, bool) {
	var greatest float32
	for _, x := range xs {
		if !(math.Abs(float64(x)) <= math.MaxFloat32) {
			return 1, false
		}
		if math.Abs(float64(x)) > math.Abs(float64(greatest)) {
			greatest = x
		}
	}
	scale, most := float32(1), -1.0
	for i := range tried {
		s := greatest / (float32(-28-i) / 4) // no sum after the quotient: on arm64 it would be fused with it
		if !(math.Abs(float64(s)) > leastScale) {
			break
		}
		var xq, qq float64
		for _, x := range xs {
			q := float64(number4(x, s))
			xq += float64(float64(x) * q)
			qq += float64(q * q)
		}
		// The error is sum(x*x) - xq*xq/qq; the greatest weight's number is not 0.
		if explained := xq / qq * xq; explained > most {
			most, scale = explained, float32(xq/qq)
		}
	}
	return scale, true
}

// values are the weights that the numbers stand for.
func (w *blocks) values() (*ir.Tensor, error) {
	out := make([]float64, w.of.Len())
	err := w.each(0, w.columns, func(column, block int64, xs []float32) {
		scale := w.scales[column*w.count()+block]
		for i, x := range xs {
			at := (block*w.size+int64(i))*w.columns + column
			if w.turned {
				at = column*w.rows + block*w.size + int64(i)
			}
			out[at] = float64(float32(number4(x, scale)) * scale)
		}
	})
	return edit.FloatTensor(ir.F32, out, w.of.Shape...), err
}

// packed are the numbers as MatMulNBits has them, which are computed when they are read: of each column its blocks, two numbers to a byte, the
// first in the low bits, and the middle 8. What a last block has not is 0.
func (w *blocks) packed() *ir.Tensor {
	half := w.size / 2
	column := w.count() * half
	return ir.ComputedTogether(ir.U8, []int64{w.columns, w.count(), half}, column, column*w.columns, func(b []byte, first int64) error {
		for i := range b {
			b[i] = -lowest4 | -lowest4<<4
		}
		first /= column
		return w.each(first, first+int64(len(b))/column, func(c, k int64, xs []float32) {
			scale, to := w.scales[c*w.count()+k], b[(c-first)*column+k*half:]
			for i, x := range xs {
				shift := 4 * (i % 2)
				to[i/2] = to[i/2]&^(15<<shift) | byte(number4(x, scale)-lowest4)<<shift
			}
		})
	})
}

// product makes a MatMul or Gemm one of ONNX Runtime's products with packed weights: numbers and scales are those of w. It is read with any
// opset, where DequantizeLinear has blocks from 21 on, and other nodes would have to be those of 21, too.
func (w *blocks) product(n *ir.Node, numbers, scales, bias *ir.Value) {
	n.Inputs = []*ir.Value{n.Inputs[0], numbers, scales}
	if bias != nil {
		n.Inputs = append(n.Inputs, nil, nil, bias)
	}
	n.Op, n.Version = ops.Microsoft+"MatMulNBits", 1
	n.Attrs = ir.Attrs{"K": w.rows, "N": w.columns, "bits": int64(4), "block_size": w.size}
}
