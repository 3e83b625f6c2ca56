package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// attributes converts a node's attributes, in the order of their names: regions
// are so numbered. The regions' captures become the node's last operands.
func (s *scope) attributes(n *ir.Node, p *onnxpb.NodeProto) error {
	list := append([]*onnxpb.AttributeProto{}, p.Attribute...)
	sort.SliceStable(list, func(i, j int) bool { return list[i].GetName() < list[j].GetName() })
	n.Attrs = ir.Attrs{}
	var regions []*scope
	for i, a := range list {
		name := a.GetName()
		if name == "" || i > 0 && list[i-1].GetName() == name {
			return fmt.Errorf("attribute %s: the name is empty or taken", show(name))
		}
		x, err := s.attribute(a)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", show(name), err)
		}
		if isNibble(a.GetT().GetDataType()) {
			return refusef("attribute %s is a tensor of type int4 or uint4; only Constant nodes and initializers support these types", show(name))
		}
		if g, ok := x.(*onnxpb.GraphProto); ok {
			if len(regions) == limit.Regions {
				return fmt.Errorf("attribute %s is a graph, and so are %d others; operators of ONNX have at most %d", show(name), len(regions), limit.Regions)
			}
			r, err := s.region(n.Op, g)
			if err != nil {
				return fmt.Errorf("attribute %s: %w", show(name), err)
			}
			x = ir.RegionRef(len(regions))
			regions = append(regions, r)
		}
		if x != nil {
			n.Attrs[name] = x
		}
	}
	closeRegions(n, regions)
	return nil
}

// region converts a subgraph of an operator.
func (s *scope) region(of string, p *onnxpb.GraphProto) (*scope, error) {
	r := &scope{
		im: s.im, g: &ir.Graph{Name: p.GetName(), Opset: max(s.frame.opsets[""], modernOpset)},
		frame: s.frame, parent: s, of: of, depth: s.depth + 1,
	}
	return r, r.graph(p)
}

// closeRegions makes what any region captures an operand of the node and an
// input of each region.
func closeRegions(n *ir.Node, regions []*scope) {
	var captured []*ir.Value
	seen := map[*ir.Value]bool{}
	for _, r := range regions {
		for _, v := range r.captured {
			if !seen[v] {
				seen[v] = true
				captured = append(captured, v)
			}
		}
	}
	n.Inputs = append(n.Inputs, captured...)
	n.Captures = len(captured)
	for _, r := range regions {
		for _, v := range captured {
			r.g.Inputs = append(r.g.Inputs, r.capture(v))
		}
		n.Regions = append(n.Regions, r.g)
	}
}

// attribute is the value of an attribute in the compiler's form, a *GraphProto
// for a subgraph, nil for a reference to an attribute that the function's call does not give.
func (s *scope) attribute(p *onnxpb.AttributeProto) (any, error) {
	if ref := p.GetRefAttrName(); ref != "" {
		return s.frame.reference(ref, p.GetType())
	}
	switch kind := s.im.attributeType(p); kind {
	case onnxpb.AttributeProto_FLOAT:
		return p.GetF(), nil
	case onnxpb.AttributeProto_INT:
		return p.GetI(), nil
	case onnxpb.AttributeProto_STRING:
		return string(p.GetS()), nil
	case onnxpb.AttributeProto_FLOATS:
		return s.im.floats(p)
	case onnxpb.AttributeProto_INTS:
		return s.im.ints(p)
	case onnxpb.AttributeProto_STRINGS:
		return s.im.strings(p)
	case onnxpb.AttributeProto_TENSOR:
		if p.T == nil {
			return nil, fmt.Errorf("the tensor is missing")
		}
		return s.im.tensor(p.T)
	case onnxpb.AttributeProto_GRAPH:
		if p.G == nil {
			return nil, fmt.Errorf("the graph is missing")
		}
		return p.G, nil
	default:
		return nil, refusef("attributes of type %s are not supported", kind)
	}
}

// attributeType is the attribute's type; old models leave it to be told by the field in use.
func (im *importer) attributeType(p *onnxpb.AttributeProto) onnxpb.AttributeProto_AttributeType {
	if t := p.GetType(); t != onnxpb.AttributeProto_UNDEFINED {
		return t
	}
	switch {
	case p.F != nil:
		return onnxpb.AttributeProto_FLOAT
	case p.I != nil:
		return onnxpb.AttributeProto_INT
	case p.S != nil:
		return onnxpb.AttributeProto_STRING
	case p.T != nil:
		return onnxpb.AttributeProto_TENSOR
	case p.G != nil:
		return onnxpb.AttributeProto_GRAPH
	case im.list(p, listFloats) != nil:
		return onnxpb.AttributeProto_FLOATS
	case im.list(p, listInts) != nil:
		return onnxpb.AttributeProto_INTS
	case im.list(p, listStrings) != nil:
		return onnxpb.AttributeProto_STRINGS
	}
	return onnxpb.AttributeProto_UNDEFINED
}

// floats is a constant; a scalar one of one number.
func floats(xs ...float32) *ir.Tensor {
	t := &ir.Tensor{Type: ir.F32, Shape: []int64{}}
	for _, x := range xs {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(x))
	}
	return t
}

// ints is a constant; a scalar one of one number.
func ints(xs ...int64) *ir.Tensor {
	t := &ir.Tensor{Type: ir.I64, Shape: []int64{}}
	for _, x := range xs {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(x))
	}
	return t
}

// vector makes a constant one-dimensional.
func vector(t *ir.Tensor) *ir.Tensor {
	t.Shape = []int64{int64(len(t.Data) / t.Type.Size())}
	return t
}
