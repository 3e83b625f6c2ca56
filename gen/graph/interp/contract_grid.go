package interp

import "rules_dnn/gen/ir/scalar"

// grid is a factor that only loads, by indices that are sums of one part for a point and one for a place of the reduction:
// tables of both make its panels.
type grid struct {
	load   *fetch
	guards []*span
	points table
	places table
	keep   [tileColumns]bool
}

// span is a guard 0 <= e - lo < width of numbers lo and width.
type span struct {
	e         *form
	lo, width int64
}

// table is, by point, its part of the element's number and of the guards.
type table struct {
	at     []int64
	guards [][]int64
}

// newGrid is the side as a grid, or nil where it is none.
func newGrid(s *side) *grid {
	f, ok := s.value.(*fetch)
	if !ok || len(f.check) > 0 || f.off.irregular != 0 || f.buf.F32 == nil && f.buf.F64 == nil {
		return nil
	}
	g := &grid{load: f}
	if f.def != nil {
		if _, ok := f.def.(*constant); !ok {
			return nil
		}
	}
	for _, w := range f.guard {
		if w.e.irregular != 0 || w.lo.deps != 0 || w.hi.deps != 0 {
			return nil
		}
		g.guards = append(g.guards, &span{w.e, w.lo.c, w.hi.c - w.lo.c})
	}
	return g
}

// fill makes a table of points [from, from+n) of the loops, the others being where they are.
func (g *grid) fill(t *table, p *program, axes []int, from, n int64, less *table) {
	t.at = append(t.at[:0], make([]int64, n)...)
	if t.guards == nil {
		t.guards = make([][]int64, len(g.guards))
	}
	for k := range t.guards {
		t.guards[k] = append(t.guards[k][:0], make([]int64, n)...)
	}
	p.seek(axes, from)
	for i := range n {
		t.at[i] = g.load.off.at(p)
		for k, w := range g.guards {
			t.guards[k][i] = w.e.at(p) - w.lo
		}
		p.next(axes)
	}
	for _, a := range axes {
		p.v[a] = 0
	}
	if less == nil {
		return
	}
	for i := range n { // what the points have already
		t.at[i] -= less.at[0]
		for k := range t.guards {
			t.guards[k][i] -= less.guards[k][0]
		}
	}
}

// pack is side.pack.
func (g *grid) pack(s *side, dst *scalar.Vec, from, n, first, depth int64) {
	var origin table
	g.fill(&origin, s.p, nil, 0, 1, nil)
	g.fill(&g.points, s.p, s.axes, from, n, nil)
	g.fill(&g.places, s.p, s.red, first, depth, &origin)
	if src := g.load.buf.F32; src != nil {
		packGrid(g, dst.F32, src, g.fallback().F32, n, depth, s.wide)
		return
	}
	packGrid(g, dst.F64, g.load.buf.F64, g.fallback().F64, n, depth, s.wide)
}

// fallback is the value where guards do not hold.
func (g *grid) fallback() *scalar.Vec {
	if k, ok := g.load.def.(*constant); ok {
		return &k.all
	}
	return &scalar.Vec{}
}

// packGrid packs panel by panel: as a run of memory where the panel's points are side by side and all inside.
func packGrid[T any](g *grid, dst, src, fallback []T, n, depth, wide int64) {
	low, high := make([]int64, len(g.guards)), make([]int64, len(g.guards))
	for i := int64(0); i < n; i += wide {
		points := g.points.at[i:min(i+wide, n)]
		for k, of := range g.points.guards {
			low[k], high[k] = bounds(of[i : i+int64(len(points))])
		}
		run := consecutive(points)
		to := dst[i*depth:]
		for r := range depth {
			row := to[r*wide:][:len(points)]
			at := g.places.at[r]
			switch g.inside(low, high, r) {
			case none:
				for l := range row {
					row[l] = fallback[0]
				}
			case all:
				if run {
					copy(row, src[points[0]+at:])
					continue
				}
				for l, o := range points {
					row[l] = src[o+at]
				}
			default:
				keep := g.holds(i, int64(len(points)), r)
				for l, o := range points {
					if keep[l] {
						row[l] = src[o+at]
					} else {
						row[l] = fallback[0]
					}
				}
			}
		}
	}
}

// How many points of a panel are inside their guards.
const (
	none = iota
	some
	all
)

// inside is how many are, by the bounds of their parts.
func (g *grid) inside(low, high []int64, r int64) int {
	out := all
	for k, w := range g.guards {
		h := g.places.guards[k][r]
		if high[k]+h < 0 || low[k]+h >= w.width {
			return none
		}
		if low[k]+h < 0 || high[k]+h >= w.width {
			out = some
		}
	}
	return out
}

// holds reports for n points from i on whether their guards hold at a place.
func (g *grid) holds(i, n, r int64) *[tileColumns]bool {
	for k, w := range g.guards {
		h, width := g.places.guards[k][r], uint64(w.width)
		for l, x := range g.points.guards[k][i : i+n] {
			in := uint64(x+h) < width // no negative number is
			g.keep[l&(tileColumns-1)] = in && (k == 0 || g.keep[l&(tileColumns-1)])
		}
	}
	return &g.keep
}

func bounds(xs []int64) (low, high int64) {
	low, high = xs[0], xs[0]
	for _, x := range xs {
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// consecutive reports whether each number is one more than the one before.
func consecutive(xs []int64) bool {
	for i, x := range xs {
		if x != xs[0]+int64(i) {
			return false
		}
	}
	return true
}
