// Package attentiontest has graphs of attention, with masks that leave rows without keys and numbers that are none. Only tests import it.
package attentiontest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/program/plan"
)

// maskedRows are what is added to the scores of a query and a key, a row each: of which keys, by tiles of 16 to 64, none, the first ones, or the last ones
// count; and numbers that are none, or so small that another one beside them is all.
var maskedRows = []struct {
	name string
	of   func(key int64, lowest float64) float64
}{
	{"all keys", func(int64, float64) float64 { return 0 }},
	{"no key", func(int64, float64) float64 { return math.Inf(-1) }},
	{"the last keys", func(k int64, _ float64) float64 { return without(k < 64) }},
	{"the first keys", func(k int64, _ float64) float64 { return without(k > 2) }},
	{"the last key", func(k int64, _ float64) float64 { return without(k != 69) }},
	{"a key between", func(k int64, _ float64) float64 { return without(k != 40) }},
	{"every third key", func(k int64, _ float64) float64 { return without(k%3 != 0) }},
	{"the least number everywhere", func(_ int64, lowest float64) float64 { return lowest }},
	{"the least number, and the last keys", func(k int64, lowest float64) float64 { return either(k < 64, lowest, 0) }},
	{"the least number, and the first keys", func(k int64, lowest float64) float64 { return either(k > 32, lowest, 0) }},
	{"no key, and one the least number", func(k int64, lowest float64) float64 { return either(k != 5, math.Inf(-1), lowest) }},
	{"half of the least number", func(k int64, lowest float64) float64 { return either(k < 33, lowest/2, 0) }},
	{"infinite first", func(k int64, _ float64) float64 { return either(k == 3, math.Inf(1), 0) }},
	{"infinite last", func(k int64, _ float64) float64 { return either(k == 66, math.Inf(1), 0) }},
	{"infinite behind keys that do not count", func(k int64, _ float64) float64 { return either(k == 66, math.Inf(1), math.Inf(-1)) }},
	{"no number first", func(k int64, _ float64) float64 { return either(k == 1, math.NaN(), 0) }},
	{"no number last", func(k int64, _ float64) float64 { return either(k == 68, math.NaN(), 0) }},
	{"no number and no key", func(k int64, _ float64) float64 { return either(k == 40, math.NaN(), math.Inf(-1)) }},
	{"no numbers", func(int64, float64) float64 { return math.NaN() }},
}

func without(cond bool) float64 { return either(cond, math.Inf(-1), 0) }

func either(cond bool, a, b float64) float64 {
	if cond {
		return a
	}
	return b
}

// softmaxes are what is made of scores %a and values %v, of type TYPE.
var softmaxes = []struct {
	name, text string
	types      []ir.DType
}{
	{"Softmax", "%p ?[*] = Softmax.13(%a) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)", halfOrFloat},
	{"no numbers count as 0", "const @zero TYPE[] = {0}\n%p ?[*] = Softmax.13(%a) {axis = -1}\n%n ?[*] = IsNaN.13(%p)\n%w ?[*] = Where.16(%n, @zero, %p)\n%y ?[*] = MatMul.13(%w, %v)", halfOrFloat},
	{"quotients", powers + "%p ?[*] = Div.14(%e, %t)\n%y ?[*] = MatMul.13(%p, %v)", halfOrFloat[:1]},
	{"quotients by more than the sum", powers + "const @some f32[] = {0.125}\n%u ?[*] = Add.14(%t, @some)\n%p ?[*] = Div.14(%e, %u)\n%y ?[*] = MatMul.13(%p, %v)", halfOrFloat[:1]},
	{"a softmax of float32 between products", "%f f32[*] = Cast.13(%a) {to = 1}\n%s1 ?[*] = Softmax.13(%f) {axis = -1}\n%p TYPE[*] = CastLike.19(%s1, %v)\n%y ?[*] = MatMul.13(%p, %v)", halfOrFloat[1:]},
}

var halfOrFloat = []ir.DType{ir.F32, ir.F16}

