package contract

import (
	"encoding/binary"
	"math"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/nest"
	"rules_dnn/gen/lower/weights"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Operands of 16 bits are computed as float32. X becomes that in the copy that a task makes of what it reads, once for all
// result channels. W does where the micro-kernel loads it, if the processor does that beside the products, since half the bytes
// come from memory then; else when it is packed.

// converts reports whether a task widens what it reads of X first.
func (c *laid) converts() bool { return c.x.Type != ir.F32 }

// stepOf is how far apart the elements lie that an index reads along some axes, and its copy needs: more than 1 where a convolution
// of one point skips some. Copies for guards have all, around which these put zeros.
func (c *laid) stepOf(e sym.Expr, axes []te.Axis) int64 {
	if !c.converts() || len(c.x.Guard) > 0 {
		return 1
	}
	step := int64(0)
	for _, a := range axes {
		k, linear := sym.Coefficient(e, a.Var, c.n.Facts)
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

// packedType is the type of the packed weights.
func (c *laid) packedType() ir.DType {
	few := c.window || int64(ir.F32.Size())*c.kSteps()*c.channels*max(c.groups, 1) <= wideWeights
	if c.wv.Type == ir.F32 || !c.t.LoadsConvert(c.wv.Type) || few {
		return ir.F32
	}
	return c.wv.Type
}

// inMemory is the type of W in memory where micro-kernels widen it, Invalid where it is the instruction's.
func inMemory(t ir.DType) ir.DType {
	if slices.Contains(loop.Halves, t) {
		return t
	}
	return ir.Invalid
}

// streamed is how many registers at a point of the sum count as a stream where tiles read W one after the other, each so many: of 16 bits those of all
// groups, as tiles are so narrow that one's W stays in the first-level cache, and yet each finds its own behind that.
func streamed(t ir.DType, vectors, groups int64, apart bool) int64 {
	if inMemory(t) == ir.Invalid || apart {
		return vectors
	}
	return vectors * groups
}

// shareConverted decides what a task computes that widens X without need of a copy otherwise: some pixels, which leave the second-level cache
// room, of some sets of channels. Tasks of other sets widen the same pixels again, and tasks of other pixels read the same weights again, from
// behind that cache where it does not hold them: of as many tasks as threads need, those that take the least of both.
func (c *laid) shareConverted(p *tiling) {
	p.converted = true
	k := c.kSteps()
	p.perTask = min(max(c.t.L2/2/(4*k*p.Rows), 1), tilesPerTask)
	if near := c.t.L1D / 2 / (4 * k * p.Rows); near > 0 { // tiles of other channels find these pixels nearer
		p.perTask = min(near, p.perTask)
	}
	n, known := p.pixels.Const()
	if !known {
		return
	}
	tasks := c.besides()
	if c.runs > 1 { // tasks have all of its points
		extent, _ := c.b.Stage.Axes[c.row()].Extent.Const()
		n *= extent
	}
	tiles, want := max((n+p.Rows-1)/p.Rows, 1), int64(micro.MinTasks-micro.MinTasks/micro.Nearly)
	least, few := math.Inf(1), int64(0)
	most := p.perTask
	if 4*k*n <= c.t.L2/2 || c.runs > 1 {
		most = tiles // all pixels leave room: weights need not be read again
	}
	if c.runs > 1 { // each task widens all of X
		want = 2 * micro.FewTasks
	}
	for sets := int64(1); sets <= p.groups; sets++ {
		if p.groups%sets != 0 {
			continue
		}
		chunks := int64(1)
		if c.runs <= 1 {
			chunks = min(max((micro.MinTasks+tasks*sets-1)/(tasks*sets), (tiles+most-1)/most), tiles)
		}
		cycles := c.again(p, n, sets, chunks)
		enough := min(tasks*sets*chunks, want)
		if enough < few || enough == few && cycles >= least {
			continue
		}
		least, few = cycles, enough
		p.perTask, p.groupTasks, p.setGroups = (tiles+chunks-1)/chunks, sets > 1 || c.runs > 1, p.groups/sets
	}
}

// besides is how many tasks there are of each set of channels and each chunk of pixels.
func (c *laid) besides() int64 {
	tasks := c.groups
	for i, a := range c.b.Stage.Axes {
		if i == c.channel || i == c.pixel || c.merged[i] || c.runs > 1 && i == c.row() {
			continue
		}
		extent, _ := a.Extent.Const()
		tasks *= max(extent, 1)
	}
	return tasks
}

// shareHalves lets tasks that have some of the channels of W in 16 bits, which their tiles widen, have sets of groups where these are narrow: as many
// as leave the second-level cache room, so that what is copied of X is copied for all of them.
func (c *laid) shareHalves(p *tiling) {
	size := int64(c.packedType().Size()) * c.kSteps() * p.tileLanes
	p.groupTasks = p.groupTasks && size*p.groups > c.t.L2/2
	for sets := int64(1); p.groupTasks && sets < p.groups; sets++ {
		if p.groups%sets == 0 && size*p.groups/sets <= c.t.L2/2 {
			p.setGroups = p.groups / sets
			return
		}
	}
}

// again is the cycles in which tasks of so many sets of channels widen all of X, of n pixels, again, and those of so many chunks of pixels read all
// weights again. Tasks of a set follow each other: where the second-level cache has room for the weights of one, these come from there, beside what
// tiles compute.
func (c *laid) again(p *tiling, n, sets, chunks int64) float64 {
	cycles := float64(float64(sets-1) * c.widening(n))
	weights := int64(c.packedType().Size()) * c.kSteps() * p.tileLanes * p.groups
	if weights/sets > c.t.L2/2 {
		cycles += float64(float64((chunks-1)*weights) / c.t.Behind(float64(weights)))
	}
	return cycles
}

// widening is the cycles in which so many pixels of X are widened.
func (c *laid) widening(pixels int64) float64 {
	vectors := float64(pixels*c.kSteps()) / float64(c.instr.Lanes)
	return float64(vectors * (c.t.LoadCycles + c.t.ArithmeticCycles() + c.t.StoreCycles()))
}

// widenConstants lets results read constants of 16 bits, such as biases, as float32, which they are then made of once: in vectors a
// conversion for each result costs as much as what is computed with it. It gives the results and the operands that they read.
func widenConstants(b *block.Block) (results []te.Expr, operands []*ir.Value) {
	operands = slices.Clone(b.Operands)
	loads, widened := map[int]int{}, map[int]int{}
	b.Loads(func(l te.Load) {
		if !l.Source.Stage {
			loads[l.Source.N]++
		}
	})
	for _, r := range b.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			if l, ok := widens(e); ok {
				widened[l.Source.N]++
			}
		})
	}
	for i, v := range b.Operands {
		if v.Const != nil && widened[i] > 0 && widened[i] == loads[i] {
			operands[i] = wideConstant(v)
		}
	}
	for _, r := range b.Stage.Results {
		results = append(results, te.Map(r, func(e te.Expr) te.Expr {
			if l, ok := widens(e); ok && operands[l.Source.N].Type == ir.F32 {
				l.Type = ir.F32
				return l
			}
			return e
		}))
	}
	return results, operands
}

