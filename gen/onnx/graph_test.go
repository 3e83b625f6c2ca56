package onnx

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

func TestConstantsAndIdentities(t *testing.T) {
	m := modelOf(names("x", "w"), names("y1", "y2", "y3", "y4", "y5"),
		node("Constant", nil, names("c1"), "value_float", float32(2)),
		node("Constant", nil, names("c2"), "value_ints", []int64{}),
		node("Constant", nil, names("c3"), "value_int", 7),
		node("Constant", nil, names("c4"), "value_floats", []float32{1, 2}),
		node("Constant", nil, names("y5"), "value", raw("", onnxpb.TensorProto_BOOL, []byte{1})),
		node("Identity", names("x"), names("x2")),
		node("Sum", names("x2", "c1", "w", "", "c4"), names("s")),
		node("Identity", names("s"), names("y1")),
		node("Identity", names("s"), names("y2")),
		node("Identity", names("x2"), names("y3")),
		node("Identity", names("c3"), names("y4")),
		node("Reshape", names("s", "c2", "", ""), names("unused", "")),
	)
	m.Graph.Initializer = []*onnxpb.TensorProto{
		raw("w", onnxpb.TensorProto_FLOAT, le(float32(3)), 1, 1), // an input too: a default is a constant, of which a warning tells
		raw("never", onnxpb.TensorProto_STRING, nil, 1),
	}
	require.Equal(t, `graph "g" opset 17 {
  symbol N 1..2147483647
  warning default "inputs with default values become constants of the library: \"w\"; --keep-input=NAME keeps one as an input of each run"
  const @c1 f32[] = {2}
  const @w f32[1, 1] = {3}
  const @c4 f32[2] = {1, 2}
  const @c2 i64[0] = {}
  const @y4 i64[] = {7}
  const @y5 bool[] = {1}
  input %x f32[N, 4]
  %y1 f32[N, 4] = Sum.13(%x, @c1, @w, _, @c4) "n_s"
  %y2 f32[N, 4] = Identity.16(%y1) "n_y2"
  %y3 f32[N, 4] = Identity.16(%x) "n_y3"
  %unused ?[*], _ = Reshape.14(%y1, @c2) "n_unused"
  output %y1
  output %y2
  output %y3
  output @y4
  output @y5
}
`, text(t, mustRead(t, m)))
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		op          string
		opset, want int
		err         string
	}{
		{"Relu", 7, 6, ""}, {"Relu", 13, 13, ""}, {"Relu", 14, 14, ""}, {"Relu", NewestOpset, 14, ""}, {"Softmax", 12, 11, ""},
		{"Gelu", 19, 0, "exists since opset 20"}, {"Upsample", 9, 9, ""}, {"Upsample", 10, 0, "deprecated since opset 10"},
		{"Scatter", 11, 0, "deprecated"}, {"GroupNormalization", 20, 18, ""}, {"GroupNormalization", 21, 21, ""}, {"relu", 17, 0, "no such operator"},
	} {
		v, err := sinceVersion(c.op, c.opset)
		require.Equal(t, c.want, v, c.op)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
			require.True(t, isRefusal(err))
		}
	}
	require.Len(t, irVersions, NewestOpset+1)
}

