package lower

import (
	"encoding/binary"
	"math"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Operands of 16 bits are computed as float32. X becomes that in the copy that a task makes of what it reads, once for all
// result channels. W does where the micro-kernel loads it, if the processor does that beside the products, since half the bytes
// come from memory then; else when it is packed.

// asF32 widens what is loaded of 16 bits.
func asF32(e te.Expr) te.Expr {
	if slices.Contains(loop.Halves, e.DType()) {
		return te.Fn(ir.F32, "cast", e)
	}
	return e
}

// elementOf is the first element of bytes, of f32 or of 16 bits.
func elementOf(t ir.DType, b []byte) float32 {
	if t.Size() == 2 {
		return widened(t, binary.LittleEndian.Uint16(b))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

func widened(t ir.DType, x uint16) float32 {
	if t == ir.BF16 {
		return scalar.BF16ToF32(x)
	}
	return scalar.F16ToF32(x)
}

// converts reports whether a task widens what it reads of X first.
func (c *contraction) converts() bool { return c.x.Type != ir.F32 }

// stepOf is how far apart the elements lie that an index reads along some axes, and its copy needs: more than 1 where a convolution
// of one point skips some. Copies for guards have all, around which these put zeros.
func (c *contraction) stepOf(e sym.Expr, axes []te.Axis) int64 {
	if !c.converts() || len(c.x.Guard) > 0 {
		return 1
	}
	step := int64(0)
	for _, a := range axes {
		k, linear := sym.Coefficient(e, a.Var, c.n.facts)
		n, isConst := k.Const()
		if !linear || !isConst {
			return 1
		}
		step = sym.GCD(step, n)
	}
	return max(step, 1)
}

// packedType is the type of the packed weights.
func (c *contraction) packedType() ir.DType {
	if c.wv.Type != ir.F32 && c.t.LoadsConvert(c.wv.Type) {
		return c.wv.Type
	}
	return ir.F32
}

// shareConverted decides what a task computes that widens X without need of a copy otherwise: of as many pixels as leave the
// second-level cache room, all channels, or some of them where all weights would leave no room or where there are few pixels. Each such
// task widens X for itself, so that they are no more than threads need.
func (c *contraction) shareConverted(p *tiling) {
	p.converted = true
	k := c.kSteps()
	p.perTask = min(max(c.t.L2/2/(4*k*p.rows), 1), tilesPerTask)
	n, known := p.pixels.Const()
	if !known {
		return
	}
	tasks := c.groups
	for i, a := range c.b.Stage.Axes {
		if i != c.channel && i != c.pixel && !c.merged[i] {
			n, _ := a.Extent.Const()
			tasks *= max(n, 1)
		}
	}
	if tiles := n / p.rows; tiles > p.perTask {
		chunks := min(max((minTasks+tasks-1)/tasks, (tiles+p.perTask-1)/p.perTask), tiles)
		p.perTask = (tiles + chunks - 1) / chunks
		tasks *= chunks
	}
	size := int64(c.packedType().Size())
	p.groupTasks = size*k*p.tileLanes*p.groups > c.t.L2/2 || 4*k*n <= c.t.L2/2
	for p.setGroups = p.groups; p.setGroups > 1 && tasks*p.groups/p.setGroups < minTasks; {
		p.setGroups--
		for p.groups%p.setGroups != 0 {
			p.setGroups--
		}
	}
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
			binary.LittleEndian.PutUint32(b[2*i:], math.Float32bits(elementOf(from.Type, raw[i:])))
		}
		return nil
	})
	return ir.ConstValue(v.Name+".f32", t)
}
