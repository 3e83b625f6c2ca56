package hvx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

const sums = 4032

// scaling is a program that requantizes sums by a factor, in loops of so many.
func scaling(t *testing.T, to ir.DType, factor float32, zero, each int64) *plan.Program {
	x := &ir.Value{Name: "x", Type: ir.I32, Shape: ir.Dims(sums), HasShape: true}
	y := &ir.Value{Name: "y", Type: to, Shape: ir.Dims(sums), HasShape: true}
	in := &loop.Buffer{Name: "a0", Type: ir.I32, Size: sym.Const(sums)}
	out := &loop.Buffer{Name: "y0", Type: to, Write: true, Size: sym.Const(sums)}
	at := sym.Add(sym.Scale(sym.Var(loop.TaskVar), each), sym.Var("i0"))
	scaled := te.Fn(ir.F32, "mul", te.Fn(ir.F32, "cast", loop.Mem{Buf: in, Index: at}), te.Float(ir.F32, float64(factor)))
	e := te.Fn(ir.F32, "add", te.Fn(ir.F32, "round", scaled), te.Fn(ir.F32, "cast", te.Int(to, zero)))
	k := &loop.Kernel{Anchor: "test", Buffers: []*loop.Buffer{in, out}, Grid: loop.Linear(sym.Const(sums / each)), Facts: sym.Facts{"i0": {Lo: 0, Hi: each - 1}, loop.TaskVar: {Lo: 0, Hi: sums/each - 1}},
		Body: []loop.Stmt{loop.For{Var: "i0", Extent: sym.Const(each), Body: []loop.Stmt{loop.Store{Buf: out, Index: at, Value: te.Fn(to, "cast", e)}}}}}
	p := &plan.Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Layouts: map[*ir.Value]layout.Layout{},
		Steps: []plan.Step{{Call: &plan.Call{Kernel: k, Args: []*ir.Value{x, y}, Block: &block.Block{Origins: []string{"test"}}}}}}
	require.NoError(t, plan.Run(p))
	return p
}

// extents are of parts of a vector of words, and of one, several and parts of vectors of bytes.
var extents = []int64{32, 112, 64, 224, 12, 32, 144}

// TestRequantizeIsExact: vectors of integers give what floats give, for sums near halves, near the
// bounds and far beyond, and factors of any size.
func TestRequantizeIsExact(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	var cases []cpptest.Case
	for n := range 60 {
		factor := math.Float32frombits(uint32(96+n%40)<<23 | r.Uint32N(1<<23)) // from 2^-31 to 2^8
		switch n {
		case 0:
			factor = 0.5
		case 1:
			factor = 0x1p-8
		case 2:
			factor = 0
		case 3:
			factor = -0.01
		case 4:
			factor = float32(math.Inf(1))
		}
		to, zero := ir.U8, int64(n%256)
		if n%2 == 1 {
			to, zero = ir.I8, int64(n%256)-128
		}
		x := ir.NewTensor(ir.I32, sums)
		for i := range sums {
			// Results of up to a thousand; in half of the vectors many halves or nearly so; some sums
			// are any number.
			v := (math.Floor(r.Float64()*2000-1000) + 0.5) / max(math.Abs(float64(factor)), 1e-6)
			if i%3 == 0 || i/32%2 == 1 {
				v = (r.Float64()*2000 - 1000) / max(math.Abs(float64(factor)), 1e-6)
			}
			if i/32%8 == 0 {
				v = (r.Float64()*2 - 1) * math.Exp2(float64(i%33))
			}
			binary.LittleEndian.PutUint32(x.Data[4*i:], uint32(int32(max(math.MinInt32, min(math.MaxInt32, v)))))
		}
		cases = append(cases, cpptest.Case{Name: fmt.Sprintf("%g to %s", factor, to), Program: scaling(t, to, factor, zero, extents[n%len(extents)]), Inputs: []*ir.Tensor{x}})
	}
	for i, r := range hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...) {
		want, err := run.Program(cases[i].Program, cases[i].Inputs)
		require.NoError(t, err, cases[i].Name)
		assert.Equal(t, want[0].Data, r.Outputs[0].Data, cases[i].Name)
		if i >= 5 {
			assert.Less(t, r.Counts[hvxtest.Packets], uint32(20*sums), "%s: vectors are not used", cases[i].Name)
		}
		t.Logf("%s: %.1f packets a sum", cases[i].Name, float64(r.Counts[hvxtest.Packets])/sums)
	}
}
