package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// row is a line of the table.
type row struct{ tried, refused, right, status, wrong int }

func (r *row) add(a *attempt) {
	r.tried++
	switch {
	case len(a.wrong) > 0:
		r.wrong++
	case a.refused != nil:
		r.refused++
	case a.statuses > 0:
		r.status++
	default:
		r.right++
	}
}

func (r *row) line(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, r.tried, r.refused, r.right, r.status, r.wrong)
}

// table is what came of the cases, by class, and the reasons for what is wrong.
func table(list []*attempt) string {
	var b strings.Builder
	b.WriteString("| class | tried | refused clearly | right | status | wrong |\n| --- | --- | --- | --- | --- | --- |\n")
	all := &row{}
	for _, class := range Classes() {
		r := &row{}
		for _, a := range list {
			if a.Class == class {
				r.add(a)
				all.add(a)
			}
		}
		if r.tried > 0 {
			b.WriteString(r.line(class))
		}
	}
	b.WriteString(all.line("all"))
	slowest := slices.Clone(list)
	slices.SortStableFunc(slowest, func(a, b *attempt) int { return int(b.took - a.took) })
	for _, a := range slowest[:min(3, len(slowest))] {
		fmt.Fprintf(&b, "most time: %s, %v of dnnc\n", a.label(), a.took)
	}
	return b.String()
}
