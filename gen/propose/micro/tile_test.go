package micro

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// TestChosenTiles: what each chip's registers and rates come to, for 64 channels or a depthwise block.
func TestChosenTiles(t *testing.T) {
	for _, c := range []struct {
		chip   string
		x      instr.Operand
		pixels int64
		want   Tile
	}{
		{"x86_64", instr.Register, 3136, Tile{5, 2}},
		{"x86_64_v3", instr.Register, 3136, Tile{6, 2}},
		{"x86_64_v3", instr.Register, 49, Tile{5, 2}}, // 9 of 5 and one of 4, not 8 of 6 and one of 1
		{"x86_64_v3", instr.Vector, 56, Tile{14, 1}},
		{"x86_64_v4", instr.Memory, 3136, Tile{6, 4}},
		{"x86_64_v4", instr.Memory, 1, Tile{1, 4}},
		{"x86_64_v4", instr.Vector, 56, Tile{28, 1}},
		{"arm64", instr.Lane, 3136, Tile{6, 4}},
		{"arm64", instr.Lane, 49, Tile{10, 2}},
		{"arm64", instr.Register, 112, Tile{6, 4}},
		{"arm64_cortex_a55", instr.Lane, 3136, Tile{9, 2}},
		{"arm64", instr.Vector, 56, Tile{8, 2}},
	} {
		chip := chipstest.Target(t, c.chip)
		row := chip.Tile(ir.F32)
		block := chip.ChannelBlock()
		p := Tiled{T: chip, Instr: row, X: c.x, Pixels: c.pixels, Groups: 64 / block, PerBlock: block / row.Lanes, Steps: 576}
		if c.x == instr.Vector {
			p.Groups, p.Steps = 1, 9
		}
		got := p.Choose()
		assert.Equal(t, c.want, got, "%s, X as %s, %d pixels", c.chip, c.x, c.pixels)
		assert.LessOrEqual(t, row.Registers(c.x, got.Rows, got.Vectors), int64(chip.VectorRegisters))
	}
}

// TestWideningTiles: where a conversion of W takes the time of a product, tiles have many rows that share it; where it hardly takes any, they
// are those of f32; rows that are a multiple of the cache's ways apart are fewer.
func TestWideningTiles(t *testing.T) {
	for _, c := range []struct {
		chip   string
		stored ir.DType
		apart  int64
		want   Tile
	}{
		{"x86_64_v4", ir.Invalid, 0, Tile{4, 6}},
		{"x86_64_v4", ir.F16, 0, Tile{31, 1}},
		{"x86_64_v4", ir.BF16, 0, Tile{31, 1}},
		{"x86_64_v4", ir.F16, 4096, Tile{8, 1}},
		{"x86_64_zen2", ir.Invalid, 0, Tile{6, 2}},
		{"x86_64_zen2", ir.F16, 0, Tile{6, 2}},
	} {
		chip := chipstest.Target(t, c.chip)
		row := chip.Tile(ir.F32)
		p := Tiled{T: chip, Instr: row, X: row.Broadcaster(0), Pixels: 28 * 28, Groups: 12, PerBlock: 1, Steps: 512, Stored: c.stored, Apart: c.apart}
		assert.Equal(t, c.want, p.Choose(), "%s, %s, rows %d bytes apart", c.chip, c.stored, c.apart)
	}
}

// TestDisplaces: rows that lie a power of two apart meet in few sets, each of which has room for as many as the chip's facts say.
func TestDisplaces(t *testing.T) {
	for _, c := range []struct {
		l1d, ways, apart, most int64
	}{
		{32 << 10, 0, 0, 1000},
		{32 << 10, 0, 4096, MostRows},
		{32 << 10, 0, 1024, 24},
		{48 << 10, 12, 4096, 10},
		{64 << 10, 4, 4096, MostRows},
		{64 << 10, 4, 1024, 32},
		{32 << 10, 4, 1024, 16},
	} {
		p := Tiled{T: &target.Target{L1D: c.l1d, L1DWays: c.ways}, Apart: c.apart}
		assert.False(t, p.displaces(c.most), "%+v", c)
		assert.Equal(t, c.apart > 0, p.displaces(c.most+1), "%+v", c)
	}
}

