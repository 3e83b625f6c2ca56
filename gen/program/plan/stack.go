package plan

import (
	"cmp"
	"slices"

	"rules_dnn/gen/ir/sym"
)

// stack packs values as they are large at the arena's sizes, and keeps of the packing what lies above what: a value
// begins where the last of those below it that live when it does ends, whatever the symbols' values.
type stack struct {
	ivs   []*interval
	boxes []*box
	at    []sym.Expr // offsets of the values
	text  int        // bytes of these as text
	bytes sym.Expr
	large int64 // bytes at the arena's sizes
}

// What offsets take to compute and to read is bounded: bytes of one's text, and of all.
const (
	longText = 32 << 10
	allText  = 64 << 10
)

// maxAbove is how many pairs of values may live at one time, of which one lies above the other.
const maxAbove = 1 << 16

// newStack is nil where offsets become too long.
func (a *arena) newStack(ivs []*interval) *stack {
	s := &stack{ivs: ivs, at: make([]sym.Expr, len(ivs)), bytes: sym.Const(0)}
	order := make([]int, len(ivs))
	for i, iv := range ivs {
		order[i] = i
		s.boxes = append(s.boxes, &box{first: iv.first, last: iv.last, size: a.large(iv.bytes)})
	}
	if _, few := neighbours(s.boxes, maxAbove); !few {
		return nil
	}
	s.large = pack(s.boxes)
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Or(cmp.Compare(s.boxes[i].offset, s.boxes[k].offset), cmp.Compare(s.boxes[i].size, s.boxes[k].size))
	})
	covered := make([]bool, len(ivs))
	below := make([][]int, len(ivs)) // of each value those that live when it does, in their order
	for n, i := range order {
		for _, k := range order[:n] {
			if s.boxes[i].overlaps(s.boxes[k]) {
				below[i] = append(below[i], k)
			}
		}
		s.at[i] = sym.Const(0)
		for _, k := range s.supports(below, i) {
			covered[k] = covered[k] || nonNegative(ivs[i].bytes)
			s.at[i] = sym.Max(s.at[i], s.end(k), a.facts)
		}
		if !s.readable(s.at[i]) {
			return nil
		}
	}
	for _, i := range order {
		if !covered[i] {
			s.bytes = sym.Max(s.bytes, s.end(i), a.facts)
		}
	}
	if !s.readable(s.bytes) {
		return nil
	}
	return s
}

// readable counts the text of an offset.
func (s *stack) readable(e sym.Expr) bool {
	if e.Overflow() {
		return false
	}
	n := len(e.String())
	s.text += n
	return n <= longText && s.text <= allText
}

func (s *stack) end(i int) sym.Expr { return sym.Add(s.at[i], s.ivs[i].bytes) }

// supports are those below a value that are not below another one of them.
func (s *stack) supports(below [][]int, i int) []int {
	var out []int
	for _, k := range below[i] {
		implied := slices.ContainsFunc(below[i], func(o int) bool {
			return slices.Contains(below[o], k) && nonNegative(s.ivs[o].bytes)
		})
		if !implied {
			out = append(out, k)
		}
	}
	return out
}

func nonNegative(e sym.Expr) bool {
	terms, c := e.Terms()
	return eachNonNegative(terms, c)
}
