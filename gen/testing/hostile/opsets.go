package hostile

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// newestOpset is the newest that the compiler knows, and newestIR the newest version of the format.
const (
	newestOpset = 28
	newestIR    = 14
)

// opsetCases import opsets and domains that exist or do not.
func opsetCases(m *maker) error {
	m.versions()
	m.imports()
	m.domains()
	m.operatorsOfOpsets()
	m.localFunctions()
	return nil
}

// negOf is a model of one node that imports opsets, and negRun its run.
func negOf(imports ...*onnxpb.OperatorSetIdProto) *onnxpb.ModelProto {
	model := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "x", "y"))
	model.OpsetImport = imports
	return model
}

func negRun() Run { return run(is(f32(-1, 2, -3)), "x", f32(1, -2, 3)) }

// versions of opsets, in models and in their functions, and of the format.
func (m *maker) versions() {
	right := negRun()
	for v := int64(6); v <= newestOpset; v++ {
		m.right(fmt.Sprintf("opset %d", v), negOf(onnxtest.Import("", v)), right)
		m.right(fmt.Sprintf("opset %d of ai.onnx", v), negOf(onnxtest.Import("ai.onnx", v)), right)
	}
	for _, v := range append([]int64{0, -1, newestOpset + 1, 100}, extremes...) {
		m.refused(fmt.Sprintf("opset %d", v), negOf(onnxtest.Import("", v)), "opset")
		m.right(fmt.Sprintf("opset %d of a domain that nothing uses", v), negOf(onnxtest.Import("", 21), onnxtest.Import("com.example", v)), right)
		versions := negOf(onnxtest.Import("", 21))
		versions.IrVersion = proto.Int64(v)
		m.refused(fmt.Sprintf("IR version %d", v), versions, "IR version")
		f := onnxtest.Function("F", "a", "r", onnxtest.Op("Neg", "a", "r"))
		f.OpsetImport[0].Version = proto.Int64(v)
		m.refused(fmt.Sprintf("a function of opset %d", v), onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Call("F", "x", "y")), f), "opset", "F")
	}
	for v := int64(3); v <= newestIR; v++ {
		model := negOf(onnxtest.Import("", 21))
		model.IrVersion = proto.Int64(v)
		m.right(fmt.Sprintf("IR version %d", v), model, right)
	}
	m.refused("no IR version", func() *onnxpb.ModelProto { x := negOf(onnxtest.Import("", 21)); x.IrVersion = nil; return x }(), "IR version")
}

// imports are absent, twice or in conflict.
func (m *maker) imports() {
	right := negRun()
	m.refused("no import", negOf(), "opset")
	m.refused("no import of ai.onnx", negOf(onnxtest.Import("com.example", 1)), "opset")
	m.refused("an import without a version", negOf(&onnxpb.OperatorSetIdProto{Domain: proto.String("")}), "opset")
	m.right("an import without a domain", negOf(&onnxpb.OperatorSetIdProto{Version: proto.Int64(21)}), right)
	m.right("an import twice", negOf(onnxtest.Import("", 21), onnxtest.Import("", 21)), right)
	m.right("an import by both names", negOf(onnxtest.Import("", 21), onnxtest.Import("ai.onnx", 21)), right)
	m.refused("two imports", negOf(onnxtest.Import("", 21), onnxtest.Import("", 20)), "opset")
	m.refused("two imports by both names", negOf(onnxtest.Import("", 21), onnxtest.Import("ai.onnx", 20)), "opset")
	m.refused("two imports of a domain", negOf(onnxtest.Import("", 21), onnxtest.Import("com.example", 1), onnxtest.Import("com.example", 2)), "com.example")
}

// domains of nodes.
func (m *maker) domains() {
	for _, d := range []string{"com.microsoft", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.example", "pkg.torch", "AI.ONNX", "ai.onnx.", " ", "my"} {
		for _, op := range []string{"Neg", "BiasAdd", "BeamSearch", "TreeEnsemble"} {
			node := onnxtest.Op(op, "x", "y")
			node.Domain = &d
			model := onnxtest.Model(onnxtest.Floats("x", 3), node)
			m.refused(fmt.Sprintf("%s of domain %q, not imported", op, d), model, `"n_y"`, "domain")
			model = proto.Clone(model).(*onnxpb.ModelProto)
			model.OpsetImport = append(model.OpsetImport, onnxtest.Import(d, 1))
			m.refused(fmt.Sprintf("%s of domain %q", op, d), model, `"n_y"`, "domain")
		}
	}
	full := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "x", "y"))
	full.Graph.Node[0].Domain = proto.String("ai.onnx")
	m.right("a node of ai.onnx", full, negRun())
}

// operatorsOfOpsets are operators that an opset does not have yet, or no more.
func (m *maker) operatorsOfOpsets() {
	for _, c := range []struct {
		op     string
		opset  int64
		reason string
	}{{"Gelu", 19, "since"}, {"GroupNormalization", 17, "since"}, {"Mish", 17, "since"}, {"Attention", 22, "since"}, {"Swish", 23, "since"}, {"Where", 8, "since"}, {"IsInf", 9, "since"},
		{"Upsample", 10, "deprecated"}, {"Scatter", 11, "deprecated"}, {"Neg2", 21, "no such operator"}, {"neg", 21, "no such operator"}, {"", 21, "operator"}, {" Neg", 21, "no such operator"}} {
		model := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op(c.op, "x", "y"))
		model.OpsetImport[0].Version = &c.opset
		m.refused(fmt.Sprintf("%q in opset %d", c.op, c.opset), model, `"n_y"`, c.reason)
	}
}

