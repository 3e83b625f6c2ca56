package fkw

import "rules_dnn/gen/ir"

// KeptPoints is what the names of weights end with of which groups of filters have the points alone that any of them keeps.
const KeptPoints = ".kept_points"

// Points are those that are left of the sums of filters where so many neighbours share what any of them keeps: for each group of filters the
// numbers of the taps, channel after channel, that are not zero in all of them. Nil of weights that the format does not take.
func Points(t *ir.Tensor, share int64) ([][]int32, error) {
	r, err := rowsOf(t, share)
	if err != nil {
		return nil, nil
	}
	out := make([][]int32, r.stored())
	return out, r.each(r.all(), func(f int, data []byte) error {
		for c, used := range r.supports(data) {
			for _, tap := range used.Taps() {
				out[f] = append(out[f], int32(int64(c)*r.taps+int64(tap)))
			}
		}
		return nil
	})
}
