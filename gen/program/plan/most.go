package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// most is the greatest value of a size in any run: symbols that the run computes are at their
// bounds, so that memory can be taken before (SoD2's execution-determined outputs).
func (p *Program) most(e sym.Expr) (sym.Expr, error) {
	m, ok := ir.Most(e, p.Symbols, p.Facts)
	if ok {
		return m, nil
	}
	return e, p.boundError(e)
}

// boundError says what is to be bounded so that the expression is.
func (p *Program) boundError(e sym.Expr) error {
	var open []string
	p.open(e, &open)
	if open == nil {
		return &BoundError{what: fmt.Sprintf("%s has no known bound, because %s is computed at run time; bind the dimensions from which it is computed (dims = {...})",
			e, strings.Join(p.computedIn(e), " and "))}
	}
	return p.openError(open)
}

// open adds the symbols without a bound that an expression is made of, and those that an If makes
// its own of: the branches have written by the time that it knows.
func (p *Program) open(e sym.Expr, names *[]string) {
	for _, name := range p.computedIn(e) {
		if _, bounded := p.symbol(name).Bound(); bounded || slices.Contains(*names, name) {
			continue
		}
		before := len(*names)
		walk(p.Steps, func(s Step) {
			if s.Set != nil && s.Set.Name == name {
				p.open(s.Set.Value, names)
			}
		})
		if len(*names) == before && !p.set(name) {
			*names = append(*names, name)
		}
	}
}

// set reports whether a step gives the symbol the value of an expression.
func (p *Program) set(name string) bool {
	found := false
	walk(p.Steps, func(s Step) { found = found || s.Set != nil && s.Set.Name == name })
	return found
}

// mostElements is most of a value's elements. A check that holds wherever the value is used may bound their number
// better than each of its dimensions is: a reshape has as many elements as its operand.
func (p *Program) mostElements(e sym.Expr, checks []*block.Check) (sym.Expr, error) {
	m, err := p.most(e)
	if err == nil && len(p.computedIn(e)) == 0 {
		return m, nil
	}
	for _, c := range checks {
		if c.Kind != ops.SameDim {
			continue
		}
		for _, x := range [][2]sym.Expr{{c.A, c.B}, {c.B, c.A}} {
			if !x[0].Equal(e) {
				continue
			}
			if other, wrong := p.most(x[1]); wrong == nil {
				m, err = other, nil
			}
		}
	}
	return m, err
}

// computes names what computes a symbol.
func (p *Program) computes(name string) string {
	label := "the run" // in the branches of an If
	walk(p.Steps, func(s Step) {
		switch {
		case s.Call != nil && slices.Contains(s.Kernel.Sets, name):
			label = s.Block.Model()
		case s.Loop != nil && s.Loop.Made == name:
			label = s.Loop.Label
		case s.Carry != nil && slices.ContainsFunc(s.Carry.Sets, func(x Set) bool { return x.Name == name }):
			label = s.Carry.Label
		}
	})
	return label
}

func (p *Program) symbol(name string) ir.Symbol {
	i := slices.IndexFunc(p.Symbols, func(s ir.Symbol) bool { return s.Name == name })
	return p.Symbols[i]
}

// computedIn are the computed symbols of an expression, sorted.
func (p *Program) computedIn(e sym.Expr) []string {
	used := map[string]bool{}
	if e.Vars(used); len(used) == 0 {
		return nil
	}
	var out []string
	for _, s := range p.Symbols {
		if s.Computed && used[s.Name] {
			out = append(out, s.Name)
		}
	}
	sort.Strings(out)
	return out
}

// shapeOutputs says what the caller is told of the outputs' shapes. What a dimension is at most must be
// its value where what the run computes is at its bounds: one that may shrink when that grows
// gets a symbol of its own, which the end of the run computes. An output of whose size nobody
// knows a bound is refused: the caller brings its memory.
func (p *Program) shapeOutputs(u *unbounded) error {
	if p.Shapes != nil {
		return nil
	}
	for _, v := range p.Outputs {
		shape := slices.Clone(v.Shape)
		for i, d := range shape {
			most, err := p.most(d)
			if err != nil {
				if err := u.note(err, fmt.Sprintf("output %q of shape %v", v.Name, v.Shape)); err != nil {
					return err
				}
				continue
			}
			if !most.Equal(p.atBounds(d)) {
				shape[i] = p.derived(fmt.Sprintf("%s_dim%d", v.Name, i), d, most)
			}
		}
		p.Shapes = append(p.Shapes, shape)
	}
	return nil
}

// derived is a symbol of an expression, which is at most what it says.
func (p *Program) derived(name string, e, most sym.Expr) sym.Expr {
	base := sym.Identifier(name)
	name = base
	taken := func(s ir.Symbol) bool { return s.Name == name }
	for i := 2; slices.ContainsFunc(p.Symbols, taken); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	p.Symbols = append(p.Symbols, ir.Symbol{Name: name, Hi: sym.MaxDim, Computed: true, Max: most})
	p.Steps = append(p.Steps, Step{Set: &Set{Name: name, Value: e}})
	return sym.Var(name)
}

// atBounds is an expression where what the run computes is at its bounds.
func (p *Program) atBounds(e sym.Expr) sym.Expr {
	m := map[string]sym.Expr{}
	for _, s := range p.Symbols {
		if s.Computed {
			m[s.Name] = p.Greatest(s.Name)
		}
	}
	return e.Subst(m, p.Facts)
}

// Greatest is what a symbol that the run computes may be at most: memory is there for so much.
func (p *Program) Greatest(name string) sym.Expr {
	s := p.symbol(name)
	most, _ := s.Bound()
	return sym.Max(most, sym.Const(s.Lo), p.Facts)
}

// BindBounds gives the symbols that the run computes their greatest values, those that memory is
// taken for, where the others have values.
func (p *Program) BindBounds(symbols map[string]int64) error {
	for _, s := range p.Symbols {
		if !s.Computed {
			continue
		}
		most, err := p.Greatest(s.Name).Eval(symbols)
		if err != nil {
			return fmt.Errorf("the bound of %s: %w", s.Name, err)
		}
		symbols[s.Name] = most
	}
	return nil
}
