package tiled

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/weights"
)

// TestContractionSchedules: what is proposed for a contraction is all that its kernel is made of.
func TestContractionSchedules(t *testing.T) {
	for name, text := range contracttest.Contractions {
		for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
			for k := range 4 {
				typ, blocked := []ir.DType{ir.F32, ir.F16}[k/2], k%2 == 1
				t.Run(fmt.Sprintf("%s, %s, %s, blocked %t", name, typ, chipName, blocked), func(t *testing.T) {
					b, env := contracttest.Convolution(t, typ, text, chipName, blocked)
					c := Lay(b, env)
					if c == nil { // row-major depthwise ones, say
						return
					}
					p, _ := c.Plan(env, nil)
					require.NotNil(t, p)
					made := c.Proposal(p, env)
					work, s := &made.Work, &made.Sched
					k, err := follow.Kernel(work, s, env.Target)
					require.NoError(t, err, s)
					require.NoError(t, loop.Verify(k), s)
					for _, st := range s.Stages {
						for _, l := range st.Loops {
							assert.False(t, sym.IsSymbol(l.Var) || sym.IsSymbol(l.Axis), "loop %s of %s: a symbol of a model may be called so", l.Var, l.Axis)
						}
					}
					again, err := sched.Parse(s.String())
					require.NoError(t, err, s)
					require.Equal(t, s.String(), again.String())
					k2, err := follow.Kernel(work, again, env.Target)
					require.NoError(t, err)
					assert.Equal(t, k.String(), k2.String())
				})
			}
		}
	}
}

// TestLastTask: what tasks of a known number of pixels have left is a tile of that many rows, of the last task alone, also where each
// widens its own pixels.
func TestLastTask(t *testing.T) {
	for _, typ := range []ir.DType{ir.F32, ir.F16} {
		b, env := contracttest.Convolution(t, typ, "1, 64, 56, 56; 128, 64, 1, 1; ", "x86_64_v3", true)
		kernels, err := Candidates(b, env)
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		require.NoError(t, kernels[0].Make())
		rows := map[int64]bool{}
		loop.Walk(kernels[0].Kernel.Body, func(s loop.Stmt) bool {
			if x, ok := s.(loop.Tile); ok {
				rows[x.Micro.Rows] = true
			}
			return true
		})
		assert.Equal(t, map[int64]bool{6: true, 56 * 56 % 6: true}, rows)
	}
}

// TestGivenPackings: kernels read weights as another chip's kernel has them packed, in groups of more channels than their tiles, and in more
// groups than there are channels for; or there is none.
func TestGivenPackings(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		given weights.Packing
		none  bool
	}{
		"tiles of half a group":       {"1, 64, 14, 14; 96, 64, 1, 1; ", weights.Packing{Lanes: 32, Groups: 3, Parts: 1, Type: ir.F32}, false},
		"the last group not full":     {"1, 64, 14, 14; 80, 64, 1, 1; ", weights.Packing{Lanes: 32, Groups: 3, Parts: 1, Type: ir.F32}, false},
		"registers that are apart":    {"1, 64, 1, 1; 130, 64, 1, 1; ", weights.Packing{Lanes: 16, Groups: 10, Parts: 1, Type: ir.F32}, false},
		"groups of a convolution":     {"1, 64, 14, 14; 128, 32, 3, 3; group = 2", weights.Packing{Lanes: 64, Groups: 1, Parts: 1, Type: ir.F32}, false},
		"groups that no tile divides": {"1, 64, 14, 14; 96, 64, 1, 1; ", weights.Packing{Lanes: 12, Groups: 8, Parts: 1, Type: ir.F32}, true},
		"elements of another type":    {"1, 64, 14, 14; 96, 64, 1, 1; ", weights.Packing{Lanes: 32, Groups: 3, Parts: 1, Type: ir.F16}, true},
		"filters":                     {"1, 64, 14, 14; 96, 64, 3, 3; ", weights.Packing{Lanes: 32, Groups: 3, Parts: 1, Type: ir.F32, Results: 4}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, ir.F32, c.text, "x86_64_v3", false)
			env.Packing = &c.given
			kernels, err := Candidates(b, env)
			require.NoError(t, err)
			if c.none {
				assert.Empty(t, kernels)
				return
			}
			require.NotEmpty(t, kernels)
			l := kernels[0]
			require.NoError(t, l.Check(), l.Schedule)
			require.NoError(t, l.Make())
			require.NoError(t, loop.Verify(l.Kernel))
			assert.Equal(t, c.given, *l.Packing)
			args, err := l.Args()
			require.NoError(t, err)
			dims, _ := args[1].Shape.Static()
			assert.True(t, l.Kernel.Buffers[1].Size.Is(contracttest.Elements(dims)), "%s of %v", l.Kernel.Buffers[1].Size, dims)
			w, _ := b.Operands[1].Shape.Static()
			groups := int64(1)
			if strings.Contains(c.text, "group") {
				groups = 2
			}
			assert.Equal(t, groups*c.given.Groups*c.given.Lanes*contracttest.Elements(w[1:]), contracttest.Elements(dims))
		})
	}
}
