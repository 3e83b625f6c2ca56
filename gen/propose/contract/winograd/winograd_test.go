package winograd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
)

// TestWinogradSchedules: each way to cut a convolution into tasks is a schedule that is proved, and whose text gives the same kernel.
func TestWinogradSchedules(t *testing.T) {
	for name, text := range map[string]string{
		"whole tiles":                     "1, 32, 24, 24; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"tiles that reach beyond":         "2, 32, 27, 13; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"channels that fill no block":     "1, 21, 12, 12; 37, 21, 3, 3; pads = [1, 1, 1, 1]",
		"parts":                           "1, 256, 14, 14; 256, 256, 3, 3; pads = [1, 1, 1, 1]",
		"one tile":                        "1, 64, 4, 4; 64, 64, 3, 3; pads = [0, 0, 0, 0]",
		"extents that only the run knows": "1, 16, M, N; 16, 16, 3, 3; pads = [1, 1, 1, 1]",
		"planes":                          "1, 16, 4, 9, 8; 24, 16, 3, 3, 3; pads = [1, 1, 1, 1, 1, 1]",
	} {
		for _, typ := range []ir.DType{ir.F32, ir.F16} {
			for _, chip := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
				t.Run(fmt.Sprintf("%s, %s, %s", name, typ, chip), func(t *testing.T) {
					b, env := contracttest.Convolution(t, typ, text, chip, true)
					env.Winograd = true
					for _, f := range append(transforms(env), wino.New(4, filterTaps).Part(1), wino.New(4, filterTaps).Part(3)) {
						for _, split := range splits {
							w, err := newFiltering(b, env, f)
							require.NoError(t, err)
							require.NotNil(t, w)
							if !w.choose(split.tiles, split.parts, nil) {
								continue
							}
							l, err := w.propose(env, nil)
							require.NoError(t, err)
							require.NoError(t, l.Check(), l.Schedule)
							require.NoError(t, l.Make())
							require.NoError(t, loop.Verify(l.Kernel), "%s\n%s", l.Schedule, l.Kernel)
							assert.Equal(t, w.name()+lower.DigestMark+l.Schedule.Digest(), l.Name)
							for _, name := range names(l.Schedule) {
								assert.False(t, sym.IsSymbol(name), "%s: a symbol of a model may be called so", name)
							}
							again, err := sched.Parse(l.Schedule.String())
							require.NoError(t, err)
							require.Equal(t, l.Schedule.String(), again.String())
							k, err := follow.Kernel(w.steps().work(), again, env.Target)
							require.NoError(t, err)
							k.Anchor = w.anchor()
							assert.Equal(t, l.Kernel.String(), env.Done(k, nil).Kernel.String())
						}
					}
				})
			}
		}
	}
}

// TestFetchedInputs: of convolutions whose inputs do not stay in the second-level cache, lines of inputs and results, and of what is added to
// them, come some tiles ahead, by a statement for each of them; where the processor fetches ahead by itself, or values are small, none.
func TestFetchedInputs(t *testing.T) {
	for name, c := range map[string]struct {
		text, chip string
		fetches    bool
	}{
		"large":                       {"1, 64, 120, 120; 64, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true},
		"channels that fill no block": {"1, 24, 120, 120; 24, 24, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true},
		"results that fill no block":  {"1, 64, 120, 120; 40, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true},
		"by itself":                   {"1, 64, 120, 120; 64, 64, 3, 3; pads = [1, 1, 1, 1]", "arm64", false},
		"small":                       {"1, 32, 40, 40; 64, 32, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", false},
		"short rows":                  {"1, 512, 120, 12; 64, 512, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", false},
	} {
		t.Run(name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, ir.F32, c.text, c.chip, true)
			env.Winograd = true
			kernels, err := Candidates(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			for _, l := range kernels {
				require.NoError(t, l.Check(), l.Schedule)
				require.NoError(t, l.Make())
				require.NoError(t, loop.Verify(l.Kernel))
				found := map[string]bool{}
				loop.Walk(l.Kernel.Body, func(s loop.Stmt) bool {
					if x, ok := s.(loop.Claim); ok && x.Later {
						found[x.Buf.Name+" "+x.Index.String()] = true
					}
					return true
				})
				want := 0
				if c.fetches {
					want = l.Packing.Results + filterTaps - 1 + 1 // rows of a tile's inputs, and one of its results
				}
				assert.Len(t, found, want, "%s\n%s", l.Schedule, l.Kernel)
			}
		})
	}
}

// names are what a schedule calls loops, axes and parts of them.
func names(s *sched.Schedule) []string {
	var out []string
	for _, st := range s.Stages {
		for _, l := range st.Loops {
			out = append(out, l.Var, l.Axis)
		}
		for _, r := range st.Regions {
			out = append(out, r.Axis)
			if r.Var != "" {
				out = append(out, r.Var)
			}
		}
		for _, x := range st.Splits {
			out = append(out, x.Axis, x.Outer, x.Inner)
		}
		for _, j := range st.Joins {
			out = append(append(out, j.Name), j.Axes...)
		}
	}
	return out
}

// TestGivenFilters: kernels read filters as another chip's kernel has them packed, in groups of more channels than their tiles, and in parts of
// several of their own; and the filters of each block are packed alike.
func TestGivenFilters(t *testing.T) {
	for name, c := range map[string]struct {
		given weights.Packing
		none  bool
	}{
		"its own":                       {weights.Packing{Lanes: 64, Groups: 2, Results: 4, Parts: 1, Type: ir.F32}, false},
		"in two parts":                  {weights.Packing{Lanes: 32, Groups: 4, Results: 4, Parts: 2, Type: ir.F32}, false},
		"groups of all channels":        {weights.Packing{Lanes: 128, Groups: 1, Results: 2, Parts: 1, Type: ir.F32}, false},
		"groups that no tile divides":   {weights.Packing{Lanes: 12, Groups: 11, Results: 4, Parts: 1, Type: ir.F32}, true},
		"weights as they are":           {weights.Packing{Lanes: 64, Groups: 2, Parts: 1, Type: ir.F32}, true},
		"a transform that is not tried": {weights.Packing{Lanes: 64, Groups: 2, Results: 6, Parts: 1, Type: ir.F32}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v3", true)
			env.Winograd, env.Packing = true, &c.given
			kernels, err := Candidates(b, env)
			require.NoError(t, err)
			if c.none {
				assert.Empty(t, kernels)
				return
			}
			require.NotEmpty(t, kernels)
			for _, l := range kernels {
				require.NoError(t, l.Check(), l.Schedule)
				require.NoError(t, l.Make())
				require.NoError(t, loop.Verify(l.Kernel))
				assert.Equal(t, c.given, *l.Packing)
				args, err := l.ArgsOf(b)()
				require.NoError(t, err)
				dims, _ := args[1].Shape.Static()
				assert.True(t, l.Kernel.Buffers[1].Size.Is(contracttest.Elements(dims)), "%s of %v", l.Kernel.Buffers[1].Size, dims)
			}
		})
	}
}
