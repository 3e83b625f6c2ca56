package contract

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/scalar"
	wino "rules_dnn/gen/winograd"
)

// TestSetsOfChannels: tasks that widen their pixels of 16 bits have sets of channels, also where the last set's tile has fewer: every tile's
// schedule is right.
func TestSetsOfChannels(t *testing.T) {
	for _, text := range []string{
		"1, 2048, 1, 1; 1000, 2048, 1, 1; ",
		"1, 512, 7, 7; 1000, 512, 1, 1; ",
		"1, 512, 7, 7; 2048, 512, 1, 1; ",
	} {
		for _, chip := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
			for _, typ := range []ir.DType{ir.F16, ir.BF16} {
				b, env := convolution(t, typ, text, chip, true)
				env.Tiles = 8
				kernels, err := Contraction(b, env)
				require.NoError(t, err)
				require.NotEmpty(t, kernels)
				for _, k := range kernels {
					require.NoError(t, k.Check(), "%s %s\n%s", text, chip, k.Schedule)
					require.NoError(t, k.Make())
					require.NoError(t, loop.Verify(k.Kernel), "%s", k.Schedule)
				}
			}
		}
	}
}

// TestWideWeights: few weights of 16 bits, which tiles find in the first-level cache, are packed as f32; many stay as they are.
func TestWideWeights(t *testing.T) {
	for text, want := range map[string]ir.DType{
		"1, 144, 56, 56; 24, 144, 1, 1; ": ir.F32,
		"1, 128, 56, 56; 64, 128, 1, 1; ": ir.F32,
		"1, 128, 56, 56; 80, 128, 1, 1; ": ir.F16,
	} {
		b, env := convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Contraction(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		assert.Equal(t, want, kernels[0].Packing.Type, "%s", text)
	}
}

// TestWidenedOnce: where weights are many, tasks have sets of channels whose weights stay in the second-level cache between those of one set;
// where all weights do, tasks have pixels, so that these are widened once.
func TestWidenedOnce(t *testing.T) {
	for text, want := range map[string]struct{ pixels, channels bool }{
		"1, 512, 7, 7; 2048, 512, 1, 1; ":                     {true, true},
		"1, 256, 56, 56; 64, 256, 1, 1; ":                     {true, false},
		"1, 128, 28, 28; 512, 128, 1, 1; ":                    {true, false},
		"1, 512, 14, 14; 1024, 512, 1, 1; ":                   {true, true},
		"1, 1024, 14, 14; 2048, 1024, 1, 1; strides = [2, 2]": {false, true},
	} {
		b, env := convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Contraction(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		s := kernels[0].Schedule.String()
		assert.Equal(t, want.pixels, strings.Contains(s, "task tc"), "%s\n%s", text, s)
		assert.Equal(t, want.channels, strings.Contains(s, "task cs") || strings.Contains(s, "task cg"), "%s\n%s", text, s)
	}
}

// TestStreamedHalves: of a narrow tile's W of 16 bits, which stays in the first-level cache, the next one is fetched, too, where all of W does not.
func TestStreamedHalves(t *testing.T) {
	for text, want := range map[string]bool{
		"1, 256, 28, 28; 512, 256, 1, 1; ": true,
		"1, 64, 28, 28; 64, 64, 1, 1; ":    false,
	} {
		b, env := convolution(t, ir.F16, text, "x86_64_v4", true)
		kernels, err := Contraction(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		s := kernels[0].Schedule
		tile := s.Stages[len(s.Stages)-1].Tile
		assert.Equal(t, want, tile.Ahead > 0, "%s\n%s", text, s)
		assert.Equal(t, want, tile.Next > 0, "%s\n%s", text, s)
	}
}

// TestTasksOfRuns: tiles of several rows of pixels leave enough tasks, which are sets of channels.
func TestTasksOfRuns(t *testing.T) {
	b, env := convolution(t, ir.F16, "1, 1024, 14, 14; 2048, 1024, 1, 1; strides = [2, 2]", "x86_64_v4", true)
	kernels, err := Contraction(b, env)
	require.NoError(t, err)
	require.NotEmpty(t, kernels)
	k := kernels[0]
	require.Contains(t, k.Schedule.String(), "rows tu", "tiles have runs")
	require.NoError(t, k.Make())
	tasks, known := k.Kernel.Tasks().Const()
	require.True(t, known)
	assert.GreaterOrEqual(t, tasks, int64(2*micro.FewTasks), "%s", k.Schedule)
}

// TestCopiedForSets: tasks that copy what they need of X compute all channels whose weights of 16 bits leave the second-level cache room, and not one
// group of a narrow tile's.
func TestCopiedForSets(t *testing.T) {
	for text, sets := range map[string]int64{
		"1, 128, 56, 56; 128, 128, 3, 3; pads = [1, 1, 1, 1], strides = [2, 2]": 1,
		"1, 256, 28, 28; 256, 256, 3, 3; pads = [1, 1, 1, 1], strides = [2, 2]": 4,
	} {
		b, env := convolution(t, ir.F16, text, "x86_64_v4", true)
		c := newLaid(b, env)
		require.NotNil(t, c)
		p, _ := c.plan(env, nil)
		require.NotNil(t, p)
		got := int64(1)
		if p.groupTasks {
			got = p.groups / max(p.setGroups, 1)
		}
		assert.Equal(t, sets, got, "%s", text)
		size := int64(ir.F16.Size()) * c.kSteps() * p.tileLanes * p.groups / got
		assert.LessOrEqual(t, size, c.t.L2/2, "%s", text)
	}
}

// filled gives a constant elements of one value, of f16 or bf16.
func filled(v *ir.Value, x float32) {
	bits := scalar.F32ToF16(x)
	if v.Type == ir.BF16 {
		bits = scalar.F32ToBF16(x)
	}
	for i := 0; i < len(v.Const.Data); i += 2 {
		binary.LittleEndian.PutUint16(v.Const.Data[i:], bits)
	}
}

// TestFilterType: filters are of 16 bits where roundings stay small, numbers within range, and loads convert.
func TestFilterType(t *testing.T) {
	for _, c := range []struct {
		name    string
		typ     ir.DType
		chip    string
		results int
		weight  float32
		want    ir.DType
	}{
		{"f16", ir.F16, "x86_64_v3", 2, 0.5, ir.F16},
		{"bf16", ir.BF16, "x86_64_v4", 2, 1e30, ir.BF16},
		{"a transform that makes more of roundings", ir.F16, "x86_64_v3", 4, 0.5, ir.F32},
		{"weights whose sums may be beyond f16", ir.F16, "x86_64_v3", 2, 30000, ir.F32},
		{"infinite weights are as they are", ir.F16, "x86_64_v3", 2, float32(math.Inf(1)), ir.F16},
		{"loads that do not convert", ir.F16, "arm64", 2, 0.5, ir.F32},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, env := convolution(t, c.typ, "1, 16, 14, 14; 16, 16, 3, 3; pads = [1, 1, 1, 1]", c.chip, true)
			env.Winograd, env.Magnitudes = true, weights.NewMagnitudes()
			filled(b.Operands[1], c.weight)
			for range 2 { // the second time from memory
				w, err := newFiltering(b, env, wino.New(c.results, filterTaps))
				require.NoError(t, err)
				require.NotNil(t, w)
				assert.Equal(t, c.want, w.stored)
			}
		})
	}
}

// TestHalfFilters: filters of 16 bits are those of f32, rounded, in whatever pieces they are read.
func TestHalfFilters(t *testing.T) {
	b, env := convolution(t, ir.F16, "1, 21, 14, 14; 37, 21, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v3", true)
	env.Winograd = true
	data := b.Operands[1].Const.Data
	for i := 0; i < len(data); i += 2 {
		binary.LittleEndian.PutUint16(data[i:], scalar.F32ToF16(float32(i*7%201-100)/64))
	}
	bytes := map[ir.DType][]byte{}
	for _, typ := range []ir.DType{ir.F16, ir.F32} {
		w, err := newFiltering(b, env, wino.New(2, filterTaps))
		require.NoError(t, err)
		w.stored = typ
		require.True(t, w.choose(1, 1, nil))
		v := w.packFilters(b.Operands[1])
		require.Equal(t, typ, v.Type)
		all, err := v.Const.Bytes()
		require.NoError(t, err)
		piece, size := make([]byte, 64), int64(len(all))
		for _, at := range []int64{0, 6, size/2 - 2, size - 64} {
			at -= at % int64(typ.Size())
			require.NoError(t, v.Const.ReadBytes(piece, at))
			assert.Equal(t, all[at:at+64], piece, "%s at %d", typ, at)
		}
		bytes[typ] = all
	}
	require.Len(t, bytes[ir.F32], 2*len(bytes[ir.F16]))
	some := false
	for i := 0; i < len(bytes[ir.F16]); i += 2 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(bytes[ir.F32][2*i:]))
		require.Equal(t, scalar.F32ToF16(x), binary.LittleEndian.Uint16(bytes[ir.F16][i:]), "element %d", i/2)
		some = some || x != 0
	}
	assert.True(t, some, "all filters are zero")
}
