package contracttest

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/propose/weights"
)

// BenchmarkEstimate is what one schedule takes to estimate, the last one that each proposer gives, of each kind of contraction: its micro-kernels,
// and the cycles of these and of all else, which together take at most 100 microseconds.
func BenchmarkEstimate(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(Contractions)) {
		b.Run(name, func(b *testing.B) {
			block, env := Convolution(b, ir.F32, Contractions[name], "x86_64_v4", true)
			benchmarkEstimate(b, tiled.Candidates, block, env)
		})
	}
	for _, x := range []struct {
		name    string
		propose proposer
		of      func(t testing.TB) (*block.Block, *lower.Env)
	}{
		{"Winograd", winograd.Candidates, func(t testing.TB) (*block.Block, *lower.Env) {
			block, env := Convolution(t, ir.F32, "1, 256, 14, 14; 256, 256, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
			env.Winograd = true
			return block, env
		}},
		{"pruned", pruned.Filters, prunedConvolution},
		{"pixels", pruned.Pixels, func(t testing.TB) (*block.Block, *lower.Env) {
			block, env := prunedConvolution(t)
			env.Layouts = rowMajorEnv(t, "x86_64_v4").Layouts
			return block, env
		}},
		{"pixels apart", pruned.Apart, func(t testing.TB) (*block.Block, *lower.Env) {
			block, env := prunedConvolution(t)
			layouts := map[*ir.Value]layout.Layout{}
			require.NoError(t, pruned.PixelLayouts(block, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
			env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
			return block, env
		}},
		{"product", product.Propose, lowertest.Product},
		{"product of a large matrix", product.Propose, func(t testing.TB) (*block.Block, *lower.Env) {
			return lowertest.Formed(t, "  input %x f32[2, 12, 128, 64]\n  input %w f32[2, 12, 64, 128]\n  %y ?[*] = MatMul.13(%x, %w)\n  output %y\n"), rowMajorEnv(t, "x86_64_v4")
		}},
		{"product of integers", product.Propose, func(t testing.TB) (*block.Block, *lower.Env) {
			return lowertest.Formed(t, "  input %x u8[1, 32, 28, 28]\n  input %w i8[48, 32, 3, 3]\n  %y ?[*] = ConvInteger.10(%x, %w) {pads = [1, 1, 1, 1]}\n  output %y\n"), rowMajorEnv(t, "x86_64_v4_vnni")
		}},
		{"product on Hexagon", product.Propose, func(t testing.TB) (*block.Block, *lower.Env) {
			return lowertest.Formed(t, lowertest.Neighbours), lowertest.HexagonEnv(t, nil)
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			block, env := x.of(b)
			benchmarkEstimate(b, x.propose, block, env)
		})
	}
}

// prunedConvolution is one with weights of which four of nine are kept.
func prunedConvolution(t testing.TB) (*block.Block, *lower.Env) {
	b, env := Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
	env.Pruned = weights.NewEncodings()
	Prune(b, 4)
	return b, env
}

// rowMajorEnv is of values that are row-major on a chip.
func rowMajorEnv(t testing.TB, name string) *lower.Env {
	return lower.NewEnv(lowertest.Chip(t, name), nil, lower.Options{Contractions: true, Windows: true, Vectors: true})
}

func benchmarkEstimate(b *testing.B, propose proposer, block *block.Block, env *lower.Env) {
	kernels, err := propose(block, env)
	require.NoError(b, err)
	if len(kernels) == 0 {
		b.Skip("none in this layout")
	}
	l := kernels[len(kernels)-1]
	b.Run("tiles", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := follow.Tiles(l.Work, l.Schedule, env.Target); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cycles", func(b *testing.B) {
		if _, ok := cyclesOf(l, env); !ok {
			b.Skip("of its loops")
		}
		b.ReportAllocs()
		for b.Loop() {
			cyclesOf(l, env)
		}
	})
}
