package onnx

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// exporter converts a graph to ONNX's messages.
type exporter struct {
	opset   int
	names   map[*ir.Value]string
	weights []weight
	// microsoft reports that a node is of that domain.
	microsoft bool
}

// nameScope holds the names that a graph and those around it have taken.
type nameScope struct {
	parent  *nameScope
	taken   map[string]bool
	numbers map[string]int // how many names that are like a name are taken
}

func newNameScope(parent *nameScope) *nameScope {
	return &nameScope{parent: parent, taken: map[string]bool{}, numbers: map[string]int{}}
}

func (s *nameScope) has(name string) bool {
	for ; s != nil; s = s.parent {
		if s.taken[name] {
			return true
		}
	}
	return false
}

// unique is the name, or one like it where it is taken.
func (s *nameScope) unique(name string) string {
	if name == "" {
		name = "value"
	}
	out := name
	for i := s.numbers[name]; s.has(out); i++ {
		out = fmt.Sprintf("%s_%d", name, i+2)
		s.numbers[name] = i + 1
	}
	s.taken[out] = true
	return out
}

// model converts the outermost graph. Its inputs and outputs keep their names.
func (e *exporter) model(g *ir.Graph) (*onnxpb.GraphProto, error) {
	s := newNameScope(nil)
	for _, v := range g.Inputs {
		e.names[v] = s.unique(v.Name)
	}
	for _, v := range g.Outputs {
		if _, ok := e.names[v]; ok {
			continue // an input
		}
		if e.names[v] = s.unique(v.Name); e.names[v] != v.Name {
			return nil, fmt.Errorf("an input and another output are both called %s", show(v.Name))
		}
	}
	e.constants(g, s, map[*ir.Value]bool{})
	return e.graph(g, s, len(g.Inputs))
}

// constants lists the constants of a graph and its regions.
func (e *exporter) constants(g *ir.Graph, s *nameScope, seen map[*ir.Value]bool) {
	visit := func(vs []*ir.Value) {
		for _, v := range vs {
			if v == nil || v.Const == nil || seen[v] {
				continue
			}
			seen[v] = true
			if _, ok := e.names[v]; !ok {
				e.names[v] = s.unique(v.Name)
			}
			e.weights = append(e.weights, weight{head: tensorHead(e.names[v], v.Const), tensor: v.Const})
		}
	}
	for _, n := range g.Nodes {
		visit(n.Inputs)
		for _, r := range n.Regions {
			e.constants(r, s, seen)
		}
	}
	visit(g.Outputs)
}

func tensorHead(name string, t *ir.Tensor) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Dims: t.Shape, DataType: proto.Int32(int32(onnxType(t.Type)))}
	if name != "" {
		p.Name = proto.String(name)
	}
	return p
}

// onnxType is the inverse of elementType.
func onnxType(t ir.DType) onnxpb.TensorProto_DataType {
	for o, d := range dtypes {
		if d == t {
			return o
		}
	}
	return onnxpb.TensorProto_UNDEFINED
}

// graph converts a graph of whose inputs the first own ones are its own, the others captures.
func (e *exporter) graph(g *ir.Graph, s *nameScope, own int) (*onnxpb.GraphProto, error) {
	p := &onnxpb.GraphProto{Name: proto.String(g.Name)}
	if g.Name == "" {
		p.Name = proto.String("graph") // it must not be empty
	}
	for _, v := range g.Inputs[:own] {
		if _, ok := e.names[v]; !ok {
			e.names[v] = s.unique(v.Name)
		}
		p.Input = append(p.Input, e.valueInfo(v))
	}
	// All names first: those of regions avoid also what is computed after them.
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if _, ok := e.names[v]; v != nil && !ok {
				e.names[v] = s.unique(v.Name)
			}
		}
	}
	for _, n := range g.Nodes {
		np, err := e.node(n, s)
		if err != nil {
			return nil, n.Errorf("%w", err)
		}
		p.Node = append(p.Node, np)
	}
	e.outputs(p, g, s)
	return p, nil
}

// outputs lists the outputs. A region's must be its nodes' results, each once:
// an Identity makes them so.
func (e *exporter) outputs(p *onnxpb.GraphProto, g *ir.Graph, s *nameScope) {
	seen := map[*ir.Value]bool{}
	for _, v := range g.Outputs {
		info := e.valueInfo(v)
		if s.parent != nil && (v.Def == nil || seen[v]) {
			name := s.unique(v.Name + "_out")
			p.Node = append(p.Node, &onnxpb.NodeProto{
				OpType: proto.String("Identity"), Input: []string{e.names[v]}, Output: []string{name},
			})
			info.Name = proto.String(name)
		}
		seen[v] = true
		p.Output = append(p.Output, info)
	}
}

