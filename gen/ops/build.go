package ops

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Build checks a node against its operator's row and gives its meaning under the
// facts. Errors name the node; an *UnknownError inside reports that shape inference
// may yet learn what is missing.
func Build(n *ir.Node, facts sym.Facts) (*Meaning, error) {
	c, err := newCtx(n, facts)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	switch c.Row.Form {
	case Control:
		return nil, n.Errorf("the operator runs regions and cannot be written as stages")
	case Composition:
		return nil, n.Errorf("the operator stands for others, and has not been replaced by them: run the pass simplify")
	}
	m, err := c.Row.Build(c)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	if n.Saturates {
		m = saturating(n, m)
	}
	m.dropEmpty()
	if err := c.readsElements(m); err != nil {
		return nil, n.Errorf("%w", err)
	}
	m.Checks = append(m.Checks, c.checks...)
	if err := Verify(n, m, facts); err != nil {
		return nil, n.Errorf("%w", err)
	}
	return m, nil
}

// newCtx finds the node's row and definition and checks what the row states.
func newCtx(n *ir.Node, facts sym.Facts) (*Ctx, error) {
	row := lookup(n.Op)
	if row == nil && OfSequences(n) {
		return nil, &UnknownError{"the length of a sequence"}
	}
	if row == nil {
		return nil, fmt.Errorf("operator %s is not supported", n.Op)
	}
	c := &Ctx{Node: n, Facts: facts, Row: row, Version: row.newest()}
	if n.Version != 0 {
		if c.Version = row.Definition(n.Version); c.Version == 0 {
			return nil, fmt.Errorf("definition %d of the operator is older than the oldest supported, %d", n.Version, row.Versions[0])
		}
	}
	for _, check := range []func() error{c.checkOperands, c.checkAttrs, c.checkResults} {
		if err := check(); err != nil {
			return nil, &UseError{err}
		}
	}
	return c, nil
}

// params are the operands of the node's definition.
func (c *Ctx) params() []Param {
	var out []Param
	for _, p := range c.Row.Inputs {
		if exists(p.Since, p.Until, c.Version) {
			out = append(out, p)
		}
	}
	return out
}

func exists(since, until, version int) bool {
	return version >= since && (until == 0 || version <= until)
}

func (c *Ctx) checkOperands() error {
	if c.Row.Form != Control && (c.Node.Captures > 0 || len(c.Node.Regions) > 0) {
		return fmt.Errorf("the node has %d graphs; the operator runs none", len(c.Node.Regions))
	}
	ps := c.params()
	variadic := len(ps) > 0 && ps[len(ps)-1].Variadic
	own := c.Node.Own()
	if n := len(own); n > len(ps) && !variadic {
		return fmt.Errorf("%d operands, definition %d of the operator has at most %d", n, c.Version, len(ps))
	}
	like := map[string]int{}
	for i := range max(len(ps), len(own)) {
		p := ps[min(i, len(ps)-1)]
		if i >= len(own) || own[i] == nil {
			if p.Optional || (p.Variadic && (i >= len(ps) || i >= len(own) && c.Row.Form == Control)) {
				continue
			}
			return fmt.Errorf("operand %d (%s) is absent, but required", i, p.Name)
		}
		if c.Row.Form == Control && IsSequence(own[i]) { // until tensors take its place
			continue
		}
		if err := checkOperand(c.Node, p, i, like); err != nil {
			return err
		}
	}
	return nil
}

func checkOperand(n *ir.Node, p Param, i int, like map[string]int) error {
	v := n.Inputs[i]
	if v.Type == ir.Invalid {
		return &UnknownError{fmt.Sprintf("the element type of operand %d (%q)", i, v.Name)}
	}
	if !slices.Contains(p.Types, v.Type) {
		return fmt.Errorf("operand %d (%s, %q) has type %s; supported are %s", i, p.Name, v.Name, v.Type, typeNames(p.Types))
	}
	if p.Like == "" {
		return nil
	}
	first, seen := like[p.Like]
	if !seen {
		like[p.Like] = i
	} else if t := n.Inputs[first].Type; t != v.Type {
		return fmt.Errorf("operands %d and %d must have one type, found %s and %s", first, i, t, v.Type)
	}
	return nil
}

func typeNames(ts []ir.DType) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

func (c *Ctx) checkAttrs() error {
	for _, name := range c.Node.Attrs.Names() {
		spec := c.attrSpec(name)
		if spec == nil {
			return fmt.Errorf("attribute %q is unknown to definition %d of the operator; known are: %s", name, c.Version, c.attrNames())
		}
		if found, want := ir.AttrType(c.Node.Attrs[name]), ir.AttrType(spec.Zero); found != want {
			return fmt.Errorf("attribute %q has type %s, want %s", name, found, want)
		}
		if t, ok := c.Node.Attrs[name].(*ir.Tensor); ok && t == nil {
			return fmt.Errorf("attribute %q holds no tensor", name)
		}
	}
	for _, a := range c.Row.Attrs {
		if a.Required && exists(a.Since, a.Until, c.Version) && !c.Node.Has(a.Name) {
			return fmt.Errorf("attribute %q is absent, but required", a.Name)
		}
	}
	return nil
}

// attrSpec finds an attribute of the node's definition.
func (c *Ctx) attrSpec(name string) *AttrSpec {
	for i, a := range c.Row.Attrs {
		if a.Name == name && exists(a.Since, a.Until, c.Version) {
			return &c.Row.Attrs[i]
		}
	}
	return nil
}

func (c *Ctx) attrNames() string {
	var names []string
	for _, a := range c.Row.Attrs {
		if exists(a.Since, a.Until, c.Version) {
			names = append(names, a.Name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (c *Ctx) checkResults() error {
	n := len(c.Node.Outputs)
	if n < c.Row.MinOutputs || (c.Row.MaxOutputs >= 0 && n > c.Row.MaxOutputs) {
		most := fmt.Sprint(c.Row.MaxOutputs)
		if c.Row.MaxOutputs < 0 {
			most = "any number"
		}
		return fmt.Errorf("%d results, the operator has %d to %s", n, c.Row.MinOutputs, most)
	}
	return nil
}
