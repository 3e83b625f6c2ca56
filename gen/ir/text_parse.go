package ir

import (
	"fmt"
	"io"
	"strings"

	"rules_dnn/gen/limit"
	"rules_dnn/gen/sym"
)

// Parse reads a graph's text form. Constants in files refer to files by name: ""
// is the model, ConstsName the file of a ConstWriter, any other a location of
// external data.
func Parse(r io.Reader, files map[string]*File) (*Graph, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a graph's text: %w", err)
	}
	p := &parser{lexer: lexer{s: string(b)}, files: files, consts: map[string]*Value{}}
	g, err := p.graph(0)
	if err == nil && p.rest() != "" {
		err = p.errorf("want nothing more after the graph, found %s", p.found())
	}
	if err != nil {
		return nil, fmt.Errorf("graph's text: %w", err)
	}
	return g, nil
}

type parser struct {
	lexer
	files  map[string]*File
	consts map[string]*Value
}

func (p *parser) graph(depth int) (*Graph, error) {
	if depth > limit.Nesting {
		return nil, p.errorf("regions are nested deeper than %d", limit.Nesting)
	}
	g := &Graph{}
	var err error
	if err = p.expect("graph"); err != nil {
		return nil, err
	}
	if g.Name, err = p.quoted(); err != nil {
		return nil, err
	}
	if err = p.expect("opset"); err != nil {
		return nil, err
	}
	opset, err := p.int()
	if err != nil {
		return nil, err
	}
	g.Opset = int(opset)
	if err = p.expect("{"); err != nil {
		return nil, err
	}
	values := map[string]*Value{}
	for !p.accept("}") {
		if err := p.line(g, values, depth); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// line reads one statement of a graph.
func (p *parser) line(g *Graph, values map[string]*Value, depth int) error {
	switch {
	case p.accept("symbol"):
		return p.symbol(g)
	case p.accept("const"):
		if depth > 0 {
			return p.errorf("constants stand in the outermost graph")
		}
		return p.constant()
	case p.accept("input"):
		v, err := p.definition(values)
		if err != nil {
			return err
		}
		g.Inputs = append(g.Inputs, v)
		return p.valueType(v)
	case p.accept("output"):
		v, err := p.use(values)
		if err != nil {
			return err
		}
		if v == nil {
			return p.errorf("an output cannot be absent")
		}
		g.Outputs = append(g.Outputs, v)
		return nil
	}
	n, err := p.node(values, depth)
	if err != nil {
		return err
	}
	g.Nodes = append(g.Nodes, n)
	return nil
}

func (p *parser) symbol(g *Graph) error {
	y := Symbol{Name: p.run(isWord)}
	if !sym.IsSymbol(y.Name) {
		return p.errorf("%q cannot be a symbol's name", y.Name)
	}
	var err error
	if y.Lo, err = p.int(); err != nil {
		return err
	}
	if err = p.expect(".."); err != nil {
		return err
	}
	if y.Hi, err = p.int(); err != nil {
		return err
	}
	if y.Computed = p.accept("computed"); y.Computed {
		if y.Max, err = p.bound(); err != nil {
			return err
		}
	}
	g.Symbols = append(g.Symbols, y)
	return nil
}

// bound reads what bounds a computed symbol.
func (p *parser) bound() (sym.Expr, error) {
	if !p.accept("up to") {
		return sym.Const(sym.MaxDim), nil
	}
	return p.expr()
}

func (p *parser) constant() error {
	if err := p.expect("@"); err != nil {
		return err
	}
	name, err := p.name(isBareValue)
	if err != nil {
		return err
	}
	if _, ok := p.consts[name]; ok {
		return p.errorf("constant %q is defined twice", name)
	}
	v := &Value{Name: name}
	if err := p.valueType(v); err != nil {
		return err
	}
	if v.Const, err = p.tensor(v); err != nil {
		return err
	}
	p.consts[name] = v
	return nil
}

// definition reads the name of a new value.
func (p *parser) definition(values map[string]*Value) (*Value, error) {
	if err := p.expect("%"); err != nil {
		return nil, err
	}
	name, err := p.name(isBareValue)
	if err != nil {
		return nil, err
	}
	if _, ok := values[name]; ok {
		return nil, p.errorf("value %q is defined twice", name)
	}
	v := &Value{Name: name}
	values[name] = v
	return v, nil
}

// use reads an operand: a value, a constant or nothing.
func (p *parser) use(values map[string]*Value) (*Value, error) {
	from := values
	switch {
	case p.accept("_"):
		return nil, nil
	case p.accept("@"):
		from = p.consts
	default:
		if err := p.expect("%"); err != nil {
			return nil, err
		}
	}
	name, err := p.name(isBareValue)
	if err != nil {
		return nil, err
	}
	v, ok := from[name]
	if !ok {
		return nil, p.errorf("value %q is not defined before its use", name)
	}
	return v, nil
}

// valueType reads a type, a shape and known elements.
func (p *parser) valueType(v *Value) error {
	if !p.accept("?") {
		t, err := ParseDType(p.run(isWord))
		if err != nil {
			return p.errorf("%w before %s", err, p.found())
		}
		v.Type = t
	}
	if p.accept("[*]") {
		return p.elems(v)
	}
	dims, err := listOf(&p.lexer, "[", "]", p.expr)
	if err != nil {
		return err
	}
	v.Shape, v.HasShape = Shape(dims), true
	return p.elems(v)
}

func (p *parser) elems(v *Value) error {
	if !strings.HasPrefix(p.rest(), "<") {
		return nil
	}
	var err error
	v.Elems, err = listOf(&p.lexer, "<", ">", p.expr)
	return err
}
