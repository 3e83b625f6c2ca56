package onnx

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx/onnxpb"
)

// Dim bounds a symbolic dimension, inclusively; Lo == Hi binds it to a number.
type Dim struct{ Lo, Hi int64 }

// ParseDim reads "N=4", "N=1..64" or "N=1.." (no upper bound).
func ParseDim(s string) (name string, d Dim, err error) {
	at := strings.LastIndexByte(s, '=')
	if at <= 0 {
		return "", Dim{}, fmt.Errorf("dimension %s: want NAME=NUMBER or NAME=LOW..HIGH", show(s))
	}
	name = s[:at]
	lo, hi, isRange := strings.Cut(s[at+1:], "..")
	if d.Lo, err = strconv.ParseInt(lo, 10, 64); err == nil {
		switch {
		case !isRange:
			d.Hi = d.Lo
		case hi == "":
			d.Hi = sym.MaxDim
		default:
			d.Hi, err = strconv.ParseInt(hi, 10, 64)
		}
	}
	if err != nil {
		return "", Dim{}, fmt.Errorf("dimension %s: want NAME=NUMBER or NAME=LOW..HIGH: %w", show(s), err)
	}
	return name, d, d.check(name)
}

// check refuses what bounds no number. Numbers that a run computes may be negative, as what a Pad takes away is.
func (d Dim) check(name string) error {
	if d.Lo < -sym.MaxDim || d.Hi < d.Lo || d.Hi > sym.MaxDim {
		return fmt.Errorf("dimension %s: want low <= high, both from 0 to %d, or from -%d for a computed dimension; found %d..%d",
			show(name), int64(sym.MaxDim), int64(sym.MaxDim), d.Lo, d.Hi)
	}
	return nil
}

// symbols gives the model's symbolic dimensions their names in the compiler.
type symbols struct {
	dims  map[string]Dim
	used  map[string]bool     // keys of dims that named a dimension
	named map[string]sym.Expr // by the model's name
	taken map[string]bool
	// numbers are how many names that are like a name are taken.
	numbers map[string]int
	list    []ir.Symbol
	known   []string // the model's names, or the symbol's for unnamed dimensions
	wrong   error    // the first bound that no dimension of an input has
}

func newSymbols(dims map[string]Dim) (*symbols, error) {
	names := make([]string, 0, len(dims))
	for name := range dims {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := dims[name].check(name); err != nil {
			return nil, err
		}
	}
	return &symbols{dims: dims, used: map[string]bool{}, named: map[string]sym.Expr{}, taken: map[string]bool{}, numbers: map[string]int{}}, nil
}

// param is the dimension that the model calls name.
func (s *symbols) param(name string) sym.Expr {
	if e, ok := s.named[name]; ok {
		return e
	}
	e := s.fresh(name, name, "")
	s.named[name] = e
	return e
}

// fresh makes a symbol with a name like hint; key is the model's name for it, or "", and others what it calls this one and more, or "".
func (s *symbols) fresh(key, hint, others string) sym.Expr {
	base := sym.Identifier(hint)
	id := base
	for i := s.numbers[base]; s.taken[id]; i++ {
		id = fmt.Sprintf("%s_%d", base, i+2)
		s.numbers[base] = i + 1
	}
	s.taken[id] = true
	if key == "" {
		key = id
	}
	s.known = append(s.known, key)
	d := Dim{1, sym.MaxDim}
	for _, name := range []string{key, id, others} {
		if of, ok := s.dims[name]; ok {
			s.used[name], d = true, of
			break
		}
	}
	if d.Lo < 0 && s.wrong == nil {
		s.wrong = fmt.Errorf("dimension %s is bound to %d..%d; a dimension of an input is at least 0", show(key), d.Lo, d.Hi)
		d = Dim{0, max(d.Hi, 0)}
	}
	if d.Lo == d.Hi {
		return sym.Const(d.Lo)
	}
	s.list = append(s.list, ir.Symbol{Name: id, Lo: d.Lo, Hi: d.Hi})
	return sym.Var(id)
}

// others are the options that name no dimension of the model's inputs: they may bound what nodes
// compute, which only passes can tell.
func (s *symbols) others() map[string]sym.Range {
	out := map[string]sym.Range{}
	for name, d := range s.dims {
		if !s.used[name] {
			out[name] = sym.Range{Lo: d.Lo, Hi: d.Hi}
		}
	}
	return out
}

// Unused reports options that name no symbol of a graph, neither of its inputs' dimensions nor of
// what its nodes compute, or one that an If makes its own of others. It is to be asked after passes have
// found these.
func Unused(g *ir.Graph) error {
	if name := chosen(g, g.Bounded); name != "" {
		return fmt.Errorf("the dimension %s cannot be bounded, because each branch of an If computes it; bound the dimensions that the branches use", show(name))
	}
	var bad, known []string
	for _, s := range g.Symbols {
		known = append(known, show(s.Name))
	}
	for name := range g.Bounded {
		if !slices.Contains(known, show(name)) {
			bad = append(bad, show(name))
		}
	}
	if bad == nil {
		return nil
	}
	sort.Strings(bad)
	if len(known) == 0 {
		return fmt.Errorf("no dimension is called %s: all dimensions are constants", strings.Join(bad, ", "))
	}
	return fmt.Errorf("no dimension is called %s: the symbolic dimensions are %s", strings.Join(bad, ", "), strings.Join(known, ", "))
}