func TestSubgraphs(t *testing.T) {
	inner := graphOf(nil, names("b"), // captures x of the model through the branch
		node("Add", names("x", "t"), names("b"))) // t: of the branch
	then := graphOf(nil, names("r"),
		node("Mul", names("x", "w"), names("t")),
		node("If", names("cond"), names("r"), "then_branch", inner, "else_branch", graphOf(nil, names("t2"), node("Identity", names("t"), names("t2")))),
	)
	other := graphOf(nil, names("w"))
	other.Initializer = []*onnxpb.TensorProto{raw("w", onnxpb.TensorProto_FLOAT, le(float32(9)))}
	m := modelOf(names("x"), names("y"),
		node("If", names("cond"), names("y"), "then_branch", then, "else_branch", other))
	m.Graph.Input = append(m.Graph.Input, info("cond", onnxpb.TensorProto_BOOL))
	m.Graph.Initializer = []*onnxpb.TensorProto{raw("w", onnxpb.TensorProto_FLOAT, le(float32(3)))}
	m.Graph.Output[0].Type = nil
	g := mustRead(t, m)
	require.Equal(t, `graph "g" opset 17 {
  symbol N 1..2147483647
  const @w_2 f32[] = {9}
  const @w f32[] = {3}
  input %x f32[N, 4]
  input %cond bool[]
  %y ?[*] = If.16(%cond; %x, %cond) {else_branch = region 0, then_branch = region 1} "n_y" regions {
    graph "sub" opset 17 {
      input %x f32[N, 4]
      input %cond bool[]
      output @w_2
    }
    graph "sub" opset 17 {
      input %x f32[N, 4]
      input %cond bool[]
      %t ?[*] = Mul.14(%x, @w) "n_t"
      %r ?[*] = If.16(%cond; %t, %x) {else_branch = region 0, then_branch = region 1} "n_r" regions {
        graph "sub" opset 17 {
          input %t ?[*]
          input %x f32[N, 4]
          output %t
        }
        graph "sub" opset 17 {
          input %t ?[*]
          input %x f32[N, 4]
          %b ?[*] = Add.14(%x, %t) "n_b"
          output %b
        }
      }
      output %r
    }
  }
  output %y
}
`, text(t, g))
	roundTrips(t, g)
}

func TestLoop(t *testing.T) {
	body := graphOf(nil, nil,
		node("Add", names("acc", "x"), names("acc_out")),
		node("Identity", names("c_in"), names("c_out")),
		node("Cast", names("i"), names("scan"), "to", 1))
	body.Input = []*onnxpb.ValueInfoProto{info("i", onnxpb.TensorProto_INT64), info("c_in", onnxpb.TensorProto_BOOL), info("acc", onnxpb.TensorProto_FLOAT, "any", 4)}
	body.Output = []*onnxpb.ValueInfoProto{info("c_out", onnxpb.TensorProto_BOOL), info("acc_out", onnxpb.TensorProto_FLOAT), info("scan", onnxpb.TensorProto_FLOAT)}
	m := modelOf(names("x"), names("y"), node("Loop", names("trips", "", "x"), names("y", "scans"), "body", body))
	m.Graph.Initializer = []*onnxpb.TensorProto{raw("trips", onnxpb.TensorProto_INT64, le(int64(3)))}
	g := mustRead(t, m)
	require.Contains(t, text(t, g), `%y f32[N, 4], %scans ?[*] = Loop.16(@trips, _, %x; %x) {body = region 0} "n_y" regions {
    graph "sub" opset 17 {
      input %i i64[]
      input %c_in bool[]
      input %acc f32[*]
      input %x f32[N, 4]
      %acc_out ?[*] = Add.14(%acc, %x) "n_acc_out"
      %scan ?[*] = Cast.13(%i) {to = 1} "n_scan"
      output %c_in
      output %acc_out
      output %scan
    }
  }`)
	roundTrips(t, g)
}

func TestFunctions(t *testing.T) {
	scale := function("my", "Scale", names("a", "k"), names("out", "twice"),
		node("Constant", nil, names("two"), "value_float", float32(2)),
		node("Softmax", names("a"), names("s"), "axis", ref("axis")),
		node("Mul", names("s", "two"), names("twice")),
		node("Clip", names("twice", "", "k"), names("out"), "absent", ref("none")),
	)
	scale.Attribute = names("none")
	scale.AttributeProto = []*onnxpb.AttributeProto{attr("axis", -1)}
	outer := function("my", "Outer", names("a"), names("b", "same"),
		inDomain("my", node("Scale", names("a"), names("b"), "axis", ref("outer_axis"))),
		node("Identity", names("a"), names("same")))
	outer.Attribute = names("outer_axis")
	m := modelOf(names("x"), names("y", "z", "same"),
		inDomain("my", node("Outer", names("x"), names("y", "same"), "outer_axis", 1)),
		inDomain("my", node("Scale", names("y", "x"), names("z"))))
	m.OpsetImport = opsets("ai.onnx", 17, "my", 1)
	m.Functions = []*onnxpb.FunctionProto{scale, outer}
	g := mustRead(t, m)
	require.Equal(t, `graph "g" opset 17 {
  symbol N 1..2147483647
  const @n_y/n_b/two f32[] = {2}
  const @n_z/two f32[] = {2}
  input %x f32[N, 4]
  %n_y/n_b/s ?[*] = Softmax.13(%x) {axis = 1} "n_y/n_b/n_s"
  %n_y/n_b/twice ?[*] = Mul.14(%n_y/n_b/s, @n_y/n_b/two) "n_y/n_b/n_twice"
  %y f32[N, 4] = Clip.13(%n_y/n_b/twice) "n_y/n_b/n_out"
  %same f32[N, 4] = Identity.16(%x)
  %n_z/s ?[*] = Softmax.13(%y) {axis = -1} "n_z/n_s"
  %n_z/twice ?[*] = Mul.14(%n_z/s, @n_z/two) "n_z/n_twice"
  %z f32[N, 4] = Clip.13(%n_z/twice, _, %x) "n_z/n_out"
  output %y
  output %z
  output %same
}
`, text(t, g))
	roundTrips(t, g)
}

