package attend

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
)

// softmax finds the maximum, the sum and the weights, which must be exp(score - maximum) everywhere, or that and 0 where no key counts.
func (a *attention) softmax() bool {
	placed := a.b.Placed
	last := len(placed) - 1
	numbers := map[*te.Stage]int{}
	for i, s := range placed[1:last] {
		numbers[s] = i + 1
		switch {
		case s.Combine == nil:
			continue // read where it is computed anew
		case s.Combine.Name == "max" && a.most == nil && a.total == nil && isSum(s):
			a.most = s
		case s.Combine.Name == "sum" && a.most != nil && a.total == nil:
			a.total = s
		default:
			return false
		}
		if len(s.Values) != 1 || len(s.Results) != 1 || len(workgroup.Several(s.Axes[a.b.Depth:])) > 0 || s.Values[0].DType() != ir.F32 {
			return false
		}
		if over := workgroup.Several(s.Reduce); len(over) != 1 || !over[0].Extent.Equal(a.key.Extent) || readsStage(s.Results[0]) {
			return false // of some keys alone, or of what is no longer there
		}
	}
	if a.total == nil || placed[last].Combine != nil || len(workgroup.Several(placed[last].Axes[a.b.Depth:])) != 1 || len(placed[last].Results) != 1 {
		return false
	}
	score, summed := a.inKeys(a.most, a.most.Values[0]), a.inKeys(a.total, a.total.Values[0])
	weight := a.inKeys(placed[last], placed[last].Results[0])
	row := a.common(a.b.Depth)
	total := te.FromStage(numbers[a.total], ir.F32, at(a.total, row)...)
	if !a.powers(summed, score, te.FromStage(numbers[a.most], ir.F32, at(a.most, row)...)) || !a.normalises(weight, summed, total) {
		return false
	}
	ok := true
	te.Walk(score, func(e te.Expr) { // scores themselves are read at their own place
		if l, is := e.(te.Load); is && l.Source.Stage {
			ok = ok && l.Source.N == 0 && len(l.Guard) == 0 && te.Text(l) == te.Text(te.FromStage(0, l.Type, a.scoreAt()...))
		}
	})
	names := map[string]sym.Expr{keyName: sym.Var(a.key.Var)}
	for i, x := range a.scores.Axes[:a.b.Depth] {
		names[commonName(i)] = sym.Var(x.Var)
	}
	a.score = te.Map(te.SubstIndices(score, names, a.env.Symbols), func(e te.Expr) te.Expr {
		if l, is := e.(te.Load); is && l.Source.Stage {
			return a.scores.Results[0]
		}
		return e
	})
	return ok
}

// powers reports whether what is summed is exp(score - maximum), or that and 0 where all scores of a row are minus infinity, which the maximum tells where
// it is no number if a score is none.
func (a *attention) powers(summed, score, most te.Expr) bool {
	power := te.Fn(ir.F32, "exp", te.Fn(ir.F32, "sub", score, most))
	counted := te.Fn(ir.F32, "select", te.Fn(ir.Bool, "eq", most, te.Lowest(ir.F32)), te.Float(ir.F32, 0), power)
	a.counts = te.Text(summed) == te.Text(counted)
	if join, is := a.most.Combine.Join[0].(te.Call); a.counts && (!is || join.Fn != "max") {
		return false
	}
	return a.counts || te.Text(summed) == te.Text(power)
}

// normalises reports whether a weight is a power of its total, or that and 0 where it is no number. Weights of a network in 16 bits, which are rounded to
// these before they are multiplied, stay as they are: of which total a chunk's weights are parts is known behind the last one.
func (a *attention) normalises(weight, power, total te.Expr) bool {
	weight = unrounded(weight)
	if c, is := weight.(te.Call); is && c.Fn == "select" {
		test, is := c.Args[0].(te.Call)
		zero, known := c.Args[1].(te.Const)
		if !is || test.Fn != "isnan" || !known || zero.Bits != 0 || te.Text(unrounded(test.Args[0])) != te.Text(unrounded(c.Args[2])) {
			return false
		}
		a.numbers, weight = true, unrounded(c.Args[2])
	}
	for _, fn := range []string{"mul", "div"} {
		if te.Text(weight) == te.Text(te.Fn(ir.F32, fn, power, total)) {
			a.divides = fn == "div"
			return true
		}
	}
	return false
}

// unrounded is a number before it is converted to a float of 16 bits, or from one.
func unrounded(e te.Expr) te.Expr {
	for {
		c, is := e.(te.Call)
		if !is || c.Fn != "cast" && c.Fn != "narrow" || !match.Floats(c.Type) || !match.Floats(c.Args[0].DType()) {
			return e
		}
		e = c.Args[0]
	}
}

// isSum reports whether what a stage combines is its result.
func isSum(s *te.Stage) bool {
	if len(s.Results) != 1 {
		return false
	}
	_, plain := s.Results[0].(te.Acc)
	return plain
}

// Names that axes of stages have while they are compared.
const keyName = "key"

