package onnx

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// scope is the names visible in a graph or in the body of a function.
type scope struct {
	im     *importer
	g      *ir.Graph // that nodes are added to
	frame  *frame    // the function that is inlined, or the model
	parent *scope    // of the enclosing graph; nil for the model's graph and functions' bodies
	env    map[string]*ir.Value
	inits  map[string]*onnxpb.TensorProto // constants that nothing has used yet
	sparse map[string]bool                // names of sparse initializers
	caller *scope                         // of a function's body: where it is called
	of     string                         // the operator whose region it is
	top    bool                           // the model's own graph
	depth  int
	// captured are the outer values that this region uses, and inner its inputs for them.
	captured []*ir.Value
	inner    map[*ir.Value]*ir.Value
}

// graph converts a graph into s.g.
func (s *scope) graph(p *onnxpb.GraphProto) error {
	if s.depth > limit.Nesting {
		return fmt.Errorf("graphs are nested deeper than %d", limit.Nesting)
	}
	s.env, s.inits, s.sparse = map[string]*ir.Value{}, map[string]*onnxpb.TensorProto{}, map[string]bool{}
	s.reserve(p)
	for _, t := range p.SparseInitializer {
		s.sparse[t.GetValues().GetName()] = true
	}
	for _, t := range p.Initializer {
		if s.constantName(t.GetName()) || t.GetName() == "" {
			return fmt.Errorf("initializer %s: the name is empty or taken", show(t.GetName()))
		}
		s.inits[t.GetName()] = t
	}
	if s.top {
		if err := s.defaults(p); err != nil {
			return err
		}
	}
	if err := s.inputs(p); err != nil {
		return err
	}
	if err := s.body(p.Node); err != nil {
		return err
	}
	return s.outputs(p)
}

// reserve keeps the graph's names from generated ones. Constants of
// subgraphs are not among them: they leave the subgraph and get a name of their own.
func (s *scope) reserve(p *onnxpb.GraphProto) {
	used := s.im.used
	for _, in := range p.Input {
		used[in.GetName()] = true
	}
	for _, n := range p.Node {
		if s.top || n.GetOpType() != "Constant" {
			for _, out := range n.Output {
				used[out] = true
			}
		}
	}
	if !s.top {
		return
	}
	for _, t := range p.Initializer {
		used[t.GetName()] = true
	}
	for _, out := range p.Output {
		s.im.outputs[out.GetName()] = true
	}
}

// inputs defines the graph's inputs that are not initializers.
func (s *scope) inputs(p *onnxpb.GraphProto) error {
	for _, in := range p.Input {
		name := in.GetName()
		if s.constantName(name) {
			continue
		}
		if _, ok := s.env[name]; ok || name == "" {
			return fmt.Errorf("input %s: the name is empty or taken", show(name))
		}
		v := &ir.Value{Name: name}
		if _, sequence := in.GetType().GetValue().(*onnxpb.TypeProto_SequenceType); sequence && !s.top { // whose tensors package inline finds
			s.env[name] = v
			s.g.Inputs = append(s.g.Inputs, v)
			continue
		}
		shape := staticShape
		if s.top {
			shape = func(p *onnxpb.TensorShapeProto) (ir.Shape, bool, error) {
				out, err := s.im.symbols.inputShape(name, p)
				return out, err == nil, err
			}
		}
		switch err := s.im.typeOf(v, in.Type, shape); {
		case isRefusal(err):
			s.im.problems.add("input %s: %v", show(name), err)
		case err != nil:
			return fmt.Errorf("input %s: %w", show(name), err)
		case s.top && v.Type == ir.Invalid:
			return fmt.Errorf("input %s has no type", show(name))
		}
		if err := v.Shape.Fits(v.Type); err != nil {
			return fmt.Errorf("input %s has %w", show(name), err)
		}
		s.env[name] = v
		s.g.Inputs = append(s.g.Inputs, v)
		if isNibble(in.GetType().GetTensorType().GetElemType()) {
			inner, err := s.nibbleInput(v)
			if err != nil {
				return fmt.Errorf("input %s: %w", show(name), err)
			}
			s.env[name] = inner
		}
	}
	return nil
}

