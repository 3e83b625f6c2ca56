package cpp

import "fmt"

// blocksOf are the accumulators of a pair of rows, r and the next, for a register of W, whose first two lanes are in one and the others in the other. Of an odd number of rows
// the last one stands for both of its pair, in a block beside.
func (w *microWriter) blocksOf(r, v int64) (first, second string) {
	return accName(r, v), accName(r+1, v)
}

// pairs are the rows that blocks have: an even number.
func (w *microWriter) pairs() int64 { return w.m.Rows + w.m.Rows%2 }

// blockPoint is the products of a point in blocks of two rows and two lanes.
func (w *microWriter) blockPoint(p, xAt, wAt int64) {
	m, from := w.m, pointer("x", w.depth())
	for v := int64(0); v < m.Vectors; v++ {
		at := wAt + m.VectorAt(v)
		w.line("const %s b%d_%d = %s, c%d_%d = %s;", w.operand, p, v, w.load("w", at), p, v, w.load("w", at+m.Lanes()*m.Instr.Group/2))
	}
	for r := int64(0); r < m.Rows; r += 2 {
		w.line("const %s g%d_%d = dnn_rows<%s>(%s + %d, %s + %d);", w.operand, p, r, w.operand, from, m.RowAt(r)+xAt, from, m.RowAt(min(r+1, m.Rows-1))+xAt)
		for v := int64(0); v < m.Vectors; v++ {
			first, second := w.blocksOf(r, v)
			x := fmt.Sprintf("g%d_%d", p, r)
			w.line("%s", m.Instr.Text("cpp", first, x, fmt.Sprintf("b%d_%d", p, v)))
			w.line("%s", m.Instr.Text("cpp", second, x, fmt.Sprintf("c%d_%d", p, v)))
		}
	}
}

// storeBlocks stores the rows of blocks.
func (w *microWriter) storeBlocks() {
	m := w.m
	for r := int64(0); r < m.Rows; r++ {
		for v := int64(0); v < m.Vectors; v++ {
			first, second := w.blocksOf(r/2*2, v)
			w.line("dnn_store(acc + %d, %s(%s, %s));", (r*m.Vectors+v)*m.Lanes(), []string{"dnn_first", "dnn_second"}[r%2], first, second)
		}
	}
}