const powers = "const @last i64[1] = {-1}\n%m ?[*] = ReduceMax.18(%a, @last)\n%d ?[*] = Sub.14(%a, %m)\n%e ?[*] = Exp.13(%d)\n%t ?[*] = ReduceSum.13(%e, @last)\n"

// Graphs are of attention with inputs q, k, v and mask.
func Graphs() (names, texts []string) {
	rows := len(maskedRows)
	for _, s := range softmaxes {
		for _, t := range s.types {
			text := fmt.Sprintf("input %%q T[2, %d, 16]\ninput %%k T[2, 16, 70]\ninput %%v T[2, 70, 24]\ninput %%mask T[%d, 70]\n%%s ?[*] = MatMul.13(%%q, %%k)\n%%a ?[*] = Add.14(%%s, %%mask)\n%s\noutput %%y\n", rows, rows, s.text)
			names, texts = append(names, s.name+", "+t.String()), append(texts, typed(text, t))
		}
	}
	for _, t := range halfOrFloat {
		for _, c := range [][2]string{{"", ""}, {" of softcaps", ", softcap = f32 2"}, {" and its diagonal", ", is_causal = 1"}} {
			heads := fmt.Sprintf("input %%q T[2, 4, %d, 16]\ninput %%k T[2, 2, 70, 16]\ninput %%v T[2, 2, 70, 24]\ninput %%mask T[%d, 70]\n", rows, rows)
			packed := fmt.Sprintf("input %%q T[2, %d, 64]\ninput %%k T[2, 70, 32]\ninput %%v T[2, 70, 48]\ninput %%mask T[%d, 70]\n", rows, rows)
			const node, of = "%y ?[*] = Attention.24(%q, %k, %v, %mask)", "q_num_heads = 4, kv_num_heads = 2"
			names = append(names, "Attention"+c[0]+", "+t.String(), "packed Attention"+c[0]+", "+t.String())
			texts = append(texts, typed(heads+node+" {scale = f32 0.25"+c[1]+"}\noutput %y\n", t), typed(packed+node+" {"+of+c[1]+"}\noutput %y\n", t))
		}
	}
	return names, texts
}

// typed puts a type where T stands for it.
func typed(text string, t ir.DType) string {
	return strings.NewReplacer("TYPE", t.String(), " T[", " "+t.String()+"[").Replace(text)
}

// Inputs are inputs of such a graph: random ones, and masks; some values are infinite or no numbers.
func Inputs(g *ir.Graph) []*ir.Tensor {
	r := rand.New(rand.NewPCG(3, 5))
	var out []*ir.Tensor
	for _, v := range g.Inputs {
		var dims []int64
		for _, e := range v.Shape {
			n, _ := e.Const()
			dims = append(dims, n)
		}
		t := ir.NewTensor(v.Type, dims...)
		lowest := map[ir.DType]float64{ir.F32: -math.MaxFloat32, ir.F16: -65504}[v.Type]
		for i := range t.Len() {
			x := 4*r.Float64() - 2
			switch v.Name {
			case "mask":
				x = maskedRows[i/dims[1]].of(i%dims[1], lowest)
			case "v":
				columns, keys := dims[len(dims)-1], dims[len(dims)-2]
				x = valueOf(g, i/columns%keys, i%columns, x)
			}
			if v.Type.IsFloat() {
				setNumber(t, i, float32(x))
			}
		}
		out = append(out, t)
	}
	return out
}

// valueOf is a value of a key, most of which are as they are given: two columns have one that is no finite number, which makes no number of results whose weight
// for it is 0. Rounded weights may be 0 where others are not, and what counts as 0 where weights are no numbers is not what zeros make of such values.
func valueOf(g *ir.Graph, key, column int64, x float64) float64 {
	hidden := slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return n.Op == "IsNaN" })
	switch {
	case hidden || g.Inputs[0].Type != ir.F32:
		return x
	case key == 5 && column == 3:
		return math.Inf(1)
	case key == 69 && column == 7:
		return math.NaN()
	}
	return x
}