// localFunctions are a model's own functions.
func (m *maker) localFunctions() {
	neg := onnxtest.Function("F", "a", "r", onnxtest.Op("Neg", "a", "r"))
	call := func(node *onnxpb.NodeProto, fs ...*onnxpb.FunctionProto) *onnxpb.ModelProto {
		return onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), node), fs...)
	}
	right := run(is(f32(-1, 2, -3)), "x", f32(1, -2, 3))
	m.right("a function", call(onnxtest.Call("F", "x", "y"), neg), right)
	m.right("a function that nothing calls", onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "x", "y")), neg), right)
	broken := onnxtest.Function("G", "a", "r", onnxtest.Op("Frobnicate", "a", "r"))
	m.refused("a function of an unknown operator", call(onnxtest.Call("G", "x", "y"), broken), "Frobnicate", "no such operator")
	m.open("a function of an unknown operator that nothing calls", onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "x", "y")), broken), []string{"Frobnicate"}, right)
	m.refused("a function that is not there", call(onnxtest.Call("H", "x", "y"), neg), `"n_y"`)
	m.refused("too many operands", call(onnxtest.Call("F", "x x", "y"), neg), `"n_y"`)
	two := onnxtest.Call("F", "x", "y")
	two.Output = []string{"y", "z"}
	m.refused("too many results", call(two, neg), `"n_y"`)
	m.refused("a function that calls itself", call(onnxtest.Call("R", "x", "y"), onnxtest.Function("R", "a", "r", onnxtest.Call("R", "a", "r"))), "recursion")
	m.refused("functions that call each other", call(onnxtest.Call("P", "x", "y"), onnxtest.Function("P", "a", "r", onnxtest.Call("Q", "a", "r")), onnxtest.Function("Q", "a", "r", onnxtest.Call("P", "a", "r"))), "recursion")
	m.refused("a result that nothing makes", call(onnxtest.Call("N", "x", "y"), onnxtest.Function("N", "a", "r", onnxtest.Op("Neg", "a", "q"))), `"r"`)
	m.refused("an operand that is of the model", call(onnxtest.Call("N", "x", "y"), onnxtest.Function("N", "a", "r", onnxtest.Op("Neg", "x", "r"))), `"x"`)
	m.right("a result that is an operand", call(onnxtest.Call("N", "x", "t"), onnxtest.Function("N", "a", "a")), Run{Inputs: right.Inputs, Want: []Want{is(f32(1, -2, 3))}})
	twice := onnxtest.Function("T", "a a", "r", onnxtest.Op("Neg", "a", "r"))
	m.refused("an operand twice", call(onnxtest.Call("T", "x x", "y"), twice), `"a"`)
	m.refused("an attribute that is none", func() *onnxpb.ModelProto {
		n := onnxtest.Call("F", "x", "y")
		n.Attribute = []*onnxpb.AttributeProto{onnxtest.Attr("alpha", 1)}
		return call(n, neg)
	}(), `"n_y"`, "alpha")
	leaky := func(kind onnxpb.AttributeProto_AttributeType) *onnxpb.FunctionProto {
		f := onnxtest.Function("L", "a", "r", onnxtest.Op("LeakyRelu", "a", "r"))
		f.Attribute = []string{"slope"}
		f.Node[0].Attribute = []*onnxpb.AttributeProto{{Name: proto.String("alpha"), RefAttrName: proto.String("slope"), Type: kind.Enum()}}
		return f
	}
	n := onnxtest.Call("L", "x", "y")
	n.Attribute = []*onnxpb.AttributeProto{onnxtest.Attr("slope", float32(0.5))}
	m.right("an attribute", call(n, leaky(onnxpb.AttributeProto_FLOAT)), run(is(f32(1, -1, 3)), "x", f32(1, -2, 3)))
	m.right("an attribute that is absent", call(onnxtest.Call("L", "x", "y"), leaky(onnxpb.AttributeProto_FLOAT)), run(about(f32(1, -0.02, 3)), "x", f32(1, -2, 3)))
	n = onnxtest.Call("L", "x", "y")
	n.Attribute = []*onnxpb.AttributeProto{onnxtest.Attr("slope", 1)}
	m.refused("an attribute of another type", call(n, leaky(onnxpb.AttributeProto_FLOAT)), "slope")
	n = onnxtest.Call("L", "x", "y")
	n.Attribute = []*onnxpb.AttributeProto{onnxtest.Attr("slope", float32(0.5)), onnxtest.Attr("slope", float32(0.25))}
	m.refused("an attribute given twice", call(n, leaky(onnxpb.AttributeProto_FLOAT)), `"n_y"`, `attribute "slope" is given twice`)
	listed := leaky(onnxpb.AttributeProto_FLOAT)
	listed.Attribute = []string{"slope", "slope"}
	m.refused("an attribute listed twice", call(onnxtest.Call("L", "x", "y"), listed), `"n_y"`, `lists attribute "slope" twice`)
	defaults := leaky(onnxpb.AttributeProto_FLOAT)
	defaults.AttributeProto = []*onnxpb.AttributeProto{onnxtest.Attr("slope", float32(0.5))}
	m.refused("an attribute listed with a default and without", call(onnxtest.Call("L", "x", "y"), defaults), `"n_y"`, `lists attribute "slope" twice`)
	for i, v := range []int64{math.MaxInt64, 0} {
		m.right(fmt.Sprintf("the domain's version %d", i), func() *onnxpb.ModelProto {
			model := call(onnxtest.Call("F", "x", "y"), neg)
			model.OpsetImport[1].Version = proto.Int64(v)
			return model
		}(), right)
	}
}
