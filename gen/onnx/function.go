package onnx

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// functionKey identifies a model-local function.
type functionKey struct{ domain, name, overload string }

// frame is a call of a function that is being inlined; the model's own has no fn.
type frame struct {
	fn     *onnxpb.FunctionProto
	caller *frame
	opsets map[string]int
	attrs  map[string]any // the call's attributes and the function's defaults
	prefix string         // of names
	depth  int
}

// tooDeep is the error about a function at the end of too many calls.
func tooDeep(f *onnxpb.FunctionProto) error {
	return fmt.Errorf("function %s of domain %s: functions call each other deeper than %d", show(f.GetName()), show(f.GetDomain()), limit.Nesting)
}

func (im *importer) addFunctions(m *onnxpb.ModelProto) error {
	for _, f := range m.Functions {
		k := functionKey{domain(f.GetDomain()), f.GetName(), f.GetOverload()}
		if _, ok := im.functions[k]; ok || k.name == "" {
			return fmt.Errorf("function %s of domain %s: the name is empty or taken", show(k.name), show(k.domain))
		}
		im.functions[k] = f
	}
	return nil
}

// made is the name in the graph of what a function calls name. The file has it once, and the graph as often as the function
// is called, at any depth: of a long one it is the beginning and the end.
func (f *frame) made(name string) string {
	long := len(f.prefix) + len(name)
	if f.fn == nil || long <= limit.Inlined {
		return f.prefix + name
	}
	half := limit.Inlined / 2
	head := f.prefix[:min(half, len(f.prefix))]
	head += name[:min(half-len(head), len(name))]
	tail := name[max(0, len(name)-half):]
	tail = f.prefix[max(0, len(f.prefix)-(half-len(tail))):] + tail
	return head + "..." + tail
}

// reference is the value of a function's attribute, nil where the call gives none.
func (f *frame) reference(name string, typ onnxpb.AttributeProto_AttributeType) (any, error) {
	if f.fn == nil {
		return nil, fmt.Errorf("it refers to attribute %s of a function, but is not in a function", show(name))
	}
	x, ok := f.attrs[name]
	if !ok {
		return nil, nil
	}
	if typ != onnxpb.AttributeProto_UNDEFINED && typ != typeOfValue(x) {
		return nil, fmt.Errorf("it refers to attribute %s, which is not a %s", show(name), typ)
	}
	return x, nil
}

func typeOfValue(x any) onnxpb.AttributeProto_AttributeType {
	switch x.(type) {
	case float32:
		return onnxpb.AttributeProto_FLOAT
	case int64:
		return onnxpb.AttributeProto_INT
	case string:
		return onnxpb.AttributeProto_STRING
	case []float32:
		return onnxpb.AttributeProto_FLOATS
	case []int64:
		return onnxpb.AttributeProto_INTS
	case []string:
		return onnxpb.AttributeProto_STRINGS
	case *ir.Tensor:
		return onnxpb.AttributeProto_TENSOR
	}
	return onnxpb.AttributeProto_UNDEFINED
}

// inline converts the body of a function in place of the node p that calls it.
func (s *scope) inline(p *onnxpb.NodeProto, f *onnxpb.FunctionProto, operands []*ir.Value) error {
	callee, err := s.call(p, f)
	if err != nil {
		return err
	}
	body := &scope{im: s.im, g: s.g, frame: callee, caller: s, depth: s.depth,
		env: map[string]*ir.Value{}, inits: map[string]*onnxpb.TensorProto{}}
	if len(operands) > len(f.Input) || len(p.Output) > len(f.Output) {
		return fmt.Errorf("the function takes %d operands and has %d results", len(f.Input), len(f.Output))
	}
	for i, name := range f.Input {
		if _, ok := body.env[name]; ok || name == "" {
			return fmt.Errorf("operand %s of the function: the name is empty or taken", show(name))
		}
		body.env[name] = nil
		if i < len(operands) {
			body.env[name] = operands[i]
		}
	}
	if err := body.body(f.Node); err != nil {
		return err
	}
	for i, out := range p.Output {
		if out == "" {
			continue
		}
		v, err := body.lookup(f.Output[i])
		if err != nil {
			return err
		}
		if v == nil {
			return fmt.Errorf("result %s of the function is absent", show(f.Output[i]))
		}
		if err := s.result(out, v); err != nil {
			return err
		}
	}
	return nil
}

// result gives the caller's name to a function's result.
func (s *scope) result(out string, v *ir.Value) error {
	done, err := s.alias(out, v)
	if done || err != nil {
		return err
	}
	version, err := sinceVersion("Identity", s.im.opset)
	if err != nil {
		return err
	}
	n := &ir.Node{Op: "Identity", Version: version, Inputs: []*ir.Value{v}, Attrs: ir.Attrs{}}
	y := &ir.Value{Name: s.resultName(out), Def: n}
	n.Outputs = []*ir.Value{y}
	s.g.Nodes = append(s.g.Nodes, n)
	return s.define(out, y)
}

// call is the frame for a call of f by p.
func (s *scope) call(p *onnxpb.NodeProto, f *onnxpb.FunctionProto) (*frame, error) {
	for c := s.frame; c != nil; c = c.caller {
		if c.fn == f {
			return nil, fmt.Errorf("function %s calls itself; recursion is not supported", show(f.GetName()))
		}
	}
	callee := &frame{fn: f, caller: s.frame, attrs: map[string]any{}, depth: s.frame.depth + 1}
	if callee.depth > limit.Nesting {
		return nil, tooDeep(f)
	}
	var err error
	if callee.opsets, err = opsetImports(f.OpsetImport); err != nil {
		return nil, err
	}
	if v, ok := callee.opsets[""]; ok {
		if err := checkOpset(v); err != nil {
			return nil, fmt.Errorf("function %s: %w", show(f.GetName()), err)
		}
	}
	callee.prefix = s.nodeName(p) + "/"
	if p.GetName() == "" && len(p.Output) > 0 {
		callee.prefix = s.frame.made(p.Output[0]) + "/"
	}
	return callee, s.bind(callee, p, f)
}

// bind gives a function's attributes their values: the call's, or the defaults.
func (s *scope) bind(callee *frame, p *onnxpb.NodeProto, f *onnxpb.FunctionProto) error {
	declared, given := map[string]bool{}, map[string]bool{}
	declare := func(name string) error {
		if declared[name] {
			return fmt.Errorf("the function lists attribute %s twice", show(name))
		}
		declared[name] = true
		return nil
	}
	for _, name := range f.Attribute {
		if err := declare(name); err != nil {
			return err
		}
	}
	set := func(a *onnxpb.AttributeProto) error {
		x, err := s.attribute(a)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", show(a.GetName()), err)
		}
		if _, ok := x.(*onnxpb.GraphProto); ok {
			return refusef("attribute %s: graphs as attributes of functions are not supported", show(a.GetName()))
		}
		if x != nil {
			callee.attrs[a.GetName()] = x
		}
		return nil
	}
	for _, a := range f.AttributeProto {
		if err := declare(a.GetName()); err != nil {
			return err
		}
		if err := set(a); err != nil {
			return err
		}
	}
	for _, a := range p.Attribute {
		if !declared[a.GetName()] {
			return fmt.Errorf("the function has no attribute %s", show(a.GetName()))
		}
		if given[a.GetName()] {
			return fmt.Errorf("attribute %s is given twice; want it once", show(a.GetName()))
		}
		given[a.GetName()] = true
		if err := set(a); err != nil {
			return err
		}
	}
	return nil
}
