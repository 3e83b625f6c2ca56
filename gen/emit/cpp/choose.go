package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/program/plan"
)

// choose prints the versions as the branches of an if: the last one has no condition.
func (h *host) choose(s *plan.Choose) {
	h.line("// %s", ctext.Comment(s.Label))
	for i, v := range s.Versions {
		switch {
		case i == 0 && v.Guard.Always():
			h.line("{")
		case i == 0:
			h.line("if (%s) {", h.guard(v.Guard))
		case v.Guard.Always():
			h.line("} else {")
		default:
			h.line("} else if (%s) {", h.guard(v.Guard))
		}
		h.indented(v.Steps)
	}
	h.line("}")
}

// guard is the condition of a version.
func (h *host) guard(g plan.Guard) string {
	var all []string
	for _, c := range g.Dims {
		all = append(all, "("+h.condition(c)+")")
	}
	for _, f := range g.Features {
		all = append(all, fmt.Sprintf("rules_dnn::CpuHas(%s)", ctext.String(f)))
	}
	if len(all) == 1 {
		return strip(all[0])
	}
	return strings.Join(all, " && ")
}

// asksFeatures reports whether a version asks for a processor's feature.
func asksFeatures(p *plan.Program) bool {
	found := false
	p.Walk(func(s plan.Step) {
		if s.Choose == nil {
			return
		}
		for _, v := range s.Choose.Versions {
			found = found || len(v.Guard.Features) > 0
		}
	})
	return found
}
