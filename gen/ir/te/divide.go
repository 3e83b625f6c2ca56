package te

// Divides reports whether a call divides integers by what may be 0, which is anything but a literal of
// another number: where it is 0 in an element that is computed, the run fails.
func (x Call) Divides() bool {
	switch x.Fn {
	case "div", "mod", "fmod":
		return x.Type.IsInteger() && !nonzero(x.Args[1])
	}
	return false
}

func nonzero(e Expr) bool {
	c, ok := e.(Const)
	return ok && c.Bits<<(64-8*c.Type.Size()) != 0
}
