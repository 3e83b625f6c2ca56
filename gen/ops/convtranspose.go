package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// transposedWindow is how a transposed convolution spreads its operand over the result.
type transposedWindow struct {
	window
	extra []int64 // output_padding
}

// convTranspose is y[n, o, p...] = sum of x[n, c, q...] * w[c, o, k...] over the q and k
// with q*stride + k*dilation - pad = p. Read from the result, q is a quotient: where
// it has a remainder, or lies outside of x, nothing is added.
func convTranspose(c *Ctx) (*Meaning, error) {
	x, w, err := c.transposedOperands()
	if err != nil {
		return nil, err
	}
	group, err := c.transposedGroups(x, w)
	if err != nil {
		return nil, err
	}
	win, err := c.newTransposedWindow(x[2:], w[2:])
	if err != nil {
		return nil, err
	}
	each := sym.FloorDiv(x[1], sym.Const(group), c.Facts) // channels of x in a group
	as := axes(append(ir.Shape{x[0], sym.Scale(w[1], group)}, win.out...))
	red := reduceAxes(append(ir.Shape{each}, win.kernel...))
	f := c.with(as, red)
	channel, out := rv(0), iv(1)
	if group > 1 {
		channel = sym.Add(sym.Mul(sym.FloorDiv(iv(1), w[1], f), each), channel)
		out = sym.Mod(iv(1), w[1], f)
	}
	index, guard := win.sources(f)
	t, acc := c.Type(0), wide(c.Type(0))
	data := guarded(0, t, append([]sym.Expr{iv(0), channel}, index...), guard, te.Number(t, 0))
	kernel := te.Operand(1, t, append([]sym.Expr{channel, out}, te.AxisVars(red)[1:]...)...)
	result := te.Expr(te.Acc{Type: acc})
	if c.Has(2) {
		result = add(result, cast(acc, te.Operand(2, t, iv(1))))
	}
	return stages(&te.Stage{
		Name: "ConvTranspose", Axes: as, Reduce: red, Combine: te.Sum(acc),
		Values:  []te.Expr{mul(cast(acc, data), cast(acc, kernel))},
		Results: []te.Expr{cast(t, result)},
	}), nil
}

// transposedOperands checks ranks, and kernel_shape against the weights.
func (c *Ctx) transposedOperands() (x, w ir.Shape, err error) {
	if x, w, err = c.shapes2(); err != nil {
		return
	}
	return x, w, c.checkKernel(x, w)
}

// transposedGroups checks channels, groups and bias.
func (c *Ctx) transposedGroups(x, w ir.Shape) (int64, error) {
	group := c.Node.Int("group", 1)
	if group < 1 {
		return 0, fmt.Errorf("attribute group is %d; want at least 1", group)
	}
	if err := c.divides(group, x[1], "channels"); err != nil {
		return 0, err
	}
	if err := c.require(SameDim, x[1], w[0], "channels of X must be the first dimension of W"); err != nil {
		return 0, err
	}
	if c.Has(2) {
		return group, c.isVector(2, sym.Scale(w[1], group))
	}
	return group, nil
}

func (c *Ctx) newTransposedWindow(in ir.Shape, kernel []sym.Expr) (*transposedWindow, error) {
	w := &transposedWindow{window: window{in: in, kernel: kernel}}
	var err error
	if w.stride, err = c.positives("strides", len(in)); err != nil {
		return nil, err
	}
	if w.dilation, err = c.positives("dilations", len(in)); err != nil {
		return nil, err
	}
	if w.extra, err = c.counts("output_padding", len(in)); err != nil {
		return nil, err
	}
	for k, n := range w.extra {
		if n >= max(w.stride[k], w.dilation[k]) {
			return nil, fmt.Errorf("attribute output_padding is %v with strides %v and dilations %v; every number must be less than the stride or the dilation of its axis",
				w.extra, w.stride, w.dilation)
		}
	}
	mode, err := c.choice("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
	if err != nil {
		return nil, err
	}
	same := mode == "SAME_UPPER" || mode == "SAME_LOWER"
	if !same && !c.Node.Has("output_shape") {
		return w, c.cropExplicit(w, mode)
	}
	return w, c.cropTo(w, mode)
}

// counts reads a list of numbers of at least 0, one for each spatial axis.
func (c *Ctx) counts(name string, n int) ([]int64, error) {
	if !c.Node.Has(name) {
		return make([]int64, n), nil
	}
	xs := c.Node.Ints(name)
	if len(xs) != n {
		return nil, fmt.Errorf("attribute %s is %v; the operand has %d spatial axes", name, xs, n)
	}
	for _, x := range xs {
		if x < 0 {
			return nil, fmt.Errorf("attribute %s is %v; no number may be negative", name, xs)
		}
	}
	return xs, nil
}

// full is the extent of axis k before padding is cut off.
func (w *transposedWindow) full(k int) sym.Expr {
	steps := sym.Scale(sym.Sub(w.in[k], sym.Const(1)), w.stride[k])
	return sym.Add(steps, w.span(k), sym.Const(w.extra[k]))
}

func (c *Ctx) cropExplicit(w *transposedWindow, mode string) error {
	n := len(w.in)
	if mode == "VALID" {
		if err := c.noPads(mode); err != nil {
			return err
		}
	}
	pads, err := c.counts("pads", 2*n)
	if err != nil {
		return err
	}
	for k := range w.in {
		w.begin = append(w.begin, sym.Const(pads[k]))
		out := sym.Sub(w.full(k), sym.Add(sym.Const(pads[k]), sym.Const(pads[k+n])))
		if err := c.require(AtLeast, out, sym.Const(0), "spatial axis %d of the result", k); err != nil {
			return err
		}
		w.out = append(w.out, out)
	}
	return nil
}

// cropTo cuts off what leaves the wanted extents: attribute output_shape, or stride
// times the operand's. The odd element goes to the end for SAME_UPPER only.
func (c *Ctx) cropTo(w *transposedWindow, mode string) error {
	if mode != "NOTSET" {
		if err := c.noPads(mode); err != nil {
			return err
		}
	}
	want := make([]sym.Expr, len(w.in))
	if c.Node.Has("output_shape") {
		xs, err := c.counts("output_shape", len(w.in))
		if err != nil {
			return err
		}
		want = consts(xs)
	} else {
		for k, d := range w.in {
			want[k] = sym.Scale(d, w.stride[k])
		}
	}
	for k := range w.in {
		total := sym.Max(sym.Sub(w.full(k), want[k]), sym.Const(0), c.Facts)
		half := sym.FloorDiv(total, sym.Const(2), c.Facts)
		if mode != "SAME_UPPER" {
			half = sym.Sub(total, half)
		}
		w.begin, w.out = append(w.begin, half), append(w.out, want[k])
	}
	return nil
}

// sources are the spatial indices of x for a point of the result and of the kernel,
// and where they are whole and inside.
func (w *transposedWindow) sources(f sym.Facts) (index []sym.Expr, guard []te.Within) {
	zero, one := sym.Const(0), sym.Const(1)
	for k, d := range w.in {
		at := sym.Sub(sym.Add(iv(2+k), w.begin[k]), sym.Scale(rv(1+k), w.dilation[k]))
		s := sym.Const(w.stride[k])
		q := sym.FloorDiv(at, s, f)
		index = append(index, q)
		if w.stride[k] > 1 {
			guard = append(guard, te.Within{E: sym.Mod(at, s, f), Lo: zero, Hi: one})
		}
		guard = append(guard, te.Within{E: q, Lo: zero, Hi: d})
	}
	return index, guard
}
