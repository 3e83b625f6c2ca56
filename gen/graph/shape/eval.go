package shape

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

const (
	// maxElems bounds the tensors whose elements are followed.
	maxElems = 256
	// maxPoints bounds the scalar evaluations spent on one node.
	maxPoints = 1 << 16
)

// evaluator computes single elements of a node's stages symbolically: SoD2's
// transfer of values, derived from what the operator means.
type evaluator struct {
	stages  []*te.Stage
	operand func(n int) (shape []int64, elems []value)
	facts   sym.Facts
	memo    map[string][]value
	updates map[*te.Stage][]value // all elements of stages that update
	points  int
}

func newEvaluator(m *ops.Meaning, facts sym.Facts, operand func(int) ([]int64, []value)) *evaluator {
	return &evaluator{stages: m.Stages, operand: operand, facts: facts, memo: map[string][]value{}, updates: map[*te.Stage][]value{}}
}

// scope is what a scalar expression's names mean at one point.
type scope struct {
	vars map[string]sym.Expr
	acc  []value
	in   []value
}

// elements are all the elements of part src of a stage, row-major, or nil where
// there are too many or none is known.
func (e *evaluator) elements(src te.Source) []value {
	dims, ok := e.stages[src.N].Shape().Static()
	n, err := ir.Len(dims)
	if !ok || err != nil || n > maxElems {
		return nil
	}
	out := make([]value, n)
	any := n == 0
	for i := range out {
		out[i] = e.point(src, unflatten(int64(i), dims))
		any = any || out[i].state != unknown || out[i].limited()
	}
	if !any {
		return nil
	}
	return out
}

func unflatten(i int64, dims []int64) []int64 {
	at := make([]int64, len(dims))
	for k := len(dims) - 1; k >= 0; k-- {
		at[k], i = i%dims[k], i/dims[k]
	}
	return at
}

// point is one element of a stage.
func (e *evaluator) point(src te.Source, at []int64) value {
	key := fmt.Sprint(src.N, at)
	results, ok := e.memo[key]
	if !ok {
		results = e.compute(e.stages[src.N], at)
		e.memo[key] = results
	}
	return results[src.Part]
}

func (e *evaluator) compute(s *te.Stage, at []int64) []value {
	results := make([]value, len(s.Results))
	if e.points++; e.points > maxPoints {
		return results // unknown
	}
	if s.Update != nil {
		if all := e.updated(s); all != nil {
			dims, _ := s.Shape().Static()
			results[0] = all[flatten(at, dims)]
		}
		return results
	}
	vars := map[string]sym.Expr{}
	for i, a := range s.Axes {
		vars[a.Var] = sym.Const(at[i])
	}
	sc := scope{vars: vars}
	if s.Combine != nil {
		if sc.acc = e.reduce(s, vars); sc.acc == nil {
			return results
		}
	}
	for i, r := range s.Results {
		results[i] = e.eval(r, sc)
	}
	return results
}

// reduce runs a reduction of constant extents; nil where it is too long.
func (e *evaluator) reduce(s *te.Stage, vars map[string]sym.Expr) []value {
	extents := make([]int64, len(s.Reduce))
	for i, a := range s.Reduce {
		c, ok := a.Extent.Subst(vars, e.facts).Const()
		if !ok {
			return nil
		}
		extents[i] = c
	}
	n, err := ir.Len(extents)
	if err != nil || n > maxPoints {
		return nil
	}
	acc := e.evalAll(s.Combine.Init, scope{vars: vars})
	for i := int64(0); i < n; i++ {
		if e.points++; e.points > maxPoints {
			return nil
		}
		for k, x := range unflatten(i, extents) {
			vars[s.Reduce[k].Var] = sym.Const(x)
		}
		in := e.evalAll(s.Values, scope{vars: vars})
		acc = e.evalAll(s.Combine.Join, scope{vars: vars, acc: acc, in: in})
		if lost(s.Combine.Join, acc) {
			break // of sums and extremes of data the first element tells as much as all
		}
	}
	return acc
}

// lost reports whether what is accumulated is unknown, which nothing that is added to it or compared with it makes known again;
// a false or a true that comes later may.
func lost(join []te.Expr, acc []value) bool {
	for i, x := range join {
		if c, ok := x.(te.Call); !ok || c.Fn == "and" || c.Fn == "or" || acc[i].state != unknown || acc[i].limited() {
			return false
		}
	}
	return true
}

func (e *evaluator) evalAll(xs []te.Expr, sc scope) []value {
	out := make([]value, len(xs))
	for i, x := range xs {
		out[i] = e.eval(x, sc)
	}
	return out
}

