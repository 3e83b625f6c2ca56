package tiled

import (
	"math"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
)

// Some chips have instructions that multiply f16. Elsewhere operands of 16 bits are computed as float32. X becomes that in the copy that a task makes of what it reads, once for all
// result channels. W does where the micro-kernel loads it, if the processor does that beside the products, since half the bytes
// come from memory then; else when it is packed.

// LayHalves returns what Lay does. For a block that multiplies f16, it chooses an instruction that
// adds in f16 if the chip has one and the target allows it. Else it chooses one that adds products
// of f16 in f32. Windows have none of these, because they widen X once for several products.
func LayHalves(b *block.Block, env *lower.Env) *Laid {
	c := Lay(b, env)
	if c == nil || !env.Packing.Of(ir.F16) {
		return c
	}
	if row := c.Halves(); row != nil && c.outPiece%row.Lanes == 0 && c.inPiece%row.Lanes == 0 {
		c.Instr = row
	} else if row := c.Widening(); row != nil && !c.Window {
		c.Instr = row
	}
	return c
}

// Converts reports whether a task widens what it reads of X first.
func (c *Laid) Converts() bool { return c.X.Type != c.Instr.X }

// stepOf is how far apart the elements lie that an index reads along some axes, and its copy needs: more than 1 where a convolution
// of one point skips some. Copies for guards have all, around which these put zeros.
func (c *Laid) stepOf(e sym.Expr, axes []te.Axis) int64 {
	if !c.Converts() || c.Every || len(c.X.Guard) > 0 {
		return 1
	}
	step := int64(0)
	for _, a := range axes {
		k, linear := sym.Coefficient(e, a.Var, c.Nest.Facts)
		n, isConst := k.Const()
		if !linear || !isConst {
			return 1
		}
		step = sym.GCD(step, n)
	}
	return max(step, 1)
}

// wideWeights is how many bytes weights of 16 bits may take as float32 that are packed so: tiles find as many in the first-level cache, where twice the
// bytes cost nothing, and conversions take part of the products' time. Those of depthwise convolutions are wide, however many: a conversion has as few
// products as a tile has pixels, and a network little of its weights there. It is the same for all chips, as variants share packed weights.
const wideWeights = 32 << 10

// PackedType returns the type of the packed weights. Pruned weights, which are stored without
// zeros to take few bytes, keep their type on every processor. So do those that the instruction
// multiplies as they are.
func (c *Laid) PackedType() ir.DType {
	if c.Kept > 0 || c.Instr.W == c.Weights.Type {
		return c.Weights.Type
	}
	few := c.Window || int64(ir.F32.Size())*c.kSteps()*c.Channels*max(c.Groups, 1) <= wideWeights
	if c.Weights.Type == ir.F32 || !c.Target.LoadsConvert(c.Weights.Type) || few {
		return ir.F32
	}
	return c.Weights.Type
}

// shareConverted decides what a task computes that widens X without need of a copy otherwise: some pixels, which leave the second-level cache
// room, of some sets of channels. Tasks of other sets widen the same pixels again, and tasks of other pixels read the same weights again, from
// behind that cache where it does not hold them: of as many tasks as threads need, those that take the least of both.
func (c *Laid) shareConverted(p *Tiling) {
	p.converted = true
	k := c.kSteps()
	p.PerTask = min(max(c.Target.L2/2/(4*k*p.Rows), 1), TilesPerTask)
	if near := c.Target.L1D / 2 / (4 * k * p.Rows); near > 0 { // tiles of other channels find these pixels nearer
		p.PerTask = min(near, p.PerTask)
	}
	n, known := p.Pixels.Const()
	if !known {
		return
	}
	tasks := c.besides()
	if c.Runs > 1 { // tasks have all of its points
		extent, _ := c.Block.Stage.Axes[c.Row()].Extent.Const()
		n *= extent
	}
	tiles, want := max((n+p.Rows-1)/p.Rows, 1), int64(micro.MinTasks-micro.MinTasks/micro.Nearly)
	least, few := math.Inf(1), int64(0)
	most := p.PerTask
	if 4*k*n <= c.Target.L2/2 || c.Runs > 1 {
		most = tiles // all pixels leave room: weights need not be read again
	}
	if c.Runs > 1 { // each task widens all of X
		want = 2 * micro.FewTasks
	}
	for sets := int64(1); sets <= p.Groups; sets++ {
		if p.Groups%sets != 0 {
			continue
		}
		chunks := int64(1)
		if c.Runs <= 1 {
			chunks = min(max((micro.MinTasks+tasks*sets-1)/(tasks*sets), (tiles+most-1)/most), tiles)
		}
		cycles := c.again(p, n, sets, chunks)
		enough := min(tasks*sets*chunks, want)
		if enough < few || enough == few && cycles >= least {
			continue
		}
		least, few = cycles, enough
		p.PerTask, p.GroupTasks, p.SetGroups = (tiles+chunks-1)/chunks, sets > 1 || c.Runs > 1, p.Groups/sets
	}
}

// besides is how many tasks there are of each set of channels and each chunk of pixels.
func (c *Laid) besides() int64 {
	tasks := c.Groups
	for i, a := range c.Block.Stage.Axes {
		if i == c.Channel || i == c.Pixel || c.merged[i] || c.Runs > 1 && i == c.Row() {
			continue
		}
		extent, _ := a.Extent.Const()
		tasks *= max(extent, 1)
	}
	return tasks
}

// shareHalves lets tasks that have some of the channels of W in 16 bits, which their tiles widen, have sets of groups where these are narrow: as many
// as leave the second-level cache room, so that what is copied of X is copied for all of them.
func (c *Laid) shareHalves(p *Tiling) {
	size := int64(c.PackedType().Size()) * c.kSteps() * p.TileLanes
	p.GroupTasks = p.GroupTasks && size*p.Groups > c.Target.L2/2
	for sets := int64(1); p.GroupTasks && sets < p.Groups; sets++ {
		if p.Groups%sets == 0 && size*p.Groups/sets <= c.Target.L2/2 {
			p.SetGroups = p.Groups / sets
			return
		}
	}
}

// again is the cycles in which tasks of so many sets of channels widen all of X, of n pixels, again, and those of so many chunks of pixels read all
// weights again. Tasks of a set follow each other: where the second-level cache has room for the weights of one, these come from there, beside what
// tiles compute.
func (c *Laid) again(p *Tiling, n, sets, chunks int64) float64 {
	cycles := float64(float64(sets-1) * c.widening(n))
	weights := int64(c.PackedType().Size()) * c.kSteps() * p.TileLanes * p.Groups
	if weights/sets > c.Target.L2/2 {
		cycles += float64(float64((chunks-1)*weights) / c.Target.Behind(float64(weights)))
	}
	return cycles
}

// widening is the cycles in which so many pixels of X are widened.
func (c *Laid) widening(pixels int64) float64 {
	vectors := float64(pixels*c.kSteps()) / float64(c.Instr.Lanes)
	return float64(vectors * (c.Target.LoadCycles + c.Target.ArithmeticCycles() + c.Target.StoreCycles()))
}
