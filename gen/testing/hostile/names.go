package hostile

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// evilNames are what a name must not do to code, comments, strings, paths, JSON or the text form.
var evilNames = []string{
	"*/ int x; /*", "a\nb", "a\r\n#error no", "\"; #error no \"", "ends with \\", "??/", "??=", "\\", "é\u202e\u2028", "\x00", "../../out", "/etc/x", "%s%n%d", "${x}$(x)`x`",
	"</script><script>", "'", "#define x", "int", "class", "namespace", "NULL", "main", "errno", "N", "i0", "a0", "y0", "t0", "task", "first_task", "bad_index", "_", "__FILE__",
	"min", "R\"(", "0", "-1", "a b", "@c", "%v", "}", "{{.P}}", ";", "//", "\\u0041", "\t", "?", "dims", "inputs", "outputs", "context", "status", "OK", "p0", "rules_dnn", "std",
	"kInputs", "weights", "sizeof", "typedef", "and", "xor", "template", "co_await", "restrict", "_Bool", "Ctx", "program", "--", "--dim", "=", "=1", "x=1..2", "N=4",
	strings.Repeat("long ", 2000), strings.Repeat("A", 300), strings.Repeat("é", 200), strings.Repeat("(", 600), strings.Repeat("/*", 50),
}

// nameCases have evil names at every place that has a name. What they compute is known: names mean nothing.
func nameCases(m *maker) error {
	in := f32(1, -2, 3)
	want := run(is(f32(2, 0, 4)), "x", in)
	for i, name := range evilNames {
		short := fmt.Sprintf("%d %.20q", i, name)
		for k, p := range namePlaces {
			if (i+k+int(m.seed))%3 != 0 {
				continue // each name at a third of the places, which the seed chooses
			}
			model := plain()
			p.put(model, name)
			r := want
			if p.input {
				r = run(is(f32(2, 0, 4)), name, in)
			}
			m.right(p.name+" "+short, model, r)
		}
		m.symbolNames(short, name)
		m.refusedNames(short, name)
	}
	m.notText()
	m.alike()
	return nil
}

// plain computes relu(x + 1) where x is above -2.
func plain() *onnxpb.ModelProto {
	return onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Add", "x one", "t"), onnxtest.Op("Relu", "t", "y")), onnxtest.Tensor("one", f32(1)))
}

// place is where a model has a name.
type place struct {
	name  string
	input bool // the name is the input's
	put   func(m *onnxpb.ModelProto, name string)
}

