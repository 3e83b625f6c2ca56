package lower

import (
	"encoding/binary"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Operands of 16 bits are computed as float32. X becomes that in the copy that a task makes of what it reads, once for all
// result channels. W does where the micro-kernel loads it, if the processor does that beside the products, since half the bytes
// come from memory then; else when it is packed.

// loadAsF32 is the load whose float32 an expression is: itself, or one of 16 bits that is widened.
func loadAsF32(e te.Expr) (te.Load, bool) {
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type == ir.F32 && slices.Contains(loop.Halves, c.Args[0].DType()) {
		e = c.Args[0]
	}
	l, ok := e.(te.Load)
	return l, ok
}

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

// packedType is the type of the packed weights, and storedWeights what a micro-kernel is told of them.
func (c *contraction) packedType() ir.DType {
	if c.wv.Type != ir.F32 && c.t.LoadsConvert(c.wv.Type) {
		return c.wv.Type
	}
	return ir.F32
}

func (c *contraction) storedWeights() ir.DType {
	if t := c.packedType(); t != c.instr.W {
		return t
	}
	return ir.Invalid
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

// Variables of sets of groups of channels.
const (
	setVar   = "cs" // number of the task along the channels
	inSetVar = "ci" // group within the set
)

// groupSets gives tasks several groups of channels each, if they are to have them.
func (c *contraction) groupSets(p *tiling, group te.Axis, tiles []loop.Stmt) (te.Axis, []loop.Stmt) {
	if p.setGroups <= 1 {
		return group, tiles
	}
	set, in := te.Axis{Var: setVar, Extent: sym.Const(p.groups / p.setGroups)}, te.Axis{Var: inSetVar, Extent: sym.Const(p.setGroups)}
	c.n.addRanges([]te.Axis{set, in})
	at := loop.Index{Var: groupVar, Value: sym.Add(sym.Scale(sym.Var(setVar), p.setGroups), sym.Var(inSetVar))}
	return set, loops([]te.Axis{in}, append([]loop.Stmt{at}, tiles...))
}
