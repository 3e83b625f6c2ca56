package modeltest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// fourBits is a product with weights of 4 bits, in blocks along its sum.
type fourBits struct {
	name                    string
	rows, depth, out, block int64
	batch                   int64 // of a MatMul; 0: a Gemm
	turned                  bool  // W has columns first
	unsigned                bool
	zeros                   bool // each block and column has a zero point
	symbolic                bool // how many rows there are is known at run time
	relu                    bool
}

func (c fourBits) graph() (*ir.Graph, map[string]*ir.Tensor) {
	r := rand.New(rand.NewPCG(7, uint64(c.out)))
	floats := func(lo, hi float32, dims ...int64) *ir.Tensor {
		t := ir.NewTensor(ir.F32, dims...)
		for i := range t.Len() {
			setNumber(t, i, lo+(hi-lo)*r.Float32())
		}
		return t
	}
	typ, lo := ir.I8, -8
	if c.unsigned {
		typ, lo = ir.U8, 0
	}
	nibbles := func(dims ...int64) *ir.Tensor {
		t := ir.NewTensor(typ, dims...)
		for i := range t.Data {
			t.Data[i] = byte(int8(lo + r.IntN(16)))
		}
		return t
	}
	dims, blocks, axis := []int64{c.depth, c.out}, []int64{(c.depth + c.block - 1) / c.block, c.out}, int64(0)
	if c.turned {
		slices.Reverse(dims)
		slices.Reverse(blocks)
		axis = 1
	}
	d := &ir.Node{Op: "DequantizeLinear", Version: 21, Name: "weights", Attrs: ir.Attrs{"axis": axis, "block_size": c.block}}
	d.Inputs = []*ir.Value{ir.ConstValue("q", nibbles(dims...)), ir.ConstValue("s", floats(0.01, 0.02, blocks...))}
	if c.zeros {
		d.Inputs = append(d.Inputs, ir.ConstValue("z", nibbles(blocks...)))
	}
	node := func(op string, version int, attrs ir.Attrs, in ...*ir.Value) *ir.Node {
		n := &ir.Node{Op: op, Version: version, Name: op, Attrs: attrs, Inputs: in}
		n.Outputs = []*ir.Value{{Name: op + ".y", Def: n}}
		return n
	}
	d.Outputs = []*ir.Value{{Name: "w", Def: d}}
	nodes, w := []*ir.Node{d}, d.Outputs[0]
	given := []int64{c.rows, c.depth}
	x := &ir.Value{Name: "x", Type: ir.F32, HasShape: true}
	attrs := ir.Attrs{}
	switch {
	case c.batch == 0 && c.turned:
		attrs["transB"] = int64(1)
	case c.turned:
		turn := node("Transpose", 13, ir.Attrs{"perm": []int64{1, 0}}, w)
		nodes, w = append(nodes, turn), turn.Outputs[0]
	}
	op := "Gemm"
	if c.batch > 0 {
		op, given = "MatMul", append([]int64{c.batch}, given...)
	}
	x.Shape = ir.Dims(given...)
	var symbols []ir.Symbol
	if c.symbolic {
		x.Shape[len(x.Shape)-2] = sym.Var("N")
		symbols = append(symbols, ir.Symbol{Name: "N", Lo: 1, Hi: 64, Max: sym.Const(sym.MaxDim)})
	}
	nodes = append(nodes, node(op, 13, attrs, x, w))
	if c.relu {
		nodes = append(nodes, node("Relu", 14, nil, nodes[len(nodes)-1].Outputs[0]))
	}
	g := &ir.Graph{Name: "four", Opset: 21, Symbols: symbols, Inputs: []*ir.Value{x}, Nodes: nodes, Outputs: nodes[len(nodes)-1].Outputs}
	return g, map[string]*ir.Tensor{"x": floats(-1, 1, given...)}
}

