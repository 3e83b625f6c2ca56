package ir

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// dumpOf is the graph's text, all of it.
func textOf(t testing.TB, g *Graph) string {
	var b bytes.Buffer
	require.NoError(t, Print(&b, g))
	return b.String()
}

func tensorOf(t DType, shape []int64, data ...byte) *Tensor {
	return &Tensor{Type: t, Shape: shape, Data: data}
}

// sample is a graph with everything that the text form knows.
func sample() (*Graph, map[string]*File) {
	weights := bytes.Repeat([]byte{1, 2, 3, 4}, 200)
	model := &File{R: bytes.NewReader(weights), Size: int64(len(weights))}
	ext := &File{Name: "dir/w \"1\".bin", R: bytes.NewReader(weights), Size: int64(len(weights))}
	n := sym.Var("N")
	x := &Value{Name: "x:0", Type: F32, Shape: Shape{n, sym.Const(3), sym.FloorDiv(sym.Add(sym.Var("H"), sym.Const(1)), sym.Const(2), nil)}, HasShape: true}
	c := &Value{Name: "a \"b\"\n\xff\u00e9", Type: Bool, HasShape: true}
	w := ConstValue("w", &Tensor{Type: F32, Shape: []int64{100}, Src: &Source{model, 16, 400}})
	w2 := ConstValue("w", &Tensor{Type: F16, Shape: []int64{2, 50}, Src: &Source{ext, 0, 200}})
	big := NewTensor(U8, 70)
	big.Data[69] = 255
	w3 := ConstValue("big", big)
	small := ConstValue("small", tensorOf(F16, []int64{4}, 0, 0x3c, 1, 0, 0, 0xfc, 1, 0x7e))
	y := &Value{Name: "", Type: I64, Shape: Dims(2), HasShape: true, Elems: []sym.Expr{sym.Sub(n, sym.Const(1)), sym.Const(math.MinInt64)}}
	conv := &Node{Op: "Conv", Version: 11, Name: "conv\n1", Origins: []string{"conv\n1"}, Inputs: []*Value{x, w, nil, w2, w3, small}, Outputs: []*Value{nil, y},
		Attrs: Attrs{
			"i": int64(-3), "f": float32(0.1), "nan": math.Float32frombits(0x7fc00001), "inf": float32(math.Inf(-1)), "s": "\x00\"",
			"is": []int64{1, math.MinInt64}, "no_ints": []int64{}, "fs": []float32{1, float32(math.Inf(1))}, "no_floats": []float32{},
			"ss": []string{"a", "b,c"}, "no_strings": []string{}, "odd name": int64(1),
			"t": tensorOf(I16, []int64{2, 1}, 0xff, 0xff, 2, 0), "none": NewTensor(F64, 0, 5), "scalar": tensorOf(Bool, nil, 1),
		}}
	y.Def = conv
	z := &Value{Name: "z"}
	iff := &Node{Op: "If", Version: 16, Inputs: []*Value{c, y}, Captures: 1, Outputs: []*Value{z}, Origins: []string{"p", "q"},
		Attrs: Attrs{"else_branch": RegionRef(0), "then_branch": RegionRef(1)}}
	z.Def = iff
	yIn, yIn2 := &Value{Name: "y"}, &Value{Name: "y"}
	r := &Value{Name: "y", Type: I64}
	add := &Node{Op: "block", Inputs: []*Value{yIn2, small}, Outputs: []*Value{r}, Name: "b", Attrs: Attrs{}}
	r.Def = add
	iff.Regions = []*Graph{
		{Name: "else", Opset: 17, Inputs: []*Value{yIn}, Outputs: []*Value{yIn}},
		{Name: "then", Opset: 17, Inputs: []*Value{yIn2}, Nodes: []*Node{add}, Outputs: []*Value{r}},
	}
	rows := &Value{Name: "rows", Type: I64, Shape: Shape{sym.Const(2), sym.Var("K")}, HasShape: true}
	last := &Node{Op: "odd op", Version: -1, Inputs: []*Value{z}, Attrs: Attrs{}, Computes: []string{"K", "L"}, Outputs: []*Value{rows}}
	rows.Def = last
	g := &Graph{Name: "g\"", Opset: 17, Inputs: []*Value{x, c}, Outputs: []*Value{z, w3}, Nodes: []*Node{conv, iff, last},
		Symbols: []Symbol{{Name: "N", Lo: 1, Hi: 64}, {Name: "H", Hi: sym.MaxDim}, {Name: "K", Hi: 100, Computed: true, Max: sym.Scale(n, 12)},
			{Name: "L", Lo: -5, Hi: 5, Computed: true, Max: sym.Const(sym.MaxDim)}}}
	return g, map[string]*File{"": model, ext.Name: ext}
}

