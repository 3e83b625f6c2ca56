package train

// Accuracy is the share of images whose class has the greatest logit, the first of several. So many images run together.
func (n *Network) Accuracy(d Data, together int64, workers int) (float64, error) {
	size := int(min(together, int64(d.Len())))
	if size == 0 {
		return 0, nil
	}
	all := (d.Len() + size - 1) / size
	right := make([]int, all)
	for _, images := range []int{size, d.Len() - (all-1)*size} {
		if _, err := n.stepFor(int64(images), softened{}, false); err != nil {
			return 0, err
		}
	}
	err := sideBySide(all, workers, func(k, inner int) error {
		which := make([]int, min(size, d.Len()-k*size))
		for i := range which {
			which[i] = k*size + i
		}
		var err error
		right[k], err = n.right(d, which, inner)
		return err
	})
	sum := 0
	for _, x := range right {
		sum += x
	}
	return float64(sum) / float64(d.Len()), err
}

// right is how many of the images' classes have the greatest logit.
func (n *Network) right(d Data, which []int, workers int) (int, error) {
	b := n.NewBatch(int64(len(which)))
	if err := n.fill(b, d, which, 0, nil); err != nil {
		return 0, err
	}
	out, err := n.run(b, softened{}, false, workers)
	if err != nil {
		return 0, err
	}
	defer out.done()
	right, targets := 0, f32(b.Targets)
	for k := range which {
		row := out.logits[k*int(n.Classes) : (k+1)*int(n.Classes)]
		best := 0
		for c, x := range row {
			if x > row[best] {
				best = c
			}
		}
		if targets[k*int(n.Classes)+best] == 1 {
			right++
		}
	}
	return right, nil
}
