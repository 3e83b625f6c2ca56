package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/cexpr"
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
)

// symbolNames are symbols, then counters, in the order of the run's context.
func symbolNames(p *plan.Program) func(string) string {
	at := map[string]int{}
	for _, s := range p.Symbols {
		at[s.Name] = len(at)
	}
	for _, c := range p.Counters {
		at[c.Name] = len(at)
	}
	return func(n string) string { return fmt.Sprintf("c->sym[%d]", at[n]) }
}

// host prints the host program.
type host struct {
	writer
	p      *plan.Program
	syms   func(string) string
	blocks int // calls so far
	// variants are the calls of each, where there are several.
	variants [][]*plan.Call
	devices  *devices // what launches need
	observes bool     // the program tells what blocks compute
}

func (h *host) steps(steps []plan.Step) {
	for _, s := range steps {
		switch {
		case s.Call != nil:
			for _, n := range s.Kernel.Sets {
				h.line("%s = %s;", h.syms(n), h.number(h.p.Greatest(n)))
			}
			h.parallel(s.Call)
			number := h.blocks
			h.blocks++
			if h.refuses(s.Call) {
				h.line("if (*c->bad_index != 0) return dnn_refuse(c, dnn_status::kBadValue, %s);", ctext.String(s.Block.Model()))
			}
			for i, n := range s.Kernel.Sets {
				if lo := h.p.Facts[n].Lo; lo > s.Block.Call.Computes[i].Lo { // the user's bound
					h.line("if (%s < %d) return dnn_refuse(c, dnn_status::kBadValue, %s);", h.syms(n), lo, ctext.String(s.Block.Model()))
				}
			}
			h.observe(number, s.Call)
		case s.Launch != nil:
			h.launch(s.Launch)
			h.observe(h.devices.blocks[s.Launch], s.Launch.Call)
		case s.Transfer != nil:
			h.transfer(s.Transfer)
			h.observeTransfer(s.Transfer)
		case s.Copy != nil:
			h.copy(s.Copy)
		case s.Carry != nil:
			h.carry(s.Carry)
		case s.Check != nil:
			h.line("// %s", ctext.Comment(s.Check.String()))
			h.line("if (!(%s)) return dnn_refuse(c, dnn_status::%s, %s);", h.condition(s.Check.Check), h.refusal(s.Check), ctext.String(s.Check.String()))
		case s.Set != nil:
			h.line("%s = %s;", h.syms(s.Set.Name), h.number(s.Set.Value))
		case s.Choose != nil:
			h.choose(s.Choose)
		case s.If != nil:
			h.line("// %s", ctext.Comment(s.If.Label))
			h.line("if (%s) {", h.element(s.If.Cond))
			h.indented(s.If.Then)
			h.line("} else {")
			h.indented(s.If.Else)
			h.line("}")
		default:
			h.loop(s.Loop)
		}
	}
}

// refusal is the status of dimensions that do not fit: the caller's, or such as an operator computed
// of the inputs' values.
func (h *host) refusal(c *block.Check) string {
	for _, s := range h.p.Symbols {
		if s.Computed && (c.A.Uses(s.Name) || c.B.Uses(s.Name)) {
			return "kBadValue"
		}
	}
	return "kBadDims"
}

func (h *host) indented(steps []plan.Step) {
	h.Indent++
	h.steps(steps)
	h.Indent--
}

// copy copies as many bytes as the source has: of a value that is carried, the target's shape is that after.
func (h *host) copy(s *plan.Copy) {
	h.line("dnn_copy(%s, %s, %s);", h.address(s.To, "uint8_t"), h.address(s.From, "uint8_t"), h.bytes(s.From))
}

// carry sets symbols after all else: their values, the sizes and what else is in the statement speak of
// those before.
func (h *host) carry(s *plan.Carry) {
	h.line("{")
	h.Indent++
	for i, x := range s.Sets {
		h.line("const int64_t next%d = %s;", i, h.number(x.Value))
	}
	for i, x := range s.Sets {
		wrong := fmt.Sprintf("next%d < %d || next%d > %s", i, h.p.Facts[x.Name].Lo, i, h.number(h.p.Greatest(x.Name)))
		if x.Once != "" {
			wrong += fmt.Sprintf(" || (%s > 0 && next%d != %s)", x.Once, i, h.syms(x.Name))
		}
		h.line("if (%s) return dnn_refuse(c, dnn_status::kBadValue, %s);", wrong, ctext.String(s.Label))
	}
	for i := range s.Copies {
		h.copy(&s.Copies[i])
	}
	for i, x := range s.Sets {
		h.line("%s = next%d;", h.syms(x.Name), i)
	}
	h.Indent--
	h.line("}")
}

