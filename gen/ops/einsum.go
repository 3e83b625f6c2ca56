package ops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func einsumRows() []*Row {
	p := in("Inputs", numbers)
	p.Variadic = true
	return []*Row{{
		Name: "Einsum", Versions: []int{12, 28}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{p}, Attrs: []AttrSpec{strAttr("equation").required()}, Build: einsum,
	}}
}

const ellipsis = "..."

// equation is what an Einsum states: labels of each operand's axes and of the result's.
type equation struct {
	terms    [][]string
	result   []string
	explicit bool
}

func parseEquation(s string) (*equation, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(s, " ", ""), "->")
	q := &equation{explicit: explicit}
	for _, term := range strings.Split(left, ",") {
		labels, err := parseLabels(s, term)
		if err != nil {
			return nil, err
		}
		q.terms = append(q.terms, labels)
	}
	var err error
	q.result, err = parseLabels(s, right)
	return q, err
}

func parseLabels(equation, term string) ([]string, error) {
	var out []string
	for i := 0; i < len(term); i++ {
		c := term[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			out = append(out, string(c))
		case strings.HasPrefix(term[i:], ellipsis) && !slices.Contains(out, ellipsis):
			out = append(out, ellipsis)
			i += 2
		default:
			return nil, fmt.Errorf("attribute equation is %q: %q contains %q; want letters and one \"...\"", equation, term, string(c))
		}
	}
	return out, nil
}

// labelled is an operand, or an intermediate product, with a label for each axis.
type labelled struct {
	from   te.Source
	typ    ir.DType
	shape  ir.Shape
	labels []string
}

// contractions is an Einsum that is built: operands are multiplied from left to right,
// and a label is summed as soon as nothing more needs it.
type contractions struct {
	c      *Ctx
	extent map[string]sym.Expr
	m      *Meaning
}

func einsum(c *Ctx) (*Meaning, error) {
	q, err := parseEquation(c.Node.Str("equation", ""))
	if err != nil {
		return nil, err
	}
	b := &contractions{c: c, extent: map[string]sym.Expr{}, m: &Meaning{}}
	operands, err := b.operands(q)
	if err != nil {
		return nil, err
	}
	result, err := b.result(q, operands)
	if err != nil {
		return nil, err
	}
	product := operands[0]
	if len(operands) == 1 {
		b.stage(operands, result, c.Type(0))
	}
	for i, next := range operands[1:] {
		keep, t := result, c.Type(0)
		if rest := operands[i+2:]; len(rest) > 0 {
			keep, t = needed(product, next, result, rest), wide(c.Type(0))
		}
		product = b.stage([]*labelled{product, next}, keep, t)
	}
	b.m.Outputs = []te.Source{{Stage: true, N: len(b.m.Stages) - 1}}
	return b.m, nil
}

// operands expands ellipses and learns the labels' extents.
func (b *contractions) operands(q *equation) ([]*labelled, error) {
	if len(q.terms) != len(b.c.Node.Inputs) {
		return nil, fmt.Errorf("attribute equation is %q, of %d terms; the node has %d operands", b.c.Node.Str("equation", ""), len(q.terms), len(b.c.Node.Inputs))
	}
	var out []*labelled
	for i, term := range q.terms {
		s, err := b.c.Shape(i)
		if err != nil {
			return nil, err
		}
		labels, err := labelsOf(term, len(s))
		if err != nil {
			return nil, fmt.Errorf("operand %d: %w", i, err)
		}
		out = append(out, &labelled{te.Source{N: i}, b.c.Type(i), s, labels})
		for k, l := range labels {
			if err := b.join(l, s[k]); err != nil {
				return nil, fmt.Errorf("label %q of operand %d: %w", l, i, err)
			}
		}
	}
	return out, nil
}

// labelsOf puts labels for an ellipsis: the axes that the letters leave, counted from the
// last, so that they broadcast.
func labelsOf(term []string, rank int) ([]string, error) {
	at := slices.Index(term, ellipsis)
	if at < 0 {
		if len(term) != rank {
			return nil, fmt.Errorf("its term has %d labels; the rank is %d", len(term), rank)
		}
		return term, nil
	}
	n := rank - len(term) + 1
	if n < 0 {
		return nil, fmt.Errorf("its term has %d labels besides the ellipsis; the rank is %d", len(term)-1, rank)
	}
	return slices.Concat(term[:at], ellipsisLabels(n), term[at+1:]), nil
}

