package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func fourierRows() []*Row {
	length := opt(structural("dft_length", indexing))
	return []*Row{
		{
			Name: "DFT", Versions: []int{17, 20}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", floats), length, opt(since(20, structural("axis", int64s)))},
			Attrs:  []AttrSpec{intAttr("axis").until(19), intAttr("inverse"), intAttr("onesided")},
			Build:  dft,
		},
		{
			Name: "STFT", Versions: []int{17}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				in("signal", floats), structural("frame_step", indexing), opt(in("window", floats)), opt(structural("frame_length", indexing)),
			},
			Attrs: []AttrSpec{intAttr("onesided")}, Build: stft,
		},
	}
}

// transform is a Fourier transform of length n, a matrix product: part c of result k is
// the sum over element i and its parts p of x[i, p] * roots[k*i mod n, c, p].
type transform struct {
	n        sym.Expr
	inverse  bool
	in, out  int64 // parts of an element and of a result: 1 where they are real
	typ, acc ir.DType
}

// parts reads how many parts an element has, from the last dimension.
func (c *Ctx) complexParts(x ir.Shape) (int64, error) {
	last := x[len(x)-1]
	n, ok := last.Const()
	if !ok {
		return 0, &UnknownError{fmt.Sprintf("the last dimension (%s) of operand 0", last)}
	}
	if n != 1 && n != 2 {
		return 0, fmt.Errorf("the last dimension of operand 0 is %d; want 1 (real) or 2 (complex)", n)
	}
	return n, nil
}

// roots is the stage of the roots of unity as matrices that turn parts of an element.
func (t *transform) roots() *te.Stage {
	as := axes(ir.Shape{t.n, sym.Const(t.out), sym.Const(t.in)})
	angle := mul(te.Float(ir.F64, 2*math.Pi), quotient(ir.F64, iv(0), t.n))
	if !t.inverse {
		angle = call("neg", angle)
	}
	sin := call("sin", angle)
	// (cos, -sin; sin, cos): the parts differ outside of the diagonal
	at := func(c, p int64) te.Expr {
		switch {
		case c == p:
			return call("cos", angle)
		case p == 1:
			return call("neg", sin)
		}
		return sin
	}
	e := at(0, 0)
	for c := range t.out {
		for p := range t.in {
			if c+p > 0 {
				here := []te.Within{within(iv(1), c), within(iv(2), p)}
				e = te.Select{Cond: here, Then: at(c, p), Else: e}
			}
		}
	}
	return &te.Stage{Name: "roots of unity", Axes: as, Results: []te.Expr{cast(t.acc, e)}}
}

// within is the condition e == n.
func within(e sym.Expr, n int64) te.Within {
	return te.Within{E: e, Lo: sym.Const(n), Hi: sym.Const(n + 1)}
}

// sum is the stage of the transform: axis k of the result is the frequency, the last axis
// the part; read loads element r0, part r1.
func (t *transform) sum(name string, as []te.Axis, k int, elements sym.Expr, read te.Expr, f sym.Facts) *te.Stage {
	red := reduceAxes(ir.Shape{elements, sym.Const(t.in)})
	turn := sym.Mod(sym.Mul(iv(k), rv(0)), t.n, f)
	result := te.Expr(te.Acc{Type: t.acc})
	if t.inverse {
		result = div(result, count(t.acc, t.n))
	}
	return &te.Stage{
		Name: name, Axes: as, Reduce: red, Combine: te.Sum(t.acc),
		Values:  []te.Expr{mul(read, te.FromStage(0, t.acc, turn, iv(len(as)-1), rv(1)))},
		Results: []te.Expr{cast(t.typ, result)},
	}
}

