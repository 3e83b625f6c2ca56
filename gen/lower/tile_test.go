package lower

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

func chip(t testing.TB, name string) *target.Target {
	c, err := chips.Target("../..", name)
	require.NoError(t, err)
	return c
}

// TestChosenTiles: what each chip's registers and rates come to, for 64 channels or a depthwise block.
func TestChosenTiles(t *testing.T) {
	for _, c := range []struct {
		chip   string
		x      instr.Operand
		pixels int64
		want   tile
	}{
		{"x86_64", instr.Register, 3136, tile{5, 2}},
		{"x86_64_v3", instr.Register, 3136, tile{6, 2}},
		{"x86_64_v3", instr.Register, 49, tile{5, 2}}, // 9 of 5 and one of 4, not 8 of 6 and one of 1
		{"x86_64_v3", instr.Vector, 56, tile{14, 1}},
		{"x86_64_v4", instr.Memory, 3136, tile{6, 4}},
		{"x86_64_v4", instr.Memory, 1, tile{1, 4}},
		{"x86_64_v4", instr.Vector, 56, tile{28, 1}},
		{"arm64", instr.Lane, 3136, tile{9, 2}},
		{"arm64", instr.Register, 112, tile{5, 4}},
		{"arm64", instr.Vector, 56, tile{8, 2}},
	} {
		chip := chip(t, c.chip)
		row := chip.Tile(ir.F32)
		block := chip.ChannelBlock()
		p := tiled{t: chip, instr: row, x: c.x, pixels: c.pixels, groups: 64 / block, perBlock: block / row.Lanes, steps: 576}
		if c.x == instr.Vector {
			p.groups, p.steps = 1, 9
		}
		got := p.choose()
		assert.Equal(t, c.want, got, "%s, X as %s, %d pixels", c.chip, c.x, c.pixels)
		assert.LessOrEqual(t, row.Registers(c.x, got.rows, got.vectors), int64(chip.VectorRegisters))
	}
}

// TestChosenIntegerTiles: of 2 blocks of 32 lanes, by what the instruction takes besides products.
func TestChosenIntegerTiles(t *testing.T) {
	chip := chip(t, "hexagon_v68")
	for _, c := range []struct {
		row              string
		pixels, multiple int64
		want             tile
	}{
		{"vrmpy_i8u8", 512, 0, tile{15, 2}},
		{"vrmpy_i8u8", 512, 4, tile{12, 2}},
		{"vrmpy_i8u8", 4, 4, tile{4, 2}},
		{"vrmpy_u8i8", 512, 0, tile{14, 2}},
		{"vrmpy_u8i8", 1, 0, tile{1, 2}},
	} {
		row := instr.Lookup(c.row)
		p := tiled{t: chip, instr: row, x: row.Broadcaster(0), pixels: c.pixels, groups: 2, perBlock: 1, steps: 64, multiple: c.multiple}
		assert.Equal(t, c.want, p.choose(), "%+v", c)
	}
}