func ellipsisLabels(n int) []string {
	out := make([]string, n)
	for k := range out {
		out[k] = ellipsis + strconv.Itoa(n-1-k)
	}
	return out
}

// join makes a dimension one with those of the same label; those of an ellipsis may be
// 1, and so may one that is known to be.
func (b *contractions) join(label string, d sym.Expr) error {
	e, seen := b.extent[label]
	switch {
	case !seen || e.Is(1):
		b.extent[label] = d
		return nil
	case d.Is(1):
		return nil
	case !strings.HasPrefix(label, ellipsis):
		return b.c.require(SameDim, e, d, "dimensions of one label must be equal")
	}
	joined, err := b.c.joinDims(e, d)
	b.extent[label] = joined
	return err
}

// result is the labels of the result: as stated, or an ellipsis and what occurs once.
func (b *contractions) result(q *equation, operands []*labelled) ([]string, error) {
	count, longest := map[string]int{}, 0
	for i, o := range operands {
		for _, l := range o.labels {
			count[l]++
		}
		if slices.Contains(q.terms[i], ellipsis) {
			longest = max(longest, len(o.labels)-len(q.terms[i])+1)
		}
	}
	stated := q.result
	if !q.explicit {
		stated = []string{ellipsis}
		for l, n := range count {
			if n == 1 && !strings.HasPrefix(l, ellipsis) {
				stated = append(stated, l)
			}
		}
		slices.Sort(stated[1:])
	}
	var out []string
	for _, l := range stated {
		switch {
		case l == ellipsis:
			out = append(out, ellipsisLabels(longest)...)
		case count[l] == 0:
			return nil, fmt.Errorf("label %q of the result is not a label of an operand", l)
		case slices.Contains(out, l):
			return nil, fmt.Errorf("label %q occurs twice in the result", l)
		default:
			out = append(out, l)
		}
	}
	if longest > 0 && !slices.Contains(stated, ellipsis) {
		return nil, fmt.Errorf("the operands' ellipsis has %d axes; the result needs an ellipsis too", longest)
	}
	return out, nil
}

// needed are the labels of a product that the result or other operands need.
func needed(a, b *labelled, result []string, rest []*labelled) []string {
	var out []string
	for _, l := range slices.Concat(a.labels, b.labels) {
		use := slices.Contains(result, l) || slices.ContainsFunc(rest, func(o *labelled) bool { return slices.Contains(o.labels, l) })
		if use && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// stage multiplies elements and sums the labels that are not kept.
func (b *contractions) stage(factors []*labelled, keep []string, t ir.DType) *labelled {
	at := map[string]sym.Expr{}
	var shape, summed ir.Shape
	for k, l := range keep {
		shape, at[l] = append(shape, b.extent[l]), iv(k)
	}
	for _, f := range factors {
		for _, l := range f.labels {
			if _, ok := at[l]; !ok {
				at[l] = rv(len(summed))
				summed = append(summed, b.extent[l])
			}
		}
	}
	as, red := axes(shape), reduceAxes(summed)
	facts, acc := b.c.with(as, red), wide(t)
	var value te.Expr
	for _, f := range factors {
		load := te.Load{Source: f.from, Type: f.typ, Index: make([]sym.Expr, len(f.labels))}
		for k, l := range f.labels {
			load.Index[k] = b.read(f.shape[k], b.extent[l], at[l], l, facts)
		}
		if x := cast(acc, load); value == nil {
			value = x
		} else {
			value = mul(value, x)
		}
	}
	s := &te.Stage{Name: "Einsum", Axes: as, Results: []te.Expr{cast(t, value)}}
	if len(summed) > 0 {
		s.Reduce, s.Combine, s.Values = red, te.Sum(acc), []te.Expr{value}
		s.Results[0] = cast(t, te.Acc{Type: acc})
	}
	b.m.Stages = append(b.m.Stages, s)
	return &labelled{te.Source{Stage: true, N: len(b.m.Stages) - 1}, t, shape, keep}
}

// read is the index of an axis of dimension d at a point of its label.
func (b *contractions) read(d, extent, at sym.Expr, label string, f sym.Facts) sym.Expr {
	switch {
	case d.Equal(extent):
		return at
	case d.Is(1):
		return sym.Const(0)
	case !strings.HasPrefix(label, ellipsis) || b.c.isNot(d, 1):
		return at
	}
	return sym.Min(at, sym.Sub(d, sym.Const(1)), f) // 1 or the extent: known in the run
}