func TestFunctionErrors(t *testing.T) {
	call := inDomain("my", node("F", names("x"), names("y")))
	self := function("my", "F", names("a"), names("b"), inDomain("my", node("F", names("a"), names("b"))))
	bomb := []*onnxpb.FunctionProto{function("my", "F", names("a"), names("b"), node("Relu", names("a"), names("b")))}
	for i := range 40 { // each calls the one before twice
		prev := bomb[i].GetName()
		bomb = append(bomb, function("my", prev+"F", names("a"), names("c"),
			inDomain("my", node(prev, names("a"), names("b"))), inDomain("my", node(prev, names("b"), names("c")))))
	}
	bombCall := inDomain("my", node(bomb[40].GetName(), names("x"), names("y")))
	for _, c := range []struct {
		call *onnxpb.NodeProto
		fns  []*onnxpb.FunctionProto
		want string
	}{
		{call, []*onnxpb.FunctionProto{self}, "recursion is not supported"},
		{bombCall, bomb, "more than"},
		{call, []*onnxpb.FunctionProto{bomb[0], bomb[0]}, "is empty or taken"},
		{inDomain("my", node("F", names("x", "x"), names("y"))), bomb[:1], "takes 1 operands"},
		{inDomain("my", node("F", names("x"), names("y", "z"))), bomb[:1], "has 1 results"},
		{inDomain("my", node("F", names("x"), names("y"), "k", 1)), bomb[:1], `no attribute "k"`},
		{call, []*onnxpb.FunctionProto{function("my", "F", names("a"), names("missing"))}, `"missing" is not defined`},
		{call, []*onnxpb.FunctionProto{function("my", "F", names("a"), names("b"), node("Relu", names("x"), names("b")))}, `"x" is not defined`},
		{call, []*onnxpb.FunctionProto{function("my", "F", names("a", "a"), names("a"))}, "is empty or taken"},
		{node("Softmax", names("x"), names("y"), "axis", ref("k")), nil, "but is not in a function"},
	} {
		m := modelOf(names("x"), names("y"), c.call)
		m.Functions = c.fns
		_, err := read(t, m, Options{})
		require.ErrorContains(t, err, c.want)
	}
}

