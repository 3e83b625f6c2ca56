package pruned

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/vary"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// PixelsAnchor is a contraction whose sums go over the weights that are stored, where each filter keeps what it likes: lanes are neighbouring
// pixels. The sums of a tile's pixels, of one filter, are in registers while all of its kernels are walked.
const PixelsAnchor = "pixels"

// acrossVar numbers the tiles along the pixels.
const acrossVar = "ta"

// pixelwise is such a contraction: rows of so many pixels.
type pixelwise struct {
	*sparse
	rows, width int64
	columns     int64 // taps of a row of the kernel
}

// PrunedPixels proposes schedules for a contraction whose weights were pruned, each filter's in its own way. None where too few weights are zero,
// or where pixels are no neighbours.
func Pixels(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if env.Packing != nil && env.Packing.Kept == "" {
		return nil, nil
	}
	c := newPixels(b, env)
	if c == nil {
		return nil, nil
	}
	if many, err := env.Pruned.Sparse(c.Weights); !many {
		return nil, err
	}
	enc, err := env.Pruned.Find(c.Order(), 1, 0)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if enc == nil || env.Packing != nil && env.Packing.Kept != enc.String() {
		return nil, nil
	}
	c.enc = enc
	space := sync.OnceValue(func() *params.Space { return env.SpaceOr(PixelsAnchor, c.space) })
	var all []micro.Tile
	if env.Varies() {
		if err := space().Check(env.Given); err != nil {
			return nil, err
		}
		t, _ := vary.GivenTile(env.Given)
		all, c.Given = []micro.Tile{t}, env.Given
	} else if all = c.tiles(); env.Only == "" {
		all = all[:min(len(all), max(1, env.Tiles))]
	}
	var out []*lower.Lowered
	for _, t := range all {
		if !env.Varies() && env.Only != "" && lower.Unhashed(env.Only) != lower.TiledName(PixelsAnchor, t) {
			continue
		}
		l, err := c.kernel(t, env, space)
		if errors.As(err, new(*follow.TileError)) {
			continue
		}
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		if l != nil {
			out = append(out, l)
		}
	}
	return out, nil
}

// newPixels is nil where the block is no contraction with rows of pixels that are neighbours in X and in the results.
func newPixels(b *block.Block, env *lower.Env) *pixelwise {
	c := tiled.Lay(b, env)
	if c == nil || c.Window || c.Groups > 1 || c.InReduce != 0 || c.Pixel < 1 || !c.Target.SumsStoredOf(c.Weights.Type) || c.XLayout != layout.RowMajor {
		return nil
	}
	for _, r := range b.Results {
		if env.Layouts(r) != layout.RowMajor {
			return nil
		}
	}
	c.Every = true
	axes := b.Stage.Axes
	last := len(c.X.Index) - 1
	k, linear := sym.Coefficient(c.X.Index[last], axes[c.Pixel].Var, c.Nest.Facts)
	rows, known := axes[c.Row()].Extent.Const()
	width, fixed := axes[c.Pixel].Extent.Const()
	if c.Row() == c.Channel || c.Pixel != len(axes)-1 || !linear || !k.Is(1) || !known || !fixed || rows < 1 || width < 1 {
		return nil
	}
	columns := int64(1)
	if n := len(c.Reduce); n > 1 {
		columns, _ = c.Reduce[n-1].Extent.Const()
	}
	p := &pixelwise{sparse: &sparse{Laid: c}, rows: rows, width: width, columns: columns}
	if _, ok := c.Walked(c.X.Index[last], p.local(1)); !ok {
		return nil
	}
	return p
}

// fewRows is how many rows tasks may have of which there is one alone.
const fewRows = 8

// tiles are those that fit registers and leave threads two tasks, that of the least estimate first.
func (c *pixelwise) tiles() []micro.Tile {
	weights, most := c.enc.Together(c.columns), c.rows
	if c.Target.LoadsEarly() { // those of the next column, too
		weights = int64(c.enc.Entries())
	}
	if c.rows%2 == 0 && c.rows >= fewRows && c.filterTasks(1) < 2 {
		most = c.rows / 2
	}
	var all []micro.Tile
	for v := int64(1); v <= (c.width+c.Instr.Lanes-1)/c.Instr.Lanes; v++ {
		for r := int64(1); r <= most && c.Instr.RegistersApart(r, v, weights) <= c.free(); r++ {
			all = append(all, micro.Tile{Rows: r, Vectors: v})
		}
	}
	return ranked(c.Target, all, c.cycles)
}

// ranked are tiles in the order of their estimates, or of what they lose at worst on the processors that may run them.
func ranked[T comparable](t *target.Target, all []T, cycles func(*target.Target, T) float64) []T {
	if len(all) == 0 {
		return nil
	}
	var on [][]float64
	for _, p := range t.Processors() {
		these := make([]float64, len(all))
		for i, x := range all {
			these[i] = cycles(p, x)
		}
		on = append(on, these)
	}
	least := map[T]float64{}
	for i, loss := range cost.Losses(on) {
		least[all[i]] = loss
	}
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(least[a], least[b]) })
	return all
}

