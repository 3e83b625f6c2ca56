package onnx

import (
	"fmt"
	"slices"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// body converts nodes into s.g.
func (s *scope) body(nodes []*onnxpb.NodeProto) error {
	for _, p := range nodes {
		if s.im.nodes++; s.im.nodes > limit.Nodes {
			return fmt.Errorf("the model has more than %d nodes", limit.Nodes)
		}
		err := s.node(p)
		if isRefusal(err) {
			s.im.problems.add("%s: %v", s.label(p), err)
			err = s.placeholders(p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.label(p), err)
		}
	}
	return nil
}

// label names a node in messages: operator, domain and opset, name.
func (s *scope) label(p *onnxpb.NodeProto) string {
	d := domain(p.GetDomain())
	opset := fmt.Sprintf("opset %d", s.frame.opsets[d])
	if d != "" {
		opset = "domain " + show(d) + " " + opset
	}
	name := show(s.frame.made(p.GetName()))
	if p.GetName() == "" && len(p.Output) > 0 {
		name = "with result " + show(s.frame.made(p.Output[0]))
	}
	return fmt.Sprintf("node %s, operator %s, %s", name, show(p.GetOpType()), opset)
}

// placeholders define the results of a node that is refused, so that the nodes
// after it are read and all refusals can be reported.
func (s *scope) placeholders(p *onnxpb.NodeProto) error {
	for _, out := range p.Output {
		if _, ok := s.env[out]; !ok && out != "" {
			if err := s.define(out, &ir.Value{Name: out, Def: &ir.Node{}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scope) node(p *onnxpb.NodeProto) error {
	operands := make([]*ir.Value, 0, len(p.Input))
	for _, in := range p.Input {
		v, err := s.lookup(in)
		if err != nil {
			return err
		}
		operands = append(operands, v)
	}
	d := domain(p.GetDomain())
	if f := s.im.functions[functionKey{d, p.GetOpType(), p.GetOverload()}]; f != nil {
		return s.inline(p, f, operands)
	}
	version, err := s.version(d, p)
	if err != nil {
		return err
	}
	switch operator(d, p) {
	case "Constant":
		return s.constantNode(p)
	case "Identity":
		if len(p.Input) != 1 || len(p.Output) != 1 || operands[0] == nil || len(p.Attribute) != 0 {
			return fmt.Errorf("an Identity has one operand, one result and no attributes")
		}
		if done, err := s.alias(p.Output[0], operands[0]); done || err != nil {
			return err
		}
	}
	if f := s.im.opt.Supported; f != nil {
		if err := f(operator(d, p), version); err != nil {
			if !slices.Contains(s.im.opt.Operators, operator(d, p)) {
				s.im.problems.operators = s.im.opt.Operators
			}
			return refusal{err}
		}
	}
	if done, err := s.ofNibbles(p, version, operands); done || err != nil {
		return err
	}
	if drawn, err := s.draw(p, version, operands); drawn || err != nil {
		return err
	}
	return s.add(p, version, operands)
}

// version is the since-version of the node's operator.
func (s *scope) version(d string, p *onnxpb.NodeProto) (int, error) {
	if d != "" && d != microsoft {
		return 0, refusef("operators of domain %s are not supported, only those of ai.onnx, some of %s and the model's own functions", show(d), microsoft)
	}
	opset, ok := s.frame.opsets[d]
	if !ok && d != "" {
		return 0, fmt.Errorf("no opset of %s is imported", d)
	}
	if !ok {
		return 0, fmt.Errorf("no opset of ai.onnx is imported")
	}
	if p.GetOverload() != "" {
		return 0, refusef("the model has no function of overload %s", show(p.GetOverload()))
	}
	if standard, ok := standardised[qualified(d, p)]; ok {
		return standard.version, nil
	}
	if d != "" {
		return 1, nil // all definitions there are
	}
	return sinceVersion(p.GetOpType(), opset)
}

// microsoft is the domain of ONNX Runtime's own operators.
const microsoft = "com.microsoft"

// standardised are operators of ONNX Runtime that ai.onnx has, too, and the definition there that has what they have. Two are in
// ai.onnx's domain, of models of any opset, and one of these by a name that is not ai.onnx's.
var standardised = map[string]struct {
	op      string
	version int
}{
	microsoft + ".DequantizeLinear": {"DequantizeLinear", 21},
	microsoft + ".QuantizeLinear":   {"QuantizeLinear", 21},
	"LayerNormalization":            {"LayerNormalization", 17},
	"SimplifiedLayerNormalization":  {"RMSNormalization", 23},
}

// qualified is the name of a node's operator as the model has it: that of ai.onnx, or one that begins with its domain.
func qualified(d string, p *onnxpb.NodeProto) string {
	if d == "" {
		return p.GetOpType()
	}
	return d + "." + p.GetOpType()
}

// operator is the name of a node's operator in the compiler.
func operator(d string, p *onnxpb.NodeProto) string {
	name := qualified(d, p)
	if standard, ok := standardised[name]; ok {
		return standard.op
	}
	return name
}

// add appends the node to the graph.
func (s *scope) add(p *onnxpb.NodeProto, version int, operands []*ir.Value) error {
	for len(operands) > 0 && operands[len(operands)-1] == nil {
		operands = operands[:len(operands)-1]
	}
	n := &ir.Node{Op: operator(domain(p.GetDomain()), p), Version: version, Name: s.nodeName(p), Inputs: operands}
	if n.Name != "" {
		n.Origins = []string{n.Name}
	}
	if err := s.attributes(n, p); err != nil {
		return err
	}
	if err := s.upgrade(n, p); err != nil {
		return err
	}
	for _, out := range p.Output[:results(p)] {
		if out == "" {
			n.Outputs = append(n.Outputs, nil)
			continue
		}
		v := &ir.Value{Name: s.resultName(out), Def: n}
		if err := s.define(out, v); err != nil {
			return err
		}
		n.Outputs = append(n.Outputs, v)
	}
	s.g.Nodes = append(s.g.Nodes, n)
	return nil
}

// results is the number of a node's results. Absent ones at the end count where an operator may
// have any number of results, and not where that number tells training from inference.
func results(p *onnxpb.NodeProto) int {
	n := len(p.Output)
	for p.GetOpType() == "BatchNormalization" && n > 1 && p.Output[n-1] == "" {
		n--
	}
	return n
}

func (s *scope) nodeName(p *onnxpb.NodeProto) string {
	if p.GetName() == "" {
		return ""
	}
	return s.frame.made(p.GetName())
}

// resultName is the name of a result: the model's, or one made unique in an inlined function.
func (s *scope) resultName(out string) string {
	if s.frame.fn == nil {
		return out
	}
	return s.im.unique(s.frame.made(out))
}

// alias makes a name stand for a value, unless an output would lose its name;
// then the Identity stays as a node.
func (s *scope) alias(out string, v *ir.Value) (done bool, err error) {
	if out == "" {
		return true, nil
	}
	if s.top && s.im.outputs[out] {
		switch {
		case v.Const != nil:
			v = ir.ConstValue(out, v.Const)
		case v.Def == nil || s.im.outputs[v.Name]:
			return false, nil
		default:
			v.Name = out
		}
	}
	return true, s.define(out, v)
}

// constantNode makes the value of a Constant node.
func (s *scope) constantNode(p *onnxpb.NodeProto) error {
	if len(p.Input) != 0 || len(p.Output) != 1 || p.Output[0] == "" || len(p.Attribute) != 1 {
		return fmt.Errorf("a Constant has no operands, one result and one attribute")
	}
	t, err := s.constantTensor(p.Attribute[0])
	if err != nil {
		return err
	}
	v := s.constant(p.Output[0], t)
	s.im.nibbles[v] = isNibble(p.Attribute[0].GetT().GetDataType())
	return s.define(p.Output[0], v)
}

// constantList is the value of a Constant node's one attribute where it is a list, or nil: such a list may be as long as any
// weight. Strings are not even read.
func (s *scope) constantList(p *onnxpb.AttributeProto) (*ir.Tensor, error) {
	kind := s.im.attributeType(p)
	switch name := p.GetName(); {
	case name == "value_string" && kind == onnxpb.AttributeProto_STRING || name == "value_strings" && kind == onnxpb.AttributeProto_STRINGS:
		return nil, refusef("constants of type string are not supported")
	case p.GetRefAttrName() != "":
		return nil, nil
	case name == "value_ints" && kind == onnxpb.AttributeProto_INTS:
		return s.im.vector(p, listInts, ir.I64)
	case name == "value_floats" && kind == onnxpb.AttributeProto_FLOATS:
		return s.im.vector(p, listFloats, ir.F32)
	}
	return nil, nil
}

// constantTensor is the value of a Constant node's one attribute.
func (s *scope) constantTensor(p *onnxpb.AttributeProto) (*ir.Tensor, error) {
	name := p.GetName()
	if t, err := s.constantList(p); t != nil || err != nil {
		return t, err
	}
	a, err := s.attribute(p)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fmt.Errorf("attribute %s has no value", show(name))
	}
	switch x := a.(type) {
	case *ir.Tensor:
		if name == "value" {
			return x, nil
		}
	case float32:
		if name == "value_float" {
			return floats(x), nil
		}
	case []float32:
		if name == "value_floats" {
			return vector(floats(x...)), nil
		}
	case int64:
		if name == "value_int" {
			return ints(x), nil
		}
	case []int64:
		if name == "value_ints" {
			return vector(ints(x...)), nil
		}
	}
	return nil, fmt.Errorf("a Constant has no attribute %s of this type", show(name))
}
