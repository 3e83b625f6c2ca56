package product

import "rules_dnn/gen/kernel/layout"

// groupsApart is how many columns of packed weights lie together, a tile's, with all that is summed; 0: all of them. Where they lie beside all others, what a
// tile reads of each point of the sum is far from the next: in few sets of the caches, which do not hold it then, and soon on a page of its own. Processors that
// find by themselves what is read next were not measured: there variants of a library share weights, whatever their tiles.
func (l *plan) groupsApart(k *packing) int64 {
	if k.columns < 0 || l.beside || len(k.along) > 0 || !l.apart {
		return 0
	}
	n, known := k.Axes[k.columns].Extent.Const()
	if !known || n <= l.width {
		return 0
	}
	return l.width
}

// grouped are the parts of what is packed in groups of so many columns.
func (k *packing) grouped(width int64) layout.Parts {
	out := layout.Parts{{Axis: k.columns}}
	for i := range k.Axes {
		part := layout.Part{Axis: i}
		if i == k.columns {
			part.Size = width
		}
		out = append(out, part)
	}
	return out
}

// inGroups stores row-major data in groups of columns, so many bytes of a group's columns by themselves.
func inGroups(to, from []byte, dims []int64, columns, bytes int) {
	before, run := 1, bytes
	for i, n := range dims {
		switch {
		case i < columns:
			before *= int(n)
		case i > columns:
			run *= int(n)
		}
	}
	groups := len(from) / before / run
	for i := range before {
		for g := range groups {
			copy(to[(g*before+i)*run:][:run], from[(i*groups+g)*run:])
		}
	}
}
