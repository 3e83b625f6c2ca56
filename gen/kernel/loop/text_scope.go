package loop

// scope is what names mean, as text is written and read: the innermost block's first, and of blocks that have ended the last.
// So the text of a kernel that uses a name out of its block says what was meant, for Verify to refuse.
type scope[T any] struct {
	open map[string][]T
	gone map[string]T
	here [][]string // of each open block
}

func newScope[T any]() *scope[T] {
	return &scope[T]{open: map[string][]T{}, gone: map[string]T{}, here: [][]string{nil}}
}

func (s *scope[T]) declare(name string, what T) {
	s.open[name] = append(s.open[name], what)
	s.here[len(s.here)-1] = append(s.here[len(s.here)-1], name)
}

func (s *scope[T]) enter() { s.here = append(s.here, nil) }

func (s *scope[T]) leave() {
	last := len(s.here) - 1
	for _, n := range s.here[last] {
		all := s.open[n]
		s.gone[n], s.open[n] = all[len(all)-1], all[:len(all)-1]
	}
	s.here = s.here[:last]
}

func (s *scope[T]) find(name string) (T, bool) {
	if all := s.open[name]; len(all) > 0 {
		return all[len(all)-1], true
	}
	what, ok := s.gone[name]
	return what, ok
}
