package rewrite

import (
	"slices"
	"strings"
)

// pattern is an operator of patterns, or a variable.
type pattern struct {
	op       string // "": a variable
	args     []*pattern
	variable int
}

// compiledRule is a rule whose pattern has been read.
type compiledRule struct {
	rule
	root      *pattern
	variables []string
}

var compiled = compile(rules)

func compile(rules []rule) []compiledRule {
	out := make([]compiledRule, len(rules))
	for i, r := range rules {
		p := parser{text: r.pattern}
		out[i] = compiledRule{rule: r, root: p.parse()}
		out[i].variables = p.variables
		if p.text != "" {
			panic("pattern " + r.pattern + ": " + p.text + " follows it")
		}
	}
	return out
}

// parser reads Op(a, b) and x; operators begin with a capital letter.
type parser struct {
	text      string
	variables []string
}

func (p *parser) parse() *pattern {
	end := strings.IndexAny(p.text, "(,)")
	if end < 0 {
		end = len(p.text)
	}
	name := strings.TrimSpace(p.text[:end])
	p.text = p.text[end:]
	if !strings.HasPrefix(p.text, "(") {
		i := slices.Index(p.variables, name)
		if i < 0 {
			i, p.variables = len(p.variables), append(p.variables, name)
		}
		return &pattern{variable: i}
	}
	out := &pattern{op: name}
	for p.text != "" && p.text[0] != ')' {
		p.text = p.text[1:]
		out.args = append(out.args, p.parse())
	}
	p.text = strings.TrimPrefix(p.text, ")")
	return out
}
