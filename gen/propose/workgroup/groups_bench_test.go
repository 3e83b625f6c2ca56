package workgroup

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/target"
)

// BenchmarkEstimateOfGroups is what the estimate of one tile takes.
func BenchmarkEstimateOfGroups(b *testing.B) {
	b.Run("tile of a GPU", func(b *testing.B) {
		g := sharedFactors(lowertest.Formed(b, "  input %x f32[512, 512]\n  input %w f32[512, 512]\n  %y ?[*] = MatMul.13(%x, %w)\n  output %y\n"), deviceEnv(b, "opencl_nvidia"))
		require.NotNil(b, g)
		t := g.tiles()[0]
		b.ReportAllocs()
		for b.Loop() {
			g.estimate(t)
		}
	})
}

// deviceEnv is of row-major values on a device.
func deviceEnv(t testing.TB, name string) *lower.Env {
	facts, err := os.ReadFile("../../../platforms/devices/" + name + ".json")
	require.NoError(t, err)
	d, err := target.Parse(facts)
	require.NoError(t, err)
	return lower.NewEnv(d, nil, lower.Options{Contractions: true, Vectors: true})
}
