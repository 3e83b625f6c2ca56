package hvx_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

const root = "../../.."

// chips are the chip, and what is left of it where it has one instruction: they read X by rows, or in
// the 4-column layout.
var chips = [][]string{nil, {"vrmpy_i8u8"}, {"vrmpy_u8i8"}, {"vmpa_i8u8"}, {"vmpy_i8u8"}}

// TestProducts: what runs on Hexagon is, byte for byte, what the interpreter of loops computes. With
// -v it tells how many packets each takes.
func TestProducts(t *testing.T) {
	c, err := modeltest.Hexagon()
	require.NoError(t, err)
	var products []modeltest.Products
	var names []string
	var cases []cpptest.Case
	add := func(p modeltest.Products, instructions []string) {
		chip, err := modeltest.Hexagon(instructions...)
		require.NoError(t, err)
		g, inputs := p.Graph()
		program, err := modeltest.CompileFor(g, chip, nil)
		require.NoError(t, err)
		dims := map[string]int64{}
		if p.Symbolic {
			dims["M"] = p.Rows
		}
		products, names = append(products, p), append(names, strings.Join(append([]string{p.Name}, instructions...), "/"))
		cases = append(cases, cpptest.Case{Name: p.Name, Program: program, Dims: dims, Inputs: modeltest.InputsOf(program, inputs)})
	}
	for _, p := range modeltest.AllProducts {
		for _, instructions := range chips[:2] {
			add(p, instructions)
		}
	}
	for _, p := range modeltest.LargeProducts {
		for _, instructions := range chips {
			add(p, instructions)
		}
	}
	last := map[string]*ir.Tensor{}
	for i, r := range hvxtest.Machine.Run(t, root, cases, append(c.Copts, "-O2")...) {
		t.Run(names[i], func(t *testing.T) {
			p := products[i]
			if last[p.Name] == nil { // other instructions compute the same
				want, err := run.Program(cases[i].Program, cases[i].Inputs)
				require.NoError(t, err)
				last[p.Name] = want[0]
			}
			require.Zero(t, r.Status)
			assert.Equal(t, last[p.Name].Data, r.Outputs[0].Data)
			packets := r.Counts[hvxtest.Packets]
			t.Logf("%d MACs, %d packets, %d instructions, %d of HVX: %.1f MACs a packet; %.0f cycles estimated", p.MACs(), packets,
				r.Counts[hvxtest.Instructions], r.Counts[hvxtest.VectorInstructions], float64(p.MACs())/float64(packets), cases[i].Program.Estimate.Cycles)
		})
	}
}

// TestConvolutions: as TestProducts, and that kernels of tiles take fewer packets than loops.
func TestConvolutions(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	var cases []cpptest.Case
	for _, c := range modeltest.Convolutions {
		for _, disable := range [][]string{nil, {"anchors"}} {
			g, inputs := c.Graph()
			program, err := modeltest.CompileFor(g, chip, disable)
			require.NoError(t, err)
			cases = append(cases, cpptest.Case{Name: c.Name, Program: program, Inputs: modeltest.InputsOf(program, inputs)})
		}
	}
	results := hvxtest.Machine.Run(t, root, cases, append(chip.Copts, "-O2")...)
	for i, c := range modeltest.Convolutions {
		t.Run(c.Name, func(t *testing.T) {
			tiled, loops := results[2*i], results[2*i+1]
			want, err := run.Program(cases[2*i].Program, cases[2*i].Inputs)
			require.NoError(t, err)
			require.Zero(t, tiled.Status)
			assert.Equal(t, want[0].Data, tiled.Outputs[0].Data)
			assert.Equal(t, want[0].Data, loops.Outputs[0].Data)
			packets := tiled.Counts[hvxtest.Packets]
			assert.Less(t, packets, loops.Counts[hvxtest.Packets])
			t.Logf("%d MACs, %d packets (%d by loops), %d of HVX: %.1f MACs a packet", 2*c.MACs(), packets, loops.Counts[hvxtest.Packets],
				tiled.Counts[hvxtest.VectorInstructions], float64(2*c.MACs())/float64(packets))
		})
	}
}

// TestCalled: packings of images and what becomes of sums are functions in packets, and in C where all is.
func TestCalled(t *testing.T) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	text := map[*cpp.Language]string{}
	for _, c := range modeltest.Convolutions {
		g, _ := c.Graph()
		p, err := modeltest.CompileFor(g, chip, nil)
		require.NoError(t, err)
		for _, l := range []*cpp.Language{hvx.C, hvx.Intrinsics} {
			files, err := l.Print(p, "g", 1)
			require.NoError(t, err)
			for _, f := range files {
				text[l] += f.Text
			}
		}
	}
	for language, kind := range map[*cpp.Language]string{hvx.C: "PACKETS", hvx.Intrinsics: "LEAF"} {
		assert.Contains(t, text[language], "DNN_HVX_"+kind+" void dnn_hvx_lines_")
		assert.Contains(t, text[language], "DNN_HVX_"+kind+" HVX_Vector dnn_hvx_rows_")
	}
	assert.NotContains(t, text[hvx.Intrinsics], "DNN_HVX_PACKETS")
}
