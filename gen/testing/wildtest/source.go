// Package wildtest makes graphs of arbitrary nodes from bytes, for fuzz tests: operators of the
// table with operands, attributes and shapes that are often wrong, absurd or huge.
//
// Only tests import this package.
package wildtest

// Source makes choices from bytes: the same bytes, the same choices. When they end, every choice
// is the first, so that fewer bytes make less.
type Source struct{ data []byte }

// NewSource makes choices from data.
func NewSource(data []byte) *Source { return &Source{data} }

// Empty reports whether no bytes are left.
func (s *Source) Empty() bool { return len(s.data) == 0 }

func (s *Source) byte() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// N is a number below n.
func (s *Source) N(n int) int {
	x := s.byte()
	if n > 256 {
		x |= s.byte() << 8
	}
	return x % n
}

// Rarely is true once in n times.
func (s *Source) Rarely(n int) bool { return s.N(n) == n-1 }

// Among is one of a list.
func Among[T any](s *Source, list []T) T { return list[s.N(len(list))] }

// Rest takes the bytes that are left.
func (s *Source) Rest() []byte {
	b := s.data
	s.data = nil
	return b
}