// TestRefusals checks that all that is not supported is reported at once.
func TestRefusals(t *testing.T) {
	sub := graphOf(nil, names("r"), inDomain("com.microsoft", node("Fused", names("x"), names("r"))))
	m := modelOf(names("x"), names("y"),
		inDomain("ai.onnx.ml", node("Scaler", names("x"), names("a"))),
		node("Upsample", names("a"), names("b")),
		node("NoSuch", names("b"), names("c", "")),
		node("Relu", names("c"), names("d"), "types", onnxpb.AttributeProto_TYPE_PROTO),
		node("Constant", nil, names("e"), "value_string", "text"),
		node("If", names("c"), names("f"), "then_branch", sub, "else_branch", sub),
		node("Gelu", names("f"), names("g")),
		node("Add", names("g", "sp"), names("sum")),
		node("Tanh", names("sum"), names("h")),
		&onnxpb.NodeProto{OpType: proto.String("Erf"), Input: names("h"), Output: names("y"), Overload: proto.String("o")},
	)
	m.OpsetImport = opsets("", 17, "ai.onnx.ml", 3, "com.microsoft", 1)
	m.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{{Values: raw("sp", onnxpb.TensorProto_FLOAT, nil)}, {Values: raw("unused", onnxpb.TensorProto_FLOAT, nil)}}
	m.Graph.Input = append(m.Graph.Input, &onnxpb.ValueInfoProto{Name: proto.String("seq"),
		Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{}}}})
	_, err := read(t, m, Options{Supported: func(op string, version int) error {
		if op == "Tanh" && version == 13 || op == "com.microsoft.Fused" && version == 1 {
			return refusef("not in the table")
		}
		return nil
	}})
	require.Error(t, err)
	for _, want := range []string{
		`node "n_sum", operator "Add", opset 17: value "sp" is a sparse initializer, which is not supported; store it as a dense one, with its zeros`,
		`input "seq": type sequence is not supported`,
		`node "n_a", operator "Scaler", domain "ai.onnx.ml" opset 3: operators of domain "ai.onnx.ml" are not supported`,
		`node "n_b", operator "Upsample", opset 17: the operator is deprecated since opset 10`,
		`node "n_c", operator "NoSuch", opset 17: ai.onnx has no such operator`,
		`node "n_d", operator "Relu", opset 17: attribute "types": attributes of type TYPE_PROTO`,
		`node "n_e", operator "Constant", opset 17: constants of type string`,
		`node "n_r", operator "Fused", domain "com.microsoft" opset 1`,
		`node "n_g", operator "Gelu", opset 17: the operator exists since opset 20`,
		`node "n_h", operator "Tanh", opset 17: not in the table`,
		`node with result "y", operator "Erf", opset 17: the model has no function of overload "o"`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, 11, strings.Count(err.Error(), "\n")) // a line each; the node in both branches once
}

// TestMicrosoft: ONNX Runtime's own operators bear their domain, are written with it, and need its opset; those that ai.onnx has are these.
func TestMicrosoft(t *testing.T) {
	m := modelOf(names("x"), names("y"),
		inDomain("com.microsoft", node("Fused", names("x"), names("a"))), inDomain("com.microsoft", node("QuantizeLinear", names("a", "x"), names("y"))))
	_, err := read(t, m, Options{})
	require.ErrorContains(t, err, "no opset of com.microsoft is imported")
	m.OpsetImport = opsets("", 17, "com.microsoft", 1)
	g, err := read(t, m, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"com.microsoft.Fused", "QuantizeLinear"}, []string{g.Nodes[0].Op, g.Nodes[1].Op})
	require.Equal(t, []int{1, 21}, []int{g.Nodes[0].Version, g.Nodes[1].Version})
	for _, opset := range []int{17, 21, 25} { // 21 has the definition itself
		g.Opset = opset
		var b bytes.Buffer
		require.NoError(t, Write(&b, g))
		again, err := Read(&ir.File{R: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}, nil, Options{})
		require.NoError(t, err)
		for i, n := range again.Nodes {
			require.Equal(t, []any{g.Nodes[i].Op, g.Nodes[i].Version}, []any{n.Op, n.Version})
		}
		require.Equal(t, opset, again.Opset)
	}
	for op, want := range map[string][]any{"SimplifiedLayerNormalization": {"RMSNormalization", 23}, "LayerNormalization": {"LayerNormalization", 17}} {
		m.OpsetImport = opsets("", 12, "com.microsoft", 1)
		m.Graph.Node[0] = node(op, names("x", "x"), names("a")) // in ai.onnx's domain
		normalized, err := read(t, m, Options{})
		require.NoError(t, err)
		require.Equal(t, want, []any{normalized.Nodes[0].Op, normalized.Nodes[0].Version})
	}
	g.Opset, g.Nodes[1].Attrs = 17, ir.Attrs{"output_dtype": int64(4)}
	require.ErrorContains(t, Write(&bytes.Buffer{}, g), "the node follows the operator's version 21; opset 17 has version 13", "ONNX Runtime's has no such attribute")
}