func (e *evaluator) eval(x te.Expr, sc scope) value {
	switch x := x.(type) {
	case te.Const:
		return literal(x)
	case te.Index:
		return integer(x.E.Subst(sc.vars, e.facts))
	case te.Load:
		return e.load(x, sc)
	case te.Call:
		return evalCall(x, e.evalAll(x.Args, sc), e.facts)
	case te.Let:
		return e.let(x, sc)
	case te.Select:
		return e.choose(x, sc)
	case te.Acc:
		return sc.acc[x.N]
	case te.In:
		return sc.in[x.N]
	}
	return value{}
}

func literal(x te.Const) value {
	switch {
	case x.Type.IsFloat():
		return float(math.Float64frombits(x.Bits))
	case x.Type == ir.U64 && x.Bits > math.MaxInt64:
		return value{}
	}
	return number(int64(x.Bits))
}

func (e *evaluator) let(x te.Let, sc scope) value {
	v, ok := e.eval(x.Value, sc).whole()
	if !ok {
		return value{}
	}
	vars := make(map[string]sym.Expr, len(sc.vars)+1)
	for k, w := range sc.vars {
		vars[k] = w
	}
	vars[x.Var] = v
	sc.vars = vars
	return e.eval(x.Body, sc)
}

func (e *evaluator) choose(x te.Select, sc scope) value {
	switch e.guard(x.Cond, sc) {
	case yes:
		return e.eval(x.Then, sc)
	case no:
		return e.eval(x.Else, sc)
	}
	if then := e.eval(x.Then, sc); then.equal(e.eval(x.Else, sc)) {
		return then
	}
	return value{}
}

func (e *evaluator) load(x te.Load, sc scope) value {
	switch e.guard(x.Guard, sc) {
	case no:
		return e.eval(x.Default, sc)
	case maybe:
		return value{}
	}
	at := make([]int64, len(x.Index))
	for i, ix := range x.Index {
		c, ok := ix.Subst(sc.vars, e.facts).Const()
		if !ok {
			return value{}
		}
		at[i] = c
	}
	if x.Source.Stage {
		if dims, ok := e.stages[x.Source.N].Shape().Static(); !ok || flatten(at, dims) < 0 {
			return value{}
		}
		return e.point(x.Source, at)
	}
	dims, elems := e.operand(x.Source.N)
	if i := flatten(at, dims); elems != nil && i >= 0 && i < int64(len(elems)) {
		return elems[i]
	}
	return value{}
}

// flatten is the row-major position, or -1 outside of the tensor.
func flatten(at, dims []int64) int64 {
	if len(at) != len(dims) {
		return -1
	}
	i := int64(0)
	for k, d := range dims {
		if at[k] < 0 || at[k] >= d {
			return -1
		}
		i = i*d + at[k]
	}
	return i
}

type answer uint8

const (
	maybe answer = iota
	yes
	no
)

func (e *evaluator) guard(gs []te.Within, sc scope) answer {
	all := yes
	for _, g := range gs {
		x := g.E.Subst(sc.vars, e.facts)
		above := sym.Sub(x, g.Lo.Subst(sc.vars, e.facts))
		under := sym.Sub(x, g.Hi.Subst(sc.vars, e.facts))
		switch {
		case sym.AtMost(above, -1, e.facts) || sym.AtLeast(under, 0, e.facts):
			return no
		case !sym.AtLeast(above, 0, e.facts) || !sym.AtMost(under, -1, e.facts):
			all = maybe
		}
	}
	return all
}

// evalCall applies a scalar function to what is known of its arguments.
func evalCall(c te.Call, a []value, f sym.Facts) value {
	v := knownCall(c, a, f)
	if v.state == unknown {
		v.within = limitsOf(c, a, f)
	}
	return v
}

// knownCall is evalCall where the result is known; else it is unknown.
func knownCall(c te.Call, a []value, f sym.Facts) value {
	if c.Divides() {
		if by, ok := a[1].constant(); ok && by == 0 {
			return value{} // there is no result: whoever computes it says so
		}
	}
	if v := foldScalar(c, a); v.state != unknown {
		return v
	}
	if c.Fn == "cast" {
		return cast(a[0], c.Type, f)
	}
	if r := lazyRules[c.Fn]; r != nil {
		return r(a, f)
	}
	for _, v := range a {
		if v.state != exact {
			return value{}
		}
	}
	r := rules[c.Fn]
	switch {
	case r == nil:
		return value{}
	case c.Fn == "div" && !c.Type.IsFloat():
		r = divInt
	}
	return r(a, f)
}
