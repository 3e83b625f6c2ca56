package fold

import (
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

// hostDependent tells whether the stages call a function that may differ between build hosts.
func hostDependent(stages []*te.Stage) bool {
	return calls(stages, func(c te.Call) bool {
		row := scalar.Lookup(c.Fn)
		return row != nil && row.HostDependent(c.Type)
	})
}

// computes tells whether the stages do more than move elements, of which each bit stays.
func computes(stages []*te.Stage) bool {
	return calls(stages, func(c te.Call) bool { return c.Fn != "select" && c.Fn != "bits" })
}

// calls tells whether any call in the stages is one that f wants.
func calls(stages []*te.Stage, f func(te.Call) bool) bool {
	found := false
	for _, s := range stages {
		exprs := s.Exprs()
		if s.Combine != nil {
			exprs = append(append(exprs, s.Combine.Init...), s.Combine.Join...)
		}
		if s.Update != nil {
			exprs = append(exprs, s.Update.Join)
		}
		for _, e := range exprs {
			te.Walk(e, func(x te.Expr) {
				c, ok := x.(te.Call)
				found = found || ok && f(c)
			})
		}
	}
	return found
}
