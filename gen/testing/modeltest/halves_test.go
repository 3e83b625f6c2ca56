package modeltest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// tolerances are of differences, relative to the greatest number: sums in another order, which may round the other way
// where a result has 16 bits, and what the next node makes of that.
var tolerances = map[ir.DType]float64{ir.F32: 2e-6, ir.F16: 2e-3, ir.BF16: 1.6e-2}

func elementAt(t *ir.Tensor, i int64) float64 {
	switch t.Type {
	case ir.F16:
		return ir.F16Float(binary.LittleEndian.Uint16(t.Data[2*i:]))
	case ir.BF16:
		return ir.BF16Float(binary.LittleEndian.Uint16(t.Data[2*i:]))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
}

func setNumber(t *ir.Tensor, i int64, v float32) {
	switch t.Type {
	case ir.F16:
		binary.LittleEndian.PutUint16(t.Data[2*i:], ir.F16Bits(float64(v)))
	case ir.BF16:
		binary.LittleEndian.PutUint16(t.Data[2*i:], ir.BF16Bits(float64(v)))
	default:
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
}

// TestHalves: convolutions of 16 bits run in tiles on every chip that has some, as those of 32 do: with rows and channels that
// fill no tile, more pixels than a task has, strides, groups, windows of one channel, small images, by Winograd's algorithm, and with
// extents that only the run knows.
func TestHalves(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "one point, many pixels", x: []int64{1, 40, 31, 33}, w: []int64{72, 40, 1, 1}, pads: none, add: true},
		{name: "one point, channels for many tasks", x: []int64{1, 64, 7, 7}, w: []int64{640, 64, 1, 1}, pads: none},
		{name: "one point, strides", x: []int64{1, 64, 14, 14}, w: []int64{192, 64, 1, 1}, pads: none, strides: []int64{2, 2}, add: true},
		{name: "deep", x: []int64{1, 1200, 9, 9}, w: []int64{48, 1200, 1, 1}, pads: none},
		{name: "one pixel", x: []int64{1, 200, 1, 1}, w: []int64{100, 200, 1, 1}, pads: none},
		{name: "padded", x: []int64{1, 3, 19, 18}, w: []int64{21, 3, 5, 5}, pads: []int64{2, 2, 2, 2}, strides: []int64{2, 2}, add: true},
		{name: "unpadded", x: []int64{2, 32, 13, 8}, w: []int64{16, 32, 3, 2}, pads: none},
		{name: "filtered", x: []int64{1, 32, 9, 11}, w: []int64{32, 32, 3, 3}, pads: same, add: true},
		{name: "depthwise", x: []int64{1, 64, 16, 12}, w: []int64{64, 1, 3, 3}, group: 64, pads: same, add: true},
		{name: "depthwise, unpadded", x: []int64{1, 64, 9, 12}, w: []int64{64, 1, 3, 3}, group: 64, pads: none},
		{name: "groups", x: []int64{1, 96, 9, 10}, w: []int64{96, 24, 3, 3}, group: 4, pads: same, add: true},
		{name: "groups of one point", x: []int64{1, 64, 6, 8}, w: []int64{96, 32, 1, 1}, group: 2, pads: none},
		{name: "symbolic", x: []int64{1, 32, 14, 19}, w: []int64{32, 32, 1, 1}, pads: none, symbolic: true, add: true},
		{name: "symbolic, padded", x: []int64{1, 16, 14, 19}, w: []int64{24, 16, 3, 3}, pads: same, symbolic: true},
	} {
		c.between = true
		for _, c.half = range loop.Halves {
			t.Run(c.name+"/"+c.half.String(), func(t *testing.T) {
				for chip, p := range c.run(t) {
					assert.NotContains(t, anchorsOf(p, "w"), "generic", "%s: %s", chip, p)
					assertPieces(t, p)
				}
			})
		}
	}
}

// anchorsOf are the anchors of the kernels that read an operand.
func anchorsOf(p *plan.Program, name string) []string {
	var out []string
	for _, c := range p.Calls() {
		if slices.ContainsFunc(c.Block.Operands, func(v *ir.Value) bool { return v.Name == name }) {
			out = append(out, c.Kernel.Anchor)
		}
	}
	return out
}

// TestStoredHalves: where loads convert at little cost, many weights keep their 16 bits, and elsewhere they are packed as f32.
func TestStoredHalves(t *testing.T) {
	c := convolution{name: "product", x: []int64{1, 64, 9, 9}, w: []int64{192, 64, 1, 1}, pads: []int64{0, 0, 0, 0}}
	for _, c.half = range loop.Halves {
		for chip, p := range c.run(t) {
			for _, call := range p.Calls() {
				loop.Tiles(call.Kernel.Body, func(x loop.Tile) {
					want := ir.F32
					if chip == "x86_64_v3" || chip == "x86_64_v4" {
						want = c.half
					}
					assert.Equal(t, want, x.W.Type, "%s %s", chip, c.half)
				})
			}
		}
	}
}
