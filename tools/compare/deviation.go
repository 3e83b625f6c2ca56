package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

// border is how far, in steps, from the middle between two steps a float may lie that is rounded to
// either of them: sums of floats in another order differ by less.
const border = 1e-3

// deviation is how a quantized value differs from the reference's.
type deviation struct {
	differ, of int
	most       float64 // steps
	// far is how far from the middle between two steps the floats lie that are rounded otherwise;
	// NaN: they are not known.
	far float64
	// one is that all of them are one number, as a function of 256 numbers has in many elements.
	one bool
}

func (d deviation) String() string {
	text := fmt.Sprintf("%d of %d elements differ, by at most %g steps", d.differ, d.of, d.most)
	if !math.IsNaN(d.far) {
		text += fmt.Sprintf(", from floats at most %.1e of a step from the middle between two", d.far)
	}
	if d.one {
		text += ", all of them one number"
	}
	return text
}

// rounding reports whether nothing but the order of sums, or the last digits of a function, need be
// another one: some elements, of a thousand one at most or those of one number, are a step away,
// where the float lies between two.
func (d deviation) rounding() bool {
	return d.most <= 1 && (d.one || d.differ <= max(1, d.of/1000)) && !(d.far > border)
}

func (q quantized) compare(got *ir.Tensor, all map[string]*ir.Tensor) (deviation, error) {
	want := all[q.name]
	if got == nil || want == nil || got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return deviation{}, errors.New("it is missing, or of another type or shape than the reference's")
	}
	a, err := got.Ints()
	if err != nil {
		return deviation{}, err
	}
	b, err := want.Ints()
	if err != nil {
		return deviation{}, err
	}
	d := deviation{of: len(a)}
	var from []float64
	if x := all[q.from]; x != nil && x.Type == ir.F32 && int(x.Len()) == len(a) {
		from = floats(x.Data)
	} else {
		d.far = math.NaN()
	}
	numbers := map[float64]bool{}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		d.differ++
		d.most = max(d.most, math.Abs(float64(a[i]-b[i])))
		if from != nil {
			steps := from[i] / q.scale
			d.far = max(d.far, math.Abs(steps-math.Floor(steps)-0.5))
			numbers[from[i]] = true
		}
	}
	d.one = d.differ > 1 && len(numbers) == 1
	return d, nil
}