// Halves are graphs of floats of attention, with masks that are inputs and constants, for a precision of 16 bits, of which each element must be what it is in f32.
// Their values are finite: a weight that is rounded to 0 makes no number of others.
func Halves() (names, texts []string) {
	all, of := Graphs()
	for i, name := range all {
		if strings.HasSuffix(name, ir.F32.String()) {
			names, texts = append(names, name), append(texts, of[i])
		}
	}
	for _, least := range []string{"-3.4028235e38", "-1e9", "-70000", "-65504"} {
		text := fmt.Sprintf("const @least f32[] = {%s}\ninput %%q f32[2, 19, 16]\ninput %%k f32[2, 16, 70]\ninput %%v f32[2, 70, 24]\ninput %%counts bool[19, 70]\n", least)
		const rest = "%p ?[*] = Softmax.13(%a) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n"
		names = append(names, "chosen "+least, "added "+least)
		texts = append(texts, text+"%s ?[*] = MatMul.13(%q, %k)\n%a ?[*] = Where.16(%counts, %s, @least)\n"+rest,
			text+"%s ?[*] = MatMul.13(%q, %k)\n%n ?[*] = Not.1(%counts)\n%f ?[*] = Cast.13(%n) {to = 1}\n%m ?[*] = Mul.14(%f, @least)\n%a ?[*] = Add.14(%s, %m)\n"+rest)
	}
	return names, texts
}

// HalvesInputs are inputs of such a graph: those of Inputs whose values are numbers.
func HalvesInputs(g *ir.Graph) []*ir.Tensor {
	in := Inputs(g)
	for k, v := range g.Inputs {
		for i := range in[k].Len() {
			switch {
			case v.Name == "counts":
				in[k].Data[i] = byte(either(i/70 == 4 || i%3 == 0, 0, 1)) // a row is masked whole
			case v.Name == "v" && !(math.Abs(numberAt(in[k], i)) < 3):
				setNumber(in[k], i, 0.5)
			}
		}
	}
	return in
}

func setNumber(t *ir.Tensor, i int64, x float32) {
	if t.Type == ir.F16 {
		binary.LittleEndian.PutUint16(t.Data[2*i:], scalar.F32ToF16(x))
		return
	}
	binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
}

func numberAt(t *ir.Tensor, i int64) float64 {
	if t.Type == ir.F16 {
		return float64(scalar.F16ToF32(binary.LittleEndian.Uint16(t.Data[2*i:])))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
}

// Near says which element is not what it is to be: numbers to within what their type rounds, and others alike. Softmaxes of halves are not rounded before the
// product in one kernel.
func Near(want, got *ir.Tensor) error {
	return Within(want, got, map[ir.DType]float64{ir.F32: 1e-5, ir.F16: 2e-3}[want.Type])
}

// Within is Near for numbers to within a part of the greatest.
func Within(want, got *ir.Tensor, within float64) error {
	scale := 0.0
	if want.Type != got.Type || want.Len() != got.Len() {
		return fmt.Errorf("%d of type %s, want %d of %s", got.Len(), got.Type, want.Len(), want.Type)
	}
	for i := range want.Len() {
		if x := math.Abs(numberAt(want, i)); x <= math.MaxFloat32 {
			scale = max(scale, x)
		}
	}
	for i := range want.Len() {
		x, y := numberAt(got, i), numberAt(want, i)
		if same := x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= within*scale; !same {
			n := want.Shape[len(want.Shape)-1]
			return fmt.Errorf("element %d of %v is %v, want %v (%s)", i, want.Shape, x, y, maskedRows[i/n%int64(len(maskedRows))].name)
		}
	}
	return nil
}

// Kernels is how many kernels of a program are attention.
func Kernels(p *plan.Program) int {
	n := 0
	for _, c := range p.Calls() {
		if c.Kernel.Anchor == "attention" {
			n++
		}
	}
	return n
}
