package loop

// Inner are the lists of statements in a statement, in their order.
func Inner(s Stmt) [][]Stmt {
	switch x := s.(type) {
	case For:
		return [][]Stmt{x.Body}
	case If:
		return [][]Stmt{x.Then, x.Else}
	}
	return nil
}

// WithInner is a statement with what f makes of each list in it.
func WithInner(s Stmt, f func([]Stmt) []Stmt) Stmt {
	switch x := s.(type) {
	case For:
		x.Body = f(x.Body)
		return x
	case If:
		x.Then, x.Else = f(x.Then), f(x.Else)
		return x
	}
	return s
}

// Walk calls f for each statement before those in it, which are left out where f is false.
func Walk(body []Stmt, f func(Stmt) bool) {
	for _, s := range body {
		if !f(s) {
			continue
		}
		for _, inner := range Inner(s) {
			Walk(inner, f)
		}
	}
}

// Any reports whether f holds for a statement; it asks no more once it does.
func Any(body []Stmt, f func(Stmt) bool) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		found = found || f(s)
		return !found
	})
	return found
}

// Map is the statements as f makes them, each after those in it. The body stays as it is.
func Map(body []Stmt, f func(Stmt) Stmt) []Stmt {
	out := make([]Stmt, len(body))
	for i, s := range body {
		out[i] = f(WithInner(s, func(inner []Stmt) []Stmt { return Map(inner, f) }))
	}
	return out
}
