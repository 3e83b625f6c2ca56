package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
)

// Layouts gives the layout of each value.
type Layouts func(*ir.Value) layout.Layout

// ReadsImages reports whether an operand or a result of the block is an image.
func ReadsImages(b *block.Block, lay Layouts) bool {
	for _, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if lay(v).Memory == layout.Image {
			return true
		}
	}
	return false
}

// InRows reports whether a value in a layout lies in memory as in the row-major one: in blocks of channels of a single point each, too.
func InRows(v *ir.Value, l layout.Layout) bool {
	if l == layout.RowMajor {
		return true
	}
	several := slices.IndexFunc(v.Shape[min(2, len(v.Shape)):], func(d sym.Expr) bool { return !d.Is(1) }) >= 0
	return l.Memory != layout.Image && !l.Orders() && len(v.Shape) >= 3 && !several && !l.Padded(v.Shape)
}

// LayOut says in a schedule how the values of a block lie: operands, values of the kernel's own, and results of the last stage. Row-major ones need no
// word. operand is what the work reads in the place of a block's operand, which lies otherwise where it has parts; false: nothing is read there.
// rank is the number of the last stage's axes.
func LayOut(s *sched.Schedule, b *block.Block, lay Layouts, operand func(i int) (x sched.Value, read bool), rank int, own ...sched.Value) {
	add := func(x sched.Value, v *ir.Value, rank int) {
		if l := lay(v); x.Parts == nil && l != layout.RowMajor {
			x.Parts = layout.PartsOf(l, rank)
		}
		if x.Parts != nil {
			s.Values = append(s.Values, x)
		}
	}
	for i, v := range b.Operands {
		if x, read := operand(i); read {
			add(x, v, len(v.Shape))
		}
	}
	s.Values = append(s.Values, own...)
	for i, v := range b.Results {
		add(sched.Value{Of: te.Source{Stage: true, N: len(s.Stages) - 1, Part: i}}, v, rank)
	}
}

// RowMajor reports whether all values of a block are.
func RowMajor(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return lay(v) != layout.RowMajor })
}

// AnyOrder reports whether a product's values lie as it reads and stores them: axes in any order, of integers in that of their shapes, which
// are reshaped, or with channels last, as all results then are.
func AnyOrder(b *block.Block, lay Layouts) bool {
	integers := len(b.Stage.Values) > 0 && b.Stage.Values[0].DType() == ir.I32
	if integers && !RowMajor(b, lay) && !LieLast(b, lay) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool { return !lay(v).Orders() })
}

// LieLast reports whether a product's results have their channels last, and what else is not row-major and has as many axes.
func LieLast(b *block.Block, lay Layouts) bool {
	return !slices.ContainsFunc(b.Results, func(v *ir.Value) bool { return lay(v) != ChannelsLast }) &&
		!slices.ContainsFunc(slices.Concat(b.Operands, b.Results), func(v *ir.Value) bool {
			return lay(v) != layout.RowMajor && (lay(v) != ChannelsLast || len(v.Shape) != len(b.Stage.Axes))
		})
}

// ChannelsLast is the layout in which sums of bytes, and of pairs of floats, take in neighbouring channels, and give them: a tile's rows are pixels, X is read as it is stored, and
// vectors of a depthwise convolution are channels.
var ChannelsLast = layout.Of(layout.Part{Axis: 1})

// says reports an operand or a result of which a schedule leaves out how it lies: its kernel would read or store other elements.
func (e *Env) says(b *block.Block, w *sched.Work, s *sched.Schedule) error {
	if e.Layouts == nil {
		return nil
	}
	for i, v := range w.Operands {
		if v.Const == nil && e.unsaid(s, te.Source{N: i}, v) {
			return fmt.Errorf("the schedule does not have the layout %[3]s for operand %[1]d, %[2]q", i, v.Name, e.Layouts(v))
		}
	}
	for i, v := range b.Results {
		if e.unsaid(s, te.Source{Stage: true, N: len(s.Stages) - 1, Part: i}, v) {
			return fmt.Errorf("the schedule does not have the layout %[3]s for result %[1]d, %[2]q", i, v.Name, e.Layouts(v))
		}
	}
	return nil
}

// unsaid reports whether a schedule leaves out how a value lies that does not lie in rows.
func (e *Env) unsaid(s *sched.Schedule, of te.Source, v *ir.Value) bool {
	said := func(x sched.Value) bool { return x.Of == of && x.Parts != nil }
	return !InRows(v, e.Layouts(v)) && !slices.ContainsFunc(s.Values, said)
}
