package fold

import "rules_dnn/gen/ir/te"

// computes reports whether the stages do more than move elements, of which each bit stays.
func computes(stages []*te.Stage) bool {
	for _, s := range stages {
		exprs := s.Exprs()
		if s.Combine != nil {
			exprs = append(append(exprs, s.Combine.Init...), s.Combine.Join...)
		}
		if s.Update != nil {
			exprs = append(exprs, s.Update.Join)
		}
		for _, e := range exprs {
			found := false
			te.Walk(e, func(x te.Expr) {
				c, ok := x.(te.Call)
				found = found || ok && c.Fn != "select" && c.Fn != "bits"
			})
			if found {
				return true
			}
		}
	}
	return false
}
