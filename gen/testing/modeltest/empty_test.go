package modeltest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// emptied makes a finished graph one with dimensions of 0: symbols may be, and some are, and products have weights
// without columns, without rows, or without both.
func (r *random) emptied() {
	for i := range r.g.Symbols {
		s := &r.g.Symbols[i]
		if s.Computed { // its bounds are for symbols that are not 0
			s.Lo = 0
			continue
		}
		if s.Lo = 0; r.maybe() {
			r.env[s.Name] = 0
		}
	}
	for _, v := range r.g.Inputs {
		r.inputs[v.Name] = r.floats(r.concrete(v.Shape), 2)
	}
	for _, n := range r.g.Nodes { // what was inferred, was for symbols that are not 0
		for _, v := range n.Outputs {
			v.Shape, v.HasShape = nil, false
		}
	}
	for range 1 + r.IntN(3) {
		r.emptyProduct(r.pool[r.pick()], r.among(0, 0, 5, 16), r.among(0, 0, 3))
	}
}

// emptyProduct appends a product whose weights have so many columns, or result channels; where x is an input, it has so
// many rows, or channels, instead of its own.
func (r *random) emptyProduct(like *ir.Value, columns, rows int64) {
	rank := len(like.Shape)
	if like.Def != nil {
		rank = 2 + r.IntN(4)
	}
	dims := []int64{r.among(0, 1, 2), rows}
	for range rank - 2 {
		dims = append(dims, r.among(0, 4, 5, 9))
	}
	x := &ir.Value{Name: r.name("x"), Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true}
	r.g.Inputs = append(r.g.Inputs, x)
	r.inputs[x.Name] = r.floats(dims, 2)
	n := &ir.Node{Name: r.name("empty"), Op: "MatMul", Version: 13, Inputs: []*ir.Value{x, r.weights(1, dims[rank-1], columns)}, Attrs: ir.Attrs{}}
	switch kind := r.IntN(4); {
	case kind == 0 && rank == 2:
		n.Op, n.Version = "Gemm", 13
	case kind == 1 && rank == 2:
		n.Op, n.Version, n.Attrs = "Einsum", 12, ir.Attrs{"equation": "ij,jk->ik"}
	case kind > 0 && rank > 2:
		filter := []int64{columns, rows}
		for range rank - 2 {
			filter = append(filter, r.among(1, 3))
		}
		n.Op, n.Version, n.Inputs[1] = "Conv", 11, r.weights(1, filter...)
		n.Attrs = ir.Attrs{"auto_pad": "SAME_UPPER"}
	}
	y := &ir.Value{Name: r.name("v"), Def: n}
	n.Outputs = []*ir.Value{y}
	z := &ir.Node{Name: r.name("relu"), Op: "Relu", Inputs: n.Outputs, Attrs: ir.Attrs{}}
	z.Outputs = []*ir.Value{{Name: r.name("v"), Def: z}}
	r.g.Nodes, r.g.Outputs = append(r.g.Nodes, n, z), append(r.g.Outputs, z.Outputs...)
}

// TestEmptyGraphs compiles random graphs with dimensions of 0 and compares with the interpreter of stages.
func TestEmptyGraphs(t *testing.T) {
	for s := range *seeds {
		r := randomOf(rand.NewPCG(s, 2))
		r.emptied()
		for i, c := range Configs(int(s)) {
			if i >= len(Chips)+len(Devices) && i%4 != int(s%4) {
				continue
			}
			x := &trial{g: r.g, config: c, inputs: r.inputs}
			if err := x.survives(); err != nil {
				err = x.shrink(err)
				require.NoError(t, err, "seed %d, with %s\n%s", s, c, text(x.g))
			}
		}
	}
}