// TestFourBits: weights of 4 bits stay packed, two to a byte, in whatever form a network has them, and products are those of floats, on
// every chip. Kernels of several rows unpack what these share once.
func TestFourBits(t *testing.T) {
	for _, c := range []fourBits{
		{name: "one row", rows: 1, depth: 64, out: 96, block: 32, batch: 1},
		{name: "one row, each with zero points", rows: 1, depth: 96, out: 40, block: 16, batch: 1, unsigned: true, zeros: true, turned: true},
		{name: "a few rows", rows: 3, depth: 64, out: 33, block: 32, batch: 1, zeros: true},
		{name: "many rows", rows: 13, depth: 64, out: 100, block: 32, batch: 2, zeros: true},
		{name: "a last block of fewer", rows: 9, depth: 75, out: 17, block: 32, batch: 1, turned: true},
		{name: "an odd sum of one block", rows: 5, depth: 7, out: 5, block: 16, batch: 1, unsigned: true},
		{name: "one column", rows: 6, depth: 32, out: 1, block: 32, batch: 1},
		{name: "Gemm", rows: 8, depth: 48, out: 24, block: 16, relu: true},
		{name: "Gemm, turned", rows: 8, depth: 48, out: 24, block: 16, turned: true, zeros: true, unsigned: true},
		{name: "Gemm of one row", rows: 1, depth: 48, out: 24, block: 16, turned: true, relu: true},
		{name: "rows that a run knows", rows: 7, depth: 64, out: 48, block: 32, batch: 1, symbolic: true, zeros: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, inputs := c.graph()
			require.NoError(t, simplify.Run(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			blocks := (c.depth + c.block - 1) / c.block
			var cases []cpptest.Case
			for _, chip := range slices.Concat(Chips, Devices, DSPs) {
				g, _ := c.graph()
				p, err := Compile(g, Config{Chip: chip})
				require.NoError(t, err, chip)
				got, err := run.Program(p, InputsOf(p, inputs))
				require.NoError(t, err, "%s: %s", chip, p)
				assertClose(t, want[0], got[0], chip)
				bytes := int64(0)
				for _, c := range p.Constants {
					bytes += c.Value.Const.Len() * int64(c.Value.Type.Size())
				}
				assert.LessOrEqual(t, bytes, ((c.depth+1)/2+5*blocks)*c.out, "%s: bytes of constants", chip)
				if !strings.HasPrefix(chip, "x86_64") {
					continue
				}
				tiles := slices.ContainsFunc(p.Calls(), func(s *plan.Call) bool { return s.Kernel.Anchor == "product" })
				if !c.symbolic && c.out >= 16 {
					assert.Equal(t, c.rows >= 4, tiles, "%s: kernels of tiles\n%s", chip, p)
				}
				if chip == "x86_64_v3" {
					cases = append(cases, cpptest.Case{Name: chip, Program: p, Inputs: InputsOf(p, inputs), Dims: map[string]int64{"N": c.rows}})
				}
			}
			for _, got := range cpptest.Run(t, "../../..", cases, "-O1") {
				require.Zero(t, got.Status)
				assertClose(t, want[0], got.Outputs[0], "in C++")
			}
		})
	}
}

// TestFourBitsElsewhere: what else reads the floats, weights of more than 4 bits, and blocks along another axis than the sum are floats as before.
func TestFourBitsElsewhere(t *testing.T) {
	plain := fourBits{rows: 2, depth: 32, out: 16, block: 16, batch: 1}
	for _, c := range []struct {
		name   string
		change func(g *ir.Graph)
		packed bool
	}{
		{"as it is", func(*ir.Graph) {}, true},
		{"an output", func(g *ir.Graph) { g.Outputs = append(g.Outputs, g.Nodes[0].Outputs[0]) }, false},
		{"5 bits", func(g *ir.Graph) { g.Nodes[0].Inputs[0].Const.Data[7] = 8 }, false},
		{"the other axis", func(g *ir.Graph) {
			g.Nodes[0].Attrs["axis"] = int64(1)
			g.Nodes[0].Inputs[1].Const.Shape = []int64{32, 1}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := plain.graph()
			c.change(g)
			for _, v := range g.Nodes[0].Inputs { // shapes are of the constants
				v.Shape = ir.Dims(v.Const.Shape...)
			}
			p, err := Compile(g, Config{Chip: "x86_64_v3"})
			require.NoError(t, err)
			found := slices.ContainsFunc(p.Calls(), func(s *plan.Call) bool { return slices.Contains(s.Block.Ops, ops.Unpack) })
			assert.Equal(t, c.packed, found)
		})
	}
}
