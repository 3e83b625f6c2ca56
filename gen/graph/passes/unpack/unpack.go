// Package unpack keeps the weights of products at 4 bits. Where the second factor of a MatMul or Gemm is a constant that DequantizeLinear makes
// floats of, by blocks along the sum, and its integers fit into 4 bits, it becomes a matrix of two integers to a byte and a node that the
// compiler never folds (ops.Unpack): kernels unpack what they multiply.
//
// Types and shapes must be inferred before. What a product read before stays until nothing reads it (package dce).
package unpack

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Run unpacks the weights of all products in the graph and its regions, and reports whether there are some.
func Run(g *ir.Graph) (bool, error) { return run(g, edit.NewNamer(g)) }

func run(g *ir.Graph, names *ir.Names) (changed bool, err error) {
	uses := edit.Uses(g)
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		if w := weightsOf(n, uses); w != nil {
			with, err := w.unpacked(names)
			if err != nil {
				return false, n.Errorf("its weights of 4 bits: %w", err)
			}
			if with != nil {
				nodes, changed = append(nodes, with), true
			}
		}
		nodes = append(nodes, n)
	}
	g.Nodes = nodes
	edit.EachRegion(g, func(r *ir.Graph) {
		if err == nil {
			var inner bool
			inner, err = run(r, names)
			changed = changed || inner
		}
	})
	return changed, err
}

// weights are those of a product, rows x columns: integers of a byte, or their transpose, by blocks of rows.
type weights struct {
	n                    *ir.Node
	operand              int
	of, scale            *ir.Value
	zero                 *ir.Value // or nil
	turned               bool      // the constants have columns first
	rows, columns, block int64
}

// weightsOf are the weights of a node, nil where it is no product of such, or something else reads them, which would need them as floats.
func weightsOf(n *ir.Node, uses map[*ir.Value]int) *weights {
	of := ops.WeightsOf(n)
	if !of.Factor() || n.Input(of.Operand) == nil || uses[n.Inputs[of.Operand]] != 1 {
		return nil
	}
	filters, _ := of.Axes(n, 2)
	w := &weights{n: n, operand: of.Operand, turned: filters == 0}
	d := n.Inputs[of.Operand].Def
	if d != nil && d.Op == "Transpose" && slices.Equal(d.Ints("perm"), []int64{1, 0}) && uses[d.Inputs[0]] == 1 {
		w.turned, d = !w.turned, d.Inputs[0].Def
	}
	if d == nil || d.Op != "DequantizeLinear" || d.Outputs[0].Type != ir.F32 {
		return nil
	}
	for _, v := range d.Inputs[:2] {
		if v == nil || v.Const == nil || len(v.Const.Shape) != 2 {
			return nil
		}
	}
	w.of, w.scale, w.zero, w.block = d.Inputs[0], d.Inputs[1], expanded(d.Input(2)), d.Int("block_size", 0)
	if w.zero != nil && w.zero.Const == nil {
		return nil
	}
	w.rows, w.columns = w.of.Const.Shape[0], w.of.Const.Shape[1]
	along := d.Int("axis", 1)
	if along < 0 {
		along += 2
	}
	if w.turned {
		w.rows, w.columns, along = w.columns, w.rows, 1-along
	}
	if w.block < 1 || along != 0 || w.rows < 1 || w.columns < 1 || w.of.Type.Size() != 1 || !w.of.Type.IsInteger() || w.scale.Type != ir.F32 {
		return nil
	}
	return w
}

// expanded is the constant of one element that an Expand gives all of a value, or the value itself: many zero points are not folded.
func expanded(v *ir.Value) *ir.Value {
	if v == nil || v.Const != nil || v.Def == nil || v.Def.Op != "Expand" {
		return v
	}
	if one := v.Def.Inputs[0]; one.Const != nil && one.Const.Len() == 1 {
		return one
	}
	return v
}

