package ir

import "fmt"

// Names gives values names that no other has.
type Names struct{ taken map[string]bool }

// Take notes the names of values; nil ones have none.
func (n *Names) Take(vs ...*Value) {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	for _, v := range vs {
		if v != nil {
			n.taken[v.Name] = true
		}
	}
}

// Name is base, or base with a number where that name is taken.
func (n *Names) Name(base string) string {
	name := base
	for i := 1; n.taken[name]; i++ {
		name = fmt.Sprintf("%s.%d", base, i)
	}
	n.Take(&Value{Name: name})
	return name
}
