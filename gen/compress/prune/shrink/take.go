package shrink

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// take leaves only some of a family's channels.
func (f *family) take(keep []int, r *Result) error {
	for _, p := range f.parts {
		v := p.node.Inputs[p.operand]
		all := make([]int, 0, len(keep)*p.each)
		for _, c := range keep {
			for i := range p.each {
				all = append(all, c*p.each+i)
			}
		}
		t, err := slice(v.Const, p.axis, all)
		if err != nil {
			return fmt.Errorf("constant %s: %w", ir.Show(v.Name), err)
		}
		p.node.Inputs[p.operand] = ir.ConstValue(v.Name, t)
		if w := ops.WeightsOf(p.node); w != nil && p.operand == w.Operand {
			r.note(v.Name, p.axis, all)
		}
		if p.node.Op == "Conv" && p.operand == 1 && p.axis == 0 && p.node.Int("group", 1) > 1 {
			p.node.Attrs["group"] = int64(len(keep)) // depthwise
		}
	}
	return nil
}

// note remembers which of the first indices along an axis are left.
func (r *Result) note(name string, axis int, keep []int) {
	k := r.Weights[name]
	if k == nil {
		k = &Kept{}
		r.Weights[name] = k
	}
	if before := k[axis]; before != nil {
		for i, c := range keep {
			keep[i] = before[c]
		}
	}
	k[axis] = keep
}

// slice is a tensor with some of the indices along an axis.
func slice(t *ir.Tensor, axis int, keep []int) (*ir.Tensor, error) {
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	shape := append([]int64{}, t.Shape...)
	shape[axis] = int64(len(keep))
	out := &ir.Tensor{Type: t.Type, Shape: shape}
	inner := t.Type.Size()
	for _, d := range t.Shape[axis+1:] {
		inner *= int(d)
	}
	row := int(t.Shape[axis]) * inner
	for at := 0; at < len(data); at += row {
		for _, c := range keep {
			out.Data = append(out.Data, data[at+c*inner:at+(c+1)*inner]...)
		}
	}
	return out, nil
}
