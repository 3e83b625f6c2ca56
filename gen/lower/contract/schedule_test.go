package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/lowertest"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// contractions of each kind: X, W, and the attributes of a Conv.
var contractions = map[string]string{
	"one point":           "1, 32, 9, 9; 40, 32, 1, 1; ",
	"windows":             "1, 32, 30, 30; 24, 32, 3, 3; pads = [1, 1, 1, 1]",
	"runs":                "1, 64, 14, 14; 512, 64, 1, 1; strides = [2, 2]",
	"bands":               "1, 16, 32, 32; 16, 16, 3, 3; pads = [1, 1, 1, 1]",
	"depthwise":           "1, 32, 30, 30; 32, 1, 3, 3; group = 32, pads = [1, 1, 1, 1]",
	"groups":              "1, 96, 14, 14; 72, 24, 3, 3; group = 4, pads = [1, 1, 1, 1]",
	"groups in blocks":    "1, 48, 14, 14; 48, 12, 3, 3; group = 4, pads = [1, 1, 1, 1]",
	"a vector":            "1, 64, 1, 1; 130, 64, 1, 1; ",
	"width of the run":    "1, 32, 9, N; 40, 32, 3, 3; pads = [1, 1, 1, 1]",
	"pixels of the run":   "1, 32, M, N; 40, 32, 1, 1; ",
	"channels in no tile": "1, 20, 30, 30; 20, 20, 3, 3; pads = [1, 1, 1, 1]",
}

// TestContractionSchedules: what is proposed for a contraction is all that its kernel is made of.
func TestContractionSchedules(t *testing.T) {
	for name, text := range contractions {
		for _, chipName := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
			for k := range 4 {
				typ, blocked := []ir.DType{ir.F32, ir.F16}[k/2], k%2 == 1
				t.Run(fmt.Sprintf("%s, %s, %s, blocked %t", name, typ, chipName, blocked), func(t *testing.T) {
					b, env := convolution(t, typ, text, chipName, blocked)
					c := newLaid(b, env)
					if c == nil { // row-major depthwise ones, say
						return
					}
					p, _ := c.plan(env, nil)
					require.NotNil(t, p)
					made := c.proposal(p, env)
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

// convolution is a block that is one, by the shapes of X and W, attributes, and a shape of B, if it has one; and its surroundings.
func convolution(t testing.TB, typ ir.DType, text, chipName string, blocked bool) (*block.Block, *lower.Env) {
	t.Helper()
	parts := strings.Split(text, "; ")
	x, w, attrs := parts[0], parts[1], parts[2]
	bias, operand := "", ""
	if len(parts) > 3 {
		bias, operand = fmt.Sprintf("  input %%w2 %s[%s]\n", typ, parts[3]), ", %w2"
	}
	g := irtest.Parse(t, fmt.Sprintf("  symbol M 1..64\n  symbol N 1..64\n  input %%x %s[%s]\n  input %%w %s[%s]\n%s  %%y ?[*] = Conv.11(%%x, %%w%s) {%s}\n  output %%y\n", typ, x, typ, w, bias, operand, attrs))
	require.NoError(t, shape.Infer(g))
	bs, err := block.Form(g)
	require.NoError(t, err)
	b := bs.Blocks[0]
	for _, v := range b.Operands {
		if v.Name == "w" || v.Name == "w2" {
			dims, _ := v.Shape.Static()
			v.Const = ir.NewTensor(typ, dims...)
		}
	}
	chip := lowertest.Chip(t, chipName)
	lay := func(v *ir.Value) layout.Layout {
		if blocked && v.Const == nil {
			return layout.Blocked(1, chip.ChannelBlock())
		}
		return layout.RowMajor
	}
	facts := sym.Facts{"M": {Lo: 1, Hi: 64}, "N": {Lo: 1, Hi: 64}}
	return b, &lower.Env{Layouts: lay, Symbols: facts, Target: chip, Contractions: true, Windows: true, Vectors: true}
}

// TestLastTask: what tasks of a known number of pixels have left is a tile of that many rows, of the last task alone, also where each
// widens its own pixels.
func TestLastTask(t *testing.T) {
	for _, typ := range []ir.DType{ir.F32, ir.F16} {
		b, env := convolution(t, typ, "1, 64, 56, 56; 128, 64, 1, 1; ", "x86_64_v3", true)
		kernels, err := Contraction(b, env)
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

// TestWeightsReadTwice: what is stored transformed cannot be read as it was.
func TestWeightsReadTwice(t *testing.T) {
	b, env := convolution(t, ir.F32, "32, 32, 5, 5; 32, 32, 3, 3; ", "x86_64_v3", true)
	env.Winograd = true
	kernels, err := Winograd(b, env)
	require.NoError(t, err)
	assert.NotEmpty(t, kernels)
	at := te.AxisVars(b.Stage.Axes)
	b.Stage.Results = []te.Expr{te.Fn(ir.F32, "add", b.Stage.Results[0], te.Operand(1, ir.F32, at...))}
	kernels, err = Winograd(b, env)
	require.NoError(t, err)
	assert.Empty(t, kernels)
	direct, err := Contraction(b, env)
	require.NoError(t, err)
	require.NotEmpty(t, direct)
	args, err := direct[0].Args()
	require.NoError(t, err)
	assert.Equal(t, b.Operands[1], args[1], "as the results read it")
	assert.Len(t, args, 4, "X, W, W packed, and the result")
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
			b, env := convolution(t, ir.F32, c.text, "x86_64_v3", false)
			env.Packing = &c.given
			kernels, err := Contraction(b, env)
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
			assert.True(t, l.Kernel.Buffers[1].Size.Is(elements(dims)), "%s of %v", l.Kernel.Buffers[1].Size, dims)
			w, _ := b.Operands[1].Shape.Static()
			groups := int64(1)
			if strings.Contains(c.text, "group") {
				groups = 2
			}
			assert.Equal(t, groups*c.given.Groups*c.given.Lanes*elements(w[1:]), elements(dims))
		})
	}
}

func elements(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}
