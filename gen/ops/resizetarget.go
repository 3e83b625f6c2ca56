package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// target reads scales or sizes, whichever is given and not empty.
func (r *resizing) target(list []int) error {
	given := func(i int) (bool, error) {
		if !r.c.Has(i) {
			return false, nil
		}
		s, err := r.c.Shape(i)
		return err == nil && !product(s...).Is(0), err
	}
	scales, err := given(2)
	if err != nil {
		return err
	}
	sizes, err := given(3)
	switch {
	case err != nil:
		return err
	case scales == sizes:
		return fmt.Errorf("operands 2 (scales) and 3 (sizes): want exactly one of them")
	case sizes:
		to, err := r.c.dimsOperand(3)
		if err != nil {
			return err
		}
		return r.sized(list, to)
	}
	xs, err := r.c.scalesOperand(2)
	if err != nil {
		return err
	}
	return r.scaled(list, xs)
}

// scaling is a scale, and the dimension that it gives where that has a name of its own.
type scaling struct {
	by  frac
	out *sym.Expr
}

func scalings(xs []float32) ([]scaling, error) {
	out := make([]scaling, len(xs))
	for i, x := range xs {
		var err error
		if out[i].by, err = scaleFraction(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scalesOperand are the elements of a structural operand: float32, or what a run makes of such.
func (c *Ctx) scalesOperand(i int) ([]scaling, error) {
	v := c.Node.Inputs[i]
	if v.Type != ir.F32 {
		es, err := c.Elems(i)
		if err != nil {
			return nil, err
		}
		n := len(es) / 3
		out := make([]scaling, n)
		for k := range out {
			out[k] = scaling{frac{es[k], es[n+k]}, &es[2*n+k]}
		}
		return out, nil
	}
	if v.Const == nil {
		return nil, &UnknownError{fmt.Sprintf("the value of operand %d (%q)", i, v.Name)}
	}
	xs, err := literals(v.Const)
	if err != nil {
		return nil, fmt.Errorf("operand %d (%q): %w", i, v.Name, err)
	}
	scales := make([]float32, len(xs))
	for k, x := range xs {
		scales[k] = float32(float(x))
	}
	return scalings(scales)
}

// scaled multiplies the listed axes; a dimension that is no multiple is rounded down.
func (r *resizing) scaled(list []int, scales []scaling) error {
	if len(scales) != len(list) {
		return fmt.Errorf("scales has %d elements for %d axes", len(scales), len(list))
	}
	for i, k := range list {
		s := scales[i]
		width := frac{sym.Mul(r.x[k], s.by.num), s.by.den}
		out := s.out
		if out == nil {
			floor := width.floor(r.c.Facts)
			out = &floor
		}
		r.add(&resizedAxis{k: k, listed: i, in: r.x[k], out: *out, scale: s.by, width: width})
	}
	return nil
}

// sized gives the listed axes sizes, or the greatest or least sizes that keep their
// ratio.
func (r *resizing) sized(list []int, to ir.Shape) error {
	if len(to) != len(list) {
		return fmt.Errorf("operand 3 (sizes) has %d elements for %d axes", len(to), len(list))
	}
	policy, err := r.c.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
	if err != nil {
		return err
	}
	alike := policy != "stretch" && len(list) > 0
	to = slices.Clone(to)
	for i, k := range list {
		switch {
		case alike:
		case r.x[k].Is(0): // by the scale 1: no other gives it an element
			if err := r.c.require(SameDim, to[i], r.x[k], "the new size of dimension %d, which is empty", k); err != nil {
				return err
			}
			to[i] = r.x[k]
			continue
		case to[i].Equal(r.x[k]), to[i].Is(0): // nothing is read of a dimension that goes
			continue
		}
		if err := r.c.require(AtLeast, r.x[k], sym.Const(1), "dimension %d, which is resized", k); err != nil {
			return err
		}
	}
	if alike {
		return r.sizedAlike(list, to, policy == "not_larger")
	}
	for i, k := range list {
		r.add(&resizedAxis{
			k: k, listed: i, in: r.x[k], out: to[i], scale: frac{to[i], r.x[k]}, width: frac{to[i], sym.Const(1)},
		})
	}
	return nil
}

// sizedAlike scales all listed axes by the least (or greatest) of their scales.
func (r *resizing) sizedAlike(list []int, to ir.Shape, least bool) error {
	best := 0
	for i := 1; i < len(list); i++ {
		d := sym.Sub(sym.Mul(to[i], r.x[list[best]]), sym.Mul(to[best], r.x[list[i]]))
		if !least {
			d = sym.Scale(d, -1)
		}
		switch {
		case sym.AtMost(d, -1, r.c.Facts):
			best = i
		case !sym.AtLeast(d, 0, r.c.Facts):
			return &UnknownError{fmt.Sprintf("which of %s/%s and %s/%s is smaller, as keep_aspect_ratio_policy needs,",
				to[best], r.x[list[best]], to[i], r.x[list[i]])}
		}
	}
	s := frac{to[best], r.x[list[best]]}
	for i, k := range list {
		width := frac{sym.Mul(s.num, r.x[k]), s.den}
		out := width.plusHalf(1).floor(r.c.Facts)
		if r.x[k].Equal(s.den) {
			width, out = frac{s.num, sym.Const(1)}, s.num
		}
		r.add(&resizedAxis{k: k, listed: i, in: r.x[k], out: out, scale: s, width: width})
	}
	return nil
}

// add takes an axis up, unless it stays as it is.
func (r *resizing) add(a *resizedAxis) {
	r.out[a.k] = a.out
	if a.scale.isOne() && a.in.Equal(a.out) && r.wholeRoi(a) {
		return
	}
	r.changed = append(r.changed, a)
	slices.SortFunc(r.changed, func(a, b *resizedAxis) int { return a.k - b.k })
}

// wholeRoi reports whether the axis is not cropped.
func (r *resizing) wholeRoi(a *resizedAxis) bool {
	if r.roi == 0 {
		return true
	}
	v := r.c.Node.Inputs[r.roi]
	if v.Const == nil {
		return false
	}
	xs, err := literals(v.Const)
	return err == nil && len(xs) == 2*r.roiLen && float(xs[a.listed]) == 0 && float(xs[r.roiLen+a.listed]) == 1
}
