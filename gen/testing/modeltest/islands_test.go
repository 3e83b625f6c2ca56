package modeltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/run"
)

// bottleneck is quantized: channels are widened by a kernel of some size, each is convolved by itself by one of others, and they are narrowed and added to what was there.
func bottleneck(kind string, channels, wide, size, stride, first, taps int) string {
	r := rand.New(rand.NewPCG(3, uint64(wide)))
	list := func(n int, f func() string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = f()
		}
		return strings.Join(out, ", ")
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	zero := map[string]string{"u8": "117", "i8": "-5"}[kind]
	p("const @s f32[] = {0.03125}\n  const @z %s[] = {%s}", kind, zero)
	p("const @t f32[] = {0.5}\n  const @low %s[] = {%s}", kind, map[string]string{"u8": "0", "i8": "-128"}[kind])
	p("input %%q %s[1, %d, %d, %d]\n  %%x ?[*] = DequantizeLinear.13(%%q, @s, @z)", kind, channels, size, size)
	conv := func(name, from string, out, in, kernel, group, stride int, bound bool) {
		p("const @%sw i8[%d, %d, %d, %d] = {%s}", name, out, in, kernel, kernel, list(out*in*kernel*kernel, func() string { return fmt.Sprint(r.IntN(255) - 127) }))
		p("const @%ss f32[%d] = {%s}", name, out, list(out, func() string { return fmt.Sprint(float32(int(1)<<r.IntN(3)) / 1024) }))
		p("const @%sb f32[%d] = {%s}", name, out, list(out, func() string { return fmt.Sprint(float32(r.IntN(9)-4) / 4) }))
		p("%%%swf ?[*] = DequantizeLinear.13(@%sw, @%ss) {axis = 0}", name, name, name)
		bias := "@" + name + "b" // of floats, as some tools leave it
		if name != "n" {
			p("const @%si i32[%d] = {%s}", name, out, list(out, func() string { return fmt.Sprint(r.IntN(20000) - 10000) }))
			from := map[string]float32{"e": 0.03125}[name]
			if from == 0 {
				from = 0.5
			}
			scales := strings.Split(b.String()[strings.LastIndex(b.String(), "const @"+name+"s"):], "\n")[0]
			scales = scales[strings.Index(scales, "{")+1 : strings.Index(scales, "}")]
			var bs []string
			for _, s := range strings.Split(scales, ", ") {
				var x float32
				fmt.Sscan(s, &x)
				bs = append(bs, fmt.Sprint(float32(x*from)))
			}
			p("const @%sc f32[%d] = {%s}", name, out, strings.Join(bs, ", "))
			p("%%%sbf ?[*] = DequantizeLinear.13(@%si, @%sc) {axis = 0}", name, name, name)
			bias = "%" + name + "bf"
		}
		pad := kernel / 2
		p("%%%sc ?[*] = Conv.11(%%%s, %%%swf, %s) {group = %d, strides = [%d, %d], pads = [%d, %d, %d, %d]}", name, from, name, bias, group, stride, stride, pad, pad, pad, pad)
		y := name + "c"
		if bound {
			p("%%%sr ?[*] = Relu.14(%%%s)", name, y)
			y = name + "r"
		}
		p("%%%sq ?[*] = QuantizeLinear.13(%%%s, @t, @low)\n  %%%sx ?[*] = DequantizeLinear.13(%%%sq, @t, @low)", name, y, name, name)
	}
	conv("e", "x", wide, channels, first, 1, 1, true)
	conv("d", "ex", wide, 1, taps, wide, stride, true)
	conv("n", "dx", channels, wide, 1, 1, 1, false)
	conv("f", "nx", wide, channels, 3, 1, 1, true)
	if stride == 1 {
		p("%%a ?[*] = Add.14(%%nx, %%x)\n  %%y ?[*] = QuantizeLinear.13(%%a, @t, @z)\n  output %%y")
	}
	p("output %%fq")
	return b.String()
}

// TestIslands: quantized blocks of usual networks have the interpreter's bytes on every chip, and channels last where there are vectors.
func TestIslands(t *testing.T) {
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	for _, kind := range []string{"u8", "i8"} {
		for _, c := range []struct{ channels, wide, size, stride, first, taps int }{{16, 32, 9, 1, 1, 3}, {24, 72, 8, 2, 1, 5}, {16, 96, 7, 1, 3, 3}, {5, 7, 6, 1, 1, 3}, {3, 208, 14, 1, 7, 3}} {
			text := bottleneck(kind, c.channels, c.wide, c.size, c.stride, c.first, c.taps)
			name := fmt.Sprint(kind, c)
			x := ir.NewTensor(map[string]ir.DType{"u8": ir.U8, "i8": ir.I8}[kind], 1, int64(c.channels), int64(c.size), int64(c.size))
			r := rand.New(rand.NewPCG(5, 6))
			for i := range x.Data {
				x.Data[i] = byte(r.IntN(256))
			}
			inputs := map[string]*ir.Tensor{"q": x}
			g := irtest.Parse(t, text)
			require.NoError(t, simplify.RunBut(g, islands.Keeps))
			require.True(t, islands.Run(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			for _, chip := range integerChips {
				on, err := Chip(chip)
				require.NoError(t, err)
				p, err := CompileFor(irtest.Parse(t, text), on, nil)
				require.NoError(t, err, "%s for %s", name, chip)
				got, err := run.Program(p, InputsOf(p, inputs))
				require.NoError(t, err, "%s for %s", name, chip)
				for k, w := range want {
					require.Equal(t, w.Data, got[k].Data, "%s for %s: output %d", name, chip, k)
				}
				last := 0
				for _, l := range p.Layouts {
					if l == layout.Of(layout.Part{Axis: 1}) {
						last++
					}
				}
				if c.channels > 5 {
					assert.Positive(t, last, "%s for %s", name, chip)
				}
				if chip == "x86_64" {
					cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Inputs: InputsOf(p, inputs)}), append(wants, want)
				}
			}
		}
	}
	silent := cpptest.Host // bytes are stored in pairs, which are wider than a register: compilers say nothing of that
	silent.Silent = true
	for i, got := range silent.Run(t, "../../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		for k, w := range wants[i] {
			assert.Equal(t, w.Data, got.Outputs[k].Data, "%s: output %d", cases[i].Name, k)
		}
	}
}
