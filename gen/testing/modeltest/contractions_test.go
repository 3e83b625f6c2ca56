package modeltest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
)

// integerChips have instructions for integers of each kind: pairs of 16 bits, four of 8 with one operand unsigned, four of one type.
var integerChips = []string{"x86_64", "x86_64_v3", "x86_64_v4", "x86_64_v4_vnni", "x86_64_alder_lake", "x86_64_sapphire_rapids", "arm64", "arm64_cortex_a76", "arm64_i8mm"}

// contraction is a graph of a contraction of integers, and whether it runs in tiles.
type contraction struct {
	graph string
	tiled bool
}

// integerContractions have axes, types and zero points of all kinds, and operands that are computed or constants (those whose names begin with k).
func integerContractions() map[string]contraction {
	conv := func(x, k, attrs string) string {
		return "input %x u8[" + x + "]\ninput %kw i8[" + k + "]\ninput %kz u8[]\n%y ?[*] = ConvInteger.10(%x, %kw, %kz) {" + attrs + "}\noutput %y\n"
	}
	return map[string]contraction{
		"constant W":               {"input %a u8[20, 32]\ninput %kb i8[32, 40]\n%y ?[*] = MatMulInteger.10(%a, %kb)\noutput %y\n", true},
		"computed W":               {"input %a u8[20, 32]\ninput %b i8[32, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"constant X":               {"input %ka u8[20, 30]\ninput %b i8[30, 40]\n%y ?[*] = MatMulInteger.10(%ka, %b)\noutput %y\n", true},
		"groups that are not full": {"input %a u8[20, 30]\ninput %kb i8[30, 40]\n%y ?[*] = MatMulInteger.10(%a, %kb)\noutput %y\n", true},
		"both, not full":           {"input %a u8[21, 7]\ninput %b i8[7, 19]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"signed":                   {"input %a i8[20, 32]\ninput %b i8[32, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"unsigned":                 {"input %a u8[20, 32]\ninput %b u8[32, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"signed and unsigned":      {"input %a i8[20, 32]\ninput %b u8[32, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"constant zero points":     {"input %a u8[20, 32]\ninput %kb i8[32, 40]\ninput %kz u8[]\ninput %ku i8[]\n%y ?[*] = MatMulInteger.10(%a, %kb, %kz, %ku)\noutput %y\n", true},
		"computed zero points":     {"input %a u8[20, 31]\ninput %b u8[31, 40]\ninput %z u8[]\ninput %u u8[]\n%y ?[*] = MatMulInteger.10(%a, %b, %z, %u)\noutput %y\n", true},
		"zero points of lines":     {"input %a i8[20, 32]\ninput %b u8[32, 40]\ninput %z i8[20]\ninput %u u8[40]\n%y ?[*] = MatMulInteger.10(%a, %b, %z, %u)\noutput %y\n", true},
		"constants of lines":       {"input %a i8[20, 32]\ninput %kb i8[32, 40]\ninput %kz i8[20]\ninput %ku i8[40]\n%y ?[*] = MatMulInteger.10(%a, %kb, %kz, %ku)\noutput %y\n", true},
		"a batch":                  {"input %a u8[2, 3, 10, 12]\ninput %b i8[2, 3, 12, 24]\ninput %z u8[]\ninput %u i8[]\n%y ?[*] = MatMulInteger.10(%a, %b, %z, %u)\noutput %y\n", true},
		"a batch of one side":      {"input %a i8[5, 10, 12]\ninput %kb i8[12, 24]\n%y ?[*] = MatMulInteger.10(%a, %kb)\noutput %y\n", true},
		"broadcast":                {"input %a i8[2, 1, 20, 33]\ninput %b i8[1, 3, 33, 48]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"many rows":                {"input %a i8[210, 9]\ninput %b i8[9, 24]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", true},
		"many sizes":               {"symbol N 1..4000\ninput %a u8[200, 32]\ninput %b i8[32, N]\ninput %z u8[]\n%y ?[*] = MatMulInteger.10(%a, %b, %z)\noutput %y\n", true},
		"rows of many sizes":       {"symbol N 1..400\ninput %a i8[N, 33]\ninput %kb i8[33, 48]\ninput %z i8[]\n%y ?[*] = MatMulInteger.10(%a, %kb, %z)\noutput %y\n", true},
		"requantized":              {"input %a u8[20, 32]\ninput %ks f32[]\ninput %z u8[]\ninput %kb i8[32, 40]\ninput %kt f32[40]\ninput %ku i8[40]\n%y ?[*] = QLinearMatMul.21(%a, %ks, %z, %kb, %kt, %ku, %ks, %z)\noutput %y\n", true},
		"sums of many sizes":       {"symbol N 1..40\ninput %a u8[20, N]\ninput %b i8[N, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", false},
		"no elements":              {"input %a u8[20, 0]\ninput %b i8[0, 40]\n%y ?[*] = MatMulInteger.10(%a, %b)\noutput %y\n", false},
		"pointwise":                {conv("2, 8, 5, 7", "12, 8, 1, 1", ""), true},
		"pointwise in steps":       {conv("1, 8, 9, 11", "12, 8, 1, 1", "strides = [2, 2]"), true},
		"a window":                 {conv("1, 8, 9, 11", "12, 8, 3, 3", ""), true},
		"padded":                   {conv("2, 6, 8, 21", "12, 6, 3, 3", "pads = [1, 1, 1, 1]"), true},
		"padding":                  {"input %x u8[1, 8, 2, 2]\ninput %kw i8[12, 8, 5, 5]\n%y ?[*] = ConvInteger.10(%x, %kw) {pads = [2, 2, 2, 2]}\noutput %y\n", true},
		"padding, zero points":     {conv("1, 8, 2, 2", "12, 8, 5, 5", "pads = [2, 2, 2, 2]"), true},
		"few channels":             {conv("1, 3, 12, 21", "16, 3, 5, 5", "pads = [2, 2, 2, 2], strides = [2, 2]"), true},
		"one channel":              {conv("1, 1, 12, 21", "16, 1, 5, 5", "pads = [2, 2, 2, 2]"), true},
		"dilated":                  {conv("1, 4, 12, 21", "16, 4, 3, 3", "pads = [2, 2, 2, 2], dilations = [2, 2]"), true},
		"dilated in steps":         {conv("1, 4, 13, 22", "16, 4, 3, 3", "pads = [2, 1, 0, 2], dilations = [2, 3], strides = [2, 3]"), true},
		"groups":                   {conv("1, 8, 9, 11", "12, 4, 3, 3", "group = 2, pads = [1, 1, 1, 1]"), true},
		"one axis":                 {conv("1, 8, 40", "12, 8, 3", "pads = [1, 1]"), true},
		"three axes":               {conv("1, 4, 6, 7, 9", "8, 4, 3, 3, 3", "pads = [1, 1, 1, 1, 1, 1]"), true},
		"computed filters":         {"input %x u8[1, 8, 9, 11]\ninput %w u8[12, 8, 3, 3]\ninput %z u8[]\ninput %u u8[]\n%y ?[*] = ConvInteger.10(%x, %w, %z, %u) {pads = [1, 1, 1, 1]}\noutput %y\n", true},
		"zero points of filters":   {"input %x u8[1, 8, 9, 11]\ninput %kw i8[12, 8, 3, 3]\ninput %z u8[]\ninput %ku i8[12]\n%y ?[*] = ConvInteger.10(%x, %kw, %z, %ku) {pads = [1, 1, 1, 1]}\noutput %y\n", true},
		"depthwise":                {conv("2, 8, 9, 40", "8, 1, 3, 3", "group = 8, pads = [1, 1, 1, 1]"), true},
		"depthwise in steps":       {conv("1, 8, 12, 41", "8, 1, 3, 3", "group = 8, pads = [1, 1, 1, 1], strides = [2, 2]"), true},
		"depthwise, dilated":       {conv("1, 8, 12, 41", "8, 1, 3, 3", "group = 8, pads = [2, 2, 2, 2], dilations = [2, 2]"), true},
		"depthwise, zero points":   {"input %x i8[1, 8, 9, 33]\ninput %w i8[8, 1, 3, 3]\ninput %z i8[]\ninput %u i8[8]\n%y ?[*] = ConvInteger.10(%x, %w, %z, %u) {group = 8, pads = [1, 1, 1, 1]}\noutput %y\n", true},
		"requantized window": {"input %x u8[1, 8, 9, 11]\ninput %ks f32[]\ninput %kz u8[]\ninput %kw i8[12, 8, 3, 3]\ninput %kt f32[12]\ninput %ku i8[12]\ninput %kb i32[12]\n" +
			"%y ?[*] = QLinearConv.10(%x, %ks, %kz, %kw, %kt, %ku, %ks, %kz, %kb) {pads = [1, 1, 1, 1]}\noutput %y\n", true},
	}
}

// filled is such a graph with constants, and its inputs, of random bytes.
func (c contraction) filled(t *testing.T) (*ir.Graph, map[string]*ir.Tensor) {
	t.Helper()
	g := irtest.Parse(t, c.graph)
	r := &random{Rand: rand.New(rand.NewPCG(1, 2)), env: map[string]int64{"N": 7}}
	inputs := map[string]*ir.Tensor{}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v *ir.Value) bool {
		x := r.floats(r.concrete(v.Shape), 1)
		if v.Type != ir.F32 {
			x = ir.NewTensor(v.Type, x.Shape...)
			for i := 0; i < len(x.Data); i += v.Type.Size() {
				x.Data[i] = byte(r.IntN(256))
			}
		}
		if strings.HasPrefix(v.Name, "k") {
			v.Const = x
			return true
		}
		inputs[v.Name] = x
		return false
	})
	return g, inputs
}

// TestIntegerContractions: contractions of integers run in tiles, and give the interpreter's bytes.
func TestIntegerContractions(t *testing.T) {
	for name, c := range integerContractions() {
		t.Run(name, func(t *testing.T) {
			for _, chip := range integerChips {
				g, inputs := c.filled(t)
				want, err := interp.Graph(g, inputs)
				require.NoError(t, err)
				p, err := Compile(g, Config{Chip: chip})
				require.NoError(t, err, chip)
				got, err := runTexts(p, InputsOf(p, inputs))
				require.NoError(t, err, chip)
				for k, w := range want {
					assert.Equal(t, w.Data, got[k].Data, chip)
				}
				tiled := slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return c.Kernel.Anchor == "product" || c.Kernel.Anchor == "window" })
				assert.Equal(t, c.tiled, tiled, chip)
			}
		})
	}
}