func TestTextRoundTrip(t *testing.T) {
	g, files := sample()
	require.NoError(t, Verify(g))
	text := textOf(t, g)
	back, err := Parse(strings.NewReader(text), files)
	require.NoError(t, err, text)
	require.NoError(t, Verify(back))
	require.Equal(t, text, textOf(t, back))
	for _, line := range strings.Split(text, "\n") {
		for _, c := range []byte(line) {
			require.True(t, c >= ' ' && c < 0x7f, "%q", line)
		}
	}
	// What the text says, and not only that it is stable.
	conv := back.Nodes[0]
	require.Equal(t, g.Nodes[0].Name, conv.Name)
	require.Equal(t, g.Nodes[0].Attrs.Names(), conv.Attrs.Names())
	for _, name := range []string{"i", "f", "inf", "s", "is", "no_ints", "fs", "no_floats", "ss", "no_strings"} {
		require.Equal(t, g.Nodes[0].Attrs[name], conv.Attrs[name], name)
	}
	require.Equal(t, g.Nodes[0].Tensor("t"), conv.Tensor("t"))
	require.Nil(t, conv.Inputs[2])
	require.Nil(t, conv.Outputs[0])
	require.Equal(t, &Source{files[""], 16, 400}, conv.Inputs[1].Const.Src)
	require.Equal(t, "w#2", conv.Inputs[3].Name) // two constants called w
	require.Equal(t, g.Nodes[0].Inputs[4].Const.Data, conv.Inputs[4].Const.Data)
	require.Equal(t, g.Nodes[0].Inputs[5].Const.Data, conv.Inputs[5].Const.Data)
	require.Equal(t, g.Inputs[1].Name, back.Inputs[1].Name)
	require.Equal(t, 1, back.Nodes[1].Captures)
	require.Equal(t, []string{"p", "q"}, back.Nodes[1].Origins)
	require.Nil(t, back.Nodes[1].Regions[1].Nodes[0].Attrs["x"])
	require.Same(t, conv.Inputs[5], back.Nodes[1].Regions[1].Nodes[0].Inputs[1])
	require.Equal(t, "y", back.Nodes[1].Regions[1].Inputs[0].Name)
	require.Equal(t, g.Symbols, back.Symbols)
	require.Contains(t, text, "symbol K 0..100 computed up to 12*N\n  symbol L -5..5 computed\n")
	require.Equal(t, g.Nodes[2].Computes, back.Nodes[2].Computes)
	require.Equal(t, "-9223372036854775808", conv.Outputs[1].Elems[1].String())
}

func TestConstWriter(t *testing.T) {
	g, files := sample()
	var text, consts bytes.Buffer
	require.NoError(t, PrintConsts(&text, g, NewConstWriter(&consts)))
	require.Contains(t, text.String(), "const @big u8[70] = consts[0, 70]")
	require.Equal(t, 70, consts.Len())
	files[ConstsName] = &File{Name: ConstsName, R: bytes.NewReader(consts.Bytes()), Size: int64(consts.Len())}
	back, err := Parse(&text, files)
	require.NoError(t, err)
	require.NoError(t, Verify(back))
	got, err := back.Outputs[1].Const.Bytes()
	require.NoError(t, err)
	require.Equal(t, g.Outputs[1].Const.Data, got)
	// Constants of an old file move to the new one; each lies at a multiple of 64 and is written once.
	more := ConstValue("more", NewTensor(U8, 65))
	again := ConstValue("again", more.Const)
	back.Outputs = append(back.Outputs, more, again)
	var text2, consts2 bytes.Buffer
	require.NoError(t, PrintConsts(&text2, back, NewConstWriter(&consts2)))
	require.Contains(t, text2.String(), "const @more u8[65] = consts[128, 65]")
	require.Contains(t, text2.String(), "const @again u8[65] = consts[128, 65]")
	require.Equal(t, 128+65, consts2.Len())
	require.Equal(t, consts.Bytes(), consts2.Bytes()[:70])
}