// widens is the load of 16 bits that an expression widens.
func widens(e te.Expr) (te.Load, bool) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || c.Type != ir.F32 {
		return te.Load{}, false
	}
	l, ok := c.Args[0].(te.Load)
	return l, ok && !l.Source.Stage && len(l.Guard) == 0 && slices.Contains(loop.Halves, l.Type)
}

// wideConstant is a constant of 16 bits as float32.
func wideConstant(v *ir.Value) *ir.Value {
	from := v.Const
	t := ir.Computed(ir.F32, from.Shape, 1, func(b []byte, first int64) error {
		raw := make([]byte, len(b)/2)
		if err := from.ReadBytes(raw, 2*first); err != nil {
			return err
		}
		for i := 0; i < len(raw); i += 2 {
			binary.LittleEndian.PutUint32(b[2*i:], math.Float32bits(weights.ElementOf(from.Type, raw[i:])))
		}
		return nil
	})
	return ir.ConstValue(v.Name+".f32", t)
}

// widen lets results read constants of 16 bits, of which a row needs the same for each pixel, as float32.
func (d *direct) widen(env *lower.Env) {
	_, operands := widenConstants(d.b)
	for i, v := range operands {
		if from := d.b.Operands[i]; v != from {
			narrow := d.n.In[i]
			d.n.In[i] = nest.Stored(narrow.Name, v, env.Layouts(from))
			for k, r := range d.n.Results {
				d.n.Results[k] = te.Map(r, func(e te.Expr) te.Expr { return widenedLoad(e, narrow, d.n.In[i]) })
			}
		}
	}
}

// widenedLoad is an expression of what a buffer of 16 bits holds as one of what another one holds as float32.
func widenedLoad(e te.Expr, narrow, wide *loop.Buffer) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || c.Type != ir.F32 {
		return e
	}
	m, ok := c.Args[0].(loop.Mem)
	if !ok || m.Buf != narrow {
		return e
	}
	m.Buf = wide
	return m
}
