package nodetest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

// sample is one of how many cases TestCompiledSpecials takes without -every.
const sample = 12

// TestCompiledSpecials runs cases of f32 in other types, on numbers that are hard on
// arithmetic, and compares with the interpreter: integers exactly, so that overflow, division
// by zero, shifts and casts of what does not fit are what they are there.
func TestCompiledSpecials(t *testing.T) {
	s, chip := cases(t), hostChip(t)
	var list []*special
	for i, c := range s.Cases {
		if slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name }) {
			continue
		}
		for k, typ := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.F64, ir.I8, ir.U8, ir.I32, ir.U32, ir.I64, ir.U64} {
			if !*every && *only == "" && (i+k)%sample != 0 {
				continue
			}
			if p := retyped(t, c, chip, typ); p != nil {
				list = append(list, p)
			}
		}
	}
	t.Logf("%d cases", len(list))
	require.NotEmpty(t, list)
	programs := make([]cpptest.Case, len(list))
	for i, p := range list {
		programs[i] = p.Case
	}
	flags := append(slices.Clone(chip.Copts), strings.Fields(*copts)...)
	for i, r := range cpptest.Run(t, repository, programs, flags...) {
		list[i].compare(t, r)
	}
}

// special is a case of another type, or of other numbers.
type special struct {
	cpptest.Case
	graph *ir.Graph
	kind  kind
	// bounded reports that a bound of ours may refuse its numbers, of which the interpreter does not know.
	bounded bool
}

func (p *special) compare(t *testing.T, r cpptest.Result) {
	p.compareOn(t, &r, cpptest.WithoutDenormals)
	p.compareOn(t, r.Kept, func(x *ir.Tensor) *ir.Tensor { return x })
}

// compareOn compares with the interpreter on what the run takes an input for.
func (p *special) compareOn(t *testing.T, r *cpptest.Result, input func(*ir.Tensor) *ir.Tensor) {
	if p.bounded && r.Status != 0 {
		return
	}
	in := map[string]*ir.Tensor{}
	for k, v := range p.graph.Inputs {
		in[v.Name] = input(p.Inputs[k])
	}
	want, refused := interp.Graph(p.graph, in)
	if !assert.Equal(t, refused != nil, r.Status != 0, "%s: status %d, interpreter: %v", p.Name, r.Status, refused) || refused != nil {
		return
	}
	for k, w := range want {
		assert.NoError(t, alike(r.Outputs[k], w, p.kind.tolerance), "%s: output %d", p.Name, k)
	}
}

// seed makes a case's numbers its own, whatever -only selects beside it.
func seed(label string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(label))
	return h.Sum64()
}

// retyped is a case with f32 inputs of another type and of hard numbers; nil where the
// operator does not take them or the case has no such input.
func retyped(t *testing.T, c *Case, chip *target.Target, typ ir.DType) *special {
	var p *special
	refused := false // the graph, by what the operators take
	err := bounding(c, func(bounds map[string]sym.Range) (err error) {
		r := rand.New(rand.NewPCG(seed(c.Label()), uint64(typ)))
		p, refused, err = retypedIn(c, chip, typ, r, bounds)
		return err
	})
	if refused {
		return nil
	}
	require.NoError(t, err, "%s of %s", c.Label(), typ)
	return p
}

func retypedIn(c *Case, chip *target.Target, typ ir.DType, r *rand.Rand, bounds map[string]sym.Range) (p *special, refused bool, err error) {
	g, err := c.Graph()
	if err != nil {
		return nil, true, nil
	}
	g.Bounded = bounds
	_, inputs := c.Bind(g)
	if !disguise(g, inputs, typ, r) {
		return nil, true, nil
	}
	st := &pipeline.State{Graph: g, Target: chip}
	if _, err := pipeline.Run(pipeline.GraphPasses, st, pipeline.Options{}); err != nil {
		return nil, true, nil
	}
	if _, err := pipeline.Run(pipeline.CompilePasses, st, pipeline.Options{}); err != nil {
		return nil, false, err
	}
	p = &special{graph: g, bounded: len(bounds) > 0}
	p.kind.of(st.Blocks)
	if p.kind.rounds && !typ.IsFloat() {
		return nil, true, nil // the order of its sums, which is the kernel's own, decides what integers become
	}
	in := make([]*ir.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		if in[i] = inputs[v.Name]; p.kind.rounds && v.Type == typ {
			in[i] = calm(r, typ, in[i].Shape, p.kind)
		}
	}
	p.Case = cpptest.Case{Name: fmt.Sprintf("%s of %s", c.Label(), typ), Program: st.Program, Inputs: in, Denormals: true}
	return p, false, nil
}