// TestChosenIntegerTiles: of 2 blocks of 32 lanes, by what the instruction takes besides products.
func TestChosenIntegerTiles(t *testing.T) {
	chip := chipstest.Target(t, "hexagon_v68")
	for _, c := range []struct {
		row              string
		pixels, multiple int64
		want             Tile
	}{
		{"vrmpy_i8u8", 512, 0, Tile{15, 2}},
		{"vrmpy_i8u8", 512, 4, Tile{12, 2}},
		{"vrmpy_i8u8", 4, 4, Tile{4, 2}},
		{"vrmpy_u8i8", 512, 0, Tile{14, 2}},
		{"vrmpy_u8i8", 1, 0, Tile{1, 2}},
	} {
		row := instr.Lookup(c.row)
		p := Tiled{T: chip, Instr: row, X: row.Broadcaster(0), Pixels: c.pixels, Groups: 2, PerBlock: 1, Steps: 64, Multiple: c.multiple}
		assert.Equal(t, c.want, p.Choose(), "%+v", c)
	}
}

// TestTileForSeveralProcessors: of two synthetic processors one waits for loads and the other one for its only unit that multiplies. What each of them
// likes best loses on the other one; the tile that is chosen for both loses least.
func TestTileForSeveralProcessors(t *testing.T) {
	facts := func(name, rates, more string) string {
		return `{"name": "` + name + `", "cpu": "x86_64", "vector_bits": 512, "vector_registers": 32, "cpu_features": ["avx512f"], "instructions": ["fma_f32x16"], "l1d_bytes": 1000000, ` + rates + more + `}`
	}
	loads, issue := facts("loads", `"fma_per_cycle": 4, "loads_per_cycle": 0.5, "issue_per_cycle": 8`, ""), facts("late", `"fma_per_cycle": 1, "loads_per_cycle": 8, "issue_per_cycle": 1`, "")
	choice := func(facts string) *Tiled {
		chip, err := target.Parse([]byte(facts))
		require.NoError(t, err)
		return &Tiled{T: chip, Instr: chip.Tile(ir.F32), X: instr.Memory, Pixels: 31, Groups: 4, PerBlock: 1, Steps: 64}
	}
	both := choice(facts("any", `"fma_per_cycle": 2`, `, "runs_on": [`+loads+`, `+issue+`]`))
	one, other := choice(loads), choice(issue)
	loss := func(x Tile) float64 {
		return max(one.cost(x)/one.cost(one.Choose()), other.cost(x)/other.cost(other.Choose()))
	}
	chosen := both.Choose()
	assert.NotEqual(t, one.Choose(), other.Choose(), "they disagree")
	for _, x := range both.Fitting() {
		assert.LessOrEqual(t, loss(chosen), loss(x), "%s instead of %s", x, chosen)
	}
	assert.Less(t, loss(chosen), max(loss(one.Choose()), loss(other.Choose())))
}

// TestLatency: a tile of few accumulators waits for them, longer where a chip says so; what only sums integers does not.
func TestLatency(t *testing.T) {
	c := *chipstest.Target(t, "x86_64_v3")
	row, integers := c.Tile(ir.F32), instr.Lookup("pmaddwd_i16x8")
	step := func(r *instr.Row, rows int64) float64 {
		return cost.Step(&c, r, r.Broadcaster(0), ir.Invalid, 0, rows, 1)
	}
	few, many, whole := step(row, 2), step(row, 12), step(integers, 2)
	c.FMALatency = row.Latency + 1
	assert.InDelta(t, few+1, step(row, 2), 1e-9)
	assert.InDelta(t, many, step(row, 12), 1e-9)
	assert.InDelta(t, whole, step(integers, 2), 1e-9)
}

// TestNextW: of W that is a stream, tiles fetch as much of what follows as the second-level cache has room for beside their own.
func TestNextW(t *testing.T) {
	chip := &target.Target{L2: 1 << 20}
	for _, c := range []struct {
		name   string
		tile   sched.Tile
		stored ir.DType
		own    int64
		want   int64
	}{
		{"there is room for all", sched.Tile{Row: "fma_f32x16", Ahead: 2048}, ir.F32, 512 * 64, 512 * 64},
		{"there is room for a part", sched.Tile{Row: "fma_f32x16", Ahead: 2048}, ir.F32, 2560 * 64, 1<<18 - 2560*64},
		{"halves take half the room", sched.Tile{Row: "fma_f32x16", Ahead: 2048}, ir.F16, 2560 * 64, 2560 * 64},
		{"more than the cache holds", sched.Tile{Row: "fma_f32x16", Ahead: 2048}, ir.F32, 4096 * 64, 0},
		{"no stream", sched.Tile{Row: "fma_f32x16"}, ir.F32, 512 * 64, 0},
		{"groups of products", sched.Tile{Row: "vpdpbusd_u8i8x16", Ahead: 2048}, ir.I8, 512 * 64, 0},
	} {
		assert.Equal(t, c.want, NextW(chip, &c.tile, c.stored, c.own), c.name)
	}
}
