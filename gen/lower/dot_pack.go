package lower

import (
	"encoding/binary"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// extents of the factor's own axis, 1 where it has none, and of the sum.
func (f *factor) extents(s *te.Stage) (lines, k int64) {
	lines = 1
	if f.axis >= 0 {
		lines, _ = s.Axes[f.axis].Extent.Const()
	}
	k, _ = s.Reduce[0].Extent.Const()
	return lines, k
}

// elements are a constant factor's elements less their zero points: a line for each index of its own
// axis. It gives nil where only a run knows a zero point.
func (f *factor) elements(b *block.Block) ([][]int64, error) {
	lines, k := f.extents(b.Stage)
	zeros, err := f.zeros(b, lines)
	if zeros == nil || err != nil {
		return nil, err
	}
	data, err := f.value.Const.Ints()
	if err != nil {
		return nil, err
	}
	off := layout.Flat(f.value.Shape, f.load.Index)
	stride := func(v string) int64 {
		e, _ := sym.Coefficient(off, v, nil)
		n, _ := e.Const()
		return n
	}
	step, line := stride(b.Stage.Reduce[0].Var), int64(0)
	start := map[string]sym.Expr{b.Stage.Reduce[0].Var: sym.Const(0)}
	if f.axis >= 0 {
		line = stride(b.Stage.Axes[f.axis].Var)
		start[b.Stage.Axes[f.axis].Var] = sym.Const(0)
	}
	base, _ := off.Subst(start, nil).Const()
	out := make([][]int64, lines)
	for i := range out {
		out[i] = make([]int64, k)
		for j := range out[i] {
			out[i][j] = data[base+int64(i)*line+int64(j)*step] - zeros[i]
		}
	}
	return out, nil
}

// zeros are a constant factor's zero points by line; nil where only a run knows them.
func (f *factor) zeros(b *block.Block, lines int64) ([]int64, error) {
	out := make([]int64, lines)
	if f.zero == nil {
		return out, nil
	}
	if z, ok := literalOf(f.zero); ok {
		for i := range out {
			out[i] = z
		}
		return out, nil
	}
	cast, ok := f.zero.(te.Call)
	if !ok || cast.Fn != "cast" {
		return nil, nil
	}
	l, ok := cast.Args[0].(te.Load)
	if !ok || l.Source.Stage || len(l.Guard) > 0 || b.Operands[l.Source.N].Const == nil {
		return nil, nil
	}
	v := b.Operands[l.Source.N]
	data, err := v.Const.Ints()
	if err != nil {
		return nil, err
	}
	off := layout.Flat(v.Shape, l.Index)
	for i := range out {
		at := map[string]int64{}
		if f.axis >= 0 {
			at[b.Stage.Axes[f.axis].Var] = int64(i)
		}
		n, err := off.Eval(at)
		if err != nil { // another axis
			return nil, nil
		}
		out[i] = data[n]
	}
	return out, nil
}

// fitsType tells whether all elements are numbers of an instruction's type.
func fitsType(lines [][]int64, t ir.DType) bool {
	lo, hi := te.Lowest(t).(te.Const), te.Highest(t).(te.Const)
	for _, line := range lines {
		for _, x := range line {
			if x < int64(lo.Bits) || x > int64(hi.Bits) {
				return false
			}
		}
	}
	return true
}

// pack stores lines of elements of one byte as a matrix in a layout; its padding is zero.
func pack(name string, lines [][]int64, t ir.DType, l layout.Layout) *ir.Value {
	shape := ir.Shape{sym.Const(int64(len(lines))), sym.Const(int64(len(lines[0])))}
	var dims []int64
	for _, d := range l.Dims(shape) {
		n, _ := d.Const()
		dims = append(dims, n)
	}
	out := ir.NewTensor(t, dims...)
	for e := range out.Data {
		if at := l.At(dims, int64(e)); at[0] < int64(len(lines)) && at[1] < int64(len(lines[0])) {
			out.Data[e] = byte(lines[at[0]][at[1]])
		}
	}
	return ir.ConstValue(name+".packed", out)
}

// sums are the sums of the lines, which wrap as sums of 32 bits do, and zeros up to a size.
func sums(name string, lines [][]int64, size int64) *ir.Value {
	out := ir.NewTensor(ir.I32, size)
	for i, line := range lines {
		n := int64(0)
		for _, x := range line {
			n += x
		}
		binary.LittleEndian.PutUint32(out.Data[4*i:], uint32(n))
	}
	return ir.ConstValue(name+".sums", out)
}
