package ir

import (
	"strings"

	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
)

func (p *parser) node(values map[string]*Value, depth int) (*Node, error) {
	n := &Node{Attrs: Attrs{}}
	if err := p.results(n, values); err != nil {
		return nil, err
	}
	if err := p.Expect("="); err != nil {
		return nil, err
	}
	var err error
	if n.Op, err = p.Name(lex.IsWord); err != nil {
		return nil, err
	}
	if err := p.Expect("."); err != nil {
		return nil, err
	}
	version, err := p.Int()
	if err != nil {
		return nil, err
	}
	n.Version = int(version)
	if err := p.operands(n, values); err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.Rest(), "{") {
		if err := p.Items("{", "}", func() error { return p.attr(n) }); err != nil {
			return nil, err
		}
	}
	if err := p.origins(n); err != nil {
		return nil, err
	}
	if p.Accept("for") {
		if n.For, err = p.Quoted(); err != nil {
			return nil, err
		}
	}
	n.Saturates = p.Accept("saturates")
	if p.Accept("computes") {
		if n.Computes, err = lex.ListOf(&p.Lexer, "[", "]", p.computed); err != nil {
			return nil, err
		}
	}
	return n, p.regions(n, depth)
}

// computed reads the name of a symbol that a node computes.
func (p *parser) computed() (string, error) {
	name := p.Run(lex.IsWord)
	if !sym.IsSymbol(name) {
		return "", p.Errorf("%q cannot be a symbol's name", name)
	}
	return name, nil
}

func (p *parser) results(n *Node, values map[string]*Value) error {
	if p.Accept("()") {
		return nil
	}
	for {
		if p.Accept("_") {
			n.Outputs = append(n.Outputs, nil)
		} else {
			v, err := p.definition(values)
			if err != nil {
				return err
			}
			v.Def = n
			n.Outputs = append(n.Outputs, v)
			if err := p.valueType(v); err != nil {
				return err
			}
		}
		if !p.Accept(",") {
			return nil
		}
	}
}

// operands reads the operands and, after a semicolon, the captures.
func (p *parser) operands(n *Node, values map[string]*Value) error {
	if err := p.Expect("("); err != nil {
		return err
	}
	for own, first := -1, true; ; first = false {
		if own < 0 && p.Accept(";") {
			own = len(n.Inputs)
		} else if !first && !p.Accept(",") {
			if err := p.Expect(")"); err != nil {
				return err
			}
			if own >= 0 {
				n.Captures = len(n.Inputs) - own
			}
			return nil
		} else if first && p.Accept(")") {
			return nil
		}
		v, err := p.use(values)
		if err != nil {
			return err
		}
		n.Inputs = append(n.Inputs, v)
	}
}

// origins reads the node's name and where it comes from.
func (p *parser) origins(n *Node) error {
	if strings.HasPrefix(p.Rest(), `"`) {
		name, err := p.Quoted()
		if err != nil {
			return err
		}
		n.Name = name
	}
	if !p.Accept("from") {
		if n.Name != "" {
			n.Origins = []string{n.Name}
		}
		return nil
	}
	var err error
	n.Origins, err = lex.ListOf(&p.Lexer, "[", "]", p.Quoted)
	return err
}

func (p *parser) regions(n *Node, depth int) error {
	if !p.Accept("regions") {
		return nil
	}
	if err := p.Expect("{"); err != nil {
		return err
	}
	for !p.Accept("}") {
		g, err := p.graph(depth + 1)
		if err != nil {
			return err
		}
		n.Regions = append(n.Regions, g)
	}
	return nil
}
