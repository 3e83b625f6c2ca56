package plan

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

func (t *text) launch(s *Launch, indent string) {
	fmt.Fprintf(&t.out, "launch %s\n%s  %s, tasks %s, global %s, local %s\n", s.Block.Label(), indent, s.Kernel.Anchor, s.Kernel.Tasks(), sizes(s.Global), sizes(s.Local))
	t.args(s.Call, indent)
}

// sizes are sizes of a grid: "(64, 8*N, 1)".
func sizes(by [Dims]sym.Expr) string {
	var out []string
	for _, e := range by {
		out = append(out, e.String())
	}
	return "(" + strings.Join(out, ", ") + ")"
}

func (t *text) transfer(s *Transfer, indent string) {
	fmt.Fprintf(&t.out, "transfer %s to %s\n", t.space(s.From.Value), t.space(s.To.Value))
	for _, r := range []struct {
		verb string
		Range
	}{{"reads", s.From}, {"writes", s.To}} {
		t.value(fmt.Sprintf("%s bytes %s to %s of", r.verb, r.At, sym.Add(r.At, r.Bytes)), r.Value, indent)
	}
}

func (t *text) space(v *ir.Value) layout.Space { return t.p.Space(v) }

func (t *text) choose(s *Choose, indent string) {
	fmt.Fprintf(&t.out, "choose %s\n", s.Label)
	for _, v := range s.Versions {
		fmt.Fprintf(&t.out, "%s  %s\n", indent, v.Guard)
		t.steps(v.Steps, indent+"    ")
	}
}

// String is the guard in dumps: "where N is at least 16, with avx2", or "otherwise".
func (g Guard) String() string {
	if g.Always() {
		return "otherwise"
	}
	var conditions []string
	for _, c := range g.Dims {
		conditions = append(conditions, "where "+c.Relation())
	}
	for _, f := range g.Features {
		conditions = append(conditions, "with "+f)
	}
	return strings.Join(conditions, ", ")
}