func (e *exporter) valueInfo(v *ir.Value) *onnxpb.ValueInfoProto {
	p := &onnxpb.ValueInfoProto{Name: proto.String(e.names[v])}
	if v.Type == ir.Invalid {
		return p
	}
	t := &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(onnxType(v.Type)))}
	if v.HasShape {
		t.Shape = &onnxpb.TensorShapeProto{}
		for _, d := range v.Shape {
			dim := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.String()}}
			if c, ok := d.Const(); ok {
				dim.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: c}
			}
			t.Shape.Dim = append(t.Shape.Dim, dim)
		}
	}
	p.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: t}}
	return p
}

// bind is the compiler's own operator that gives its first operand, and says that numbers in it are dimensions (ops.Bind): ONNX finds that
// out when the model runs.
const bind = "bind"

func (e *exporter) identity(n *ir.Node) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{OpType: proto.String("Identity"), Input: []string{e.names[n.Inputs[0]]}, Output: []string{e.names[n.Outputs[0]]}}
}

// holds reports why the opset has no operator of ai.onnx, as a node has it.
func (e *exporter) holds(n *ir.Node) error {
	version, err := sinceVersion(n.Op, e.opset)
	if err != nil {
		return fmt.Errorf("%w; ONNX cannot store it", err)
	}
	if version != n.Version {
		return fmt.Errorf("the node follows the operator's version %d; opset %d has version %d", n.Version, e.opset, version)
	}
	return nil
}

// ofMicrosoft reports whether a node is as an operator of ONNX Runtime that ai.onnx has, too: as it was read in a model of another opset. The
// definition there knows no attribute but these.
func ofMicrosoft(n *ir.Node) bool {
	for _, name := range n.Attrs.Names() {
		if name != "axis" && name != "block_size" {
			return false
		}
	}
	standard, ok := standardised[microsoft+"."+n.Op]
	return ok && n.Version == standard.version
}

func (e *exporter) node(n *ir.Node, s *nameScope) (*onnxpb.NodeProto, error) {
	if n.Op == bind {
		return e.identity(n), nil
	}
	p := &onnxpb.NodeProto{OpType: proto.String(n.Op)}
	if op, ok := strings.CutPrefix(n.Op, microsoft+"."); ok {
		p.OpType, p.Domain, e.microsoft = proto.String(op), proto.String(microsoft), true
	} else if err := e.holds(n); err != nil {
		if !ofMicrosoft(n) {
			return nil, err
		}
		p.Domain, e.microsoft = proto.String(microsoft), true
	}
	if n.Name != "" {
		p.Name = proto.String(n.Name)
	}
	for _, v := range n.Inputs[:len(n.Inputs)-n.Captures] {
		p.Input = append(p.Input, e.names[v]) // nil: ""
	}
	for _, v := range n.Outputs {
		p.Output = append(p.Output, e.names[v])
	}
	used := make([]bool, len(n.Regions))
	for _, name := range n.Attrs.Names() {
		a, err := e.attribute(n, n.Attrs[name], s, used)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", show(name), err)
		}
		a.Name = proto.String(name)
		p.Attribute = append(p.Attribute, a)
	}
	for i, ok := range used {
		if !ok {
			return nil, fmt.Errorf("region %d is named by no attribute", i)
		}
	}
	return p, nil
}

func (e *exporter) attribute(n *ir.Node, x any, s *nameScope, used []bool) (*onnxpb.AttributeProto, error) {
	p := &onnxpb.AttributeProto{}
	kind := typeOfValue(x)
	switch x := x.(type) {
	case int64:
		p.I = proto.Int64(x)
	case float32:
		p.F = proto.Float32(x)
	case string:
		p.S = []byte(x)
	case []int64:
		p.Ints = x
	case []float32:
		p.Floats = x
	case []string:
		for _, y := range x {
			p.Strings = append(p.Strings, []byte(y))
		}
	case *ir.Tensor:
		b, err := x.Bytes()
		if err != nil {
			return nil, err
		}
		p.T = tensorHead("", x)
		p.T.RawData = b
	case ir.RegionRef:
		if used[x] {
			return nil, fmt.Errorf("region %d has two names", int(x))
		}
		used[x] = true
		kind = onnxpb.AttributeProto_GRAPH
		var err error
		if p.G, err = e.region(n, n.Regions[x], s); err != nil {
			return nil, err
		}
	}
	p.Type = kind.Enum()
	return p, nil
}

// region converts a region; what it captures has the outer value's name.
func (e *exporter) region(n *ir.Node, r *ir.Graph, s *nameScope) (*onnxpb.GraphProto, error) {
	own := len(r.Inputs) - n.Captures
	outer := n.Inputs[len(n.Inputs)-n.Captures:]
	for i, v := range r.Inputs[own:] {
		e.names[v] = e.names[outer[i]]
	}
	return e.graph(r, newNameScope(s), own)
}
