// Package workgroup proposes kernels of work-groups whose items share what they read, or their sums: contractions, long sums, and chains of stages by rows.
package workgroup

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/reshape"
	"rules_dnn/gen/target"
)

// groupTiles is a contraction by work-groups: the items of one copy parts of both factors to memory that they share, and each adds the products of
// its own register tile. X has the rows of tiles and W their columns. Axes of the result are a batch, the rows or the columns.
type groupTiles struct {
	b      *block.Block
	env    *lower.Env
	device *target.OpenCL
	r      *reshape.Reshaped
	*match.Roles
	rows, columns Run
	batch         []te.Axis
	// images are the columns of all images, where columns of one alone are those of a batch: the outermost axis is the images'.
	images Run
	// sum is how many products a result has.
	sum    int64
	packed [2]*packedFactor // of rows and columns; nil: read as it lies
	kept   *keptPoints      // of the sum, by groups of rows; nil: it is whole
	costs  *groupCosts
	groupTile
}

// Run is neighbouring axes that are walked as one, maybe within another one that is no neighbour.
type Run struct {
	first  int // the result's axis, where they are some
	Axes   []te.Axis
	extent sym.Expr
	apart  bool // the first of the axes is no neighbour of the others, and outer its number
	outer  int
}

// TilesAnchor begins the names of these kernels.
const TilesAnchor = "group tiles"