// TestSparse: a sparse initializer is named where something uses it, in a subgraph and as an output too, and
// what nothing uses is no error.
func TestSparse(t *testing.T) {
	branch := graphOf(nil, names("r"), node("Add", names("x", "w"), names("r")))
	for _, c := range []struct {
		name string
		m    *onnxpb.ModelProto
		want string
	}{
		{"unused", modelOf(names("x"), names("y"), node("Relu", names("x"), names("y"))), ""},
		{"unused, and an input", modelOf(names("x", "w"), names("y"), node("Relu", names("x"), names("y"))), ""},
		{"an operand", modelOf(names("x"), names("y"), node("Add", names("x", "w"), names("y"))), `node "n_y", operator "Add", opset 17: value "w" is a sparse initializer`},
		{"a branch", modelOf(names("x"), names("y"), node("If", names("x"), names("y"), "then_branch", branch, "else_branch", branch)), `node "n_r", operator "Add", opset 17: value "w" is a sparse`},
		{"an output", modelOf(names("x"), names("w"), node("Relu", names("x"), names("y"))), `output "w": value "w" is a sparse initializer`},
		{"a result", modelOf(names("x"), names("w"), node("Relu", names("x"), names("w"))), `value "w" is defined twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.Graph.SparseInitializer = []*onnxpb.SparseTensorProto{{Values: raw("w", onnxpb.TensorProto_FLOAT, nil)}}
			_, err := read(t, c.m, Options{})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestSupportedOperatorsAreListedOnce: after all nodes that have others.
func TestSupportedOperatorsAreListedOnce(t *testing.T) {
	m := modelOf(names("x"), names("c"), node("Erf", names("x"), names("a")), node("Sin", names("a"), names("b")), node("Relu", names("b"), names("c")))
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{"unknown operators", Options{Operators: []string{"Abs", "Relu"}}, `:
  node "n_a", operator "Erf", opset 17: not in the table
  node "n_b", operator "Sin", opset 17: not in the table
supported operators are:
  Abs, Relu`},
		{"only versions of known ones", Options{Operators: []string{"Erf", "Sin"}}, `:
  node "n_a", operator "Erf", opset 17: not in the table
  node "n_b", operator "Sin", opset 17: not in the table`},
		{"many", Options{Operators: slices.Repeat([]string{"Operator"}, 20)}, `
  Operator, Operator, Operator, Operator, Operator, Operator, Operator, Operator, Operator,
  Operator, Operator, Operator, Operator, Operator, Operator, Operator, Operator, Operator,
  Operator, Operator`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Supported = func(op string, _ int) error {
				if op == "Relu" {
					return nil
				}
				return errors.New("not in the table")
			}
			m.OpsetImport = opsets("", 17)
			_, err := read(t, m, c.opt)
			require.Error(t, err)
			require.True(t, strings.HasSuffix(err.Error(), c.want), err)
		})
	}
}

func TestMalformed(t *testing.T) {
	relu := node("Relu", names("x"), names("y"))
	for _, c := range []struct {
		name  string
		build func() *onnxpb.ModelProto
		want  string
	}{
		{"no graph", func() *onnxpb.ModelProto { return &onnxpb.ModelProto{IrVersion: proto.Int64(8)} }, "holds no graph"},
		{"old IR", func() *onnxpb.ModelProto { m := modelOf(nil, nil); m.IrVersion = nil; return m }, "IR version is 0; supported are 3 to"},
		{"new IR", func() *onnxpb.ModelProto { m := modelOf(nil, nil); m.IrVersion = proto.Int64(99); return m }, "IR version is 99"},
		{"no opset", func() *onnxpb.ModelProto { m := modelOf(nil, nil); m.OpsetImport = opsets("x", 1); return m }, "imports no opset"},
		{"old opset", func() *onnxpb.ModelProto { m := modelOf(nil, nil); m.OpsetImport = opsets("", 0); return m }, "opset 0 of ai.onnx is not supported; supported are 1 to"},
		{"new opset", func() *onnxpb.ModelProto { m := modelOf(nil, nil); m.OpsetImport = opsets("", 99); return m }, "opset 99"},
		{"two opsets", func() *onnxpb.ModelProto {
			m := modelOf(nil, nil)
			m.OpsetImport = opsets("", 9, "ai.onnx", 10)
			return m
		}, "both imported"},
		{"undefined", func() *onnxpb.ModelProto { return modelOf(nil, names("y"), relu) }, `node "n_y", operator "Relu", opset 17: value "x" is not defined`},
		{"twice", func() *onnxpb.ModelProto { return modelOf(names("x"), names("y"), relu, relu) }, `value "y" is defined twice`},
		{"input twice", func() *onnxpb.ModelProto { return modelOf(names("x", "x"), names("y"), relu) }, `input "x": the name is empty or taken`},
		{"output twice", func() *onnxpb.ModelProto { return modelOf(names("x"), names("y", "y"), relu) }, `output "y" is empty or listed twice`},
		{"no output", func() *onnxpb.ModelProto { return modelOf(names("x"), names("z"), relu) }, `output "z": value "z" is not defined`},
		{"typeless", func() *onnxpb.ModelProto {
			m := modelOf(names("x"), names("y"), relu)
			m.Graph.Input[0].Type = nil
			return m
		}, `input "x" has no type`},
		{"attribute twice", func() *onnxpb.ModelProto {
			return modelOf(names("x"), names("y"), node("Softmax", names("x"), names("y"), "axis", 1, "axis", 1))
		}, `attribute "axis": the name is empty or taken`},
		{"typeless attribute", func() *onnxpb.ModelProto {
			return modelOf(names("x"), names("y"), node("Softmax", names("x"), names("y"), "axis", onnxpb.AttributeProto_UNDEFINED))
		}, "attributes of type UNDEFINED"},
		{"no tensor", func() *onnxpb.ModelProto {
			return modelOf(names("x"), names("y"), node("Relu", names("x"), names("y"), "t", onnxpb.AttributeProto_TENSOR))
		}, "the tensor is missing"},
		{"constant", func() *onnxpb.ModelProto { return modelOf(nil, names("y"), node("Constant", nil, names("y"))) }, "a Constant has"},
		{"constant form", func() *onnxpb.ModelProto {
			return modelOf(nil, names("y"), node("Constant", nil, names("y"), "value_ints", 1))
		}, "has no attribute"},
		{"identity", func() *onnxpb.ModelProto {
			return modelOf(names("x"), names("y"), node("Identity", names("x", "x"), names("y")))
		}, "an Identity has"},
		{"initializer twice", func() *onnxpb.ModelProto {
			m := withInit(raw("w", onnxpb.TensorProto_FLOAT, le(float32(1))))
			m.Graph.Initializer = append(m.Graph.Initializer, m.Graph.Initializer[0])
			return m
		}, `initializer "w": the name is empty or taken`},
	} {
		_, err := read(t, c.build(), Options{})
		require.ErrorContains(t, err, c.want, c.name)
	}
}

// TestOldAttributes reads attributes without a type, as the first models had them.
func TestOldAttributes(t *testing.T) {
	n := node("Gemm", names("x", "x"), names("y"), "alpha", float32(2), "transB", 1, "s", "text", "ints", []int64{1}, "floats", []float32{1}, "strings", []string{"a"})
	for _, a := range n.Attribute {
		a.Type = nil
	}
	g := mustRead(t, modelOf(names("x"), names("y"), n))
	require.Equal(t, ir.Attrs{"alpha": float32(2), "transB": int64(1), "s": "text", "ints": []int64{1}, "floats": []float32{1}, "strings": []string{"a"}}, g.Nodes[0].Attrs)
}

// TestHostileNames checks that any bytes may be a name.
func TestHostileNames(t *testing.T) {
	long := strings.Repeat("n\n", 5000)
	bad := "\"q\\\"\xff%@ ,)"
	n := node("Relu", names(bad), names(long))
	n.Name = proto.String("*/ \x00\n" + long)
	m := modelOf(names(bad), names(long), n)
	m.Graph.Name = proto.String("}\n")
	m.Graph.Input[0] = info(bad, onnxpb.TensorProto_FLOAT, "batch \"1\"\n*2", nil)
	g := mustRead(t, m)
	require.Equal(t, "batch__1___2", g.Symbols[0].Name)
	roundTrips(t, g)
	back, err := ir.Parse(strings.NewReader(text(t, g)), nil)
	require.NoError(t, err)
	require.Equal(t, long, back.Outputs[0].Name)
	require.Equal(t, n.GetName(), back.Nodes[0].Name)
	m.Graph.Node[0].OpType = proto.String(long)
	_, err = read(t, m, Options{})
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1000)
}
