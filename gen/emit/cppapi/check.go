package cppapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir/sym"
)

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	apiName    = regexp.MustCompile(`^[A-Za-z0-9_.+/-]+$`)
	feature    = regexp.MustCompile(`^[a-z0-9_.]+$`)
)

// check refuses what cannot be printed; after it, printing cannot fail.
func (m *Model) check() error {
	if !apiName.MatchString(m.Api) || strings.HasSuffix(m.Api, "/") {
		return fmt.Errorf("api %q: want letters, digits and _ . + - / only", m.Api)
	}
	if !identifier.MatchString(m.Prefix) {
		return fmt.Errorf("prefix %q: want a C identifier", m.Prefix)
	}
	if ctext.IsRuntime(m.Prefix) {
		return fmt.Errorf("prefix %q: names of the runtime begin with it; want another, such as --prefix=%s_model", m.Prefix, m.Prefix)
	}
	for _, part := range strings.Split(m.Namespace, "::") {
		if !identifier.MatchString(part) {
			return fmt.Errorf("namespace %q: want C++ identifiers, joined by :: only", m.Namespace)
		}
		if ctext.IsTaken(part) {
			return fmt.Errorf("namespace %q: %s is a keyword of C++, a macro, or a name of the standard library or of the runtime; want another name, such as --namespace=%s_model", m.Namespace, part, part)
		}
	}
	if len(m.Variants) == 0 {
		return fmt.Errorf("no chip; want at least one that the library has kernels for")
	}
	if p := m.Variants[0].Prefix; p != m.Prefix {
		return fmt.Errorf("the first chip's profile has the prefix %q: want the model's, %q", p, m.Prefix)
	}
	for _, v := range m.Variants {
		for _, f := range v.CPUFeatures {
			if !feature.MatchString(f) {
				return fmt.Errorf("CPU feature %q: want lower-case letters, digits, underscores and dots", f)
			}
		}
	}
	if m.Weights.Bytes < 0 {
		return fmt.Errorf("weights of %d bytes", m.Weights.Bytes)
	}
	if err := m.checkDevice(); err != nil {
		return err
	}
	if err := m.checkRemote(); err != nil {
		return err
	}
	return m.checkShapes()
}

func (m *Model) checkShapes() error {
	if err := m.checkSymbols(); err != nil {
		return err
	}
	for _, t := range m.Inputs {
		if err := m.checkTensor("input", t, m.given()); err != nil {
			return err
		}
	}
	for _, t := range m.Outputs {
		if err := m.checkTensor("output", t, len(m.Symbols)); err != nil {
			return err
		}
	}
	for _, c := range m.Checks {
		for _, e := range []sym.Expr{c.A, c.B} {
			if err := m.checkExpr(e, m.given()); err != nil {
				return fmt.Errorf("the check %q: %w", c.Text, err)
			}
		}
	}
	for _, e := range append([]sym.Expr{m.Scratch}, m.Arena...) {
		if err := m.checkExpr(e, len(m.Symbols)); err != nil {
			return fmt.Errorf("memory of the plan: %w", err)
		}
	}
	return m.checkBlocks()
}

func (m *Model) checkSymbols() error {
	if len(m.Symbols) > limit.Symbols {
		return limit.TooManySymbols(len(m.Symbols))
	}
	for i, s := range m.Symbols {
		switch {
		case m.symbolIndex(s.Name) != i:
			return fmt.Errorf("symbol %q is listed twice", s.Name)
		case s.Lo < 0 && !s.Computed || s.Lo > s.Hi:
			return fmt.Errorf("symbol %q has the bounds %d..%d; want 0 <= lower <= upper", s.Name, s.Lo, s.Hi)
		case !s.Computed && i > m.given():
			return fmt.Errorf("symbol %q is set by the caller, but follows computed ones", s.Name)
		}
		if err := m.checkExpr(s.Max, i); err != nil {
			return fmt.Errorf("the bound of symbol %q: %w", s.Name, err)
		}
	}
	return nil
}

func (m *Model) checkTensor(what string, t Tensor, symbols int) error {
	if t.Type.Size() == 0 {
		return fmt.Errorf("%s %q has no element type", what, t.Name)
	}
	for _, d := range t.Shape {
		if c, ok := d.Const(); ok && c < 0 {
			return fmt.Errorf("%s %q has a dimension of %d", what, t.Name, c)
		}
		if err := m.checkExpr(d, symbols); err != nil {
			return fmt.Errorf("%s %q: %w", what, t.Name, err)
		}
	}
	return nil
}

// checkExpr refuses an expression that has no value, mentions other than the first
// symbols, or may shrink when a computed symbol grows: its value at the symbols'
// bounds is to be what no run exceeds.
func (m *Model) checkExpr(e sym.Expr, symbols int) error {
	if e.Overflow() {
		return fmt.Errorf("a size overflows 64 bits")
	}
	set := map[string]bool{}
	e.Vars(set)
	for i, s := range m.Symbols {
		if s.Computed && set[s.Name] && !growsWith(e, s.Name) {
			return fmt.Errorf("the size %s may shrink when the computed %q grows, so its memory has no known bound", e, s.Name)
		}
		if i < symbols {
			delete(set, s.Name)
		}
	}
	for _, name := range sortedKeys(set) {
		return fmt.Errorf("the size %s depends on %q, which is unknown there", e, name)
	}
	return nil
}

// growsWith reports whether e surely never shrinks when the variable grows; all
// variables are at least 0.
func growsWith(e sym.Expr, name string) bool {
	terms, _ := e.Terms()
	for _, t := range terms {
		used := false
		for _, a := range t.Atoms {
			if uses(a, name) {
				used = true
				if !atomGrowsWith(a, name) {
					return false
				}
			}
		}
		if used && (t.Coef < 0 || !allNonNegative(t.Atoms)) {
			return false
		}
	}
	return true
}

func atomGrowsWith(a *sym.Atom, name string) bool {
	switch a.Kind {
	case sym.AtomVar:
		return true
	case sym.AtomDiv:
		return growsWith(a.A, name) && !a.B.Uses(name)
	case sym.AtomMin, sym.AtomMax:
		return growsWith(a.A, name) && growsWith(a.B, name)
	}
	return false
}

// allNonNegative: a factor that is negative would turn growth round.
func allNonNegative(atoms []*sym.Atom) bool {
	for _, a := range atoms {
		left, right := sym.AtLeast(a.A, 0, nil), sym.AtLeast(a.B, 0, nil)
		ok := a.Kind == sym.AtomVar || a.Kind == sym.AtomMod || a.Kind == sym.AtomDiv && left ||
			left && right || a.Kind == sym.AtomMax && (left || right)
		if !ok {
			return false
		}
	}
	return true
}

func uses(a *sym.Atom, name string) bool {
	if a.Kind == sym.AtomVar {
		return a.Name == name
	}
	return a.A.Uses(name) || a.B.Uses(name)
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