// Tiles proposes a schedule for a contraction of floats whose work-items share what they read, and follows it; none where the block is no
// such thing, or has too little in common.
func Tiles(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	g := sharedFactors(b, env)
	if g == nil {
		return nil, nil
	}
	all, err := g.keeping()
	if err != nil {
		return nil, err
	}
	var out []*lower.Lowered
	for _, g := range all {
		for _, t := range g.tiles() {
			if env.Only != "" && lower.Unhashed(env.Only) != t.name() {
				continue
			}
			l, err := g.follow(t)
			if err != nil {
				return nil, err
			}
			if l != nil {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// sharedFactors is a contraction of floats whose work-items share what they read; nil where the block is none, or has too little in common.
func sharedFactors(b *block.Block, env *lower.Env) *groupTiles {
	o, err := env.Target.WorkGroups()
	if err != nil || o.LocalBytes == 0 || len(b.Placed) > 0 || env.Target.Tile(ir.F32) == nil || !LiesInRows(b, env.Layouts) {
		return nil
	}
	if m, _ := match.Find(b.Stage, b.Operands, nil); m == nil || m.Empty() || m.Sum() != ir.F32 {
		return nil
	}
	r := reshape.Reshape(b.Stage, b.Operands, env.Symbols)
	m, _ := match.Find(&r.Stage, r.Operands, r.Facts)
	if m == nil || slices.ContainsFunc(m.Factors[:], func(t *match.Term) bool {
		return t.Zero != nil || !match.Floats(t.Load.Type) || !match.ZeroDefault(t.Load)
	}) {
		return nil
	}
	for x := range m.Factors {
		g := &groupTiles{b: b, env: env, device: o, r: r, Roles: m.Roles(x)}
		if g.take() {
			return g
		}
	}
	return nil
}

// manyProducts is how many products a contraction has at least that items better share, whatever estimates say of loops.
const manyProducts = 1 << 22

// manyHalves is the same of halves that items multiply together: of 2.4 million products loops took an H100 20 us where tiles of float32 took 9.
const manyHalves = 1 << 20

// ClaimsTiles reports whether a block is a large contraction, and there is a kernel if its values
// lie in rows. If items run in step, each would read both factors by itself otherwise.
func ClaimsTiles(b *block.Block, env *lower.Env) (bool, error) {
	if !env.Target.InStep() {
		return false, nil
	}
	g := sharedFactors(b, env.InRows())
	if g == nil {
		return false, nil
	}
	products := g.sum
	for _, a := range g.Stage.Axes {
		products *= micro.Usual(a.Extent)
	}
	if products < manyProducts && !(g.multipliesHalves() && products >= manyHalves) {
		return false, nil
	}
	for _, t := range g.tiles() {
		if l, err := g.follow(t); l != nil || err != nil {
			return l != nil, err
		}
	}
	return false, nil
}

// name is that of kernels of a tile, without their schedules' digests.
func (t groupTile) name() string { return fmt.Sprintf("%s %s", TilesAnchor, t) }

// follow is the kernel of a tile; nil where the device or the block takes none.
func (g *groupTiles) follow(t groupTile) (*lower.Lowered, error) {
	g = g.with(t)
	if g.kept != nil {
		g.packed[0] = g.kept.weights()
	}
	p := g.schedule()
	l, err := g.env.Suits(TilesAnchor, p, g.b)
	if l == nil || err != nil {
		return nil, err
	}
	l.Family = fmt.Sprintf("%s of %dx%d", TilesAnchor, t.tall, t.wide)
	l.Name = t.name() + lower.DigestMark + p.Sched.Digest()
	return l, nil
}

// take gives the axes of the result their parts: the innermost ones are columns, those before that only X has are rows, and others are a batch.
func (g *groupTiles) take() bool {
	if !g.Summed || len(g.Reduce) == 0 {
		return false
	}
	g.sum = 1
	for _, a := range g.Reduce {
		n, _ := a.Extent.Const()
		g.sum *= n
	}
	if g.kept != nil {
		g.sum = g.kept.most
	}
	g.columns, g.rows = g.last(match.OfLanes), g.last(match.OfRows)
	if g.columns.Axes == nil || g.rows.Axes == nil || g.columns.first < g.rows.first {
		return false
	}
	for i, a := range g.Stage.Axes {
		switch {
		case a.Extent.Is(1) || g.rows.has(i) || g.columns.has(i):
		case i > g.columns.first:
			return false // columns lie apart
		default:
			if _, known := g.columns.extent.Const(); known && g.Of[i] == match.OfLanes && i < g.rows.first {
				g.images = Run{first: g.columns.first, Axes: append([]te.Axis{a}, g.columns.Axes...), extent: sym.Mul(a.Extent, g.columns.extent), apart: true, outer: i}
			}
			g.batch = append(g.batch, a)
		}
	}
	if g.kept == nil {
		g.pack()
	}
	g.costs = g.costsOf()
	return true
}

// with is the contraction with a tile, whose columns are those of an image or of all.
func (g *groupTiles) with(t groupTile) *groupTiles {
	out := *g
	out.groupTile = t
	for n, f := range g.packed {
		if t.halves && f != nil {
			out.packed[n] = f.inGroups(f.value, g.row(t).Group)
		}
	}
	if g.kept != nil {
		out.kept = g.kept.stepped(t.step * t.parts)
		out.sum = out.kept.most
	}
	if t.together {
		out.columns = g.images
		out.batch = slices.DeleteFunc(slices.Clone(g.batch), func(a te.Axis) bool { return a.Var == g.images.Axes[0].Var })
	}
	return &out
}

// last is the innermost run of axes of a role, of those with several points.
func (g *groupTiles) last(of match.Role) Run {
	r := Run{extent: sym.Const(1)}
	for i := len(g.Stage.Axes) - 1; i >= 0; i-- {
		a := g.Stage.Axes[i]
		switch {
		case a.Extent.Is(1) || g.Of[i] != of && r.Axes == nil:
		case g.Of[i] != of:
			return r
		default:
			r.first, r.Axes, r.extent = i, append([]te.Axis{a}, r.Axes...), sym.Mul(a.Extent, r.extent)
		}
	}
	return r
}

func (r Run) has(axis int) bool {
	n := len(r.Axes)
	if r.apart {
		if axis == r.outer {
			return true
		}
		n--
	}
	return r.Axes != nil && axis >= r.first && axis < r.first+n
}

// inner is how many points the axes have that are neighbours, of a run in which another one is none.
func (r Run) inner() int64 { return match.PointsOf(r.Axes[1:]) }

// Parts puts an index of all of the run in place of its axes.
func (r Run) Parts(v sym.Expr, m map[string]sym.Expr, f sym.Facts) {
	for k := len(r.Axes) - 1; k > 0; k-- {
		a := r.Axes[k]
		m[a.Var], v = sym.Mod(v, a.Extent, f), sym.FloorDiv(v, a.Extent, f)
	}
	m[r.Axes[0].Var] = v
}

// LiesInRows reports whether all values of a block lie in memory as row-major ones do.
func LiesInRows(b *block.Block, lay lower.Layouts) bool {
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return !lower.InRows(v, lay(v)) })
}
