package ir

import (
	"fmt"
	"io"
	"strings"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
)

// Parse reads a graph's text form. Constants in files refer to files by name: ""
// is the model, ConstsName the file of a ConstWriter, any other a location of
// external data.
func Parse(r io.Reader, files map[string]*File) (*Graph, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a graph's text: %w", err)
	}
	p := &parser{Lexer: lex.New(string(b)), files: files, consts: map[string]*Value{}}
	g, err := p.graph(0)
	if err == nil && p.Rest() != "" {
		err = p.Errorf("want nothing more after the graph, found %s", p.Found())
	}
	if err != nil {
		return nil, fmt.Errorf("graph's text: %w", err)
	}
	return g, nil
}

type parser struct {
	lex.Lexer
	files  map[string]*File
	consts map[string]*Value
}

func (p *parser) graph(depth int) (*Graph, error) {
	if depth > limit.Nesting {
		return nil, p.Errorf("regions are nested deeper than %d", limit.Nesting)
	}
	g := &Graph{}
	var err error
	if err = p.Expect("graph"); err != nil {
		return nil, err
	}
	if g.Name, err = p.Quoted(); err != nil {
		return nil, err
	}
	if err = p.Expect("opset"); err != nil {
		return nil, err
	}
	opset, err := p.Int()
	if err != nil {
		return nil, err
	}
	g.Opset = int(opset)
	if err = p.Expect("{"); err != nil {
		return nil, err
	}
	values := map[string]*Value{}
	for !p.Accept("}") {
		if err := p.line(g, values, depth); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// line reads one statement of a graph.
func (p *parser) line(g *Graph, values map[string]*Value, depth int) error {
	switch {
	case p.Accept("symbol"):
		return p.symbol(g)
	case p.Accept("warning"):
		return p.warning(g)
	case p.Accept("const"):
		if depth > 0 {
			return p.Errorf("a constant in a nested graph; define it in the outermost graph")
		}
		return p.constant()
	case p.Accept("input"):
		v, err := p.definition(values)
		if err != nil {
			return err
		}
		g.Inputs = append(g.Inputs, v)
		return p.valueType(v)
	case p.Accept("output"):
		v, err := p.use(values)
		if err != nil {
			return err
		}
		if v == nil {
			return p.Errorf("an output cannot be absent")
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
	y := Symbol{Name: p.Run(lex.IsWord)}
	if !sym.IsSymbol(y.Name) {
		return p.Errorf("%q cannot be a symbol's name", y.Name)
	}
	var err error
	if y.Lo, err = p.Int(); err != nil {
		return err
	}
	if err = p.Expect(".."); err != nil {
		return err
	}
	if y.Hi, err = p.Int(); err != nil {
		return err
	}
	if y.Computed = p.Accept("computed"); y.Computed {
		if y.Max, err = p.bound(); err != nil {
			return err
		}
	}
	g.Symbols = append(g.Symbols, y)
	return nil
}

func (p *parser) warning(g *Graph) error {
	w := Warning{}
	var err error
	if w.Kind, err = p.Name(lex.IsWord); err != nil {
		return err
	}
	if w.Text, err = p.Quoted(); err != nil {
		return err
	}
	g.Warnings = append(g.Warnings, w)
	return nil
}

// bound reads what bounds a computed symbol.
func (p *parser) bound() (sym.Expr, error) {
	if !p.Accept("up to") {
		return sym.Const(sym.MaxDim), nil
	}
	return p.Expr()
}

func (p *parser) constant() error {
	if err := p.Expect("@"); err != nil {
		return err
	}
	name, err := p.Name(isBareValue)
	if err != nil {
		return err
	}
	if _, ok := p.consts[name]; ok {
		return p.Errorf("constant %q is defined twice", name)
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
	if err := p.Expect("%"); err != nil {
		return nil, err
	}
	name, err := p.Name(isBareValue)
	if err != nil {
		return nil, err
	}
	if _, ok := values[name]; ok {
		return nil, p.Errorf("value %q is defined twice", name)
	}
	v := &Value{Name: name}
	values[name] = v
	return v, nil
}

// use reads an operand: a value, a constant or nothing.
func (p *parser) use(values map[string]*Value) (*Value, error) {
	from := values
	switch {
	case p.Accept("_"):
		return nil, nil
	case p.Accept("@"):
		from = p.consts
	default:
		if err := p.Expect("%"); err != nil {
			return nil, err
		}
	}
	name, err := p.Name(isBareValue)
	if err != nil {
		return nil, err
	}
	v, ok := from[name]
	if !ok {
		return nil, p.Errorf("value %q is not defined before its use", name)
	}
	return v, nil
}

// valueType reads a type, a shape and known elements.
func (p *parser) valueType(v *Value) error {
	if !p.Accept("?") {
		t, err := ParseDType(p.Run(lex.IsWord))
		if err != nil {
			return p.Errorf("%w before %s", err, p.Found())
		}
		v.Type = t
	}
	if p.Accept("[*]") {
		return p.elems(v)
	}
	dims, err := lex.ListOf(&p.Lexer, "[", "]", p.Expr)
	if err != nil {
		return err
	}
	v.Shape, v.HasShape = Shape(dims), true
	return p.elems(v)
}

func (p *parser) elems(v *Value) error {
	if !strings.HasPrefix(p.Rest(), "<") {
		return nil
	}
	var err error
	v.Elems, err = lex.ListOf(&p.Lexer, "<", ">", p.Expr)
	return err
}
