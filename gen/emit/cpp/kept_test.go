package cpp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/emit/asm"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// keptTiles are the largest tiles over stored kernels that registers have room for: lanes are pixels, of rows so many elements apart, or
// filters, of pixels in blocks of as many channels.
func keptTiles(c *target.Target) []*loop.MicroKernel {
	row, room, weights := c.Tile(ir.F32), int64(c.VectorRegisters), int64(3)
	if c.LoadsEarly() { // weights of the next column, too
		room, weights = room-instr.EarlyLoads+1, 4
	}
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
		for row.RegistersApart(r+1, v, weights) <= room {
			r++
		}
		if r > 1 {
			out = append(out, &loop.MicroKernel{Instr: row, X: instr.Vector, Rows: r, Vectors: v, RowStep: pitch,
				Kept: &loop.Kept{Blocks: 1, Taps: taps(1), Channels: 64, Group: 64, Step: 580, Kernels: 180, Early: c.LoadsEarly()}})
		}
	}
	for v := int64(2); v <= 8; v++ { // pixels that are neighbours lie in registers beside each other
		r := int64(1)
		for row.RegistersApart(r+1, v, 4) <= room {
			r++
		}
		if row.RegistersApart(r, v, 4) <= room {
			step := row.Lanes
			out = append(out, &loop.MicroKernel{Instr: row, X: instr.Vector, Rows: r, Vectors: v, RowStep: pitch * step,
				Kept: &loop.Kept{Blocks: 1, Taps: taps(step), Channels: 64, Group: 64, Step: 580 * step, Kernels: 180, Early: c.LoadsEarly()}})
		}
	}
	if row.Allows(instr.Memory) { // products read two weights of four where they lie
		step := row.Lanes
		out = append(out, &loop.MicroKernel{Instr: row, X: instr.Vector, Rows: 4, Vectors: 7, RowStep: pitch * step, Adds: true,
			Kept: &loop.Kept{Blocks: 1, Part: 32, Held: 2, Taps: taps(step), Channels: 64, Group: 64, Step: 580 * step, Kernels: 90}})
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

// mostMoved is how many products of a tile there are for each access to the stack, at least, where not all weights are in registers.
const mostMoved = 8

// TestKeptInAssembly: the loops over kernels of a pattern have all products, one after the other without branches, load what rows share once, and
// touch no stack.
func TestKeptInAssembly(t *testing.T) {
	clang := tool(t, "clang", "clang-19", "clang-20", "clang-18", "clang-17")
	for _, name := range chipNames {
		t.Run(name, func(t *testing.T) {
			c := chipstest.Target(t, name)
			ms := keptTiles(c)
			for _, half := range storedHalves(ms) {
				if c.LoadsConvert(half.Stored) || c.CPU == "arm64" { // elsewhere conversions take registers, too
					ms = append(ms, half)
				}
			}
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
				assert.Contains(t, cpp.Micro(loop.Tile{Micro: m}, 2), "\nDNN_JOINED void ", "kernels that call it find its sums in registers")
				runs := 0
				for _, body := range f.Innermost() {
					n := asm.Count(body, applications)
					if n == 0 {
						continue
					}
					runs++
					assert.Equal(t, m.Kept.Entries()*m.Rows*m.Vectors, n, "%s: products in a loop's body\n%s", cpp.MicroName(m), strings.Join(body, "\n"))
					few := 0
					if m.Kept.Held > 0 { // sums end in other registers than they began in, however few weights are held, and change places by the stack
						few = int(n / mostMoved)
					}
					assert.LessOrEqual(t, len(f.StackAccesses(body)), few, "%s: accesses to the stack in a loop's body\n%s", cpp.MicroName(m), strings.Join(body, "\n"))
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
	assert.Equal(t, []loop.Column{{First: 0, Taps: []int64{0, 2}, From: []int64{0, 1}, Across: []int64{0, 0}}, {First: 1, Taps: []int64{1, 3}, From: []int64{0, 2}, Across: []int64{0, 0}}}, m.Columns(m.Kept.Taps[0]))
	assert.InDelta(t, (5+6)*2, m.KeptLoads(), 0)
	assert.Equal(t, int64(6), m.KeptRows(m.Kept.Taps[0]))
	assert.Equal(t, 22, strings.Count(cpp.Micro(loop.Tile{Micro: m}, 2), "= dnn_load<"))
	far := *m
	far.RowStep, far.Kept = 160, &loop.Kept{Blocks: 1, Taps: [][]int64{{8, 16, 160, 328}}, Channels: 9, Group: 9, Step: 1600}
	assert.Equal(t, []loop.Column{{First: 8, Taps: []int64{0, 1, 2, 3}, From: []int64{0, 0, 1, 2}, Across: []int64{0, 1, -1, 0}}}, far.Columns(far.Kept.Taps[0])[:1], "one is read for all taps")
	assert.True(t, far.KeptWhole())
	assert.False(t, m.KeptWhole())
	name := cpp.MicroName(m)
	early := *m.Kept
	early.Early = true
	ahead := *m
	ahead.Kept = &early
	text := cpp.Micro(loop.Tile{Micro: &ahead}, 2)
	assert.Equal(t, 22, strings.Count(text, "= dnn_load<"))
	first, _, _ := strings.Cut(text, "dnn_opaque_after")
	assert.Equal(t, 1+instr.EarlyLoads, strings.Count(first, "= dnn_load<"), "before the first products:\n%s", text)
	assert.Equal(t, 1, strings.Count(text, "x0 += 1;"), "loads of the second column lie whole registers behind each other:\n%s", text)
	assert.Equal(t, 12, strings.Count(text[strings.Index(text, "x0 += 1;"):], "= dnn_load<"), text)
	assert.Contains(t, text, "dnn_load<dnn_f32x8>(x0 + 48);")
	given := *m.Kept
	given.Given = true
	branches := *m
	branches.Kept = &given
	text = cpp.Micro(loop.Tile{Micro: &branches}, 2)
	assert.Contains(t, text, "switch (*index / 9u)")
	assert.Contains(t, text, "x + (int64_t)channel * 100")
	m.Kept.Alone = true
	assert.Equal(t, name+"_alone", cpp.MicroName(m))
	assert.Len(t, m.Columns(m.Kept.Taps[0]), 4)
	assert.Equal(t, 32, strings.Count(cpp.Micro(loop.Tile{Micro: m}, 2), "= dnn_load<"))
}
