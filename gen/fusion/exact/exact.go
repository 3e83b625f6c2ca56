// Package exact lets quantization do without divisions. What is quantized is often computed of a few integers of 8 bits, by operations on
// floats: a sum of two tensors, a mean, another scale. There, the last division by a scale is a factor of the constants before it. The two
// round differently, so a factor is taken only if the result is the same for all values that the integers have, which are tried: all pairs of
// two bytes, all sums of a window. The result must be the same, too, where a compiler contracts products and sums; where it is not, as where many
// pairs are just between two integers, products are written as ones that are not contracted.
package exact

import (
	"cmp"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Run replaces what it can in all blocks.
func Run(g *block.Graph) {
	m := &memory{}
	g.All(func(g *block.Graph) {
		by := map[*ir.Value]*block.Block{} // that give one value
		for _, b := range g.Blocks {
			if b.Stage == nil {
				continue
			}
			if b.Stage.Update == nil && len(b.Results) == 1 {
				by[b.Results[0]] = b
			}
			floats := func(n int) []float32 { return floatsOf(by[b.Operands[n]], g.Facts) }
			for i, s := range b.Placed {
				b.Placed[i] = stage(s, g.Facts, floats, m)
			}
			b.Stage = stage(b.Stage, g.Facts, floats, m)
		}
	})
}

// floatsOf are all numbers that a block may give, where it makes each of one integer of 8 bits, however it computes that; nil where it does not.
func floatsOf(b *block.Block, f sym.Facts) []float32 {
	if b == nil || b.Stage.Results[0].DType() != ir.F32 {
		return nil
	}
	s := &space{known: knownOf(b.Stage, f, nil, nil)}
	x, ok := s.abstract(b.Stage.Results[0])
	if !ok || len(s.leaves) != 1 || s.leaves[0].count() > mostFloats || len(contractions(x)) != 1 {
		return nil
	}
	v := (&evaluation{points: s.all()}).expr(x)
	if v == nil {
		return nil
	}
	bits := math.Float32bits // zeros of both signs are two floats
	slices.SortFunc(v.F32, func(a, b float32) int { return cmp.Compare(bits(a), bits(b)) })
	return slices.CompactFunc(v.F32, func(a, b float32) bool { return bits(a) == bits(b) })
}

// stage is s with what it quantizes replaced; floats are what its operands of floats may be.
func stage(s *te.Stage, f sym.Facts, floats func(n int) []float32, m *memory) *te.Stage {
	if !divides(s) {
		return s
	}
	k := knownOf(s, f, floats, m)
	return s.MapExprs(func(e te.Expr) te.Expr {
		q, ok := quantizationOf(e)
		if !ok {
			return e
		}
		if by := q.replaced(k); by != nil {
			return q.of(by)
		}
		return e
	})
}

// divides reports whether a stage quantizes a quotient.
func divides(s *te.Stage) bool {
	found := false
	for _, e := range s.Exprs() {
		te.Walk(e, func(e te.Expr) {
			q, ok := quantizationOf(e)
			found = found || ok && divisions(q.x) > 0
		})
	}
	return found
}

// divisions are those of floats that an expression has.
func divisions(e te.Expr) int {
	n := 0
	te.Walk(e, func(e te.Expr) {
		if c, ok := e.(te.Call); ok && c.Fn == "div" && c.Type == ir.F32 {
			n++
		}
	})
	return n
}

// quantization is round(x) + zero, saturated to a type.
type quantization struct {
	x    te.Expr
	typ  ir.DType
	zero int64
	of   func(x te.Expr) te.Expr // the same of another x
}

// quantizationOf is what an expression says, if it quantizes an f32.
func quantizationOf(e te.Expr) (quantization, bool) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || !scalar.Quantizes(c.Type) {
		return quantization{}, false
	}
	q := quantization{typ: c.Type}
	rounded := c.Args[0]
	around := func(x te.Expr) te.Expr { return te.Fn(c.Type, "cast", x) }
	if sum, ok := rounded.(te.Call); ok && sum.Fn == "add" && sum.Type == ir.F32 {
		z, ok := sum.Args[1].(te.Call)
		if !ok || z.Fn != "cast" {
			return q, false
		}
		zero, ok := z.Args[0].(te.Const)
		if !ok || zero.Type != c.Type {
			return q, false
		}
		q.zero, rounded = int64(zero.Bits), sum.Args[0]
		around = func(x te.Expr) te.Expr { return te.Fn(c.Type, "cast", te.Fn(ir.F32, "add", x, z)) }
	}
	r, ok := rounded.(te.Call)
	if !ok || r.Fn != "round" || r.Type != ir.F32 {
		return q, false
	}
	q.x = r.Args[0]
	q.of = func(x te.Expr) te.Expr { return around(te.Fn(ir.F32, "round", x)) }
	return q, true
}
