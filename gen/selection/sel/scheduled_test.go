package sel

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestScheduleIsVerified: of what is chosen, also the schedule is proved.
func TestScheduleIsVerified(t *testing.T) {
	g, c := run(t, tuned)
	broken := 0
	for _, b := range g.Blocks {
		if s := c.Kernels[b].Schedule; s != nil {
			broken++
			s.Stages[len(s.Stages)-1].Loops[0].Axis = "nothing"
		}
	}
	require.Positive(t, broken)
	assert.ErrorContains(t, c.Verify(g, loop.Proofs{}), `loop p0 walks "nothing", which is not an axis of the stage`)
}

// TestMeasuredVariant: the tile that was measured as another variant's fastest one is its own where it can read the weights of the widest
// one, although its schedule is another one then.
func TestMeasuredVariant(t *testing.T) {
	library, err := target.Library([]*target.Target{chipstest.Target(t, "x86_64_v3"), chipstest.Target(t, "x86_64_v4")})
	require.NoError(t, err)
	variant := func(o Options) Kernel {
		g := fused(t, twoConvolutions())
		c, err := Run(g, library[1], tuned)
		require.NoError(t, err)
		require.NoError(t, c.Variant(g, library[0], o, true))
		require.NoError(t, c.Verify(g, loop.Proofs{}))
		for b, k := range c.Others[0] {
			if len(b.Ops) == 1 && b.Ops[0] == "Conv" {
				return k
			}
		}
		t.Fatal("no convolution")
		return Kernel{}
	}
	o := tuned
	o.Candidate = 1
	all := variant(o).Tuning
	o.Candidate = 0
	tiles := 0
	for _, name := range all.Kernels {
		if lower.Unhashed(name) == name {
			continue // no tile
		}
		o.Times = tuning.Times{all.Key: {{Name: name, Micros: 1}}}
		k := variant(o)
		if k.SamePacking {
			assert.Equal(t, lower.Unhashed(name), lower.Unhashed(k.Name))
			tiles++
		} else {
			assert.Equal(t, name, k.Name)
		}
		require.NotNil(t, k.Tuning)
	}
	assert.Positive(t, tiles)
}

// TestEqualContractions: blocks that are equal up to names and weights share a kernel, and each packs its own weights.
func TestEqualContractions(t *testing.T) {
	g := fused(t, filters("a", 32, 32, 1, 1)+strings.ReplaceAll(filters("b", 32, 32, 1, 1), "0.5", "0.25")+`
  input %x f32[1, 32, 28, 28]
  %y f32[1, 32, 28, 28] = Conv.11(%x, @a)
  %z f32[1, 32, 28, 28] = Conv.11(%y, @b)
  output %z
`)
	c, err := Run(g, chipstest.Target(t, "x86_64_v3"), Options{Options: lower.Options{Contractions: true, Vectors: true}})
	require.NoError(t, err)
	require.NoError(t, c.Verify(g, loop.Proofs{}))
	kernels, packed := map[*loop.Kernel]bool{}, map[string]string{}
	for _, b := range g.Blocks {
		k := c.Kernels[b]
		if k.Kernel.Anchor != "contraction" {
			continue
		}
		kernels[k.Kernel] = true
		args, err := k.Args()
		require.NoError(t, err)
		assert.Equal(t, b.Operands[0], args[0])
		assert.Equal(t, b.Results[0], args[2])
		raw, err := args[1].Const.Bytes()
		require.NoError(t, err)
		packed[args[1].Name] = fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	assert.Len(t, kernels, 1)
	assert.Equal(t, map[string]string{"a.packed": "0.5", "b.packed": "0.25"}, packed)
}

// TestBestOfSeveral: of kernels that two processors like differently, the one is chosen that loses least on either; the estimates of the chip that
// stands for them decide where there are none of theirs.
func TestBestOfSeveral(t *testing.T) {
	kernel := func(name string, cycles float64, on ...float64) Kernel {
		return Kernel{Lowered: &lower.Lowered{Name: name}, Cycles: cycles, on: on}
	}
	assert.Equal(t, "b", best([]Kernel{kernel("a", 1, 100, 80), kernel("b", 3, 120, 44), kernel("c", 2, 150, 40)}).Name)
	assert.Equal(t, "a", best([]Kernel{kernel("a", 1), kernel("b", 3), kernel("c", 2)}).Name)
	assert.Equal(t, "a", best([]Kernel{kernel("a", math.NaN()), kernel("b", 3)}).Name, "a chip without rates has no estimates: the first")
	assert.Nil(t, best(nil).Lowered)
}
