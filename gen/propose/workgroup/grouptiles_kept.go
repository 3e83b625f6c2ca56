package workgroup

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/weights"
)

// keptPoints are what is left of sums whose weights were pruned, where neighbouring rows share what they keep: groups of rows are contractions of
// their own, over the points that any of their rows keeps, and a table says which points of the whole sum these are (FKW's index of PatDNN 2.5.3, of
// channels and taps). The weights are those of a group's points, and what they are multiplied by is copied from where the table says.
type keptPoints struct {
	of     *prunedRows
	share  int64     // rows of a group
	group  string    // axis of the groups
	points [][]int32 // of each group
	most   int64     // points of the sums: as many as the group has that keeps the most, or whole steps of a tile, so that no step has others
	whole  int64     // points of the sum without pruning
}

// keptVar is the point of the whole sum that one of a group's is.
const keptVar = "g0p"

// keptSource is the number of the table while a proposal is made: that after the packed factors.
const keptSource = madeSource - 2

const (
	// mostKept is the part of the points of a sum that groups keep at most.
	mostKept = 0.6
	// leastShare is how few rows share what they keep at least: others read as much as they compute.
	leastShare = 8
)

// Keeps reports whether groups of neighbouring rows of a contraction keep the same few points of its sums, so that work-groups leave out the others, by the
// estimates.
func Keeps(b *block.Block, env *lower.Env) bool {
	g := sharedFactors(b, env)
	if g == nil {
		return false
	}
	all, err := g.keeping()
	return err == nil && len(all) == 1 && all[0].kept != nil // of an error whoever makes the kernel says why
}

// keeping are the ways to add the sums of a contraction: whole, and over what groups of rows keep. Where one kernel is wanted, it is the one of the
// least estimate.
func (g *groupTiles) keeping() ([]*groupTiles, error) {
	all := []*groupTiles{g}
	w, err := g.prunedRows()
	if w == nil || err != nil {
		return all, err
	}
	for share := int64(fkw.MaxShare); share >= leastShare; share /= 2 {
		k, err := g.keep(w, share)
		if err != nil {
			return nil, err
		}
		if k != nil {
			all = append(all, k)
		}
	}
	if g.env.Only != "" || g.env.Tiles > 0 {
		return all, nil
	}
	best, least := g, math.Inf(1)
	for _, k := range all {
		if ts := k.tiles(); len(ts) > 0 && k.estimate(ts[0]) < least {
			best, least = k, k.estimate(ts[0])
		}
	}
	return []*groupTiles{best}, nil
}

// prunedRows is a constant with the weights of rows.
type prunedRows struct {
	operand int
	value   *ir.Value
	tensor  *ir.Tensor // rows, then the axes of the sum
	reduce  []te.Axis
}

// prunedRows is the factor of the rows where it is a constant of which many elements are zero, and nothing but a row for each of them; else nil.
func (g *groupTiles) prunedRows() (*prunedRows, error) {
	if len(g.rows.Axes) != 1 || g.X.Load.Type != ir.F32 {
		return nil, nil
	}
	f := g.packs(g.X, g.rows)
	if f == nil || len(f.batch) > 0 || f.base != 0 {
		return nil, nil
	}
	v := g.r.Operands[f.operand]
	if many, err := g.env.Pruned.Sparse(v); !many {
		return nil, err
	}
	order := make([]int, len(g.Reduce))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(f.sum[b].step - f.sum[a].step) })
	w := &prunedRows{operand: f.operand, value: v}
	dims, steps := []int64{f.points[0].extent}, []int64{f.points[0].step}
	for _, i := range order {
		dims, steps, w.reduce = append(dims, f.sum[i].extent), append(steps, f.sum[i].step), append(w.reduce, g.Reduce[i])
	}
	if !weights.InOrder(dims, steps) {
		return nil, nil
	}
	w.tensor = &ir.Tensor{Type: ir.F32, Shape: dims, Data: v.Const.Data, Src: v.Const.Src}
	return w, nil
}

