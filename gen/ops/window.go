package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// window is how convolutions and pools slide over the spatial axes.
type window struct {
	in, out          ir.Shape
	kernel           []sym.Expr
	stride, dilation []int64
	begin, end       []sym.Expr // padding before and after
	ceil             bool
}

// windowAttrs are the attributes that newWindow reads, ceil_mode apart.
func windowAttrs() []AttrSpec {
	return []AttrSpec{strAttr("auto_pad"), intsAttr("kernel_shape"), intsAttr("pads"), intsAttr("strides")}
}

// newWindow reads a window over spatial axes from the node's attributes.
func (c *Ctx) newWindow(in ir.Shape, kernel []sym.Expr) (*window, error) {
	w := &window{in: in, kernel: kernel}
	var err error
	if w.stride, err = c.positives("strides", len(in)); err != nil {
		return nil, err
	}
	if w.dilation, err = c.positives("dilations", len(in)); err != nil {
		return nil, err
	}
	if w.ceil, err = c.flag("ceil_mode", 0); err != nil {
		return nil, err
	}
	mode, err := c.choice("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
	if err != nil {
		return nil, err
	}
	if mode == "SAME_UPPER" || mode == "SAME_LOWER" {
		return w, c.padSame(w, mode == "SAME_LOWER")
	}
	return w, c.padExplicit(w, mode)
}

// maxStep is the greatest of a window's numbers: with dimensions they add up to what 64 bits hold.
const maxStep = 1 << 40

// positives reads a list of numbers above 0, one for each spatial axis; ones where absent.
func (c *Ctx) positives(name string, n int) ([]int64, error) {
	if !c.Node.Has(name) {
		out := make([]int64, n)
		for i := range out {
			out[i] = 1
		}
		return out, nil
	}
	xs := c.Node.Ints(name)
	if len(xs) != n {
		return nil, fmt.Errorf("attribute %s is %v; the operand has %d spatial axes", name, xs, n)
	}
	for _, x := range xs {
		if x < 1 || x > maxStep {
			return nil, fmt.Errorf("attribute %s is %v; every number must be at least 1 and at most %d", name, xs, int64(maxStep))
		}
	}
	return xs, nil
}

// span is how many elements a window covers along axis k, gaps included.
func (w *window) span(k int) sym.Expr {
	return sym.Add(sym.Scale(sym.Sub(w.kernel[k], sym.Const(1)), w.dilation[k]), sym.Const(1))
}

// padSame pads such that a result has ceil(in/stride) elements.
func (c *Ctx) padSame(w *window, lower bool) error {
	if err := c.noPads("SAME_*"); err != nil {
		return err
	}
	for k, d := range w.in {
		out := sym.CeilDiv(d, sym.Const(w.stride[k]), c.Facts)
		covered := sym.Add(sym.Scale(sym.Sub(out, sym.Const(1)), w.stride[k]), w.span(k))
		total := sym.Max(sym.Sub(covered, d), sym.Const(0), c.Facts)
		half := sym.FloorDiv(total, sym.Const(2), c.Facts)
		rest := sym.Sub(total, half)
		if lower {
			half, rest = rest, half
		}
		w.begin, w.end, w.out = append(w.begin, half), append(w.end, rest), append(w.out, out)
	}
	return nil
}

// noPads refuses explicit padding beside an auto_pad that decides it.
func (c *Ctx) noPads(mode string) error {
	for _, p := range c.Node.Ints("pads") {
		if p != 0 {
			return fmt.Errorf("attributes auto_pad (%s) and pads (%v) exclude each other", mode, c.Node.Ints("pads"))
		}
	}
	return nil
}

func (c *Ctx) padExplicit(w *window, mode string) error {
	pads := make([]int64, 2*len(w.in))
	if mode == "VALID" {
		if err := c.noPads(mode); err != nil {
			return err
		}
	} else if c.Node.Has("pads") {
		pads = c.Node.Ints("pads")
	}
	if len(pads) != 2*len(w.in) {
		return fmt.Errorf("attribute pads is %v; want two numbers for each of %d spatial axes", pads, len(w.in))
	}
	for k, d := range w.in {
		b, e := pads[k], pads[k+len(w.in)]
		if b < 0 || e < 0 {
			return fmt.Errorf("attribute pads is %v; negative padding is not supported", pads)
		}
		w.begin, w.end = append(w.begin, sym.Const(b)), append(w.end, sym.Const(e))
		padded := sym.Add(d, sym.Const(b), sym.Const(e))
		if err := c.holdsWindow(w, k, padded); err != nil {
			return err
		}
		w.out = append(w.out, c.slides(w, k, padded))
	}
	return nil
}

// holdsWindow requires that at least one window fits into an axis. With ceil_mode the last window may reach beyond
// the padding: as in ONNX Runtime, two strides less than the window leave no window, and any more a partial one.
func (c *Ctx) holdsWindow(w *window, k int, padded sym.Expr) error {
	if w.ceil {
		reach := sym.Add(padded, sym.Const(2*w.stride[k]-1))
		return c.require(AtLeast, reach, w.span(k), "ceil_mode: the padded extent of spatial axis %d plus two strides minus one must be at least the window", k)
	}
	return c.require(AtLeast, padded, w.span(k), "the padded extent of spatial axis %d must be at least the window", k)
}

// slides is how often the window of axis k fits.
func (c *Ctx) slides(w *window, k int, padded sym.Expr) sym.Expr {
	room, s := sym.Sub(padded, w.span(k)), sym.Const(w.stride[k])
	if !w.ceil {
		return sym.Add(sym.FloorDiv(room, s, c.Facts), sym.Const(1))
	}
	out := sym.Add(sym.CeilDiv(room, s, c.Facts), sym.Const(1))
	// A window that would start in the padding at the end is left out.
	starts := sym.CeilDiv(sym.Sub(padded, w.end[k]), s, c.Facts)
	return sym.Min(out, starts, c.Facts)
}

// start is where window o of axis k begins, which is negative in the padding.
func (w *window) start(k int, o sym.Expr) sym.Expr {
	return sym.Sub(sym.Scale(o, w.stride[k]), w.begin[k])
}

// at is element r of window o of axis k.
func (w *window) at(k int, o, r sym.Expr) sym.Expr {
	return sym.Add(w.start(k, o), sym.Scale(r, w.dilation[k]))
}

// leaves reports whether windows of axis k may leave the operand.
func (w *window) leaves(k int) bool {
	if !w.begin[k].Is(0) {
		return true
	}
	if !w.ceil && w.end[k].Is(0) {
		return false
	}
	last := w.at(k, sym.Sub(w.out[k], sym.Const(1)), sym.Sub(w.kernel[k], sym.Const(1)))
	left, ok := sym.Sub(w.in[k], last).Const()
	return !ok || left < 1
}

// read is the indices of the element r of window o, with guards where windows leave
// the operand; first is the number of the first spatial axis in the result.
func (w *window) read(first, firstReduce int) (index []sym.Expr, guard []te.Within) {
	for k := range w.in {
		e := w.at(k, iv(first+k), rv(firstReduce+k))
		index = append(index, e)
		if w.leaves(k) {
			guard = append(guard, te.Within{E: e, Lo: sym.Const(0), Hi: w.in[k]})
		}
	}
	return index, guard
}

// guarded loads operand n under guards, or without where there are none.
func guarded(n int, t ir.DType, index []sym.Expr, guard []te.Within, def te.Expr) te.Expr {
	l := te.Operand(n, t, index...)
	if len(guard) > 0 {
		l.Guard, l.Default = guard, def
	}
	return l
}
