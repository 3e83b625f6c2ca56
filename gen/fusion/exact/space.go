package exact

import (
	"maps"
	"math"
	"reflect"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// mostPoints is how many values of integers together are tried at most: those of two bytes, or of a sum of a window.
const mostPoints = 1 << 18

// span is the numbers that an integer may be, both ends included.
type span struct{ lo, hi int64 }

func (s span) count() int64 { return s.hi - s.lo + 1 }

// mostFloats is how many numbers a float is known to be of at most.
const mostFloats = 1 << 8

// leaf is an integer of which an expression is computed, or a float that is one of some.
type leaf struct {
	expr   te.Expr
	span   span
	floats []float32
}

func (l leaf) count() int64 {
	if l.floats != nil {
		return int64(len(l.floats))
	}
	return l.span.count()
}

// variable stands for a leaf.
type variable struct {
	n int
	t ir.DType
}

// DType is the type of the value.
func (v variable) DType() ir.DType { return v.t }

// known is what a stage's integers may be.
type known struct {
	sums  map[int]span // of accumulators
	facts sym.Facts    // of axes and symbols
	// floats are what the elements of an operand may be, nil where that is not known.
	floats func(n int) []float32
	*memory
}

// space is all values of some leaves.
type space struct {
	leaves []leaf
	known
}

// abstract is e with variables in the place of integers of 8 and 16 bits and of sums; false where it reads anything else.
func (s *space) abstract(e te.Expr) (te.Expr, bool) {
	switch x := e.(type) {
	case te.Const:
		return e, true
	case te.Acc:
		over, some := s.sums[x.N]
		if !some || x.Type != ir.I32 {
			return nil, false
		}
		return s.leaf(leaf{expr: e, span: over})
	case te.Index:
		lo, hi := x.E.Bounds(s.facts)
		if lo < 0 || hi > mostPoints {
			return nil, false
		}
		return s.leaf(leaf{expr: e, span: span{lo, hi}})
	case te.Load:
		if x.Type != ir.F32 || x.Source.Stage || len(x.Guard) > 0 || s.floats == nil {
			break
		}
		if floats := s.floats(x.Source.N); floats != nil {
			return s.leaf(leaf{expr: e, floats: floats})
		}
	}
	if t := e.DType(); t.IsInteger() && t.Size() <= 2 {
		return s.leaf(leaf{expr: e, span: numbers(t)})
	}
	c, ok := e.(te.Call)
	if !ok || !reproducible(c) {
		return nil, false
	}
	args := make([]te.Expr, len(c.Args))
	for i, a := range c.Args {
		if args[i], ok = s.abstract(a); !ok {
			return nil, false
		}
	}
	c.Args = args
	return c, true
}

// reproducible reports whether compiled code computes a function bit for bit as this package does, but for products that it adds unrounded: one that is
// rounded correctly, of integers and of floats of 32 bits. Others are series of operations that compilers may contract.
func reproducible(c te.Call) bool {
	row := scalar.Lookup(c.Fn)
	if row == nil || row.ULP != 0 || !modelled(c.Type) {
		return false
	}
	for _, a := range c.Args {
		if !modelled(a.DType()) {
			return false
		}
	}
	return true
}

func modelled(t ir.DType) bool { return t == ir.F32 || t == ir.Bool || t.IsInteger() }

// leaf is the variable of a leaf.
func (s *space) leaf(of leaf) (te.Expr, bool) {
	for i, l := range s.leaves {
		if reflect.DeepEqual(l.expr, of.expr) {
			return variable{i, of.expr.DType()}, true
		}
	}
	s.leaves = append(s.leaves, of)
	n := int64(1)
	for _, l := range s.leaves {
		if n *= l.count(); n > mostPoints {
			return nil, false
		}
	}
	return variable{len(s.leaves) - 1, of.expr.DType()}, true
}

// concrete is the inverse of abstract.
func (s *space) concrete(e te.Expr) te.Expr {
	return te.Map(e, func(e te.Expr) te.Expr {
		if v, ok := e.(variable); ok {
			return s.leaves[v.n].expr
		}
		return e
	})
}

// numbers are all of an integer type.
func numbers(t ir.DType) span {
	bits := 8 * t.Size()
	if t.Kind() == ir.KindUint {
		return span{0, 1<<bits - 1}
	}
	return span{-1 << (bits - 1), 1<<(bits-1) - 1}
}

// knownOf is what is known of a stage.
func knownOf(s *te.Stage, f sym.Facts, floats func(n int) []float32, m *memory) known {
	k := known{sums: sumsOf(s, f), facts: sym.Facts{}, floats: floats, memory: m}
	maps.Copy(k.facts, f)
	for _, a := range s.Axes {
		_, hi := a.Extent.Bounds(f)
		k.facts[a.Var] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	}
	return k
}

// sumsOf are the sums of integers that a stage's accumulators may be, where it is known how many are added.
func sumsOf(s *te.Stage, f sym.Facts) map[int]span {
	out := map[int]span{}
	if s.Combine == nil || s.Combine.Name != "sum" {
		return out
	}
	most := int64(1)
	for _, a := range s.Reduce {
		_, hi := a.Extent.Bounds(f)
		if hi < 0 || hi > mostPoints {
			return out
		}
		if most *= hi; most > mostPoints {
			return out
		}
	}
	for i, v := range s.Values {
		if one, known := spanOf(v); known && v.DType() == ir.I32 {
			out[i] = span{min(0, one.lo*most), max(0, one.hi*most)}
		}
	}
	return out
}

// spanOf is what an expression of integers of 8 bits may be that fits 32.
func spanOf(e te.Expr) (span, bool) {
	if c, ok := e.(te.Const); ok && c.Type.IsInteger() {
		n := int64(c.Bits)
		return span{n, n}, n >= math.MinInt16 && n <= math.MaxUint16
	}
	if t := e.DType(); t.IsInteger() && t.Size() == 1 {
		return numbers(t), true
	}
	c, ok := e.(te.Call)
	if !ok || c.Type != ir.I32 {
		return span{}, false
	}
	switch c.Fn {
	case "cast":
		return spanOf(c.Args[0])
	case "sub":
		a, known := spanOf(c.Args[0])
		b, also := spanOf(c.Args[1])
		return span{a.lo - b.hi, a.hi - b.lo}, known && also
	}
	return span{}, false
}