// disguise gives inputs of f32 another type and hard numbers; false where there are none.
func disguise(g *ir.Graph, inputs map[string]*ir.Tensor, typ ir.DType, r *rand.Rand) bool {
	changed := false
	for _, v := range g.Inputs {
		if v.Type == ir.F32 {
			v.Type, changed = typ, true
			dims, _ := v.Static()
			inputs[v.Name] = hard(r, typ, dims)
		}
	}
	for _, n := range g.Nodes { // what the model declares speaks of f32
		for _, v := range n.Outputs {
			if v != nil {
				v.Type, v.Shape, v.HasShape = ir.Invalid, nil, false
			}
		}
	}
	return changed
}

// kind is what of a program decides how exactly its results are known.
type kind struct {
	// rounds reports that it sums floats, or adds products of floats, which compilers contract: the order
	// decides where that overflows and what cancels.
	rounds bool
	// loops reports that it hands what it computes from step to step.
	loops bool
	// tolerance is that of the coarsest type of float that it computes.
	tolerance float64
}

// tolerances are rounding errors of the types, which sums and contracted products collect.
var tolerances = map[ir.DType]float64{ir.F16: 4e-3, ir.BF16: 3e-2, ir.F32: 2e-5, ir.F64: 1e-12}

func (k *kind) of(g *block.Graph) {
	for _, b := range g.Blocks {
		if b.Control != nil {
			k.loops = k.loops || b.Control.Loop != nil
			for _, inner := range b.Control.Graphs() {
				k.of(inner)
			}
			continue
		}
		if b.Stage == nil {
			continue
		}
		for _, s := range b.Stages() {
			float := s.Results[0].DType().IsFloat()
			for _, e := range s.Exprs() { // what is cast within the stage, too
				te.Walk(e, func(x te.Expr) { k.tolerance = max(k.tolerance, tolerances[x.DType()]) })
			}
			if s.Combine != nil {
				float = s.Values[0].DType().IsFloat()
			}
			k.rounds = k.rounds || float && (s.Combine != nil || s.Update != nil) || slices.ContainsFunc(s.Exprs(), contracts)
		}
	}
}

// contracts reports whether an expression adds a product of floats.
func contracts(e te.Expr) bool {
	found := false
	te.Walk(e, func(x te.Expr) {
		c, ok := x.(te.Call)
		if !ok || c.Fn != "add" && c.Fn != "sub" || !c.Type.IsFloat() {
			return
		}
		for _, a := range c.Args {
			product, ok := a.(te.Call)
			found = found || ok && product.Fn == "mul"
		}
	})
	return found
}

// calm is a tensor of small floats, which sums do not take out of their type; a loop's are smaller, for
// what it computes of them grows with each step.
func calm(r *rand.Rand, typ ir.DType, shape []int64, k kind) *ir.Tensor {
	scale := 3.0
	if k.loops {
		scale = 0.25
	}
	xs := make([]float64, ir.NewTensor(typ, shape...).Len())
	for i := range xs {
		xs[i] = r.NormFloat64() * scale
	}
	return edit.FloatTensor(typ, xs, shape...)
}

// hard is a tensor of small numbers among which are extremes of the type.
func hard(r *rand.Rand, typ ir.DType, shape []int64) *ir.Tensor {
	out := ir.NewTensor(typ, shape...)
	n := int(out.Len())
	if typ.IsFloat() {
		special := []float64{0, math.Copysign(0, -1), 0.5, 1.5, 2.5, -2.5, 100, math.NaN(), math.Inf(1), math.Inf(-1), 1e-40, 3e38, 6e4, -1e10, 1 << 31, -1 << 63, 127.5, -129, 256}
		xs := make([]float64, n)
		for i := range xs {
			if xs[i] = r.NormFloat64() * 3; r.IntN(3) == 0 {
				xs[i] = special[r.IntN(len(special))]
			}
		}
		return edit.FloatTensor(typ, xs, shape...)
	}
	size := typ.Size()
	for i := range n {
		least := uint64(1) << (8*size - 1)
		v := []uint64{uint64(r.IntN(7)) - 3, uint64(r.IntN(7)) - 3, uint64(r.IntN(7)) - 3, least, least - 1, math.MaxUint64, r.Uint64()}[r.IntN(7)]
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		copy(out.Data[i*size:], b[:size])
	}
	return out
}

// alike compares with the interpreter: by rounding errors, and integers exactly.
func alike(got, want *ir.Tensor, tolerance float64) error {
	size := want.Type.Size()
	for i := 0; i < len(want.Data); i += size {
		x, y := got.Data[i:i+size], want.Data[i:i+size]
		if slices.Equal(x, y) {
			continue
		}
		if want.Type.IsFloat() {
			p, q := floatOf(want.Type, x), floatOf(want.Type, y)
			if math.IsNaN(p) && math.IsNaN(q) || math.Abs(p-q) <= tolerance*(1+math.Abs(q)) {
				continue
			}
		}
		return fmt.Errorf("element %d is %s, want %s", i/size, show(want.Type, x), show(want.Type, y))
	}
	return nil
}