// outputs resolves the graph's outputs.
func (s *scope) outputs(p *onnxpb.GraphProto) error {
	seen := map[string]bool{}
	for _, out := range p.Output {
		name := out.GetName()
		v, err := s.lookup(name)
		if err != nil {
			return fmt.Errorf("output %s: %w", show(name), err)
		}
		if v == nil || seen[name] && s.top {
			return fmt.Errorf("output %s is empty or listed twice", show(name))
		}
		if !s.top && s.im.nibbles[v] {
			return refusef("output %s of a node's graph has type int4 or uint4; cast it to int8", show(name))
		}
		seen[name] = true
		s.g.Outputs = append(s.g.Outputs, v)
		if !s.top || v.Def == nil {
			continue
		}
		err = s.im.typeOf(v, out.Type, func(p *onnxpb.TensorShapeProto) (ir.Shape, bool, error) {
			shape, ok := s.im.symbols.outputShape(p)
			v.Declared = ok
			return shape, ok, nil
		})
		if isRefusal(err) {
			s.im.problems.add("output %s: %v", show(name), err)
		} else if err != nil {
			return fmt.Errorf("output %s: %w", show(name), err)
		}
	}
	return nil
}

// lookup finds a value; nil where the name is empty or stands for an absent operand.
func (s *scope) lookup(name string) (*ir.Value, error) {
	if name == "" {
		return nil, nil
	}
	if v, ok := s.env[name]; ok {
		return v, nil
	}
	if t, ok := s.inits[name]; ok {
		v, err := s.initializer(name, t)
		if err != nil {
			return nil, err
		}
		s.env[name] = v
		return v, nil
	}
	if s.sparse[name] {
		return nil, refusef("value %s is a sparse initializer, which is not supported; store it as a dense one, with its zeros", show(name))
	}
	if s.parent == nil {
		return nil, fmt.Errorf("value %s is not defined: neither this graph nor an enclosing one has an input, initializer or result of this name", show(name))
	}
	v, err := s.parent.lookup(name)
	if err != nil || v == nil || v.Const != nil {
		return v, err
	}
	in := s.capture(v)
	s.env[name] = in
	return in, nil
}

// capture is the region's input for a value of the enclosing graph.
func (s *scope) capture(outer *ir.Value) *ir.Value {
	if in, ok := s.inner[outer]; ok {
		return in
	}
	in := &ir.Value{Name: outer.Name, Type: outer.Type, Shape: outer.Shape, HasShape: outer.HasShape}
	s.im.nibbles[in] = s.im.nibbles[outer]
	if s.inner == nil {
		s.inner = map[*ir.Value]*ir.Value{}
	}
	s.inner[outer] = in
	s.captured = append(s.captured, outer)
	return in
}

// initializer is the constant of an initializer.
func (s *scope) initializer(name string, p *onnxpb.TensorProto) (*ir.Value, error) {
	t, err := s.im.tensor(p)
	if isRefusal(err) {
		s.im.problems.add("initializer: %v", err)
		t, err = ir.NewTensor(ir.U8, 0), nil
	}
	if err != nil {
		return nil, err
	}
	v := s.constant(name, t)
	s.im.nibbles[v] = isNibble(p.GetDataType())
	return v, nil
}

// constant makes a constant value. Constants are visible in all graphs, so names
// other than those of the model's own graph are made unique.
func (s *scope) constant(name string, t *ir.Tensor) *ir.Value {
	if !s.top || s.frame.fn != nil {
		name = s.im.unique(s.frame.made(name))
	}
	return ir.ConstValue(name, t)
}

// constantName reports whether an initializer of this graph has the name.
func (s *scope) constantName(name string) bool {
	_, ok := s.inits[name]
	return ok || s.sparse[name]
}

// define adds a result of a node of this scope.
func (s *scope) define(name string, v *ir.Value) error {
	if _, ok := s.env[name]; ok || s.constantName(name) {
		return fmt.Errorf("value %s is defined twice", show(name))
	}
	s.env[name] = v
	return nil
}
