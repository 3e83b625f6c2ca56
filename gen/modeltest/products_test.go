package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/target"
)

func hexagon(t *testing.T, instructions ...string) *target.Target {
	c, err := Hexagon(instructions...)
	require.NoError(t, err)
	return c
}

// stepsOf are a program's anchors, with their results' layouts.
func stepsOf(p *plan.Program) string {
	var out []string
	for _, s := range p.Calls() {
		out = append(out, fmt.Sprintf("%s %s", s.Kernel.Anchor, p.Layouts[s.Args[len(s.Args)-1]]))
	}
	return strings.Join(out, "; ")
}

// chosen are the steps of some products where all instructions are there, and where there is only
// the one that reads an operand in the 4-column layout.
var chosen = map[string][2]string{
	// Rows of X are read as they lie; converting them pays less than it takes.
	"whole": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	// Groups of X must be whole.
	"remainders": {
		"generic axis1/4; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"signed": {"dot vrmpy_i8i8 row-major", "generic row-major"},
	// Less their zero point, these weights have 8 bits and a sign; others have not.
	"unsigned_weights": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"wide_weights": {"generic row-major", "generic row-major"},
	// What is no constant is converted to the layout that the compiler packs constants in.
	"weights_given": {
		"generic axis1/32+axis0/4; dot vrmpy_u8i8 row-major",
		"generic row-major",
	},
	// One product writes what the next one reads.
	"chain": {
		"dot vrmpy_u8i8 row-major; dot vrmpy_u8i8 row-major; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 axis0/32+axis1/4; dot vrmpy_i8u8 axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
}

// TestProducts: what instructions compute in loops is, byte for byte, what the stages mean.
func TestProducts(t *testing.T) {
	for _, p := range AllProducts {
		t.Run(p.Name, func(t *testing.T) {
			g, inputs := p.Graph()
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			var steps [2]string
			for i, c := range []*target.Target{hexagon(t), hexagon(t, "vrmpy_i8u8"), hexagon(t, "vrmpy_u8i8")} {
				g, inputs := p.Graph()
				program, err := CompileFor(g, c, nil)
				require.NoError(t, err)
				got, err := run.Program(program, InputsOf(program, inputs))
				require.NoError(t, err)
				assert.Equal(t, want[0].Data, got[0].Data, stepsOf(program))
				if i < len(steps) {
					steps[i] = stepsOf(program)
				}
			}
			if want, ok := chosen[p.Name]; ok {
				assert.Equal(t, want, steps)
			}
		})
	}
}
