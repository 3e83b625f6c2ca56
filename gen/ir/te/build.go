package te

import (
	"maps"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Float is a floating-point literal of type t.
func Float(t ir.DType, v float64) Expr { return Const{t, math.Float64bits(v)} }

// Int is an integer or bool literal of type t.
func Int(t ir.DType, v int64) Expr { return Const{t, uint64(v)} }

// Number is the literal v in type t, float or integer.
func Number(t ir.DType, v float64) Expr {
	if t.IsFloat() {
		return Float(t, v)
	}
	return Int(t, int64(v))
}

// Fn applies a scalar function whose result has type t.
func Fn(t ir.DType, name string, args ...Expr) Expr { return Call{name, t, args} }

// Operand loads from operand n without a guard.
func Operand(n int, t ir.DType, index ...sym.Expr) Load {
	return Load{Source: Source{N: n}, Type: t, Index: index}
}

// FromStage loads from stage n without a guard.
func FromStage(n int, t ir.DType, index ...sym.Expr) Load {
	return Load{Source: Source{Stage: true, N: n}, Type: t, Index: index}
}

// AxisVars are the axes' variables as index expressions.
func AxisVars(axes []Axis) []sym.Expr {
	out := make([]sym.Expr, len(axes))
	for i, a := range axes {
		out[i] = sym.Var(a.Var)
	}
	return out
}

// Combiner for one accumulator of type t by a scalar function.
func reduceBy(name, fn string, t ir.DType, init Expr) *Combiner {
	return &Combiner{Name: name, Init: []Expr{init}, Join: []Expr{Fn(t, fn, Acc{0, t}, In{0, t})}}
}

// Sum adds.
func Sum(t ir.DType) *Combiner { return reduceBy("sum", "add", t, Number(t, 0)) }

// Prod multiplies.
func Prod(t ir.DType) *Combiner { return reduceBy("prod", "mul", t, Number(t, 1)) }

// Max takes the greatest; NaN wins, as in ONNX's reference.
func Max(t ir.DType) *Combiner { return reduceBy("max", "max", t, Lowest(t)) }

// MaxNumber takes the greatest of what are numbers, where results are NaN by other ways if an element is.
func MaxNumber(t ir.DType) *Combiner { return reduceBy("max", "max_number", t, Lowest(t)) }

// Min takes the least; NaN wins.
func Min(t ir.DType) *Combiner { return reduceBy("min", "min", t, Highest(t)) }

// Lowest is the least value of type t (-inf for floats).
func Lowest(t ir.DType) Expr {
	switch t.Kind() {
	case ir.KindFloat:
		return Float(t, math.Inf(-1))
	case ir.KindInt:
		return Int(t, -1<<(8*t.Size()-1))
	}
	return Int(t, 0)
}

// Highest is the greatest value of type t (+inf for floats).
func Highest(t ir.DType) Expr {
	switch t.Kind() {
	case ir.KindFloat:
		return Float(t, math.Inf(1))
	case ir.KindInt:
		return Int(t, 1<<(8*t.Size()-1)-1)
	case ir.KindUint:
		return Const{t, math.MaxUint64 >> (64 - 8*t.Size())}
	}
	return Int(t, 1)
}

// Map rebuilds an expression bottom-up: f sees every node after its children.
func Map(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case Call:
		args := make([]Expr, len(x.Args))
		for i, a := range x.Args {
			args[i] = Map(a, f)
		}
		x.Args = args
		return f(x)
	case Let:
		x.Value, x.Body = Map(x.Value, f), Map(x.Body, f)
		return f(x)
	case Select:
		x.Then, x.Else = Map(x.Then, f), Map(x.Else, f)
		return f(x)
	case Load:
		if x.Default != nil {
			x.Default = Map(x.Default, f)
		}
		return f(x)
	}
	return f(e)
}

// Walk calls f for every node, parents first.
func Walk(e Expr, f func(Expr)) {
	f(e)
	switch x := e.(type) {
	case Call:
		for _, a := range x.Args {
			Walk(a, f)
		}
	case Let:
		Walk(x.Value, f)
		Walk(x.Body, f)
	case Select:
		Walk(x.Then, f)
		Walk(x.Else, f)
	case Load:
		if x.Default != nil {
			Walk(x.Default, f)
		}
	}
}

// WalkSure calls f for every node that is evaluated whatever guards and conditions hold, parents first.
func WalkSure(e Expr, f func(Expr)) {
	f(e)
	switch x := e.(type) {
	case Call:
		for _, a := range x.Args {
			WalkSure(a, f)
		}
	case Let:
		WalkSure(x.Value, f)
		WalkSure(x.Body, f)
	}
}

// LetFacts adds the ranges of the variables that e binds to the facts: a variable of which
// nothing is known counts as a dimension, which is never negative.
func LetFacts(e Expr, f sym.Facts) sym.Facts {
	cloned := false
	Walk(e, func(n Expr) {
		l, ok := n.(Let)
		if !ok {
			return
		}
		if !cloned {
			all := make(sym.Facts, len(f)+1)
			maps.Copy(all, f)
			f, cloned = all, true
		}
		lo, _ := l.Lo.Bounds(f)
		_, hi := l.Hi.Bounds(f)
		if r, twice := f[l.Var]; twice {
			lo, hi = min(lo, r.Lo), max(hi, r.Hi)
		}
		f[l.Var] = sym.Range{Lo: lo, Hi: hi}
	})
	return f
}

// SubstIndices rewrites the index expressions of e by m; bound Let variables stay.
func SubstIndices(e Expr, m map[string]sym.Expr, f sym.Facts) Expr {
	f = LetFacts(e, f)
	return MapIndices(e, func(x sym.Expr) sym.Expr { return x.Subst(m, f) })
}

// MapIndices replaces the index expressions of e by what f gives for them.
func MapIndices(e Expr, f func(sym.Expr) sym.Expr) Expr {
	return Map(e, func(n Expr) Expr {
		switch x := n.(type) {
		case Index:
			x.E = f(x.E)
			return x
		case Let:
			x.Lo, x.Hi = f(x.Lo), f(x.Hi)
			return x
		case Load:
			ix := make([]sym.Expr, len(x.Index))
			for i, a := range x.Index {
				ix[i] = f(a)
			}
			x.Index = ix
			x.Guard = mapWithin(x.Guard, f)
			return x
		case Select:
			x.Cond = mapWithin(x.Cond, f)
			return x
		}
		return n
	})
}

// EachIndex calls f for each index expression of e itself, not of its operands.
func EachIndex(e Expr, f func(sym.Expr)) {
	within := func(ws []Within) {
		for _, w := range ws {
			f(w.E)
			f(w.Lo)
			f(w.Hi)
		}
	}
	switch x := e.(type) {
	case Index:
		f(x.E)
	case Let:
		f(x.Lo)
		f(x.Hi)
	case Load:
		for _, i := range x.Index {
			f(i)
		}
		within(x.Guard)
	case Select:
		within(x.Cond)
	}
}

func mapWithin(ws []Within, f func(sym.Expr) sym.Expr) []Within {
	out := make([]Within, len(ws))
	for i, w := range ws {
		out[i] = Within{f(w.E), f(w.Lo), f(w.Hi)}
	}
	return out
}
