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

// matrix is a constant factor minus its zero points: lines of k elements, one for each index of the
// factor's own axis.
type matrix struct {
	of       *ir.Value
	lines, k int64
	// offset is the first element, line and step what the next line and the next element of a line add.
	offset, line, step int64
	zeros              []int64 // of the lines
}

// matrix of a constant factor; nil where only a run knows a zero point.
func (f *factor) matrix(b *block.Block) (*matrix, error) {
	m := &matrix{of: f.value}
	m.lines, m.k = f.extents(b.Stage)
	var err error
	if m.zeros, err = f.zeros(b, m.lines); m.zeros == nil || err != nil {
		return nil, err
	}
	off := layout.Flat(f.value.Shape, f.load.Index)
	stride := func(v string) int64 {
		e, _ := sym.Coefficient(off, v, nil)
		n, _ := e.Const()
		return n
	}
	m.step = stride(b.Stage.Reduce[0].Var)
	start := map[string]sym.Expr{b.Stage.Reduce[0].Var: sym.Const(0)}
	if f.axis >= 0 {
		m.line = stride(b.Stage.Axes[f.axis].Var)
		start[b.Stage.Axes[f.axis].Var] = sym.Const(0)
	}
	m.offset, _ = off.Subst(start, nil).Const()
	return m, nil
}

// each visits the elements, line by line.
func (m *matrix) each(visit func(line, x int64)) error {
	data, err := m.of.Const.Bytes()
	if err != nil {
		return err
	}
	signed := m.of.Type == ir.I8
	for i := range m.lines {
		for j := range m.k {
			raw := data[m.offset+i*m.line+j*m.step]
			x := int64(raw)
			if signed {
				x = int64(int8(raw))
			}
			visit(i, x-m.zeros[i])
		}
	}
	return nil
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

// fits reports whether all elements are numbers of an instruction's type.
func (m *matrix) fits(t ir.DType) (bool, error) {
	lo, hi := int64(te.Lowest(t).(te.Const).Bits), int64(te.Highest(t).(te.Const).Bits)
	fits := true
	err := m.each(func(_, x int64) { fits = fits && x >= lo && x <= hi })
	return fits, err
}

// pack stores the matrix in a layout of lines and elements, whose splits are the instruction's; its padding is zero.
func (m *matrix) pack(t ir.DType, l layout.Layout) *ir.Value {
	var dims []int64
	for _, d := range l.Dims(ir.Dims(m.lines, m.k)) {
		n, _ := d.Const()
		dims = append(dims, n)
	}
	p := &packed{from: m.of.Const, channels: m.lines, lanes: l.Along(0), together: l.Along(1), offset: m.offset, stride: m.line, zeros: m.zeros}
	p.points = make([]int64, dims[1]*p.together)
	for j := range p.points {
		if p.points[j] = int64(j) * m.step; int64(j) >= m.k {
			p.points[j] = -1
		}
	}
	return ir.ConstValue(m.of.Name+".packed", p.tensor(t, dims...))
}

// sums are the sums of the lines, which wrap as sums of 32 bits do, and zeros up to a size.
func (m *matrix) sums(size int64) (*ir.Value, error) {
	lines := make([]int64, m.lines)
	if err := m.each(func(line, x int64) { lines[line] += x }); err != nil {
		return nil, err
	}
	out := ir.NewTensor(ir.I32, size)
	for i, n := range lines {
		binary.LittleEndian.PutUint32(out.Data[4*i:], uint32(n))
	}
	return ir.ConstValue(m.of.Name+".sums", out), nil
}
