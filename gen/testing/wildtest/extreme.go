package wildtest

import (
	"encoding/binary"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// ends are integers at the ends of their types, and about 0.
var ends = []int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MinInt32, math.MaxInt32, -1, 0, 1}

// extreme makes some dimensions of a finished graph 0, of inputs and of constants, and some integers of attributes and of
// constants extremes. It is the last choice of a graph, so that bytes that made a graph before make it still.
func (b *builder) extreme() {
	for n := b.N(4); n > 0 && !b.Empty(); n-- {
		switch b.N(4) {
		case 0:
			if v := Among(b.Source, b.g.Inputs); len(v.Shape) > 0 {
				v.Shape = slices.Clone(v.Shape)
				v.Shape[b.N(len(v.Shape))] = sym.Const(0)
			}
		case 1:
			b.emptyConstant()
		case 2:
			b.extremeElement()
		default:
			b.extremeAttribute()
		}
	}
}

// constants are those that nodes read.
func (b *builder) constants() []*ir.Value {
	var out []*ir.Value
	for _, n := range b.g.Nodes {
		for _, v := range n.Inputs {
			if v != nil && v.Const != nil && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func (b *builder) emptyConstant() {
	list := b.constants()
	if len(list) == 0 {
		return
	}
	v := Among(b.Source, list)
	if len(v.Const.Shape) == 0 {
		return
	}
	shape := slices.Clone(v.Const.Shape)
	shape[b.N(len(shape))] = 0
	*v = *ir.ConstValue(v.Name, ir.NewTensor(v.Type, shape...))
}

func (b *builder) extremeElement() {
	list := slices.DeleteFunc(b.constants(), func(v *ir.Value) bool {
		return v.Type.IsFloat() || v.Type == ir.Bool || len(v.Const.Data) == 0
	})
	if len(list) == 0 {
		return
	}
	v := Among(b.Source, list)
	size := v.Type.Size()
	var e [8]byte
	binary.LittleEndian.PutUint64(e[:], uint64(Among(b.Source, ends)))
	copy(v.Const.Data[b.N(len(v.Const.Data)/size)*size:], e[:size])
}

func (b *builder) extremeAttribute() {
	if len(b.g.Nodes) == 0 {
		return
	}
	n := Among(b.Source, b.g.Nodes)
	for _, name := range n.Attrs.Names() {
		switch x := n.Attrs[name].(type) {
		case int64:
			if b.N(2) == 0 {
				n.Attrs[name] = Among(b.Source, ends)
			}
		case []int64:
			if len(x) > 0 {
				x = slices.Clone(x)
				x[b.N(len(x))] = Among(b.Source, ends)
				n.Attrs[name] = x
			}
		}
	}
}
