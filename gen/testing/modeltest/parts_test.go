package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// TestParts: index maps that move whole vectors once an axis is cut in two, with extents that are known and that
// only the run knows.
func TestParts(t *testing.T) {
	w := make([]string, 96*16)
	for i := range w {
		w[i] = fmt.Sprint(float32(i*7%31-15) / 16)
	}
	x := ir.NewTensor(ir.F32, 1, 16, 9, 40)
	for i := range int(x.Len()) {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i%23-11)/8))
	}
	for _, c := range []struct {
		name     string
		channels int
		op, text string
	}{
		{"parts of blocks", 24, "Concat", "  %j ?[*] = Concat.11(%c, %x, %c) {axis = 1} \"join\"\n" +
			"  %d ?[*] = Conv.11(%j, @v) {pads = [1, 1, 1, 1]} \"after\"\n"},
		{"places of a block", 96, "DepthToSpace", "  %d ?[*] = DepthToSpace.13(%c) {blocksize = 2} \"spread\"\n"},
		{"rows from several rows", 4, "DepthToSpace", "  %d ?[*] = DepthToSpace.13(%c) {blocksize = 2} \"spread\"\n"},
		{"rows of every second element", 4, "Resize", "  const @r f32[0] = {}\n  const @s f32[4] = {1, 1, 3, 3}\n" +
			"  %d ?[*] = Resize.13(%c, @r, @s) {mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"} \"grow\"\n"},
	} {
		for _, spatial := range []string{"9, 40", "H, W"} {
			t.Run(c.name+" "+spatial, func(t *testing.T) {
				text := fmt.Sprintf("  const @w f32[%d, 16, 1, 1] = {%s}\n  const @v f32[16, 64, 3, 3] = {%s}\n  input %%x f32[1, 16, %s]\n  %%c ?[*] = Conv.11(%%x, @w) \"conv\"\n",
					c.channels, strings.Join(w[:c.channels*16], ", "), strings.Join(slices.Repeat(w[:1024], 9), ", "), spatial) + c.text + "  %y ?[*] = Sigmoid.13(%d)\n  output %y\n"
				if spatial == "H, W" {
					text = "  symbol H 1..64\n  symbol W 1..64\n" + text
				}
				inputs := map[string]*ir.Tensor{"x": x}
				g := irtest.Parse(t, text)
				require.NoError(t, shape.Infer(g))
				want, err := interp.Graph(g, inputs)
				require.NoError(t, err)
				for _, config := range Configs(0) {
					got, err := Run(irtest.Parse(t, text), config, inputs)
					require.NoError(t, err, config.String())
					require.NoError(t, compare(got[0], want[0]), config.String())
				}
				p, err := Compile(irtest.Parse(t, text), Config{Chip: "x86_64_v4"})
				require.NoError(t, err)
				moved := 0
				for _, call := range p.Calls() {
					if call.Block.Ops[0] == c.op {
						moved++
						assert.False(t, storesAlone(call.Kernel.Body), "%s has other than vectors in %s", call.Block.Label(), p)
						blocked := p.Layouts[call.Args[len(call.Args)-1]] != layout.RowMajor
						assert.True(t, blocked || c.op != "Concat", "the convolution after %s reads what another step put into blocks in %s", call.Block.Label(), p)
					}
				}
				assert.Positive(t, moved, "no block of %s in %s", c.op, p)
			})
		}
	}
}

// storesAlone reports whether the statements store single elements.
func storesAlone(body []loop.Stmt) bool {
	found := false
	loop.Walk(body, func(s loop.Stmt) bool {
		_, stores := s.(loop.Store)
		x, loops := s.(loop.For)
		found = found || stores
		return !loops || x.Lanes == 0
	})
	return found
}
