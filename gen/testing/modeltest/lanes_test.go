package modeltest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/loop"
)

// TestLanes: what is computed of integers, bools and wide floats, element by element or in sums, is stored by vectors, of as many lanes as are to be
// expected on a chip whose registers have 32 bytes, and has the interpreter's bytes.
func TestLanes(t *testing.T) {
	const scales = "input %ks f32[]\ninput %kz u8[]\n"
	for name, c := range map[string]struct {
		graph string
		lanes int64
	}{
		"quantized":        {"input %x f32[3, 41]\n" + scales + "%y ?[*] = QuantizeLinear.13(%x, %ks, %kz)\noutput %y\n", 8},
		"dequantized":      {"input %x u8[3, 41]\n" + scales + "%y ?[*] = DequantizeLinear.13(%x, %ks, %kz)\noutput %y\n", 8},
		"requantized":      {"input %x u8[3, 41]\n" + scales + "%v ?[*] = DequantizeLinear.13(%x, %ks, %kz)\n%y ?[*] = QuantizeLinear.13(%v, %ks, %kz)\noutput %y\n", 8},
		"a quantized sum":  {"input %a u8[3, 41]\ninput %b u8[3, 41]\n" + scales + "%v ?[*] = DequantizeLinear.13(%a, %ks, %kz)\n%w ?[*] = DequantizeLinear.13(%b, %ks, %kz)\n%s ?[*] = Add.14(%v, %w)\n%y ?[*] = QuantizeLinear.13(%s, %ks, %kz)\noutput %y\n", 8},
		"bytes":            {"input %a u8[64]\ninput %b u8[64]\n%y ?[*] = Max.13(%a, %b)\noutput %y\n", 32},
		"shorts":           {"input %a i16[64]\ninput %b i16[64]\n%y ?[*] = Max.13(%a, %b)\noutput %y\n", 16},
		"sums of bytes":    {"input %a i8[67]\ninput %b i8[67]\n%y ?[*] = Add.14(%a, %b)\noutput %y\n", 32},
		"wide integers":    {"input %a i64[67]\ninput %b i64[67]\n%y ?[*] = Mul.14(%a, %b)\noutput %y\n", 4},
		"wide floats":      {"input %a f64[67]\ninput %b f64[67]\n%y ?[*] = Div.14(%a, %b)\noutput %y\n", 4},
		"bools":            {"input %a bool[64]\ninput %b bool[64]\n%y ?[*] = And.7(%a, %b)\noutput %y\n", 32},
		"a comparison":     {"input %a f32[67]\ninput %b f32[67]\n%y ?[*] = Less.13(%a, %b)\noutput %y\n", 8},
		"a choice":         {"input %c bool[67]\ninput %a f32[67]\ninput %b f32[67]\n%y ?[*] = Where.16(%c, %a, %b)\noutput %y\n", 8},
		"narrowed":         {"input %a f64[67]\n%y ?[*] = Cast.13(%a) {to = 3}\noutput %y\n", 4},
		"to bool":          {"input %a i32[67]\n%y ?[*] = Cast.13(%a) {to = 9}\noutput %y\n", 8},
		"a short line":     {"input %a u8[3, 7]\ninput %b u8[3, 1]\n%y ?[*] = Sub.14(%a, %b)\noutput %y\n", 4},
		"a depthwise line": {"input %x u8[1, 3, 7, 7]\ninput %kw i8[3, 1, 3, 3]\n%y ?[*] = ConvInteger.10(%x, %kw) {group = 3, pads = [1, 1, 1, 1]}\noutput %y\n", 4},
	} {
		t.Run(name, func(t *testing.T) {
			g := irtest.Parse(t, c.graph)
			r := &random{Rand: rand.New(rand.NewPCG(3, 4))}
			inputs := map[string]*ir.Tensor{}
			var kept []*ir.Value
			for _, v := range g.Inputs {
				x := r.floats(r.concrete(v.Shape), 1)
				if v.Type != ir.F32 {
					x = ir.NewTensor(v.Type, x.Shape...)
					for i := range x.Data {
						x.Data[i] = byte(r.IntN(256))
						if v.Type == ir.Bool {
							x.Data[i] &= 1
						}
					}
				}
				if v.Name[0] == 'k' {
					v.Const = x
					continue
				}
				kept, inputs[v.Name] = append(kept, v), x
			}
			g.Inputs = kept
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			p, err := Compile(g, Config{Chip: "x86_64_v3"})
			require.NoError(t, err)
			got, err := runTexts(p, InputsOf(p, inputs))
			require.NoError(t, err)
			assert.Equal(t, want[0].Data, got[0].Data)
			last := p.Calls()[len(p.Calls())-1].Kernel
			assert.Equal(t, c.lanes, storedLanes(last.Body, 0), "%s", last)
		})
	}
}

// storedLanes is how many lanes the last loop has that stores to a result, 0: it has none.
func storedLanes(body []loop.Stmt, lanes int64) int64 {
	out := int64(-1)
	for _, s := range body {
		if x, ok := s.(loop.Store); ok && x.Buf.Write && !x.Buf.Local && x.Buf.Name[0] == 'y' {
			out = lanes
		}
		in := lanes
		if x, ok := s.(loop.For); ok {
			in = max(lanes, x.Lanes)
		}
		for _, inner := range loop.Inner(s) {
			if n := storedLanes(inner, in); n >= 0 {
				out = n
			}
		}
	}
	return out
}