func TestDump(t *testing.T) {
	g, files := sample()
	var b bytes.Buffer
	require.NoError(t, Dump(&b, g))
	require.Contains(t, b.String(), "const @big u8[70] = omitted[sha256 ")
	_, err := Parse(&b, files)
	require.ErrorContains(t, err, "the text is a dump")
}

func TestElemText(t *testing.T) {
	for _, c := range []struct {
		typ  DType
		bits uint64
		want string
	}{
		{Bool, 1, "1"}, {I8, 0x80, "-128"}, {U8, 0x80, "128"}, {I64, 1 << 63, "-9223372036854775808"}, {U64, 1 << 63, "9223372036854775808"},
		{I32, 0xffffffff, "-1"}, {F32, 0x80000000, "-0"}, {F32, 0x7f800000, "+Inf"}, {F32, 0x7fc12345, "0x7fc12345"}, {F32, 0x3dcccccd, "0.1"},
		{F32, 1, "1e-45"}, {F64, 1, "5e-324"}, {F64, 0xfff0000000000001, "0xfff0000000000001"}, {F16, 0x3555, "0.33325195"}, {F16, 1, "5.9604645e-08"},
		{F16, 0xfc00, "-Inf"}, {F16, 0x7c01, "0x7c01"}, {BF16, 0x3f80, "1"}, {BF16, 0x0001, "9.1835e-41"},
	} {
		require.Equal(t, c.want, elemText(c.typ, c.bits))
		back, err := parseElem(c.typ, c.want)
		require.NoError(t, err)
		require.Equal(t, c.bits, back, c.want)
	}
	for _, c := range []struct {
		typ DType
		s   string
	}{{Bool, "2"}, {I8, "128"}, {U8, "-1"}, {F16, "0x10000"}, {F32, "x"}, {F32, ""}, {I32, "1.5"}} {
		_, err := parseElem(c.typ, c.s)
		require.Error(t, err, c.s)
	}
	for b := range uint64(1 << 16) { // all numbers of 16 bits
		for _, typ := range []DType{F16, BF16} {
			back, err := parseElem(typ, elemText(typ, b))
			if err != nil || back != b {
				t.Fatalf("%s %#x prints %s, which reads %#x, %v", typ, b, elemText(typ, b), back, err)
			}
		}
	}
}

func TestHalfRounding(t *testing.T) {
	for _, c := range []struct {
		x       float64
		f16, bf uint16
	}{
		{1, 0x3c00, 0x3f80}, {-2, 0xc000, 0xc000}, {65504, 0x7bff, 0x4780}, {65520, 0x7c00, 0x4780}, {65519.999, 0x7bff, 0x4780},
		{1 + 1.0/2048, 0x3c00, 0x3f80}, {1 + 3.0/2048, 0x3c02, 0x3f80}, {1 + 1.0/2048 + 1e-12, 0x3c01, 0x3f80}, {1 + 1.0/256, 0x3c04, 0x3f80}, {1 + 3.0/256, 0x3c0c, 0x3f82},
		{0x1p-25, 0, 0x3300}, {0x1.8p-25, 1, 0x3340}, {0x1p-24, 1, 0x3380}, {math.Copysign(0, -1), 0x8000, 0x8000},
		{math.Inf(1), 0x7c00, 0x7f80}, {1e300, 0x7c00, 0x7f80}, {math.SmallestNonzeroFloat64, 0, 0}, {0x1.ffcp-15, 0x400, 0x3880}, {0x1.ff8p-15, 0x3ff, 0x3880},
	} {
		require.Equal(t, c.f16, F16Bits(c.x), "f16 of %v", c.x)
		require.Equal(t, c.bf, BF16Bits(c.x), "bf16 of %v", c.x)
	}
	require.True(t, math.IsNaN(F16Float(F16Bits(math.NaN()))))
}

