package sched

import (
	"cmp"
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
)

// Life is a value of a loop's iteration: its register is taken from the packet after Begin to End, at most an interval later. Wide ones are pairs.
type Life struct {
	Begin, End int
	Wide       bool
}

// Assign gives the lives of a loop's values registers, each one for all iterations, or reports that there are not enough. Registers are
// given in the order in which they are to be taken; a pair is two neighbours of the list, the first of an even place.
func Assign(lives []Life, interval int, registers []int64) ([]int64, bool) {
	taken := make([][]bool, len(registers)) // by register and packet of the loop
	for i := range taken {
		taken[i] = make([]bool, interval)
	}
	order := make([]int, len(lives))
	for i := range order {
		order[i] = i
	}
	// Those that the loop's end cuts in two come first, the longest of them at first; then by their begin.
	cut := func(l Life) bool { return l.Begin/interval != l.End/interval }
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := lives[a], lives[b]
		if cut(x) != cut(y) {
			if cut(x) {
				return -1
			}
			return 1
		}
		return cmp.Or(boolFirst(x.Wide, y.Wide), cmp.Compare(x.Begin%interval, y.Begin%interval), cmp.Compare(x.End-x.Begin, y.End-y.Begin))
	})
	out := make([]int64, len(lives))
	for _, n := range order {
		k := free(lives[n], interval, taken)
		if k < 0 {
			return nil, false
		}
		width := 1
		if lives[n].Wide {
			width = 2
		}
		for t := lives[n].Begin + 1; t <= max(lives[n].End, lives[n].Begin+1); t++ {
			for w := range width {
				taken[k+w][t%interval] = true
			}
		}
		out[n] = registers[k]
	}
	return out, true
}

func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// free is the first place among registers where a life fits, or -1.
func free(l Life, interval int, taken [][]bool) int {
	step, width := 1, 1
	if l.Wide {
		step, width = 2, 2
	}
	for k := 0; k+width <= len(taken); k += step {
		fits := true
		for t := l.Begin + 1; t <= max(l.End, l.Begin+1) && fits; t++ {
			for w := range width {
				fits = fits && !taken[k+w][t%interval]
			}
		}
		if fits {
			return k
		}
	}
	return -1
}

// Lives are the values of a class in the loop, and their registers: those that is says are values of an iteration. Pairs have even numbers.
func (m *Modulo) Lives(class isa.Class, is func(register int64) bool) ([]Life, []int64) {
	var lives []Life
	var of []int64
	at := map[int64]int{} // by register, and by both of a pair
	for i, x := range m.graph.insts {
		for _, w := range x.Writes(m.graph.version) {
			if _, known := at[w.Reg]; w.Class != class || known || !is(w.Reg) {
				continue
			}
			at[w.Reg] = len(lives)
			if w.Operand.Pair {
				at[w.Reg+1] = len(lives)
			}
			lives = append(lives, Life{Begin: m.Times[i], End: m.Times[i] + 1, Wide: w.Operand.Pair})
			of = append(of, w.Reg)
		}
	}
	for i, x := range m.graph.insts {
		for _, u := range x.Reads(m.graph.version) {
			if n, ok := at[u.Reg]; ok && u.Class == class {
				lives[n].End = max(lives[n].End, m.Times[i])
			}
		}
	}
	return lives, of
}
