package hvx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/target/instr"
	"rules_dnn/gen/testing/modeltest"
)

// rows are GCD2's instructions, in the order of its tables.
var rows = []string{"vmpy_i8u8", "vmpa_i8u8", "vrmpy_i8u8"}

// table42 is Table 4.2: how long products of M = K = N take by the instructions, and the bytes of all data with padding, each as parts of vmpy's.
var table42 = []struct {
	size        int64
	took, bytes [3]float64
}{
	{32, [3]float64{1, 0.79, 0.63}, [3]float64{1, 0.56, 0.33}},
	{64, [3]float64{1, 0.69, 0.76}, [3]float64{1, 0.60, 0.60}},
	{96, [3]float64{1, 1.06, 0.89}, [3]float64{1, 1, 0.82}},
	{128, [3]float64{1, 1.10, 1.23}, [3]float64{1, 1, 1}},
}

// TestTable42 counts packets of products whose operand and result are in the layout of an instruction, and bytes with padding, beside the paper's ratios:
// with weights of 7 bits, as vmpa has no room for two products of 8, and with 8, where vmpy adds each product in 32 bits.
//
//	./bazelw exec go test ./gen/emit/hvx -run 'Table4[23]' -v
func TestTable42(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	for _, weights := range []int64{7, 8} {
		var cases []cpptest.Case
		var at [][3]int // case of each size and row, or -1
		for _, line := range table42 {
			var own [3]int
			for i, name := range rows {
				own[i] = -1
				if c, ok := laidOut(t, line.size, weights, name); ok {
					own[i] = len(cases)
					cases = append(cases, c)
				}
			}
			at = append(at, own)
		}
		results := hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...)
		for n, line := range table42 {
			text := fmt.Sprintf("%d-bit weights, %d x %d x %d:", weights, line.size, line.size, line.size)
			first := at[n][0]
			require.GreaterOrEqual(t, first, 0, "vmpy always has room for one product")
			for i, name := range rows {
				c := at[n][i]
				if c < 0 {
					require.True(t, name == "vmpa_i8u8" && weights == 8, name)
					text += fmt.Sprintf("  %s no room", name)
					continue
				}
				want, err := run.Program(cases[c].Program, cases[c].Inputs)
				require.NoError(t, err)
				require.Zero(t, results[c].Status)
				assert.Equal(t, want[0].Data, results[c].Outputs[0].Data, cases[c].Name)
				assert.InDelta(t, line.bytes[i], float64(bytesOf(cases[c].Program))/float64(bytesOf(cases[first].Program)), 0.006, cases[c].Name)
				packets := func(c int) float64 { return float64(results[c].Counts[hvxtest.Packets]) }
				text += fmt.Sprintf("  %s %.0f packets, %.2f (paper %.2f), %d bytes, %.2f (%.2f);", name, packets(c), packets(c)/packets(first), line.took[i],
					bytesOf(cases[c].Program), float64(bytesOf(cases[c].Program))/float64(bytesOf(cases[first].Program)), line.bytes[i])
			}
			p := modeltest.Products{Name: "square", Rows: line.size, Inner: line.size, Columns: []int64{line.size}, X: ir.U8, W: ir.I8, XZero: 0, Scaled: true}
			g, _ := p.Graph()
			narrowed(g, weights)
			program, err := modeltest.CompileFor(g, chip, nil)
			require.NoError(t, err)
			t.Logf("%s select takes %s", text, tilesOf(program))
		}
	}
}

// laidOut is a product by an instruction, whose operand and result lie as that reads them; false where the weights leave no room.
func laidOut(t *testing.T, size, weights int64, name string) (cpptest.Case, bool) {
	p := modeltest.Products{Name: "square", Rows: size, Inner: size, Columns: []int64{size}, X: ir.U8, W: ir.I8, Scaled: true}
	g, _ := p.Graph()
	narrowed(g, weights)
	chip, err := modeltest.Hexagon(name)
	require.NoError(t, err)
	program, err := modeltest.CompileFor(g, chip, []string{"inplace"})
	require.NoError(t, err)
	calls := program.Calls()
	b := calls[slices.IndexFunc(calls, func(c *plan.Call) bool { return strings.Contains(c.Block.Label(), "product0") })].Block
	lay := product.DotLayout(instr.Lookup(name), 0, 1)
	all, err := product.Propose(b, &lower.Env{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Target: chip, Layouts: func(v *ir.Value) layout.Layout {
		if v.Const == nil && len(v.Shape) == 2 {
			return lay
		}
		return layout.RowMajor
	}})
	require.NoError(t, err)
	for _, l := range all {
		if len(l.Schedule.Stages) > 1 || l.Schedule.Stages[0].Tile.Row != name {
			continue // it packs the operand
		}
		require.NoError(t, l.Check())
		require.NoError(t, l.Make())
		args, err := l.Args()
		require.NoError(t, err)
		c := alone(t, &plan.Call{Kernel: l.Kernel, Args: args, Block: b})
		c.Name = fmt.Sprintf("%s, %d", name, size)
		return c, true
	}
	return cpptest.Case{}, false
}

