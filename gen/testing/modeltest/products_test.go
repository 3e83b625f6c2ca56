package modeltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
)

func hexagon(t *testing.T, instructions ...string) *target.Target {
	c, err := Hexagon(instructions...)
	require.NoError(t, err)
	return c
}

// stepsOf are a program's anchors, with the instructions of their tiles and their results' layouts.
func stepsOf(p *plan.Program) string {
	var out []string
	for _, s := range p.Calls() {
		words := []string{s.Kernel.Anchor}
		loop.Walk(s.Kernel.Body, func(s loop.Stmt) bool {
			if x, ok := s.(loop.Tile); ok && len(words) == 1 {
				words = append(words, x.Micro.Instr.Name)
			}
			return true
		})
		out = append(out, strings.Join(append(words, p.Layouts[s.Args[len(s.Args)-1]].String()), " "))
	}
	return strings.Join(out, "; ")
}

// chosen are the steps of some products where all instructions are there, and where there is only
// the one that reads an operand in the 4-column layout.
var chosen = map[string][2]string{
	// Rows of X are read as they lie; converting them pays less than it takes.
	"whole": {
		"product vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; product vrmpy_i8u8 row-major",
	},
	// Groups of X must be whole: a task packs its rows.
	"remainders": {
		"product vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; product vrmpy_i8u8 row-major",
	},
	// Where no instruction takes its type, a task packs X less 128, or more.
	"signed": {"product vrmpy_i8i8 row-major", "product vrmpy_i8u8 row-major"},
	// Minus their zero point, these weights have 8 bits and a sign; of others it is taken out of the sum.
	"unsigned_weights": {
		"product vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; product vrmpy_i8u8 row-major",
	},
	"wide_weights": {"product vrmpy_u8i8 row-major", "product vrmpy_i8u8 row-major"},
	// Tasks pack non-constant operands, too, or read them in the layout that the compiler packs constants in.
	"weights_given": {
		"product vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; product vrmpy_i8u8 row-major",
	},
	// One product writes what the next one reads.
	"chain": {
		"product vrmpy_u8i8 row-major; product vrmpy_u8i8 row-major; product vrmpy_u8i8 row-major",
		"generic axis0/32+axis1/4; product vrmpy_i8u8 axis0/32+axis1/4; product vrmpy_i8u8 axis0/32+axis1/4; product vrmpy_i8u8 row-major",
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

// convolved are the steps of convolutions, where all instructions are there.
var convolved = map[string]string{
	"pixels":        "product vrmpy_i8u8 row-major",
	"pixels_scaled": "product vrmpy_i8u8 row-major; product vrmpy_i8u8 row-major",
	"padded":        "product vrmpy_i8u8 row-major",
	"padded_scaled": "product vrmpy_i8u8 row-major; product vrmpy_i8u8 row-major",
	"strided":       "product vrmpy_i8u8 row-major",
	"remainders":    "product vrmpy_u8i8 row-major",
	"signed":        "product vrmpy_i8i8 row-major",
	"groups":        "product vrmpy_i8u8 row-major",
	"depthwise":     "window row-major", // no two filters read the same channel
	"one_pixel":     "product vrmpy_u8i8 row-major",
}

// TestConvolutions: what instructions compute of convolutions is, byte for byte, what the stages mean.
func TestConvolutions(t *testing.T) {
	for _, c := range Convolutions {
		t.Run(c.Name, func(t *testing.T) {
			g, inputs := c.Graph()
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			for i, chip := range []*target.Target{hexagon(t), hexagon(t, "vrmpy_i8u8"), hexagon(t, "vrmpy_u8i8")} {
				g, inputs := c.Graph()
				program, err := CompileFor(g, chip, nil)
				require.NoError(t, err)
				got, err := run.Program(program, InputsOf(program, inputs))
				require.NoError(t, err)
				assert.Equal(t, want[0].Data, got[0].Data, stepsOf(program))
				if i == 0 {
					assert.Equal(t, convolved[c.Name], stepsOf(program))
				}
			}
		})
	}
}

// TestRandomProducts: extents around those of vectors and groups, types and zero points by chance.
func TestRandomProducts(t *testing.T) {
	chips := []*target.Target{hexagon(t), hexagon(t, "vrmpy_i8u8")}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := Products{Name: fmt.Sprintf("seed %d", seed), Rows: 1 + r.Int64N(70), Inner: 1 + r.Int64N(40), X: ir.U8, W: ir.I8,
			XZero: r.Int64N(256), Scaled: r.IntN(2) == 0, Given: r.IntN(5) == 0, Lines: r.IntN(4) == 0}
		for range 1 + r.IntN(3) {
			p.Columns = append(p.Columns, 1+r.Int64N(70))
		}
		if r.IntN(3) == 0 {
			p.W, p.WZero = ir.U8, 128
		} else if r.IntN(4) == 0 {
			p.X, p.XZero = ir.I8, r.Int64N(256)-128
		}
		if !p.Scaled { // the result is none that a product reads
			p.Columns = p.Columns[:1]
		}
		p.Lines = p.Lines && p.W == ir.U8 && !p.Given
		if r.IntN(3) == 0 {
			p.Batch = []int64{1 + r.Int64N(3)}
		}
		t.Run(p.Name, func(t *testing.T) {
			g, inputs := p.Graph()
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err, "%+v", p)
			for _, c := range chips {
				g, inputs := p.Graph()
				program, err := CompileFor(g, c, nil)
				require.NoError(t, err, "%+v", p)
				got, err := run.Program(program, InputsOf(program, inputs))
				require.NoError(t, err, "%+v", p)
				assert.Equal(t, want[0].Data, got[0].Data, "%+v: %s", p, stepsOf(program))
			}
		})
	}
}

// TestColumnsPay: from a depth on, one conversion to GCD2's 4-column layout pays for all products that follow.
func TestColumnsPay(t *testing.T) {
	g, _ := LargeProducts[len(LargeProducts)-1].Graph()
	program, err := CompileFor(g, hexagon(t), nil)
	require.NoError(t, err)
	assert.Equal(t, "generic axis0/32+axis1/4; product vrmpy_i8u8 axis0/32+axis1/4; product vrmpy_i8u8 axis0/32+axis1/4; "+
		"product vrmpy_i8u8 axis0/32+axis1/4; product vrmpy_u8i8 row-major", stepsOf(program))
}

// TestEmptyProducts: without rows, columns or anything to sum.
func TestEmptyProducts(t *testing.T) {
	for _, dims := range [][3]int64{{0, 8, 40}, {40, 0, 40}, {40, 8, 0}, {0, 0, 0}} {
		for _, given := range []bool{false, true} {
			p := Products{Name: "empty", Rows: dims[0], Inner: dims[1], Columns: dims[2:], X: ir.U8, W: ir.I8, XZero: 3, Given: given}
			g, inputs := p.Graph()
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			for _, c := range []*target.Target{hexagon(t), hexagon(t, "vrmpy_i8u8")} {
				g, inputs := p.Graph()
				program, err := CompileFor(g, c, nil)
				require.NoError(t, err)
				got, err := run.Program(program, InputsOf(program, inputs))
				require.NoError(t, err)
				assert.Equal(t, want[0].Data, got[0].Data, "%v", dims)
			}
		}
	}
}
