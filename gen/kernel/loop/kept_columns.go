package loop

import (
	"cmp"
	"fmt"
	"slices"
)

// Column is taps of a pattern that read the same of X, each for another row or register of sums: what is loaded for row r and register v, tap i
// takes for the row From[i] and the register Across[i] before.
type Column struct {
	First        int64   // the column's first tap, in X
	Taps         []int64 // numbers of its taps in the pattern
	From, Across []int64
}

// Columns are the taps of a pattern as a sum with lanes in X loads them: what several rows or registers read is loaded once (PatDNN 2.5.4).
func (m *MicroKernel) Columns(taps []int64) []Column {
	var out []Column
	for _, n := range tapOrder(taps) {
		i, from, across := -1, int64(0), int64(0)
		for k := range out {
			if r, v, ok := m.between(taps[n] - out[k].First); ok && !m.Kept.Alone && m.Run == 0 {
				i, from, across = k, r, v
				break
			}
		}
		if i < 0 {
			i, out = len(out), append(out, Column{First: taps[n]})
		}
		c := &out[i]
		c.Taps, c.From, c.Across = append(c.Taps, int64(n)), append(c.From, from), append(c.Across, across)
	}
	return out
}

// between is how many rows and registers of X lie between two elements of it, where these are so many of a tile's that some of its sums read
// the same.
func (m *MicroKernel) between(elements int64) (rows, vectors int64, ok bool) {
	if m.RowStep <= 0 {
		return 0, 0, elements == 0
	}
	rows = (elements + m.RowStep/2) / m.RowStep
	rest := elements - rows*m.RowStep
	vectors = rest / m.Lanes()
	return rows, vectors, rest%m.Lanes() == 0 && rows < m.Rows && max(vectors, -vectors) < m.Vectors
}

// tapOrder is the numbers of taps by their places in X.
func tapOrder(taps []int64) []int {
	out := make([]int, len(taps))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(taps[a], taps[b]) })
	return out
}

// Read is a register of X that a column loads at At, and the sums that take it: each times another tap of the column's.
type Read struct {
	At   int64
	Name string // tells it from the column's others
	Sums []Taken
}

// Taken is a row and register of sums, and the tap, of the column's, by which it takes what is read.
type Taken struct{ Row, Vector, Tap int64 }

// Reads are what a column loads, in this order.
func (m *MicroKernel) Reads(c Column) []Read {
	var out []Read
	left := slices.Min(c.Across)
	m.registers(c, func(r, v int64, sums []Taken) {
		out = append(out, Read{At: c.First + r*m.RowStep + v*m.Lanes(), Name: fmt.Sprintf("%d_%d", r, v-left), Sums: slices.Clone(sums)})
	})
	return out
}

// registers gives the rows and registers of X that a column loads, each with the sums that take it, which are there until the next one.
func (m *MicroKernel) registers(c Column, each func(r, v int64, sums []Taken)) {
	var sums []Taken
	left, right := slices.Min(c.Across), slices.Max(c.Across)
	for r := range m.Rows + slices.Max(c.From) {
		for v := left; v < m.Vectors+right; v++ {
			sums = sums[:0]
			for i, from := range c.From {
				if row, vector := r-from, v-c.Across[i]; row >= 0 && row < m.Rows && vector >= 0 && vector < m.Vectors {
					sums = append(sums, Taken{row, vector, int64(i)})
				}
			}
			if len(sums) > 0 {
				each(r, v, sums)
			}
		}
	}
}

// KeptLoads is how many registers of X a kernel loads on average, where lanes are in X.
func (m *MicroKernel) KeptLoads() float64 {
	n := 0
	for _, taps := range m.Kept.Taps {
		for _, c := range m.Columns(taps) {
			m.registers(c, func(_, _ int64, _ []Taken) { n++ })
		}
	}
	return float64(n) / float64(len(m.Kept.Taps))
}

// KeptWhole reports whether all that taps read lies whole registers apart, where lanes are in X.
func (m *MicroKernel) KeptWhole() bool {
	whole := m.RowStep%m.Lanes() == 0 && m.Kept.Step%m.Lanes() == 0
	for _, taps := range m.Kept.Taps {
		whole = whole && !slices.ContainsFunc(taps, func(at int64) bool { return at%m.Lanes() != 0 })
	}
	return whole
}

// KeptRows is how many rows of X the taps of a pattern read, where lanes are in X, whatever their columns are.
func (m *MicroKernel) KeptRows(taps []int64) int64 {
	if m.RowStep <= 0 {
		return m.Rows * int64(len(taps))
	}
	seen := map[int64]bool{}
	for _, tap := range taps {
		for r := range m.Rows {
			seen[tap/m.RowStep+r] = true
		}
	}
	return int64(len(seen))
}
