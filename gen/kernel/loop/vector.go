package loop

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// Halves are the types of 16 bits in memory that are float32 in registers, Floats all types that vectors of
// float32 hold, and AllTypes those that vectors of any kind do. Bools are masks in registers.
var (
	Halves   = []ir.DType{ir.F16, ir.BF16}
	Floats   = append([]ir.DType{ir.F32}, Halves...)
	AllTypes = append([]ir.DType{ir.F64, ir.Bool, ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64}, Floats...)
)

// Vectors is what a language computes in vectors.
type Vectors struct {
	Types []ir.DType
	// Apart is how far apart the lanes of a load may lie at most, beside each other being 1; 0: they may not.
	Apart int64
	// Halves reports that vectors may hold f16 as it is.
	Halves bool
	// Tables reports that lanes may be bytes by which constant tables of bytes are read.
	Tables bool
}

// AllVectors are those of any kind, and FloatVectors those of float32 side by side.
var (
	AllVectors   = Vectors{Types: AllTypes, Apart: MostApart, Tables: true}
	FloatVectors = Vectors{Types: Floats[:1]}
)

// MostApart is how far apart elements may lie that one load gives: as many vectors are read.
const MostApart = 4

// Vectorise marks the loops that can run in vectors: those whose statements store,
// or define, what is computed from numbers that lie side by side along the loop (derivative
// 1) or are the same for all of it (derivative 0), numbers of some types. Loops inside of such a loop run the same
// way for all lanes. A register has so many lanes of float32, and a loop as many as it has of the loop's widest type. Work-items are no lanes.
func Vectorise(body []Stmt, lanes int64, vectors Vectors, f sym.Facts) []Stmt {
	out := make([]Stmt, 0, len(body))
	for _, s := range body {
		if x, ok := s.(For); ok {
			n, known := x.Extent.Const()
			if x.Lanes == 0 && !x.Items && lanes > 1 && CanVectorise(x, vectors, f) {
				x.Halves = vectors.Halves && x.ofHalves(f)
				x.Lanes = x.lanes(n, known, lanes)
				x.Halves = x.Halves && x.Lanes > 0
			}
			if x.Lanes > 0 { // by now, or as the lanes of a texel
				out = append(out, x.behind(lanes, vectors, f)...)
				continue
			}
		}
		out = append(out, WithInner(s, func(inner []Stmt) []Stmt { return Vectorise(inner, lanes, vectors, f) }))
	}
	return out
}

// fewLanes is the shortest vector.
const fewLanes = 4

// lanes is how many lanes the loop has, where a register has so many of float32; 0 where it has too few steps.
func (l For) lanes(n int64, known bool, floats int64) int64 {
	own := floats * int64(ir.F32.Size()) / Widest(l.Body)
	if l.Halves {
		own = floats * int64(ir.F32.Size()) / int64(ir.F16.Size())
	}
	if known && !(l.Floats() && n >= own) {
		return l.fewestSteps(n, own)
	}
	return own
}

// fewestSteps is with how many lanes, a register's or fewer, a loop of n points takes the fewest vectors, and single steps behind them.
func (l For) fewestSteps(n, lanes int64) int64 {
	steps := func(w int64) int64 {
		if l.Lanes = w; n%w > 0 && l.Overlaps() {
			return n/w + 1
		} else if n < w {
			return n
		}
		return n/w + n%w
	}
	best := lanes
	for w := lanes / 2; w >= fewLanes; w /= 2 {
		if steps(w) < steps(best) {
			best = w
		}
	}
	if n < best {
		return 0
	}
	return best
}

// Widest is the size of the largest type that the statements compute with, as it is in registers.
func Widest(body []Stmt) int64 {
	widest := int64(1)
	add := func(t ir.DType) {
		if slices.Contains(Halves, t) {
			t = ir.F32
		}
		widest = max(widest, int64(t.Size()))
	}
	Walk(body, func(s Stmt) bool {
		Values(s, func(e te.Expr) {
			if x, ok := s.(Bind); ok && x.Byte() != nil {
				e = x.Byte()
			}
			laneTypes(e, add)
		})
		return true
	})
	return widest
}

// IsVector reports whether n lanes are one vector, whole or a part of the registers.
func IsVector(n, lanes int64) bool { return n > 1 && lanesOf(n, true, lanes) == n }

// lanesOf is how many lanes the vectors of a loop have: as many as registers, or, where the loop has
// fewer steps, as they come to without a rest; 1 where that is too few.
func lanesOf(n int64, known bool, lanes int64) int64 {
	if !known || n >= lanes {
		return lanes
	}
	for w := lanes / 2; w >= fewLanes; w /= 2 {
		if n > 0 && n%w == 0 {
			return w
		}
	}
	return 1
}

// CanVectorise reports whether the loop can run in vectors that hold these types.
func CanVectorise(l For, vectors Vectors, f sym.Facts) bool {
	v := &vectoriser{vectors: vectors, lane: l.Var, extent: l.Extent, defined: map[string]bool{}, stored: map[*Buffer][]sym.Expr{}, facts: f, texel: l.Extent.Is(layout.TexelLanes), stride: max(l.Stride, 1)}
	v.findStores(l.Body)
	if vectors.Tables {
		v.tables = tables(l.Body)
	}
	return !v.clash && v.body(l.Body)
}

// VectorExpr reports whether an expression over memory can be a vector along a variable.
func VectorExpr(e te.Expr, lane string, vectors Vectors, f sym.Facts) bool {
	v := &vectoriser{vectors: vectors, lane: lane, facts: f}
	return v.expr(e)
}

