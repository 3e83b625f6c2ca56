package tiled

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/contract/contracttest"
)

// TestDilated: a copy for windows that are dilated along the rows has the rows of their taps alone, where a band of rows would have more that nobody reads.
func TestDilated(t *testing.T) {
	for text, rows := range map[string]int64{
		"1, 128, 33, 33; 128, 128, 3, 3; dilations = [12, 12], pads = [12, 12, 12, 12]":            3,
		"1, 64, 33, 33; 64, 64, 3, 3; dilations = [6, 6], pads = [6, 6, 6, 6], strides = [2, 2]":   3,
		"1, 64, 33, 33; 64, 64, 3, 3; dilations = [6, 6], pads = [6, 6, 6, 6], strides = [3, 1]":   3,
		"1, 128, 33, 33; 128, 128, 3, 3; pads = [1, 1, 1, 1]":                                      0,
		"1, 128, 33, 33; 128, 128, 1, 3; dilations = [12, 12], pads = [0, 12, 0, 12]":              0,
		"1, 128, 33, 33; 128, 1, 3, 3; dilations = [12, 12], group = 128, pads = [12, 12, 12, 12]": 3,
	} {
		for _, chip := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
			b, env := contracttest.Convolution(t, ir.F32, text, chip, true)
			c := Lay(b, env)
			require.NotNil(t, c, "%s %s", text, chip)
			p, _ := c.Plan(env, nil)
			require.NotNil(t, p, "%s %s", text, chip)
			if rows == 0 {
				assert.NotEqual(t, rowOfCopy, c.copy.Stage.Axes[0].Var, "%s %s", text, chip)
			} else {
				require.Equal(t, rowOfCopy, c.copy.Stage.Axes[0].Var, "%s %s", text, chip)
				assert.Contains(t, c.copy.Shape[1:], ir.Dims(rows)[0], "%s %s", text, chip)
			}
			kernels, err := Candidates(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			for _, k := range kernels {
				require.NoError(t, k.Check(), "%s %s\n%s", text, chip, k.Schedule)
				if skips := strings.Contains(fmt.Sprint(k.Schedule), ", skips 5"); rows > 0 || !strings.Contains(text, "dilations") {
					assert.Equal(t, rows > 0 && !c.Window, skips, "%s %s: whether taps that are padding are left out\n%s", text, chip, k.Schedule)
				}
				require.NoError(t, k.Make())
				require.NoError(t, loop.Verify(k.Kernel), "%s", k.Schedule)
			}
		}
	}
}

// TestPaddedTaps: of neighbouring taps, too, tiles leave out those that are padding for all of their results, where these are many.
func TestPaddedTaps(t *testing.T) {
	for text, skips := range map[string]bool{
		"1, 96, 49; 96, 48, 128; group = 2, pads = [64, 64]": true, // of as many frames as fill a few tiles
		"1, 64, 20; 64, 64, 21; pads = [10, 10]":             true,
		"1, 64, 400; 64, 64, 5; pads = [2, 2]":               false,
		"1, 64, 14, 14; 64, 64, 3, 3; pads = [1, 1, 1, 1]":   false,
	} {
		for _, chip := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
			b, env := contracttest.Convolution(t, ir.F32, text, chip, true)
			kernels, err := Candidates(b, env)
			require.NoError(t, err)
			require.NotEmpty(t, kernels)
			found := false
			for _, k := range kernels {
				require.NoError(t, k.Check(), "%s %s\n%s", text, chip, k.Schedule)
				found = found || strings.Contains(fmt.Sprint(k.Schedule), ", skips 5")
				require.NoError(t, k.Make())
				require.NoError(t, loop.Verify(k.Kernel), "%s", k.Schedule)
			}
			assert.Equal(t, skips, found, "%s %s: whether taps that are padding are left out", text, chip)
		}
	}
}

// TestPaddedTapsOfLanes: where an instruction takes lanes of X, which are neighbouring taps, a tile leaves out whole registers of them.
func TestPaddedTapsOfLanes(t *testing.T) {
	for _, text := range []string{
		"1, 16, 3; 32, 4, 8; group = 4, pads = [7, 7]",
		"1, 16, 20; 32, 4, 64; group = 4, pads = [69, 63], strides = [3]",
		"1, 4, 20; 8, 4, 64; pads = [69, 32]",
		"1, 4, 9, 20; 8, 4, 3, 64; pads = [1, 69, 1, 32]",
	} {
		b, env := contracttest.Convolution(t, ir.F32, text, "arm64", false)
		kernels, err := Candidates(b, env)
		require.NoError(t, err)
		found := false
		for _, k := range kernels {
			found = found || strings.Contains(fmt.Sprint(k.Schedule), ", skips 5")
			require.NoError(t, k.Check(), "%s\n%s", text, k.Schedule)
			require.NoError(t, k.Make())
			require.NoError(t, loop.Verify(k.Kernel), "%s\n%s", text, k.Schedule)
		}
		assert.True(t, found, "%s: some tiles leave out taps that are padding", text)
	}
}