// narrowed halves weights until they have so many bits.
func narrowed(g *ir.Graph, bits int64) {
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			if v.Const != nil && v.Const.Type == ir.I8 && len(v.Const.Shape) > 1 {
				for i, x := range v.Const.Data {
					v.Const.Data[i] = byte(int8(x) >> (8 - bits))
				}
			}
		}
	}
}

// bytesOf is the bytes of all buffers of a program of one kernel.
func bytesOf(p *plan.Program) int64 {
	n := int64(0)
	for _, b := range p.Calls()[0].Kernel.Buffers {
		size, _ := b.Size.Const()
		if b.Type.Size() == 1 {
			n += size
		}
	}
	return n
}

// tilesOf are the tile instructions of a program's kernels, and how many kernels change a layout.
func tilesOf(p *plan.Program) string {
	var out []string
	changes := 0
	for _, c := range p.Calls() {
		tile := ""
		for _, line := range strings.Split(c.Schedule, "\n") {
			if row, ok := strings.CutPrefix(strings.TrimSpace(line), "tile "); ok {
				tile, _, _ = strings.Cut(row, ",")
			}
		}
		if tile != "" {
			out = append(out, tile)
		} else {
			changes++
		}
	}
	return fmt.Sprintf("%s, %d kernels beside", strings.Join(out, ", "), changes)
}

// table43 is Table 4.3: what RAKE and GCD2 choose for convolutions of ResNet-50.
var table43 = []struct {
	conv       modeltest.Convolution
	rake, gcd2 string
}{
	{modeltest.Convolution{Name: "7x7", Channels: []int64{3, 64}, Size: 224, Kernel: 7, Stride: 2, Pad: 3, X: ir.U8, W: ir.I8, Scaled: true}, "vrmpy", "vmpy"},
	{modeltest.Convolution{Name: "1x1", Channels: []int64{64, 64}, Size: 56, Kernel: 1, Stride: 1, X: ir.U8, W: ir.I8, Scaled: true}, "vmpy", "vmpa"},
	{modeltest.Convolution{Name: "3x3", Channels: []int64{128, 128}, Size: 28, Kernel: 3, Stride: 1, Pad: 1, X: ir.U8, W: ir.I8, Scaled: true}, "vrmpy", "vmpy"},
}

// TestTable43 counts packets of two images through Table 4.3's convolutions by each instruction, from row-major values to row-major values, and says which one
// select takes of all.
func TestTable43(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	for _, line := range table43 {
		var cases []cpptest.Case
		names := append([]string{"select"}, rows...)
		for _, name := range names {
			own := chip
			if name != "select" {
				own, err = modeltest.Hexagon(name)
				require.NoError(t, err)
			}
			g, inputs := line.conv.Graph()
			narrowed(g, 7)
			p, err := modeltest.CompileFor(g, own, nil)
			require.NoError(t, err)
			cases = append(cases, cpptest.Case{Name: name, Program: p, Inputs: modeltest.InputsOf(p, inputs)})
		}
		results := hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...)
		text := fmt.Sprintf("%s: RAKE %s, GCD2 %s; select takes %s:", line.conv.Name, line.rake, line.gcd2, tilesOf(cases[0].Program))
		for i, r := range results {
			require.Zero(t, r.Status)
			assert.Equal(t, results[0].Outputs[0].Data, r.Outputs[0].Data, names[i])
			text += fmt.Sprintf("  %s %d packets (%.0f cycles estimated);", names[i], r.Counts[hvxtest.Packets], cases[i].Program.Estimate.Cycles)
		}
		t.Log(text)
	}
}