func commonName(i int) string { return fmt.Sprintf("common%d", i) }

// common are the first axes of all stages, by those names.
func (a *attention) common(n int) []sym.Expr {
	var out []sym.Expr
	for i, x := range a.b.Stage.Axes[:n] {
		if x.Extent.Is(1) {
			out = append(out, sym.Const(0))
		} else {
			out = append(out, sym.Var(commonName(i)))
		}
	}
	return out
}

// at is an index of a stage that begins with some axes and has others of one point.
func at(s *te.Stage, first []sym.Expr) []sym.Expr {
	out := slices.Clone(first)
	for len(out) < len(s.Axes) {
		out = append(out, sym.Const(0))
	}
	return out
}

// scoreAt is the index of a score.
func (a *attention) scoreAt() []sym.Expr {
	out := at(a.scores, a.common(a.b.Depth))
	for i, x := range a.scores.Axes[a.b.Depth:] {
		if !x.Extent.Is(1) {
			out[a.b.Depth+i] = sym.Var(keyName)
		}
	}
	return out
}

// inKeys is an expression of a stage in the names of the common axes and of keys, with what stages compute of a point alone in the place of loads of it.
func (a *attention) inKeys(s *te.Stage, e te.Expr) te.Expr {
	names := map[string]sym.Expr{}
	for i, v := range a.common(a.b.Depth) {
		names[s.Axes[i].Var] = v
	}
	for _, x := range slices.Concat(s.Axes[a.b.Depth:], s.Reduce) {
		names[x.Var] = sym.Var(keyName)
		if x.Extent.Is(1) {
			names[x.Var] = sym.Const(0)
		}
	}
	return te.Map(te.SubstIndices(e, names, a.env.Symbols), func(e te.Expr) te.Expr {
		l, is := e.(te.Load)
		if !is || !l.Source.Stage || l.Source.N == 0 || len(l.Guard) > 0 || a.b.Placed[l.Source.N].Combine != nil {
			return e
		}
		of := a.b.Placed[l.Source.N]
		if te.Text(te.FromStage(0, l.Type, l.Index...)) != te.Text(te.FromStage(0, l.Type, a.ownAt(of)...)) {
			return e // of another point
		}
		return a.inKeys(of, of.Results[0])
	})
}

// ownAt is the index of a stage's own point.
func (a *attention) ownAt(s *te.Stage) []sym.Expr {
	out := a.common(a.b.Depth)
	for _, x := range s.Axes[a.b.Depth:] {
		if x.Extent.Is(1) {
			out = append(out, sym.Const(0))
		} else {
			out = append(out, sym.Var(keyName))
		}
	}
	return out
}

// weighted finds the values that are multiplied with weights.
func (a *attention) weighted() bool {
	s, last := a.b.Stage, len(a.b.Placed)-1
	own, sum := workgroup.Several(s.Axes[a.b.Depth:]), workgroup.Several(s.Reduce)
	l, r, ok := match.Multiplied(s)
	if !ok || len(own) != 1 || len(sum) != 1 || s.Values[0].DType() != ir.F32 || !sum[0].Extent.Equal(a.key.Extent) {
		return false
	}
	a.column = own[0]
	if _, known := a.column.Extent.Const(); !known {
		return false
	}
	if least, _ := a.key.Extent.Bounds(a.env.Symbols); least < 1 {
		return false // without a key there is no last chunk, and results are sums of nothing
	}
	m := &match.Match{Stage: s, Operands: a.b.Operands, Reduce: sum}
	for i, e := range []te.Expr{l, r} {
		w, is := unrounded(e).(te.Load)
		if !is || !w.Source.Stage || w.Source.N != last || len(w.Guard) > 0 {
			continue
		}
		if !a.readsRow(w, sum[0].Var) {
			return false
		}
		a.v = m.Term([]te.Expr{r, l}[i])
	}
	return !slices.ContainsFunc(s.Results, readsStage) && a.v != nil && plainFactor(a.v) && !a.v.Uses(s.Axes[a.query].Var) && a.v.Uses(a.column.Var) && a.v.Uses(sum[0].Var)
}

// readsStage reports whether an expression loads what another stage computes.
func readsStage(e te.Expr) bool {
	reads := false
	te.Walk(e, func(e te.Expr) {
		x, is := e.(te.Load)
		reads = reads || is && x.Source.Stage
	})
	return reads
}

// readsRow reports whether a load is of the weight of a key, of the query at hand.
func (a *attention) readsRow(l te.Load, key string) bool {
	axes := a.b.Placed[l.Source.N].Axes
	for i, e := range l.Index {
		want := sym.Const(0)
		switch {
		case axes[i].Extent.Is(1):
		case i < a.b.Depth:
			want = sym.Var(a.b.Stage.Axes[i].Var)
		default:
			want = sym.Var(key)
		}
		if !e.Equal(want) && !(axes[i].Extent.Is(1) && i < a.b.Depth && e.Equal(sym.Var(a.b.Stage.Axes[i].Var))) {
			return false
		}
	}
	return true
}
