package plan

import (
	"fmt"
	"sort"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// most is the greatest value of a size in any run: symbols that the run computes are at their
// bounds, so that memory can be taken before (SoD2's execution-determined outputs).
func (p *Program) most(e sym.Expr) (sym.Expr, error) {
	m, ok := sym.Most(e, ir.Bounds(p.Symbols), p.Facts)
	if open := p.computedIn(m); ok && len(open) > 0 {
		return e, fmt.Errorf("nothing bounds %s, which the run computes; bound it, as by dims = {\"%s\": \"0..1000\"}",
			strings.Join(open, " and "), open[0])
	}
	if !ok {
		return e, fmt.Errorf("no bound of %s is known where %s, which the run computes, varies; bind the dimensions that it is made of (dims = {...})",
			e, strings.Join(p.computedIn(e), " and "))
	}
	return m, nil
}

// computedIn are the computed symbols of an expression, sorted.
func (p *Program) computedIn(e sym.Expr) []string {
	var out []string
	for _, s := range p.Symbols {
		if s.Computed && e.Uses(s.Name) {
			out = append(out, s.Name)
		}
	}
	sort.Strings(out)
	return out
}

// checkOutputs refuses outputs of whose size nobody knows a bound: the caller brings their memory.
func (p *Program) checkOutputs() error {
	for _, v := range p.Outputs {
		for _, d := range v.Shape {
			if _, err := p.most(d); err != nil {
				return fmt.Errorf("output %q of shape %v: %w", v.Name, v.Shape, err)
			}
		}
	}
	return nil
}

// BindBounds gives the symbols that the run computes their greatest values, those that memory is
// taken for, where the others have values.
func (p *Program) BindBounds(symbols map[string]int64) error {
	for _, s := range p.Symbols {
		if !s.Computed {
			continue
		}
		most, err := s.Max.Eval(symbols)
		if err != nil {
			return fmt.Errorf("the bound of %s: %w", s.Name, err)
		}
		symbols[s.Name] = max(s.Lo, min(s.Hi, most))
	}
	return nil
}
