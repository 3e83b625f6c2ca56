package modeltest

import (
	"fmt"
	"os"
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

// hexagon is the chip of integers with some of its instructions only.
func hexagon(t *testing.T, instructions ...string) *target.Target {
	facts, err := os.ReadFile("../../platforms/chips/hexagon_v68.json")
	require.NoError(t, err)
	text := string(facts)
	if len(instructions) > 0 {
		from := strings.Index(text, `"instructions": [`)
		to := from + strings.Index(text[from:], "]")
		text = text[:from] + `"instructions": ["` + strings.Join(instructions, `", "`) + `"` + text[to:]
	}
	c, err := target.Parse([]byte(text))
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

// chosen are the steps of the products that are chosen where all instructions are there, and
// where there is only the one that reads an operand in the 4-column layout.
var chosen = map[string][2]string{
	"whole": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"one_row": {
		"dot vrmpy_u8i8 row-major",
		"generic row-major",
	},
	"remainders": {
		"generic axis1/4; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"below": {
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"one": {
		"generic row-major",
		"generic row-major",
	},
	"signed": {
		"dot vrmpy_i8i8 row-major",
		"generic row-major",
	},
	"unsigned_weights": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"wide_weights": {
		"generic row-major",
		"generic row-major",
	},
	"zero_of_each_column": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"batch": {
		"generic axis3/4; dot vrmpy_u8i8 row-major",
		"generic axis2/32+axis3/4; dot vrmpy_i8u8 row-major",
	},
	"weights_given": {
		"generic axis1/32+axis0/4; dot vrmpy_u8i8 row-major",
		"generic row-major",
	},
	"symbolic": {
		"generic axis1/4; dot vrmpy_u8i8 row-major",
		"generic row-major",
	},
	"scaled": {
		"generic axis1/4; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"wide": {
		"dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"chain": {
		"dot vrmpy_u8i8 row-major; dot vrmpy_u8i8 row-major; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 axis0/32+axis1/4; dot vrmpy_i8u8 axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"wide_chain": {
		"dot vrmpy_u8i8 row-major; dot vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
	},
	"chain_remainders": {
		"generic axis1/4; dot vrmpy_u8i8 row-major; generic axis1/4; dot vrmpy_u8i8 row-major; generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
		"generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major; generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major; generic axis0/32+axis1/4; dot vrmpy_i8u8 row-major",
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
			assert.Equal(t, chosen[p.Name], steps)
		})
	}
}