// loop counts in a local variable: what the loop's blocks read of the context is its copy.
func (h *host) loop(s *plan.Loop) {
	h.line("// %s", ctext.Comment(s.Label))
	last := h.number(s.Trips)
	if s.Max != nil {
		last = fmt.Sprintf("dnn_min(%s, %s)", last, h.element(s.Max))
	}
	if s.Made != "" {
		h.line("%s = 0;", h.syms(s.Made))
	}
	h.line("for (int64_t %s = 0, %s_end = %s; %s < %s_end; ++%s) {", s.Counter, s.Counter, last, s.Counter, s.Counter, s.Counter)
	if s.While != nil {
		h.line("  if (!%s) break;", h.element(s.While))
	}
	if s.Made != "" { // there is memory for so many
		h.line("  if (%s >= %s) return dnn_refuse(c, dnn_status::kBadValue, %s);", s.Counter, h.number(h.p.Greatest(s.Made)), ctext.String(s.Label))
	}
	h.line("  %s = %s;", h.syms(s.Counter), s.Counter)
	h.indented(s.Body)
	if s.Made != "" {
		h.line("  %s = %s + 1;", h.syms(s.Made), s.Counter)
	}
	h.line("}")
}

func (h *host) number(e sym.Expr) string { return strip(cexpr.Under(e, h.syms, h.p.Facts)) }

// bytes is the size of a row-major value.
func (h *host) bytes(v *ir.Value) string {
	return h.number(sym.Scale(h.p.Layouts[v].Elements(v.Shape), int64(v.Type.Size())))
}

// element is the only element of a value.
func (h *host) element(v *ir.Value) string { return "*" + h.address(v, Storage(v.Type)) }

func (h *host) condition(c ops.Check) string {
	a, b := "("+h.number(c.A)+")", "("+h.number(c.B)+")"
	switch c.Kind {
	case ops.Broadcastable:
		return fmt.Sprintf("%s == %s || (%s == 1 && %s >= 0) || (%s == 1 && %s >= 0)", a, b, a, b, b, a)
	case ops.AtLeast:
		return a + " >= " + b
	}
	return a + " == " + b
}

// call calls a kernel for some of its tasks.
func (h *host) call(s *plan.Call, name string) {
	var args []string
	for i, v := range s.Args {
		args = append(args, h.address(v, Storage(s.Kernel.Buffers[i].Type)))
	}
	for _, n := range s.Kernel.Syms {
		args = append(args, h.syms(n))
	}
	offsets, _ := s.Scratch()
	for i, b := range s.Kernel.Scratch {
		args = append(args, fmt.Sprintf("reinterpret_cast<%s*>(c->scratch(worker) + %s)", Storage(b.Type), cexpr.Expr(offsets[i], h.syms)))
	}
	if len(s.Kernel.Scratch) == 0 {
		h.line("(void)worker;")
	}
	for _, n := range s.Kernel.Sets {
		args = append(args, "&"+h.syms(n))
	}
	if loop.Refuses(s.Kernel.Body) {
		args = append(args, "c->bad_index")
	}
	h.line("%s(%s, first, last);", name, strings.Join(args, ", "))
}

// address is where a value lies, as a pointer to elements of type t.
func (h *host) address(v *ir.Value, t string) string {
	at := h.p.Places[v]
	offset := cexpr.Expr(at.Offset, h.syms)
	switch at.Region {
	case plan.Input:
		return within("const ", fmt.Sprintf("c->in[%d]", at.N), t, at.Offset, offset)
	case plan.Output:
		return within("", fmt.Sprintf("c->out[%d]", at.N), t, at.Offset, offset)
	case plan.Weights:
		return fmt.Sprintf("reinterpret_cast<const %s*>(c->weights + %s)", t, offset)
	}
	return fmt.Sprintf("reinterpret_cast<%s*>(c->arena + %s)", t, offset)
}

// within is an address in a caller's buffer.
func within(constant, buffer, t string, at sym.Expr, offset string) string {
	if at.Is(0) {
		return fmt.Sprintf("static_cast<%s%s*>(%s)", constant, t, buffer)
	}
	return fmt.Sprintf("reinterpret_cast<%s%s*>(static_cast<%suint8_t*>(%s) + %s)", constant, t, constant, buffer, offset)
}