func dft(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 2 (signal, real and imaginary parts)", len(x))
	}
	parts, err := c.complexParts(x)
	if err != nil {
		return nil, err
	}
	axis, err := c.dftAxis(len(x))
	if err != nil {
		return nil, err
	}
	inverse, err := c.flag("inverse", 0)
	if err != nil {
		return nil, err
	}
	half, err := c.flag("onesided", 0)
	if err != nil {
		return nil, err
	}
	if half && !inverse && parts == 2 {
		return nil, fmt.Errorf("attribute onesided is 1 with a complex signal; it needs a real one")
	}
	real := half && inverse // the result is; only half of the operand is there
	n, err := c.dftLength(x[axis], real)
	if err != nil {
		return nil, err
	}
	t := &transform{n: n, inverse: inverse, in: parts, out: 2, typ: c.Type(0), acc: wide(c.Type(0))}
	to, used := append(ir.Shape{}, x...), n
	to[axis] = n
	bins := sym.Add(sym.FloorDiv(n, sym.Const(2), c.Facts), sym.Const(1))
	if real {
		t.out, used = 1, bins
	} else if half {
		to[axis] = bins
	}
	to[len(to)-1] = sym.Const(t.out)
	as := axes(to)
	index := te.AxisVars(as)
	index[axis], index[len(index)-1] = rv(0), rv(1)
	read := cast(t.acc, c.load0(index...))
	if real { // the other half is the mirror image
		mirrored := te.Within{E: rv(0), Lo: sym.Const(1), Hi: sym.CeilDiv(n, sym.Const(2), c.Facts)}
		read = mul(read, te.Select{Cond: []te.Within{mirrored}, Then: num(read, 2), Else: num(read, 1)})
	}
	return stages(t.roots(), t.sum("DFT", as, axis, sym.Min(used, x[axis], c.Facts), read, c.with(as))), nil
}

// dftAxis is the axis of the signal, which is never the last one.
func (c *Ctx) dftAxis(rank int) (int, error) {
	axis := int64(-2)
	if c.Version < 20 {
		axis = c.Node.Int("axis", 1)
	} else if c.Has(2) {
		xs, err := c.Ints(2)
		if err != nil {
			return 0, err
		}
		if len(xs) != 1 {
			return 0, fmt.Errorf("operand 2 (axis) has %d elements; want 1", len(xs))
		}
		axis = xs[0]
	}
	k, err := normAxis("axis", axis, rank)
	if err == nil && k == rank-1 {
		err = fmt.Errorf("axis is %d, the axis of real and imaginary parts; want another one of the %d axes", axis, rank)
	}
	return k, err
}

func (c *Ctx) dftLength(d sym.Expr, real bool) (sym.Expr, error) {
	n := d
	if real {
		n = sym.Scale(sym.Sub(d, sym.Const(1)), 2)
	}
	if c.Has(1) {
		var err error
		if n, err = c.scalarOperand(1); err != nil {
			return n, err
		}
	}
	return n, c.require(AtLeast, n, sym.Const(1), "length of the transform")
}

func stft(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want rank 3 (batch, signal, parts)", len(x))
	}
	parts, err := c.complexParts(x)
	if err != nil {
		return nil, err
	}
	half, err := c.flag("onesided", 1)
	if err != nil {
		return nil, err
	}
	if half && parts == 2 {
		return nil, fmt.Errorf("attribute onesided is 1 with a complex signal; it needs a real one")
	}
	step, err := c.scalarOperand(1)
	if err != nil {
		return nil, err
	}
	if err := c.require(AtLeast, step, sym.Const(1), "operand 1 (frame_step)"); err != nil {
		return nil, err
	}
	n, err := c.frameLength(x[1])
	if err != nil {
		return nil, err
	}
	t := &transform{n: n, in: parts, out: 2, typ: c.Type(0), acc: wide(c.Type(0))}
	frames := sym.Add(sym.FloorDiv(sym.Sub(x[1], n), step, c.Facts), sym.Const(1))
	bins := n
	if half {
		bins = sym.Add(sym.FloorDiv(n, sym.Const(2), c.Facts), sym.Const(1))
	}
	as := axes(ir.Shape{x[0], frames, bins, sym.Const(2)})
	read := cast(t.acc, c.load0(iv(0), sym.Add(sym.Mul(iv(1), step), rv(0)), rv(1)))
	if c.Has(2) {
		read = mul(read, cast(t.acc, te.Operand(2, c.Type(2), rv(0))))
	}
	return stages(t.roots(), t.sum("STFT", as, 2, n, read, c.with(as))), nil
}

// frameLength is given, or the window's, or the signal's.
func (c *Ctx) frameLength(signal sym.Expr) (sym.Expr, error) {
	n := signal
	var err error
	switch {
	case c.Has(3):
		if n, err = c.scalarOperand(3); err != nil {
			return n, err
		}
	case c.Has(2):
		w, err := c.Shape(2)
		if err != nil {
			return n, err
		}
		if len(w) == 1 {
			n = w[0]
		}
	}
	if c.Has(2) {
		if err := c.isVector(2, n); err != nil {
			return n, err
		}
	}
	if err := c.require(AtLeast, n, sym.Const(1), "length of a frame"); err != nil {
		return n, err
	}
	return n, c.require(AtLeast, signal, n, "the signal must be at least as long as a frame")
}
