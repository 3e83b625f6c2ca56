package modeltest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// prunedProduct is a Gemm or MatMul of weights of which the same are zero in so many neighbouring filters.
type prunedProduct struct {
	name             string
	rows, depth, out int64
	batch            int64 // of a MatMul; 0: a Gemm
	transposed       bool  // filters are W's first dimension
	relu             bool
	zeros            func(w *ir.Tensor) // in place of weights that 16 filters share
}

func (p prunedProduct) graph() (*ir.Graph, map[string]*ir.Tensor) {
	r := rand.New(rand.NewPCG(5, uint64(p.out)))
	floats := func(dims ...int64) *ir.Tensor {
		t := ir.NewTensor(ir.F32, dims...)
		for i := range t.Len() {
			setNumber(t, i, r.Float32()*2-1)
		}
		return t
	}
	dims, w, of := []int64{p.rows, p.depth}, floats(p.depth, p.out), 1
	n := &ir.Node{Op: "Gemm", Version: 13, Name: "product", Attrs: ir.Attrs{}}
	if p.transposed {
		w, of = floats(p.out, p.depth), 0
		n.Attrs["transB"] = int64(1)
	}
	if p.batch > 0 {
		n.Op, dims = "MatMul", append([]int64{p.batch}, dims...)
	}
	if p.zeros != nil {
		p.zeros(w)
	} else {
		prune(w, of, 16)
	}
	x := &ir.Value{Name: "x", Type: ir.F32, HasShape: true, Shape: ir.Dims(dims...)}
	n.Inputs = []*ir.Value{x, ir.ConstValue("w", w)}
	if p.batch == 0 {
		n.Inputs = append(n.Inputs, ir.ConstValue("b", floats(p.out)))
	}
	y := &ir.Value{Name: "y", Def: n}
	n.Outputs = []*ir.Value{y}
	g := &ir.Graph{Name: p.name, Opset: 17, Inputs: []*ir.Value{x}, Nodes: []*ir.Node{n}, Outputs: []*ir.Value{y}}
	if p.relu {
		relu := &ir.Node{Op: "Relu", Version: 14, Name: "relu", Inputs: []*ir.Value{y}}
		relu.Outputs = []*ir.Value{{Name: "z", Def: relu}}
		g.Nodes, g.Outputs = append(g.Nodes, relu), relu.Outputs
	}
	return g, map[string]*ir.Tensor{"x": floats(dims...)}
}

// TestPrunedProducts: Gemm and MatMul of pruned weights store what is kept, and nothing else, and give what the interpreter gives.
func TestPrunedProducts(t *testing.T) {
	for _, p := range []prunedProduct{
		{name: "one row", rows: 1, depth: 300, out: 128, transposed: true, relu: true},
		{name: "one row, filters last", rows: 1, depth: 300, out: 128},
		{name: "one row, filters left over", rows: 1, depth: 520, out: 1000, transposed: true},
		{name: "rows", rows: 19, depth: 120, out: 64, relu: true},
		{name: "rows, filters left over", rows: 7, depth: 120, out: 58, transposed: true},
		{name: "MatMul", rows: 21, depth: 96, out: 80, batch: 2, relu: true},
		{name: "MatMul of one row", rows: 1, depth: 96, out: 80, batch: 1},
	} {
		t.Run(p.name, func(t *testing.T) {
			_, inputs := p.graph()
			for chip, got := range everywhere(t, func() *ir.Graph { g, _ := p.graph(); return g }, inputs) {
				target, err := Chip(chip)
				require.NoError(t, err)
				stored := anyTile(got, func(m *loop.MicroKernel) bool { return m.Kept != nil })
				assert.Equal(t, target.SumsStored(), stored, "%s: %s", chip, got)
				if !stored {
					continue
				}
				bytes := int64(0)
				for _, c := range got.Constants {
					bytes += c.Value.Const.Len() * int64(c.Value.Type.Size())
				}
				assert.Less(t, bytes, 4*p.depth*p.out/2, "%s: bytes of constants, of a third of the weights", chip)
				assertPieces(t, got)
			}
		})
	}
}
