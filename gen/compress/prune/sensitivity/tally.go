package sensitivity

import (
	"fmt"
	"math"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// tally sums the loss of rows, and counts those whose class has the greatest value.
type tally struct {
	rows, right int64
	sum         float64
}

func (t *tally) loss() float64     { return t.sum / float64(t.rows) }
func (t *tally) accuracy() float64 { return float64(t.right) / float64(t.rows) }

// leastProbability bounds the loss of a row whose class has probability 0.
const leastProbability = 1e-30

// add adds the rows of an output, whose classes are the first labels, and gives the labels that are left. The loss is the cross entropy: rows are logits, or, of a
// Softmax, probabilities.
func (t *tally) add(v *ir.Value, y *ir.Tensor, labels []int64) ([]int64, error) {
	if y == nil || len(y.Shape) != 2 || y.Shape[1] < 1 {
		return nil, fmt.Errorf("output %s is not a table of images by classes, so its loss cannot be measured", ir.Show(v.Name))
	}
	values, err := edit.Floats(y)
	if err != nil {
		return nil, err
	}
	rows, classes := int(y.Shape[0]), int(y.Shape[1])
	if rows > len(labels) {
		return nil, fmt.Errorf("output %s has more rows than labels", ir.Show(v.Name))
	}
	probabilities := v.Def != nil && v.Def.Op == "Softmax"
	for i := range rows {
		row, class := values[i*classes:(i+1)*classes], labels[i]
		if class < 0 || class >= int64(classes) {
			return nil, fmt.Errorf("label %d; output %s has classes 0 to %d", class, ir.Show(v.Name), classes-1)
		}
		best := 0
		for c, x := range row {
			if x > row[best] {
				best = c
			}
		}
		if int64(best) == class {
			t.right++
		}
		if probabilities {
			t.sum -= scalar.Log(max(row[class], leastProbability))
		} else {
			t.sum += crossEntropy(row, row[class], row[best])
		}
	}
	t.rows += int64(rows)
	if math.IsNaN(t.sum) || math.IsInf(t.sum, 0) {
		return nil, fmt.Errorf("output %s has values that are not finite on these inputs", ir.Show(v.Name))
	}
	return labels[rows:], nil
}

// crossEntropy is the logarithm of the sum of all exponentials, less the class's logit.
func crossEntropy(row []float64, x, most float64) float64 {
	sum := 0.0
	for _, y := range row {
		sum += scalar.Exp(y - most)
	}
	return most - x + scalar.Log(sum)
}
