package opaque

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

// NMS is the operands of a NonMaxSuppression that may be absent, and its attribute.
type NMS struct {
	MostBoxes, Overlap, Score *ir.Tensor
	// Centers: boxes are center x, center y, width, height, not two corners y, x, y, x.
	Centers bool
}

// NonMaxSuppression selects boxes of high scores that overlap little, by batch and class: rows of
// batch, class and box. Boxes of equal scores come in their order, and those whose score is
// NaN last.
func NonMaxSuppression(boxes, scores *ir.Tensor, o NMS) (*ir.Tensor, error) {
	most, err := scalarOf(o.MostBoxes, int64(0))
	if err != nil {
		return nil, err
	}
	overlap, err := scalarOf(o.Overlap, 0.0)
	if err != nil {
		return nil, err
	}
	if !(overlap >= 0 && overlap <= 1) {
		return nil, errorf("iou_threshold is %v; want 0 to 1", overlap)
	}
	least, err := scalarOf(o.Score, math.Inf(-1))
	if err != nil {
		return nil, err
	}
	b, err := listOf(boxes)
	if err != nil {
		return nil, err
	}
	s, err := listOf(scores)
	if err != nil {
		return nil, err
	}
	batches, classes, n := scores.Shape[0], scores.Shape[1], scores.Shape[2]
	var rows []int64
	for batch := range batches {
		for class := range classes {
			score := s.floats[(batch*classes+class)*n:][:n]
			box := b.floats[batch*n*4:][:n*4]
			for _, i := range selectBoxes(box, score, most, overlap, least, o) {
				rows = append(rows, batch, class, i)
			}
		}
	}
	return integers(rows, int64(len(rows)/3), 3), nil
}

// selectBoxes selects of one batch and class.
func selectBoxes(boxes, scores []float64, most int64, overlap, least float64, o NMS) []int64 {
	var order, chosen []int64
	for i, s := range scores {
		if o.Score == nil || s > least {
			order = append(order, int64(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int64) int {
		x, y := scores[a], scores[b]
		switch {
		case math.IsNaN(x) || math.IsNaN(y):
			return truth(math.IsNaN(x)) - truth(math.IsNaN(y))
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, i := range order {
		if int64(len(chosen)) >= most {
			break
		}
		near := func(k int64) bool {
			return overlaps(corners(boxes[4*i:], o.Centers), corners(boxes[4*k:], o.Centers), float32(overlap))
		}
		if !slices.ContainsFunc(chosen, near) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// box is the least and greatest coordinate along each of two axes.
type box [2][2]float32

func corners(x []float64, centers bool) box {
	var b box
	for a := range 2 {
		p, q := float32(x[a]), float32(x[a+2])
		if centers {
			half := float32(q / 2) // rounded before it is added, as everywhere
			p, q = p-half, p+half
			b[a] = [2]float32{p, q}
			continue
		}
		b[a] = [2]float32{p, q}
		if p > q {
			b[a] = [2]float32{q, p}
		}
	}
	return b
}

// overlaps reports whether the boxes' intersection is more than a part of their union. Boxes
// without area overlap nothing.
func overlaps(a, b box, part float32) bool {
	var side [2]float32
	for k := range 2 {
		lo, hi := a[k][0], a[k][1]
		if b[k][0] > lo {
			lo = b[k][0]
		}
		if b[k][1] < hi {
			hi = b[k][1]
		}
		if !(hi > lo) {
			return false
		}
		side[k] = hi - lo
	}
	common, first, second := area(side[0], side[1]), a.area(), b.area()
	union := first + second - common
	if !(common > 0) || !(first > 0) || !(second > 0) || !(union > 0) {
		return false
	}
	return common/union > part
}

func (b box) area() float32 { return area(b[0][1]-b[0][0], b[1][1]-b[1][0]) }

// area rounds the product, which may not be fused with a sum.
func area(x, y float32) float32 { return float32(float64(x) * float64(y)) }
