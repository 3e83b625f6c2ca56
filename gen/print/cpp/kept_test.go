package cpp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/print/asm"
	"rules_dnn/gen/print/cpp"
	"rules_dnn/gen/target"
)

// keptTiles are the largest tiles over stored kernels that registers have room for: lanes are pixels, of rows so many elements apart, or
// filters, of pixels in blocks of as many channels.
func keptTiles(c *target.Target) []*loop.MicroKernel {
	row := c.Tile(ir.F32)
	var out []*loop.MicroKernel
	const pitch = 58
	taps := func(step int64) [][]int64 {
		var all [][]int64
		for _, p := range [][]int64{{0, 1, 3, 4}, {1, 4, 5, 7}, {2, 4, 6, 8}, {3, 4, 5, 7}} {
			var at []int64
			for _, t := range p {
				at = append(at, step*(t/3*pitch+t%3))
			}
			all = append(all, at)
		}
		return all
	}
	for v := int64(1); v <= 7; v++ {
		r := int64(1)
		for row.RegistersApart(r+1, v, 3) <= int64(c.VectorRegisters) {
			r++
		}
		if r > 1 {
			out = append(out, &loop.MicroKernel{Instr: row, X: instr.Vector, Rows: r, Vectors: v, RowStep: pitch,
				Kept: &loop.Kept{Blocks: 1, Taps: taps(1), Channels: 64, Group: 64, Step: 580, Kernels: 180}})
		}
	}
	if c.VectorRegisters < 32 { // compilers load some weights and elements ahead of the products, and keep them on the stack
		return out
	}
	x := row.Broadcaster(0)
	block := max(8, row.Lanes)
	r := int64(1)
	for row.Registers(x, r+1, block/row.Lanes) <= int64(c.VectorRegisters) {
		r++
	}
	return append(out, &loop.MicroKernel{Instr: row, X: x, Rows: r, Vectors: block / row.Lanes, RowStep: block,
		Kept: &loop.Kept{Blocks: 2, Taps: taps(block), Channels: 64, Group: block, Step: 1, GroupStep: 580 * block, Kernels: 180}})
}

// TestKeptInAssembly: the loops over kernels of a pattern have all products, one after the other without branches, load what rows share once, and
// touch no stack.
func TestKeptInAssembly(t *testing.T) {
	clang := tool(t, "clang", "clang-19", "clang-20", "clang-18", "clang-17")
	for _, name := range chipNames {
		t.Run(name, func(t *testing.T) {
			c := chip(t, name)
			ms := keptTiles(c)
			functions := assembly(t, clang, c, ms)
			for _, m := range ms {
				f, cpu := functions[cpp.MicroName(m)], machines[c.CPU]
				if !assert.NotNil(t, f, "%s is not in the assembly", cpp.MicroName(m)) {
					continue
				}
				applications := cpu.fused
				if !m.Instr.Fused {
					applications = cpu.mul
				}
				runs := 0
				for _, body := range f.Innermost() {
					n := asm.Count(body, applications)
					if n == 0 {
						continue
					}
					runs++
					assert.Equal(t, m.Kept.Entries()*m.Rows*m.Vectors, n, "%s: products in a loop's body\n%s", cpp.MicroName(m), strings.Join(body, "\n"))
					assert.Empty(t, f.StackAccesses(body), "%s: accesses to the stack in a loop's body\n%s", cpp.MicroName(m), strings.Join(body, "\n"))
				}
				assert.Equal(t, len(m.Kept.Taps), runs, "%s: a loop for each pattern", cpp.MicroName(m))
			}
		})
	}
}

// TestColumns: rows of a tile share what they load of a column of taps, unless each tap is to load by itself.
func TestColumns(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x8"), X: instr.Vector, Rows: 4, Vectors: 2, RowStep: 20,
		Kept: &loop.Kept{Blocks: 1, Taps: [][]int64{{0, 1, 20, 41}}, Channels: 9, Group: 9, Step: 100}}
	assert.Equal(t, []loop.Column{{First: 0, Taps: []int64{0, 2}, From: []int64{0, 1}}, {First: 1, Taps: []int64{1, 3}, From: []int64{0, 2}}}, m.Columns(m.Kept.Taps[0]))
	assert.InDelta(t, (5+6)*2, m.KeptLoads(), 0)
	assert.Equal(t, int64(6), m.KeptRows(m.Kept.Taps[0]))
	assert.Equal(t, 22, strings.Count(cpp.Micro(m), "= dnn_load<"))
	name := cpp.MicroName(m)
	m.Kept.Alone = true
	assert.Equal(t, name+"_alone", cpp.MicroName(m))
	assert.Len(t, m.Columns(m.Kept.Taps[0]), 4)
	assert.Equal(t, 32, strings.Count(cpp.Micro(m), "= dnn_load<"))
}
