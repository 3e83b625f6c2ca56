package ops

import (
	"slices"

	"rules_dnn/gen/ir/te"
)

// additive are the functions that give sums of their operands, up to signs and roundings.
var additive = []string{"add", "sub", "neg", "cast", "narrow"}

// OnlyAdds reports whether all results are sums or differences of elements of several operands, or elements chosen of them by the values of another
// operand.
func OnlyAdds(m *Meaning) bool {
	several := false
	for _, s := range m.Stages {
		if s.Combine != nil || s.Update != nil || !every(s.Results, addsOnly) {
			return false
		}
		for _, e := range s.Results {
			several = several || len(sources(e)) > 1
		}
	}
	return m.Call == nil && several
}

// addsOnly is OnlyAdds of an expression, which may load of one operand.
func addsOnly(e te.Expr) bool {
	switch x := e.(type) {
	case te.Load:
		return len(x.Guard) == 0 // in the place of what is not there is something else
	case te.Call:
		if x.Fn == "select" {
			by := sources(x.Args[0])
			chosen := func(e te.Expr) bool {
				return addsOnly(e) && !slices.ContainsFunc(sources(e), func(s te.Source) bool { return slices.Contains(by, s) })
			}
			return every(x.Args[1:], chosen)
		}
		return slices.Contains(additive, x.Fn) && every(x.Args, addsOnly)
	}
	return false
}

// sources are what an expression loads of.
func sources(e te.Expr) (out []te.Source) {
	te.Walk(e, func(e te.Expr) {
		if l, is := e.(te.Load); is && !slices.Contains(out, l.Source) {
			out = append(out, l.Source)
		}
	})
	return out
}