var namePlaces = []place{
	{"input", true, func(m *onnxpb.ModelProto, name string) { m.Graph.Input[0].Name, m.Graph.Node[0].Input[0] = &name, name }},
	{"output", false, func(m *onnxpb.ModelProto, name string) {
		if name == "x" || name == "t" {
			name += "_"
		}
		m.Graph.Output[0].Name, m.Graph.Node[1].Output[0] = &name, name
	}},
	{"value", false, func(m *onnxpb.ModelProto, name string) {
		m.Graph.Node[0].Output[0], m.Graph.Node[1].Input[0] = name, name
	}},
	{"initializer", false, func(m *onnxpb.ModelProto, name string) {
		m.Graph.Initializer[0].Name, m.Graph.Node[0].Input[1] = &name, name
	}},
	{"nodes", false, func(m *onnxpb.ModelProto, name string) { m.Graph.Node[0].Name, m.Graph.Node[1].Name = &name, &name }},
	{"graph", false, func(m *onnxpb.ModelProto, name string) { m.Graph.Name = &name }},
	{"texts", false, func(m *onnxpb.ModelProto, name string) {
		m.DocString, m.Graph.DocString, m.Graph.Node[0].DocString, m.ProducerName, m.ProducerVersion, m.Domain = &name, &name, &name, &name, &name, &name
		m.MetadataProps = []*onnxpb.StringStringEntryProto{{Key: &name, Value: &name}, {Key: &name, Value: &name}}
	}},
	{"function", false, func(m *onnxpb.ModelProto, name string) {
		f := onnxtest.Function(name, "a", "r", onnxtest.Op("Relu", "a", "r"))
		f.Node[0].Name = &name
		onnxtest.WithFunctions(m, f)
		m.Graph.Node[1] = onnxtest.Call(name, "t", "y")
	}},
	{"a function's values", false, func(m *onnxpb.ModelProto, name string) {
		f := onnxtest.Function("F", "", "", onnxtest.Op("Neg", "", "m"), onnxtest.Op("Neg", "m", ""), onnxtest.Op("Relu", "", ""))
		f.Input, f.Output = []string{name}, []string{name + "r"}
		f.Node[0].Input, f.Node[1].Output, f.Node[2].Input, f.Node[2].Output = []string{name}, []string{name + "n"}, []string{name + "n"}, []string{name + "r"}
		onnxtest.WithFunctions(m, f)
		m.Graph.Node[1] = onnxtest.Call("F", "t", "y")
	}},
	{"a domain", false, func(m *onnxpb.ModelProto, name string) {
		f := onnxtest.Function("F", "a", "r", onnxtest.Op("Relu", "a", "r"))
		f.Domain, f.OpsetImport[1].Domain = &name, &name
		m.Functions = append(m.Functions, f)
		m.OpsetImport = append(m.OpsetImport, onnxtest.Import(name, 1))
		m.Graph.Node[1] = onnxtest.Call("F", "t", "y")
		m.Graph.Node[1].Domain = &name
	}},
	{"a branch's values", false, func(m *onnxpb.ModelProto, name string) {
		branch := func(op string) *onnxpb.GraphProto {
			g := onnxtest.Model(nil, onnxtest.Op(op, "t", "r")).Graph
			g.Name, g.Node[0].Name, g.Node[0].Output[0], g.Output[0].Name = &name, &name, name+"r", proto.String(name+"r")
			return g
		}
		m.Graph.Node[1] = onnxtest.Op("If", "c", "y", "then_branch", branch("Relu"), "else_branch", branch("Neg"))
		m.Graph.Node = append([]*onnxpb.NodeProto{onnxtest.Op("ReduceMax", "x", "most", "keepdims", 0), onnxtest.Op("Cast", "most", "c", "to", 9)}, m.Graph.Node...)
	}},
}

// symbolNames are names of dimensions, bound and free.
func (m *maker) symbolNames(short, name string) {
	model := plain()
	model.Graph.Input[0] = onnxtest.Input("x", onnxpb.TensorProto_FLOAT, name)
	m.right("a dimension "+short, model, run(is(f32(2, 0, 4, 8)), "x", f32(1, -2, 3, 7)))
	if !strings.Contains(name, "\x00") { // which no argument of a program holds
		m.right("a bound dimension "+short, model, run(is(f32(2, 0)), "x", f32(1, -2))).with("--dim=" + name + "=2")
	}
}

// refusedNames are names that must be known.
func (m *maker) refusedNames(short, name string) {
	model := plain()
	model.Graph.Node[1].OpType = &name
	m.refused("an operator "+short, model, `node "n_y"`, "no such operator")
	model = plain()
	model.Graph.Node[1].Attribute = []*onnxpb.AttributeProto{onnxtest.Attr(name, 1)}
	m.refused("an attribute "+short, model, `"n_y"`, "attribute")
	model = plain()
	model.Graph.Node[1].Domain = proto.String(name + ".")
	m.refused("an operator's domain "+short, model, `"n_y"`, "domain")
	model = plain()
	model.Graph.Node[1].Input[0] = name
	m.refused("an operand that nothing makes "+short, model, `"n_y"`, "not defined")
}

// notText are names that are no UTF-8.
func (m *maker) notText() {
	for i, name := range []string{"\xff\xfe\x80", "a\xc0\xafb", "\xed\xa0\x80", "\xf5"} {
		for _, p := range namePlaces {
			model := plain()
			p.put(model, name)
			r := run(is(f32(2, 0, 4)), "x", f32(1, -2, 3))
			if p.input {
				r.Inputs[0].Name = name
			}
			m.right(fmt.Sprintf("%s, no UTF-8, %d", p.name, i), model, r)
		}
	}
}

