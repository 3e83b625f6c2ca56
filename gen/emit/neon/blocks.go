package neon

// byBlock lists the products of an instruction that computes blocks of two rows. A register of X
// has a group of both rows. W has two registers for each vector, of two lanes each. Until the sums
// are complete, the accumulator of row r has the block of the first two lanes, and that of row r+1
// the block of the others. If the number of rows is odd, the last one stands for a pair.
func (b *body) byBlock() {
	m := b.micro
	half := m.Lanes() * b.group / 2
	for _, at := range b.points {
		xs := make([]*load, (m.Rows+1)/2)
		for i := range xs {
			r := 2 * int64(i)
			xs[i] = &load{x: true, at: at.x + m.RowAt(r), bytes: 8, first: -1, paired: true, second: at.x + m.RowAt(min(r+1, m.Rows-1))}
		}
		for v := range m.Vectors {
			for h := range int64(2) {
				w := &load{at: at.w + m.VectorAt(v) + h*half, bytes: 16, first: -1}
				for i, x := range xs {
					b.products = append(b.products, product{acc: (2*int64(i)+h)*m.Vectors + v, x: x, w: w, lane: -1})
				}
			}
		}
	}
}

// unpaired reports whether the rows of a pair are so far apart that an address does not reach both.
func (b *body) unpaired() bool {
	m := b.micro
	if !m.Instr.Blocks {
		return false
	}
	for r := int64(0); r+1 < m.Rows; r += 2 {
		if !reaches(b.size*(m.RowAt(r+1)-m.RowAt(r)), 8) {
			return true
		}
	}
	return false
}

// accumulators returns the number of registers of sums.
func (b *body) accumulators() int64 {
	if b.micro.Instr.Blocks {
		return (b.micro.Rows + b.micro.Rows%2) * b.micro.Vectors
	}
	return b.micro.Rows * b.micro.Vectors
}

// rows turns blocks into rows of sums.
func (w *writer) rows() {
	m, free := w.micro, registers-1 // of W
	for r := int64(0); r < m.Rows; r += 2 {
		for v := range m.Vectors {
			first := w.firstSum + r*m.Vectors + v
			second := first + m.Vectors
			if r+1 == m.Rows {
				w.line("zip1 v%d.2d, v%d.2d, v%d.2d", first, first, second)
				continue
			}
			w.line("zip1 v%d.2d, v%d.2d, v%d.2d", free, first, second)
			w.line("zip2 v%d.2d, v%d.2d, v%d.2d", second, first, second)
			w.line("mov v%d.16b, v%d.16b", first, free)
		}
	}
}