type vectoriser struct {
	vectors Vectors
	lane    string
	extent  sym.Expr
	defined map[string]bool
	tables  map[string]bool        // variables that tables are read by
	stored  map[*Buffer][]sym.Expr // where the loop stores
	clash   bool
	facts   sym.Facts
	texel   bool // the loop has as many lanes as a texel
	stride  int64
}

// findStores collects stores; two of one buffer clash where lanes might meet.
func (v *vectoriser) findStores(body []Stmt) {
	Walk(body, func(s Stmt) bool {
		if x, ok := s.(Store); ok {
			v.clash = v.clash || v.meets(x.Buf, x.Index)
			v.stored[x.Buf] = append(v.stored[x.Buf], x.Index)
		}
		return true
	})
}

// meets reports whether another lane may store what lies at this place.
func (v *vectoriser) meets(b *Buffer, index sym.Expr) bool {
	for _, at := range v.stored[b] {
		if !at.Equal(index) && !v.apart(at, index) {
			return true
		}
	}
	return false
}

// apart reports whether two places are further from each other than the loop is long, or lie between those of neighbouring lanes. Places in two halves of a
// buffer, of which each is in turn the one before, are a multiple of the half apart, as in 8*(t%2) and 8*((t+1)%2): too far, or the same.
func (v *vectoriser) apart(a, b sym.Expr) bool {
	n, known := v.extent.Const()
	between := sym.Sub(a, b)
	distance, isConst := between.Const()
	if step, linear := sym.Coefficient(a, v.lane, v.facts); isConst && linear && step.Is(v.stride) && distance%v.stride != 0 {
		return true
	}
	return known && multipleOf(between) >= n && v.along(a, false) && v.along(b, false)
}

// multipleOf is the greatest number of which an expression is known to be a multiple; 0 of zero.
func multipleOf(e sym.Expr) int64 {
	terms, n := e.Terms()
	for _, t := range terms {
		n = sym.GCD(n, t.Coef)
	}
	return max(n, -n)
}

func (v *vectoriser) body(body []Stmt) bool {
	for _, s := range body {
		if !v.stmt(s) {
			return false
		}
	}
	return true
}

func (v *vectoriser) stmt(s Stmt) bool {
	switch x := s.(type) {
	case Def:
		v.defined[x.Name] = true
		return v.expr(x.Init)
	case Set:
		return v.defined[x.Name] && v.expr(x.Value)
	case Index:
		return !x.Value.Uses(v.lane)
	case Bind:
		return v.tables[x.Var] && v.expr(x.Byte())
	case For:
		return !x.Extent.Uses(v.lane) && v.body(x.Body)
	case If:
		return v.same(x.Cond) && v.body(x.Then) && v.body(x.Else)
	case Store:
		return (v.position(x.Buf, x.Index, x.Texel, false) || v.strided(x)) && slices.Contains(v.vectors.Types, x.Buf.Type) && v.expr(x.Value)
	}
	return false
}

// same reports whether conditions are the same for all lanes.
func (v *vectoriser) same(ws []te.Within) bool {
	for _, w := range ws {
		if w.E.Uses(v.lane) || w.Lo.Uses(v.lane) || w.Hi.Uses(v.lane) {
			return false
		}
	}
	return true
}

// along reports whether an index grows by one with the lane, or, where that will do, is the same.
func (v *vectoriser) along(e sym.Expr, orSame bool) bool {
	c, ok := sym.Coefficient(e, v.lane, v.facts)
	return ok && (c.Is(1) || orSame && c.Is(0))
}

// strided reports whether the lanes' elements lie as far apart as those of the loop may.
func (v *vectoriser) strided(x Store) bool {
	c, ok := sym.Coefficient(x.Index, v.lane, v.facts)
	return ok && x.Buf.Image == nil && c.Is(v.stride)
}

// apartFrom reports whether the lanes' elements lie as far apart as those of a load may.
func (v *vectoriser) apartFrom(x Mem) bool {
	c, ok := sym.Coefficient(x.Index, v.lane, v.facts)
	step, known := c.Const()
	return ok && known && x.Buf.Image == nil && step > 1 && step <= v.vectors.Apart
}

// position tells the same of an element's place. Lanes of an image are those of one texel.
func (v *vectoriser) position(b *Buffer, index sym.Expr, at Texel, orSame bool) bool {
	if b.Image == nil {
		return v.along(index, orSame)
	}
	if at.X.Uses(v.lane) || at.Y.Uses(v.lane) {
		return false
	}
	return v.texel && index.Equal(sym.Var(v.lane)) || orSame && !index.Uses(v.lane)
}

// counts reports whether an integer grows by as much from each lane to the next.
func (v *vectoriser) counts(x te.Index) bool {
	c, ok := sym.Coefficient(x.E, v.lane, v.facts)
	_, known := c.Const()
	return ok && known && x.Type.IsInteger()
}

func (v *vectoriser) expr(e te.Expr) bool {
	if !slices.Contains(v.vectors.Types, e.DType()) {
		return false
	}
	switch x := e.(type) {
	case te.Const:
		return true
	case Ref:
		return v.defined[x.Name]
	case Mem:
		if at, ok := x.Index.AsVar(); ok && v.tables[at] {
			return true
		}
		return (v.position(x.Buf, x.Index, x.Texel, true) || v.apartFrom(x)) && !v.meets(x.Buf, x.Index)
	case te.Index:
		return !x.E.Uses(v.lane) || v.counts(x)
	case te.Select:
		return v.same(x.Cond) && v.expr(x.Then) && v.expr(x.Else)
	case te.Call:
		if Uniform(x, v.lane) {
			return true
		}
		from := make([]ir.DType, len(x.Args))
		for i, a := range x.Args {
			if from[i] = a.DType(); !v.expr(a) {
				return false
			}
		}
		row := scalar.Lookup(x.Fn)
		return row != nil && row.Vectors(x.Type, from)
	}
	return false
}