// alike are names that become one when what no identifier holds is taken out, and names that are there twice.
func (m *maker) alike() {
	for i, pair := range [][2]string{{"a.b", "a_b"}, {"a/b", "a:b"}, {"x ", "x_"}, {"A", "a"}, {"é", "è"}, {"n\n", "n\r"}, {strings.Repeat("l", 300) + "1", strings.Repeat("l", 300) + "2"},
		{"a__b", "a_b"}, {"_1", "1"}, {"int", "int_"}, {"", " "}, {"p0_x", "x"}, {"INPUT_x", "input_x"}, {"y", "Y"}} {
		a, b := pair[0], pair[1]
		if a == "" {
			continue
		}
		model := onnxtest.Model(append(onnxtest.Floats(a, 2), onnxtest.Floats(b, 2)...), onnxtest.Op("Sub", "", "out"))
		model.Graph.Node[0].Input = []string{a, b}
		r := Run{Inputs: []Value{{a, f32(5, 7)}, {b, f32(1, 2)}}, Want: []Want{is(f32(4, 5))}}
		m.right(fmt.Sprintf("inputs alike %d", i), model, r)
		model = onnxtest.Model(onnxtest.Floats("in", 2), onnxtest.Op("Neg", "in", ""), onnxtest.Op("Abs", "in", ""))
		model.Graph.Node[0].Output, model.Graph.Node[1].Output = []string{a}, []string{b}
		model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(a), onnxtest.Output(b)}
		m.right(fmt.Sprintf("outputs alike %d", i), model, Run{Inputs: values("in", f32(1, -2)), Want: []Want{is(f32(-1, 2)), is(f32(1, 2))}})
		model = onnxtest.Model([]*onnxpb.ValueInfoProto{onnxtest.Input("in", onnxpb.TensorProto_FLOAT, a, b)}, onnxtest.Op("Transpose", "in", "out"))
		m.right(fmt.Sprintf("dimensions alike %d", i), model, run(is(tensor(ir.F32, []int64{2, 1}, 1, 2)), "in", tensor(ir.F32, []int64{1, 2}, 1, 2)))
	}
	two := plain()
	two.Graph.Input = append(two.Graph.Input, two.Graph.Input[0])
	m.refused("an input twice", two, `"x"`)
	two = plain()
	two.Graph.Initializer = append(two.Graph.Initializer, two.Graph.Initializer[0])
	m.refused("an initializer twice", two, `"one"`)
	two = plain()
	two.Graph.Node[1].Output[0] = "t"
	m.refused("a result twice", two, `"t"`, "twice")
	two = plain()
	two.Graph.Node[0].Output[0] = "x"
	m.refused("a result with an input's name", two, `"x"`, "twice")
	two = plain()
	two.Graph.Node[0].Output[0] = "one"
	m.refused("a result with an initializer's name", two, `"one"`, "twice")
	two = onnxtest.WithFunctions(plain(), onnxtest.Function("F", "a", "r", onnxtest.Op("Relu", "a", "r")), onnxtest.Function("F", "a", "r", onnxtest.Op("Neg", "a", "r")))
	m.refused("a function twice", two, `F`)
	two = plain()
	two.Graph.Node[0].Name, two.Graph.Node[1].Name = proto.String("same"), proto.String("same")
	m.right("nodes of one name", two, run(is(f32(2, 0, 4)), "x", f32(1, -2, 3)))
	two = plain()
	two.Graph.Node[0].Name, two.Graph.Node[1].Name = nil, nil
	m.right("nodes without names", two, run(is(f32(2, 0, 4)), "x", f32(1, -2, 3)))
	two = plain()
	two.Graph.Output = append(two.Graph.Output, two.Graph.Output[0])
	m.open("an output twice", two, []string{`"y"`}, Run{Inputs: values("x", f32(1, -2, 3)), Want: []Want{is(f32(2, 0, 4)), is(f32(2, 0, 4))}})
	two = plain()
	two.Graph.Output[0].Name = proto.String("nothing")
	m.refused("an output that nothing makes", two, `"nothing"`)
	two = plain()
	two.Graph.Input[0].Name = proto.String("")
	two.Graph.Node[0].Input[0] = ""
	m.refused("an input without a name", two, "name | n_t")
	two = plain()
	two.Graph.Output[0].Name = proto.String("")
	m.refused("an output without a name", two, `""`)
}