// unpacked lets the product read floats of packed weights; nil where these are of more than 4 bits.
func (w *weights) unpacked(names *ir.Names) (*ir.Node, error) {
	lo, hi, err := bounds(w.of.Const)
	if err != nil {
		return nil, err
	}
	base := int64(0) // what a nibble of 0 stands for
	if lo < 0 {
		base = -8
	}
	if lo < base || hi > base+15 {
		return nil, nil
	}
	zero, err := w.zeros(base)
	if err != nil || zero == nil {
		return nil, err
	}
	scale, err := w.byBlocks(w.scale.Const)
	if err != nil {
		return nil, err
	}
	v := &ir.Value{Name: names.Name(w.of.Name + ".unpacked")}
	value := func(what string, t *ir.Tensor) *ir.Value { return ir.ConstValue(names.Name(w.of.Name+what), t) }
	v.Def = &ir.Node{
		Op: ops.Unpack, Version: 1, Name: w.n.Name, Origins: w.n.Origins, Outputs: []*ir.Value{v},
		Inputs: []*ir.Value{value(".packed", w.packed(base)), value(".scale", scale), value(".zero", zero)},
		Attrs:  ir.Attrs{"rows": w.rows, "block_size": w.block},
	}
	w.n.Inputs[w.operand] = v
	w.n.Attrs = maps.Clone(w.n.Attrs)
	delete(w.n.Attrs, "transB")
	return v.Def, nil
}

// bounds are the least and the greatest element of a constant of bytes.
func bounds(t *ir.Tensor) (lo, hi int64, err error) {
	var seen histogram
	if _, err := t.WriteTo(&seen); err != nil {
		return 0, 0, err
	}
	lo, hi = 255, -128
	for b, there := range seen {
		if there {
			x := signed(byte(b), t.Type)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi, nil
}

// histogram says which bytes were written to it.
type histogram [256]bool

func (h *histogram) Write(b []byte) (int, error) {
	for _, x := range b {
		h[x] = true
	}
	return len(b), nil
}

func signed(b byte, t ir.DType) int64 {
	if t == ir.I8 {
		return int64(int8(b))
	}
	return int64(b)
}

// zeros are the zero points of the packed weights: one, where all are the same, or one for each block and column; nil where one is no byte.
func (w *weights) zeros(base int64) (_ *ir.Tensor, err error) {
	one := func(x int64) *ir.Tensor { return &ir.Tensor{Type: ir.U8, Shape: []int64{}, Data: []byte{byte(x)}} }
	if w.zero == nil {
		return one(-base), nil
	}
	from := w.zero.Const
	if from.Len() == 1 {
		b, err := from.Bytes()
		if err != nil {
			return nil, err
		}
		from = &ir.Tensor{Type: from.Type, Shape: []int64{1, 1}, Data: b}
	} else if from, err = w.byBlocks(from); err != nil {
		return nil, err
	}
	out := ir.NewTensor(ir.U8, from.Shape...)
	same := true
	for i, b := range from.Data {
		x := signed(b, w.zero.Type) - base
		if x < 0 || x > 255 {
			return nil, nil
		}
		out.Data[i] = byte(x)
		same = same && out.Data[i] == out.Data[0]
	}
	if same {
		return one(int64(out.Data[0])), nil
	}
	return out, nil
}

// byBlocks is a constant of an element for each block and column, blocks first.
func (w *weights) byBlocks(t *ir.Tensor) (*ir.Tensor, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	blocks, size := (w.rows+w.block-1)/w.block, int64(t.Type.Size())
	if int64(len(b)) != blocks*w.columns*size {
		return nil, fmt.Errorf("scales or zero points of the shape %v for %d blocks of %d columns", t.Shape, blocks, w.columns)
	}
	out := ir.NewTensor(t.Type, blocks, w.columns)
	for at := range blocks * w.columns {
		copy(out.Data[at*size:(at+1)*size], b[w.place(at/w.columns, at%w.columns, blocks)*size:])
	}
	return out, nil
}

// place is where an element lies in a constant as the network has it, of so many rows.
func (w *weights) place(row, column, rows int64) int64 {
	if w.turned {
		return column*rows + row
	}
	return row*w.columns + column
}

// packed are two rows to a byte.
func (w *weights) packed(base int64) *ir.Tensor {
	from, typ := w.of.Const, w.of.Type
	pairs := (w.rows + 1) / 2
	return ir.ComputedTogether(ir.U8, []int64{pairs, w.columns}, w.columns, pairs*w.columns, func(b []byte, first int64) error {
		all, err := from.Bytes()
		if err != nil {
			return err
		}
		for i := range b {
			pair, column := (first+int64(i))/w.columns, (first+int64(i))%w.columns
			b[i] = byte(signed(all[w.place(2*pair, column, w.rows)], typ) - base)
			if 2*pair+1 < w.rows {
				b[i] |= byte(signed(all[w.place(2*pair+1, column, w.rows)], typ)-base) << 4
			}
		}
		return nil
	})
}