func TestParseErrors(t *testing.T) {
	wrap := func(body string) string { return "graph \"g\" opset 17 {\n" + body + "\n}\n" }
	for _, c := range []struct{ text, want string }{
		{"", "line 1"},
		{"graph g opset 17 {}", "want a quoted string"},
		{"graph \"g\" opset x {}", "want an integer"},
		{wrap("") + "x", "want nothing more"},
		{wrap("input %x f31[1]"), `unknown element type "f31"`},
		{wrap("input %x f32[1"), `want "," or "]"`},
		{wrap("input %x f32[2 //]"), "expression"},
		{wrap("input %x f32[]\ninput %x f32[]"), "line 3: value \"x\" is defined twice"},
		{wrap("input x f32[]"), `want "%"`},
		{wrap("output %y"), "not defined before its use"},
		{wrap("output _"), "cannot be absent"},
		{wrap("symbol i0 1..2"), "cannot be a symbol's name"},
		{wrap("symbol N 1..x"), "want an integer"},
		{wrap("const @c ?[*] = {}"), "needs a type and a shape"},
		{wrap("const @c f32[N] = {}"), "needs a type and a shape"},
		{wrap("const @c f32[2] = {1}"), "1 elements found; the shape [2] needs 2"},
		{wrap("const @c f32[2] = {1, 2, 3}"), "3 elements found"},
		{wrap("const @c f32[1] = {z}"), "want an element of type f32"},
		{wrap("const @c f32[9223372036854775807, 4] = {}"), "negative or has more than 2^63"},
		{wrap("const @c f32[9223372036854775807] = {}"), "negative or has more than 2^63"},
		{wrap("const @c u8[2] = hex \"ff\""), "2 bytes in hexadecimal"},
		{wrap("const @c u8[2] = model[0, 2]"), "the file of the model, which is not given"},
		{wrap("const @c u8[2] = consts[0, 2]"), "the file of constants, which is not given"},
		{wrap("const @c u8[2] = file \"small\"[9223372036854775807, 2]"), "2 bytes from byte 9223372036854775807 on are beyond the end"},
		{wrap("const @c u8[2] = file \"small\"[3, 2]"), "beyond the end of the file \"small\" (4 bytes)"},
		{wrap("const @c u8[2] = file \"small\"[-1, 2]"), "want [offset, 2]"},
		{wrap("const @c u8[2] = file \"small\"[0, 3]"), "want [offset, 2]"},
		{wrap("%y f32[] Relu.14()"), `want "="`},
		{wrap("%y f32[] = Relu(%x)"), `want "."`},
		{wrap("%y f32[] = Relu.14(%y2)"), "not defined before its use"},
		{wrap("() = Relu.14(,)"), `want "%"`},
		{wrap("() = Relu.14() {a = 1, a = 2}"), "given twice"},
		{wrap("() = Relu.14() {a = z}"), "want an integer"},
		{wrap("() = Relu.14() \"x"), "does not end on its line"},
		{wrap("() = Relu.14() \"\\q\""), "malformed"},
		{wrap("() = If.16() regions {\n" + wrap("const @c u8[0] = {}") + "}"), "outermost graph"},
		{strings.Repeat("graph \"g\" opset 1 { () = If.1() regions { ", 100), "nested deeper"},
	} {
		_, err := Parse(strings.NewReader(c.text), map[string]*File{"small": {Name: "small", R: strings.NewReader("1234"), Size: 4}})
		require.ErrorContains(t, err, c.want, c.text)
	}
}
