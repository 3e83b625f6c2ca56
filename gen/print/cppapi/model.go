// Package cppapi prints a model's public header (a C API and a C++ wrapper), the
// source behind it, and what the files of generated code share.
//
// The source is data, a rules_dnn::Description, and calls of the runtime, which checks
// arguments, owns memory and threads, and runs PREFIX_program, the function that the
// code generator prints.
package cppapi

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/print/ctext"
	"rules_dnn/gen/sym"
)

// maxSymbols is the runtime's kMaxSymbols.
const maxSymbols = 256

// Model describes what is to be printed. Names of tensors and symbols may be any
// text; Api, Prefix and Namespace come from the build and are checked.
type Model struct {
	// Api names the header: "model" makes model.h. It may have folders, which
	// only users write in their #include.
	Api string
	// Prefix begins all C names: app_model.
	Prefix string
	// Namespace of the C++ wrapper: app::model.
	Namespace string
	// Generator is named in the files' first lines, with its version.
	Generator string

	Inputs, Outputs []Tensor
	// Symbols in the order of Ctx.sym; those that a run computes are the last.
	Symbols []Symbol
	// Checks guard on run-time dims: those that the nodes of the network do not allow are refused.
	Checks []Check

	// Arena are byte counts; the arena holds the greatest. None: no arena.
	Arena []sym.Expr
	// Scratch is the bytes that one worker needs.
	Scratch sym.Expr
	Weights Weights
	// Variants are the chips that the library has kernels for, the least capable first; one at least.
	Variants []Variant
	// Device is what the model has of a device beside the processor; nil: none.
	Device *Device
	// Bare reports that the runtime starts no threads and sees no environment, and that buffers are aligned as weights are.
	Bare bool
	// Remote makes what is printed the stub of a model on a DSP; nil: it is none.
	Remote *Remote
	// Skeleton has what FastRPC calls printed; nil: the library is no skeleton.
	Skeleton *Identity
}

// Tensor is an input or an output.
type Tensor struct {
	Name  string
	Type  ir.DType
	Shape ir.Shape
}

// Symbol is a dimension known at run time.
type Symbol struct {
	Name   string
	Lo, Hi int64 // inclusive
	// Computed: the program writes the value (the rows of a NonZero). Max bounds it by
	// the other symbols, before the run.
	Computed bool
	Max      sym.Expr
}

// Check is a condition on the symbols that the caller gives. Text says what it is about.
type Check struct {
	Relation Relation
	A, B     sym.Expr
	Text     string
}

// Relation is what holds of a check's two sides.
type Relation uint8

// Relations of a check: equal; equal, or one is 1 and the other at least 0; A >= B.
const (
	Equal Relation = iota
	Broadcast
	AtLeast
)

// Weights are the packed constants.
type Weights struct {
	Mode  Mode
	Bytes int64    // without the file's header
	Align int      // what their place in memory is a multiple of; 0: as everywhere
	Hash  [32]byte // of those bytes, and of what else decides their meaning
}

// Mode tells where weights are at run time.
type Mode uint8

// Modes of weights: in the library, or in a file that the options bring.
const (
	Embed Mode = iota
	File
)

// ParseMode reads dnnc's --weights.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "embed":
		return Embed, nil
	case "file":
		return File, nil
	}
	return 0, fmt.Errorf("--weights=%s: want embed or file", s)
}

// HeaderName is the public header's file name.
func (m *Model) HeaderName() string { return path.Base(m.Api) + ".h" }

// InternalName is the file name of the header that generated files share.
func (m *Model) InternalName() string { return m.Prefix + "_internal.h" }

// SourceName is the file name of the API's source.
func (m *Model) SourceName() string { return m.Prefix + "_api.cc" }

// ProfileName is the file name of what programs that measure the model link.
func (m *Model) ProfileName() string { return m.Prefix + "_profile.cc" }

// Sym is the C text of a symbol's value where c is the run's Ctx, for package cexpr.
func (m *Model) Sym(name string) string { return m.symText("c->sym", name) }

func (m *Model) symText(array, name string) string {
	return fmt.Sprintf("%s[%d]", array, m.symbolIndex(name))
}

func (m *Model) symbolIndex(name string) int {
	return slices.IndexFunc(m.Symbols, func(s Symbol) bool { return s.Name == name })
}

func (m *Model) given() int {
	n := slices.IndexFunc(m.Symbols, func(s Symbol) bool { return s.Computed })
	if n < 0 {
		return len(m.Symbols)
	}
	return n
}

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
		return fmt.Errorf("prefix %q: the runtime's names begin so; want another, as in --prefix=%s_model", m.Prefix, m.Prefix)
	}
	for _, part := range strings.Split(m.Namespace, "::") {
		if !identifier.MatchString(part) {
			return fmt.Errorf("namespace %q: want C++ identifiers, joined by :: only", m.Namespace)
		}
		if ctext.IsTaken(part) {
			return fmt.Errorf("namespace %q: %s is a keyword of C++, a macro, or a name of the standard library or of the runtime; want another name, as in --namespace=%s_model", m.Namespace, part, part)
		}
	}
	if len(m.Variants) == 0 {
		return fmt.Errorf("no chip: want one that the library has kernels for")
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
	if len(m.Symbols) > maxSymbols {
		return fmt.Errorf("%d symbols; the runtime has room for %d: bind some with --dim", len(m.Symbols), maxSymbols)
	}
	for i, s := range m.Symbols {
		switch {
		case m.symbolIndex(s.Name) != i:
			return fmt.Errorf("symbol %q is listed twice", s.Name)
		case s.Lo < 0 && !s.Computed || s.Lo > s.Hi:
			return fmt.Errorf("symbol %q has the bounds %d..%d; want 0 <= lower <= upper", s.Name, s.Lo, s.Hi)
		case !s.Computed && i > m.given():
			return fmt.Errorf("symbol %q is given by the caller but follows computed ones", s.Name)
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
		return fmt.Errorf("a size leaves 64 bits")
	}
	set := map[string]bool{}
	e.Vars(set)
	for i, s := range m.Symbols {
		if s.Computed && set[s.Name] && !growsWith(e, s.Name) {
			return fmt.Errorf("the size %s may shrink when %q, which the run computes, grows; no bound of its memory is known", e, s.Name)
		}
		if i < symbols {
			delete(set, s.Name)
		}
	}
	for _, name := range sortedKeys(set) {
		return fmt.Errorf("the size %s depends on %q, which is not known there", e, name)
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