// keep is the contraction over what groups of so many rows keep; nil where that is most of all points, or rows are no whole groups.
func (g *groupTiles) keep(w *prunedRows, share int64) (*groupTiles, error) {
	rows := w.tensor.Shape[0]
	if rows%share != 0 {
		return nil, nil
	}
	points, err := g.env.Pruned.Points(w.tensor, share)
	if err != nil {
		return nil, fmt.Errorf("block %s: constant %q: %w", g.b.Label(), w.value.Name, err)
	}
	k := &keptPoints{of: w, share: share, points: points, whole: w.tensor.Len() / rows}
	for _, p := range points {
		k.most = max(k.most, int64(len(p)))
	}
	if k.most == 0 || float64(k.most) > mostKept*float64(k.whole) {
		return nil, nil
	}
	r := *g.r
	r.Facts = maps.Clone(g.r.Facts)
	row := g.rows.Axes[0].Var
	r.Cut(func(a te.Axis) int64 {
		if a.Var != row || share == rows {
			return 0
		}
		return share
	})
	m, _ := match.Find(&r.Stage, r.Operands, r.Facts)
	m.Reduce = w.reduce
	out := &groupTiles{b: g.b, env: g.env, device: g.device, r: &r, Roles: m.Roles(slices.Index(g.Factors[:], g.X)), kept: k}
	if share < rows {
		out.Of[g.rows.first] = match.OfBoth
		k.group = r.Axes[g.rows.first].Var
	}
	if !out.take() {
		return nil, nil
	}
	return out, nil
}

// stepped are the points in whole steps of so many.
func (k *keptPoints) stepped(step int64) *keptPoints {
	out := *k
	out.most = (k.most + step - 1) / step * step
	return &out
}

// weights are those of the points that groups keep, point after point, and zeros beyond a group's.
func (k *keptPoints) weights() *packedFactor {
	dims := k.dims(k.most, k.share)
	v := &ir.Value{Name: k.of.value.Name, Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true, Const: k.of.value.Const}
	unit := k.most * k.share
	out := &packedFactor{group: 1}
	if k.group != "" {
		out.own = []string{k.group}
	}
	out.madeOperand = madeOperand{k.of.operand, v, func(v *ir.Value) *ir.Value {
		return ir.ConstValue(v.Name+fkw.KeptPoints, ir.Computed(ir.F32, dims, unit, func(b []byte, first int64) error {
			rows := make([]byte, 4*k.share*k.whole)
			clear(b)
			for n := first / unit; len(b) > 0; n++ {
				if err := v.Const.ReadBytes(rows, n*int64(len(rows))); err != nil {
					return err
				}
				for i, point := range k.points[n] {
					for x := range k.share {
						copy(b[4*(int64(i)*k.share+x):][:4], rows[4*(x*k.whole+int64(point)):])
					}
				}
				b = b[4*unit:]
			}
			return nil
		}))
	}}
	return out
}

// dims are those of what groups have, where they are several.
func (k *keptPoints) dims(own ...int64) []int64 {
	if k.group == "" {
		return own
	}
	return append([]int64{int64(len(k.points))}, own...)
}

// table is the numbers of the points: beyond a group's that of the first one, whose weights are zero there.
func (k *keptPoints) table() *madeOperand {
	t := ir.NewTensor(k.numbers(), k.dims(k.most)...)
	for n, group := range k.points {
		for i, point := range group {
			at := int64(n)*k.most + int64(i)
			if t.Type == ir.U16 {
				binary.LittleEndian.PutUint16(t.Data[2*at:], uint16(point))
			} else {
				binary.LittleEndian.PutUint32(t.Data[4*at:], uint32(point))
			}
		}
	}
	v := ir.ConstValue(k.of.value.Name+".points", t)
	return &madeOperand{k.of.operand, v, func(*ir.Value) *ir.Value { return v }}
}

// numbers is the type of points' numbers: where it has no sign, devices divide them faster.
func (k *keptPoints) numbers() ir.DType {
	if k.whole > 1<<16 {
		return ir.I32
	}
	return ir.U16
}

// point is that of the whole sum at which a stage reads.
func (k *keptPoints) point(st *GroupStage) sym.Expr {
	st.Facts[keptVar] = sym.Range{Lo: 0, Hi: k.whole - 1}
	return sym.Var(keptVar)
}

// bind lets what a stage reads have the point that the table says, of number at of a group's.
func (k *keptPoints) bind(st *GroupStage, v te.Expr, at sym.Expr) te.Expr {
	l := te.Load{Source: te.Source{N: keptSource}, Type: k.numbers(), Index: []sym.Expr{at}}
	if k.group != "" {
		l.Index = []sym.Expr{st.Names[k.group], at}
	}
	return te.Let{Var: keptVar, Value: l, Lo: sym.Const(0), Hi: sym.Const(k.whole - 1), Known: true, Body: v}
}