// chosen is the first of some symbols that an If computes, or "": its branches have written by the time
// that it knows which of their dimensions it is.
func chosen(g *ir.Graph, bounded map[string]sym.Range) string {
	for _, n := range g.Nodes {
		for _, name := range n.Computes {
			if _, ok := bounded[name]; ok && n.Op == "If" {
				return name
			}
		}
		for _, r := range n.Regions {
			if name := chosen(r, bounded); name != "" {
				return name
			}
		}
	}
	return ""
}

// inputShape is the shape of a model's input.
func (s *symbols) inputShape(input string, p *onnxpb.TensorShapeProto) (ir.Shape, error) {
	out := make(ir.Shape, 0, len(p.GetDim()))
	for i, d := range p.GetDim() {
		called := ""
		switch v := d.GetValue().(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			switch {
			case v.DimValue >= 0 && v.DimValue <= sym.MaxDim:
				out = append(out, sym.Const(v.DimValue))
				continue
			case v.DimValue != -1: // which some exporters write for an unknown dimension
				return nil, fmt.Errorf("dimension %d is %d; supported are 0 to %d", i, v.DimValue, int64(sym.MaxDim))
			}
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			if !anonymous(v.DimParam) {
				out = append(out, s.param(v.DimParam))
				continue
			}
			called = v.DimParam
		}
		out = append(out, s.fresh("", fmt.Sprintf("%s_d%d", input, i), called))
	}
	return out, s.wrong
}

// anonymous reports whether a name is what exporters write for every dimension that they do not know, as "?" and "None": two that are called so
// need not be equal. A bound of the name is one of each.
func anonymous(name string) bool {
	named := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return name == "None" || name == "-1" || !strings.ContainsFunc(name, named)
}

// outputShape is the shape that the model declares for an output, where it says
// no more than the inputs' symbols and constants do.
func (s *symbols) outputShape(p *onnxpb.TensorShapeProto) (ir.Shape, bool) {
	out := make(ir.Shape, 0, len(p.GetDim()))
	for _, d := range p.GetDim() {
		switch v := d.GetValue().(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			if v.DimValue < 0 || v.DimValue > sym.MaxDim {
				return nil, false
			}
			out = append(out, sym.Const(v.DimValue))
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			e, ok := s.expression(v.DimParam)
			if !ok {
				return nil, false
			}
			out = append(out, e)
		default:
			return nil, false
		}
	}
	return out, p != nil
}

// expression is the dimension that the model calls name, which may be an expression of the symbols.
func (s *symbols) expression(name string) (sym.Expr, bool) {
	if e, ok := s.named[name]; ok {
		return e, true
	}
	e, err := sym.Parse(name)
	if n, constant := e.Const(); err != nil || e.Overflow() || constant && (n < 0 || n > sym.MaxDim) {
		return sym.Expr{}, false
	}
	set := map[string]bool{}
	e.Vars(set)
	for v := range set {
		// Only names that stand for themselves: an expression over renamed or bound
		// dimensions would mean something else.
		if x, ok := s.named[v]; !ok || !x.Equal(sym.Var(v)) {
			return sym.Expr{}, false
		}
	}
	return e, true
}

// InputSymbol is a symbolic dimension of a model's inputs. Options.Dims takes both its names.
type InputSymbol struct {
	Name string // in the compiler, and in generated code: an identifier
	Key  string // in the model; for a dimension without a name there, Name
}

// Is reports whether a name is one of the symbol's.
func (s InputSymbol) Is(name string) bool { return name == s.Name || name == s.Key }

// InputSymbols are the symbolic dimensions of a model's inputs, in the order of their first use.
func InputSymbols(model *ir.File) ([]InputSymbol, error) {
	m, _, err := scanModel(model)
	if err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	s, err := newSymbols(nil)
	if err != nil {
		return nil, err
	}
	constant := map[string]bool{}
	for _, t := range m.Graph.GetInitializer() {
		constant[t.GetName()] = true
	}
	for _, in := range m.Graph.GetInput() {
		if constant[in.GetName()] {
			continue
		}
		if _, err := s.inputShape(in.GetName(), in.GetType().GetTensorType().GetShape()); err != nil {
			return nil, fmt.Errorf("reading ONNX model: input %s: %w", show(in.GetName()), err)
		}
	}
	list := make([]InputSymbol, len(s.list))
	for i, symbol := range s.list {
		list[i] = InputSymbol{Name: symbol.Name, Key: s.known[i]} // nothing is bound: one is as long as the other
	}
	return list, nil
}