// cycles estimates the sums of a filter, of all pixels, in tiles of a size.
func (c *pixelwise) cycles(t *target.Target, x micro.Tile) float64 {
	m := &loop.MicroKernel{Instr: c.Instr, X: instr.Vector, Stored: contract.InMemory(c.Weights.Type), Rows: x.Rows, Vectors: x.Vectors, RowStep: c.pitch(),
		Kept: &loop.Kept{Blocks: c.enc.Blocks(c.depth()), Channels: c.depth(), Kernels: 10 * c.enc.Kernels / max(c.Channels, 1)}}
	copied, _ := c.elements(c.bandRows(x.Rows))
	m.Kept.Step = copied / max(c.depth(), 1)
	for _, p := range c.enc.Patterns {
		var taps []int64
		for _, tap := range p.Taps() {
			taps = append(taps, int64(tap)/c.columns*m.RowStep+int64(tap)%c.columns)
		}
		m.Kept.Taps = append(m.Kept.Taps, taps)
	}
	sum := float64(float64(c.rows/x.Rows) * cost.KeptCycles(t, m))
	if m.Rows = c.rows % x.Rows; m.Rows > 0 {
		sum += cost.KeptCycles(t, m)
	}
	return float64(float64((c.width+c.across(x)-1)/c.across(x)) * sum)
}

// across is how many pixels of a row a tile has.
func (c *pixelwise) across(t micro.Tile) int64 { return t.Vectors * c.Instr.Lanes }

// depth is how many channels X has.
func (c *pixelwise) depth() int64 {
	n, _ := c.Reduce[0].Extent.Const()
	return n
}

// kernel is the kernel of a tile, or nil.
func (c *pixelwise) kernel(t micro.Tile, env *lower.Env, space func() *params.Space) (*lower.Lowered, error) {
	band := c.bandRows(t.Rows)
	copied := c.copyBand(band)
	if copied == nil {
		return nil, nil
	}
	out, n := lower.NewProposal(env.Symbols), c.PackedOperand()
	c.sparse.shape()
	st := *c.Block.Stage
	st.Results = c.Operands(out, &tiled.PackedWeights{Value: c.weights})
	s, task := c.schedule(t, band, env.Pruned.Alone)
	if sets := c.filterTasks((c.rows + band - 1) / band); sets > 1 {
		s = c.deal(s, sets)
	}
	out.AddStage(copied.Stage, copied.Schedule(sched.Ref{Stage: 1, Loop: vars.Band}, task, c.Nest.Facts))
	st.Reduce = c.Reduce
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", te.FromStage(0, ir.F32, copied.Index...), c.weight(n))}
	out.AddStage(&st, s)
	c.Values(&out.Sched, &tiled.PackedWeights{}, env.Layouts)
	out.Sched.Values = append(out.Sched.Values, sched.Value{Of: te.Source{Stage: true}, Parts: copied.Parts, Space: sched.Worker, Margin: c.margin(t)})
	c.sumStored(&out.Sched, n)
	l, err := c.follow(PixelsAnchor, t, out, n, env)
	if err == nil {
		l.Point = c.pointOf(t, band, space)
	}
	return l, err
}

// schedule has a task for each band of rows, of all filters. A tile's pixels are those of all filters, one after the other: what these read stays
// in the second-level cache.
func (c *pixelwise) schedule(t micro.Tile, band int64, alone bool) (sched.Stage, map[string]sym.Expr) {
	s := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: c.Instr.Name, X: instr.Vector, Alone: alone, Early: c.Target.LoadsEarly()}}
	axes := c.Block.Stage.Axes
	row, pixel := axes[c.Row()].Var, axes[c.Pixel].Var
	task := map[string]sym.Expr{contract.GroupVar: sym.Const(0)}
	for _, a := range slices.Concat(axes, c.Reduce) {
		task[a.Var] = sym.Const(0)
	}
	var all lower.LoopList
	for i, a := range axes {
		if i != c.Channel && i != c.Pixel && i != c.Row() {
			all.Add(sched.Task, vars.Axis(i), a.Var, 0, sched.Exact)
			task[a.Var] = sym.Var(vars.Axis(i))
		}
	}
	all.Add(sched.Task, vars.Band, row, 0, sched.Exact)
	task[row] = sym.Scale(sym.Var(vars.Band), band)
	cut := band%t.Rows != 0
	all.Add(sched.Serial, vars.Tile, row, (band+t.Rows-1)/t.Rows, lower.EdgeIf(cut, sched.Clip))
	all.Add(sched.Serial, acrossVar, pixel, 0, sched.Exact)
	all.Add(sched.Serial, vars.Group, axes[c.Channel].Var, 0, sched.Exact)
	all.Add(sched.Rows, vars.Row, row, t.Rows, lower.EdgeIf(cut, sched.Peel))
	all.Add(sched.Lanes, vars.Lane, pixel, c.across(t), lower.EdgeIf(c.width%c.across(t) != 0, sched.RoundUp))
	s.Loops = all
	return s, task
}

// bandRows is how many rows a task has: whole tiles that divide all rows, as many as leave the second-level cache room for what is copied of them
// and threads some tasks; or all.
func (c *pixelwise) bandRows(rows int64) int64 {
	if n, ok := c.GivenBand(); ok {
		return n
	}
	if c.rows%rows != 0 {
		return c.rows
	}
	best := rows
	for b := rows; b <= c.rows && c.rows/b >= min(micro.FewTasks, c.rows/rows); b += rows {
		if n, ok := c.elements(b); !ok || 4*n > c.Target.L2*3/4 {
			break // more rows copy more
		}
		if c.rows%b == 0 {
			best = b
		}
	}
	return best
}

// claims reports whether stores of results would wait for lines of them: a tile of one filter after the other stores to as many places, which no
// processor foresees, and of all results few are in the second-level cache.
func (c *sparse) claims() bool {
	bytes := match.PointsOf(c.Block.Stage.Axes) * int64(c.Instr.Acc.Size()) // those that are known
	return c.Target.PrefetchBytes > 0 && bytes > c.Target.L2
}
