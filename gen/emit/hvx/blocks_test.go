package hvx_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

var (
	network = flag.String("network", "", "a `FILE` in ONNX, filled: TestBlocks counts packets of each of its kernels")
	compare = flag.Bool("compare", false, "TestBlocks compares results with those of the interpreter of loops, too")
	only    = flag.String("instructions", "", "`NAMES`, separated by commas: TestBlocks lets the chip have these alone")
	most    = flag.Int("most", 1000, "TestBlocks runs so many kernels, those of the most estimated cycles")
)

// counted is a kernel of a network, and how often it runs.
type counted struct {
	call  *plan.Call
	times uint64
}

// TestBlocks counts, by kernel, the packets that a network takes:
//
//	./bazelw exec go test ./gen/emit/hvx -run TestBlocks -v -network NET_int8.onnx
func TestBlocks(t *testing.T) {
	if *network == "" {
		t.Skip("no -network")
	}
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	all := kernelsOf(t, *network)
	var cases []cpptest.Case
	for _, k := range all {
		cases = append(cases, alone(t, k.call))
	}
	total := uint64(0)
	var lines []string
	for i, r := range hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...) {
		require.Zero(t, r.Status, cases[i].Name)
		if *compare {
			want, err := run.Program(cases[i].Program, cases[i].Inputs)
			require.NoError(t, err)
			for n := range want {
				assert.Equal(t, want[n].Data, r.Outputs[n].Data, cases[i].Name)
			}
		}
		packets := uint64(r.Counts[hvxtest.Packets]) * all[i].times
		total += packets
		lines = append(lines, fmt.Sprintf("%11d packets, %11d of HVX instructions, %11.0f cycles estimated: %d x %s", packets, uint64(r.Counts[hvxtest.VectorInstructions])*all[i].times,
			all[i].call.Cycles*float64(all[i].times), all[i].times, cases[i].Name))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	t.Logf("%d packets in %d kernels\n%s", total, len(all), strings.Join(lines, "\n"))
}

// kernelsOf are the kernels that a network has on Hexagon, those that differ only in names once.
func kernelsOf(t *testing.T, file string) []counted {
	f, err := os.Open(file)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	require.NoError(t, err)
	g, err := onnx.Read(&ir.File{R: f, Size: info.Size()}, nil, onnx.Options{Fill: true})
	require.NoError(t, err)
	chip, err := modeltest.Hexagon(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })...)
	require.NoError(t, err)
	p, err := modeltest.CompileFor(g, chip, []string{"inplace"}) // kernels that read what lies where they store have no program of their own
	require.NoError(t, err)
	_, err = hvx.Print(p, "p", 1) // which names what kernels share
	require.NoError(t, err)
	at := map[string]int{}
	var out []counted
	for _, c := range p.Calls() {
		if i, known := at[c.Function]; known {
			out[i].times++
			continue
		}
		at[c.Function] = len(out)
		out = append(out, counted{c, 1})
	}
	slices.SortStableFunc(out, func(a, b counted) int { return int(b.call.Cycles*float64(b.times) - a.call.Cycles*float64(a.times)) })
	return out[:min(len(out), *most)]
}

// alone is a program of one kernel, whose values are as many elements as its buffers, and pseudo-random.
func alone(t *testing.T, c *plan.Call) cpptest.Case {
	p := &plan.Program{Layouts: map[*ir.Value]layout.Layout{}}
	call := &plan.Call{Kernel: c.Kernel, Block: c.Block}
	var inputs []*ir.Tensor
	r := rand.New(rand.NewPCG(1, 2))
	for i, b := range c.Kernel.Buffers {
		if c.Args[i] != nil && c.Args[i].Const != nil {
			call.Args = append(call.Args, c.Args[i])
			continue
		}
		n, known := b.Size.Const()
		require.True(t, known, "a buffer of %s elements", b.Size)
		v := &ir.Value{Name: fmt.Sprintf("v%d", i), Type: b.Type, Shape: ir.Dims(n), HasShape: true}
		call.Args = append(call.Args, v)
		if b.Write {
			p.Outputs = append(p.Outputs, v)
			continue
		}
		p.Inputs = append(p.Inputs, v)
		inputs = append(inputs, filled(r, b.Type, n))
	}
	p.Steps = []plan.Step{{Call: call}}
	require.NoError(t, plan.Run(p))
	return cpptest.Case{Name: c.Kernel.Anchor + " " + filepath.Base(c.Block.Label()), Program: p, Inputs: inputs}
}

// filled has random bytes, or small numbers of wider types.
func filled(r *rand.Rand, typ ir.DType, n int64) *ir.Tensor {
	out := ir.NewTensor(typ, n)
	switch {
	case typ.Size() == 1:
		for i := range out.Data {
			out.Data[i] = byte(r.Uint32())
		}
	case typ.Size() == 2 && typ.IsInteger():
		for i := range n {
			binary.LittleEndian.PutUint16(out.Data[2*i:], uint16(r.IntN(512)-256))
		}
	case typ == ir.I32:
		for i := range n {
			binary.LittleEndian.PutUint32(out.Data[4*i:], uint32(r.IntN(40000)-20000))
		}
	case typ == ir.F32:
		for i := range n {
			binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(r.Float32()-0.5))
		}
	}
	return out
}
