package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// observe tells who observes the run what a call computed, when all its tasks are done. The device's values are there when a transfer has brought
// them, and until then told without an address.
func (h *host) observe(number int, c *plan.Call) {
	var results []*ir.Value
	for i, v := range c.Args {
		if c.Kernel.Buffers[i].Write {
			results = append(results, v)
		}
	}
	h.tell(number, c.Kernel.Anchor, c.Block.Label(), results)
}

// observeTransfer tells of a value that was brought from the device as a whole.
func (h *host) observeTransfer(t *plan.Transfer) {
	v := t.To.Value
	if h.p.Space(v) == layout.Host && t.To.At.Is(0) && t.To.Bytes.Equal(h.p.Bytes(v)) {
		h.tell(-1, "transfer", "transfer from the device", []*ir.Value{v})
	}
}

func (h *host) tell(number int, kernel, nodes string, values []*ir.Value) {
	if !h.observes || len(values) == 0 {
		return
	}
	h.block("if (rules_dnn::Observes(c))", func() {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = h.observed(i, v)
		}
		h.line("const rules_dnn::Value values[] = {%s};", strings.Join(texts, ", "))
		h.line("rules_dnn::TellObserver(c, {%d, %s, %s}, values, %d);", number, ctext.String(kernel), ctext.String(nodes), len(values))
	})
}

// observed declares the dimensions and parts of a value, and returns its initializer.
func (h *host) observed(i int, v *ir.Value) string {
	l, rank := h.p.Layouts[v], len(v.Shape)
	dims, parts := "nullptr", "nullptr"
	if rank > 0 {
		dims, parts = fmt.Sprintf("dims%d", i), fmt.Sprintf("parts%d", i)
		h.line("const int64_t %s[] = {%s};", dims, h.list(v.Shape))
		h.line("const rules_dnn::ValuePart %s[] = {%s};", parts, h.parts(l, v.Shape))
	}
	address := "nullptr"
	if h.p.Space(v) == layout.Host {
		address = h.address(v, Storage(v.Type))
	}
	return fmt.Sprintf("{%s, \"%s\", %d, %d, %s, %s, %s, %s, %d}", ctext.String(v.Name), v.Type, v.Type.Size(), rank, dims, ctext.String(l.String()), address,
		parts, len(layout.PartsOf(l, rank)))
}

func (h *host) list(shape ir.Shape) string {
	out := make([]string, len(shape))
	for i, d := range shape {
		out[i] = h.number(d)
	}
	return strings.Join(out, ", ")
}

func (h *host) parts(l layout.Layout, shape ir.Shape) string {
	all := layout.PartsOf(l, len(shape))
	extents := all.Dims(shape)
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = fmt.Sprintf("{%d, %s, %d, %s}", x.Axis, h.number(sym.Const(all.Within(i))), x.Size, h.number(extents[i]))
	}
	return strings.Join(out, ", ")
}
