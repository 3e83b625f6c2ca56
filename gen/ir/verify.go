package ir

import (
	"fmt"

	"rules_dnn/gen/ir/sym"
)

// Verify checks what every pass may rely on: values are defined once and before
// their use, in their own graph; constants have the elements that their shapes
// say; shapes speak of declared symbols only; regions are closed and take their
// node's captures; inputs and outputs have names of their own.
func Verify(g *Graph) error {
	if g == nil {
		return fmt.Errorf("verify: there is no graph")
	}
	v := &verifier{symbols: map[string]symbolState{}, owner: map[*Value]*Graph{}}
	if err := v.declare(g); err != nil {
		return fmt.Errorf("verify graph %q: %w", g.Name, err)
	}
	if err := v.graph(g); err != nil {
		return fmt.Errorf("verify graph %q: %w", g.Name, err)
	}
	if err := uniqueNames("input", g.Inputs); err != nil {
		return fmt.Errorf("verify graph %q: %w", g.Name, err)
	}
	if err := uniqueNames("output", g.Outputs); err != nil {
		return fmt.Errorf("verify graph %q: %w", g.Name, err)
	}
	return nil
}

type verifier struct {
	symbols map[string]symbolState
	owner   map[*Value]*Graph // where a value is defined
}

// symbolState is what a declared symbol is where the verifier stands.
type symbolState uint8

const (
	undeclared symbolState = iota
	given                  // by the inputs
	pending                // a later node computes it
	computed
)

func (v *verifier) declare(g *Graph) error {
	for _, y := range g.Symbols {
		switch {
		case !sym.IsSymbol(y.Name):
			return fmt.Errorf("%q cannot be a symbol's name", y.Name)
		case v.symbols[y.Name] != undeclared:
			return fmt.Errorf("symbol %q is declared twice", y.Name)
		case y.Lo > y.Hi:
			return fmt.Errorf("symbol %q has the empty range %d..%d", y.Name, y.Lo, y.Hi)
		}
		if err := v.bound(y); err != nil {
			return err
		}
		v.symbols[y.Name] = given
		if y.Computed {
			v.symbols[y.Name] = pending
		}
	}
	return nil
}

// bound checks that a computed symbol is bounded by symbols that the inputs give.
func (v *verifier) bound(y Symbol) error {
	used := map[string]bool{}
	y.Max.Vars(used)
	if len(used) > 0 && !y.Computed || y.Max.Overflow() {
		return fmt.Errorf("symbol %q has the bound %s", y.Name, y.Max)
	}
	for name := range used {
		if v.symbols[name] != given {
			return fmt.Errorf("symbol %q is bounded by %s, but the inputs do not determine %s", y.Name, y.Max, name)
		}
	}
	return nil
}

// computes notes those of some symbols that a node computes now: each is computed by one node.
func (v *verifier) computes(names []string, now func(string) bool) error {
	for _, name := range names {
		if !now(name) {
			continue
		}
		if v.symbols[name] != pending {
			return fmt.Errorf("it computes the symbol %q; want a computed symbol that no earlier node computes", name)
		}
		v.symbols[name] = computed
	}
	return nil
}

func uniqueNames(what string, vs []*Value) error {
	seen := map[string]bool{}
	for i, x := range vs {
		if x.Name == "" || seen[x.Name] {
			return fmt.Errorf("%s %d: the name %q is empty or taken", what, i, x.Name)
		}
		seen[x.Name] = true
	}
	return nil
}

func (v *verifier) graph(g *Graph) error {
	for i, x := range g.Inputs {
		switch {
		case x == nil:
			return fmt.Errorf("input %d is nil", i)
		case x.Const != nil:
			return fmt.Errorf("input %q is a constant", x.Name)
		case x.Def != nil:
			return fmt.Errorf("input %q is the result of %s", x.Name, x.Def.Label())
		}
		if err := v.define(g, x); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i, n := range g.Nodes {
		if n == nil {
			return fmt.Errorf("node %d is nil", i)
		}
		if err := v.node(g, n); err != nil {
			return n.Errorf("%w", err)
		}
	}
	for i, x := range g.Outputs {
		if x == nil {
			return fmt.Errorf("output %d is nil", i)
		}
		if err := v.use(g, x); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func (v *verifier) node(g *Graph, n *Node) error {
	if n.Op == "" {
		return fmt.Errorf("the node has no operator")
	}
	for i, x := range n.Inputs {
		if x == nil {
			continue
		}
		if err := v.use(g, x); err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
	}
	if err := v.attrs(n); err != nil {
		return err
	}
	carried := n.carried()
	if err := v.computes(n.Computes, func(name string) bool { return carried[name] }); err != nil {
		return err
	}
	if err := v.regions(n); err != nil {
		return err
	}
	if err := v.computes(n.Computes, func(name string) bool { return !carried[name] }); err != nil {
		return err
	}
	for i, x := range n.Outputs {
		if x == nil {
			continue
		}
		if x.Def != n || x.Const != nil {
			return fmt.Errorf("result %d, value %q: it is a constant, or another node computes it", i, x.Name)
		}
		if err := v.define(g, x); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}

func (v *verifier) attrs(n *Node) error {
	for _, name := range n.Attrs.Names() {
		switch x := n.Attrs[name].(type) {
		case int64, float32, string, []int64, []float32, []string:
		case RegionRef:
			if int(x) < 0 || int(x) >= len(n.Regions) {
				return fmt.Errorf("attribute %q is region %d of %d", name, int(x), len(n.Regions))
			}
		case *Tensor:
			if err := checkTensor(x); err != nil {
				return fmt.Errorf("attribute %q: %w", name, err)
			}
		default:
			return fmt.Errorf("attribute %q has the Go type %T", name, x)
		}
	}
	return nil
}

func (v *verifier) regions(n *Node) error {
	if n.Captures < 0 || n.Captures > len(n.Inputs) || n.Captures > 0 && len(n.Regions) == 0 {
		return fmt.Errorf("%d captures, %d operands and %d regions; want at most as many captures as operands, and no captures without a region", n.Captures, len(n.Inputs), len(n.Regions))
	}
	for i, r := range n.Regions {
		if r == nil {
			return fmt.Errorf("region %d is nil", i)
		}
		if len(r.Symbols) > 0 {
			return fmt.Errorf("region %d declares symbols; only the outermost graph does", i)
		}
		if len(r.Inputs) < n.Captures {
			return fmt.Errorf("region %d has %d inputs; want at least the %d captures", i, len(r.Inputs), n.Captures)
		}
		if err := v.graph(r); err != nil {
			return fmt.Errorf("region %d: %w", i, err)
		}
	}
	return nil
}
