package fuse

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// maxRow is the most elements of a constant extent that a placed stage keeps in scratch.
const maxRow = 1 << 16

// chainLegal: the second block reads the first along rows, that is, at its own leading axes and
// anywhere in the rest; so the first can run row by row inside of the second. Softmax and
// the normalisations are such chains. Contractions keep their own kernels.
func chainLegal(f *fuser, p pair) bool {
	if f.viewed(p.first) || contracts(p.first) || contracts(p.second) {
		return false
	}
	if p.first.Stage.Combine == nil && !reduces(p.second) {
		return false
	}
	d := commonDepth(p)
	return d > 0 && rowFits(p.first.Stage, d) && !f.scarceRows(p, d) && !f.longRows(p, d)
}

func reduces(b *block.Block) bool {
	for _, s := range b.Stages() {
		if s.Combine != nil {
			return true
		}
	}
	return false
}

// contracts reports whether a stage is a contraction of two operands' elements, or of an operand's and of weights that are unpacked there.
func contracts(b *block.Block) bool {
	for _, s := range b.Stages() {
		if s.Combine != nil && slices.Contains(b.Ops, ops.Unpack) {
			return true
		}
		for _, v := range s.Values {
			c, ok := v.(te.Call)
			if !ok || c.Fn != "mul" {
				continue
			}
			l0, ok0 := element(c.Args[0])
			l1, ok1 := element(c.Args[1])
			if ok0 && ok1 && (l0.Source != l1.Source || !slices.EqualFunc(l0.Index, l1.Index, sym.Expr.Equal)) {
				return true
			}
		}
	}
	return false
}

// element is the load of a factor: converted, and minus a zero point, if quantized.
func element(e te.Expr) (te.Load, bool) {
	for {
		c, ok := e.(te.Call)
		if !ok || c.Fn != "cast" && c.Fn != "sub" {
			break
		}
		e = c.Args[0]
	}
	l, ok := e.(te.Load)
	return l, ok
}

// commonDepth is how many leading axes the two blocks walk together; 0 where the second
// does not read the first by rows.
func commonDepth(p pair) int {
	first := p.first.Stage.Axes
	d := min(len(first), len(p.second.Stage.Axes))
	if len(p.first.Placed) > 0 {
		d = min(d, p.first.Depth)
	}
	if len(p.second.Placed) > 0 {
		d = min(d, p.second.Depth)
	}
	for k := 0; k < d; k++ {
		if !first[k].Extent.Equal(p.second.Stage.Axes[k].Extent) {
			d = k
		}
	}
	for _, s := range p.second.Stages() {
		d = loadDepth(s, p.n, d)
	}
	return d
}

// loadDepth is the number of leading axes, d at most, at which a stage reads operand n.
func loadDepth(s *te.Stage, n, d int) int {
	block.Loads(s, func(l te.Load) {
		if l.Source.Stage || l.Source.N != n {
			return
		}
		if len(l.Guard) > 0 {
			d = 0
		}
		for k, e := range l.Index {
			if _, isVar := e.AsVar(); !isVar {
				if _, isConst := e.Const(); !isConst {
					d = 0 // a window: its rows overlap
				}
			}
			if k < d && !e.Equal(sym.Var(s.Axes[k].Var)) {
				d = k
			}
		}
	})
	return d
}

func rowFits(s *te.Stage, depth int) bool {
	n := sym.Const(1)
	for _, a := range s.Axes[depth:] {
		n = sym.Mul(n, a.Extent)
	}
	c, ok := n.Const()
	return !ok || c <= maxRow
}

// longRows reports whether rows are so long that what one stage of a chain reads has left the cache when the next one
// reads it: apart, each stage has a layout and tasks of its own.
func (f *fuser) longRows(p pair, depth int) bool {
	return f.o.CacheBytes > 0 && slices.ContainsFunc(append(p.first.Stages(), p.second.Stages()...), func(s *te.Stage) bool {
		least, _ := sym.Mul(points(s.Axes[depth:]), points(s.Reduce)).Bounds(f.g.Facts)
		return least > f.o.CacheBytes/4
	})
}

// placeProducer places the first block's stages at the common axes of the second.
func placeProducer(f *fuser, p pair) *block.Block {
	salt := f.fresh()
	return placeAt(p, commonDepth(p), func(s *te.Stage) *te.Stage { return freshLets(s, salt) })
}

// Place is both blocks as one, the first one's stages placed at so many axes that both begin with: the second one, which has no stages placed and
// binds no integers, reads it as operand n, and alone.
func Place(first, second *block.Block, n, depth int) *block.Block {
	return placeAt(pair{first, second, n}, depth, func(s *te.Stage) *te.Stage { return s })
}

func placeAt(p pair, depth int, named func(*te.Stage) *te.Stage) *block.Block {
	m, fromP, fromC := join(p.first, p.second, p.n)
	m.Depth = depth
	for _, s := range p.first.Stages() {
		m.Placed = append(m.Placed, renumber(named(s), fromP))
	}
	placed := len(m.Placed)
	move := func(s *te.Stage) *te.Stage {
		return s.MapExprs(func(e te.Expr) te.Expr {
			l, ok := e.(te.Load)
			switch {
			case !ok:
				return e
			case l.Source.Stage:
				l.Source.N += placed
			case l.Source.N == p.n:
				l.Source = te.Source{Stage: true, N: placed - 1}
			default:
				l.Source.N = fromC[l.Source.N]
			}
			return l
		})
	}
	for _, s := range p.second.Placed {
		m.Placed = append(m.Placed, move(s))
	}
	m.Stage = move(p.second.Stage)
	return m
}
