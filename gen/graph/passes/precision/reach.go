package precision

import (
	"fmt"
	"math"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ops"
)

// headroom is how many times as large as the greatest number that samples show a value's numbers may be on other inputs. Samples are few of
// all inputs, and the greatest of few numbers is less than that of many. A factor of 2 is one bit of the exponent: f16 has as many digits
// below it, so what keeps it free loses nothing, and a value that needs it takes twice the memory. Beyond it numbers saturate.
const headroom = 2

// observe runs the graph on samples, and notes the greatest finite magnitude of each value of f32.
func (h *halves) observe(inputs []samples.Input) error {
	look := func(v *ir.Value, t *ir.Tensor) error {
		if v == nil || t == nil || v.Type != ir.F32 {
			return nil
		}
		xs, err := edit.Floats(t)
		if err != nil {
			return err
		}
		most := h.reach[v]
		for _, x := range xs {
			if x = math.Abs(x); x > most && !math.IsInf(x, 0) {
				most = x
			}
		}
		h.reach[v] = most
		return nil
	}
	for _, in := range inputs {
		for _, v := range h.g.Inputs {
			if err := look(v, in[v.Name]); err != nil {
				return err
			}
		}
		if _, err := samples.Run(h.g, in, func(n *ir.Node, _, results []*ir.Tensor) error {
			for i, v := range n.Outputs {
				if err := look(v, results[i]); err != nil {
					return n.Errorf("%w", err)
				}
			}
			return nil
		}); err != nil {
			return fmt.Errorf("on the calibration's inputs: %w", err)
		}
	}
	return nil
}

// known reports whether the greatest magnitude of a value is known, by samples or by what computes it.
func (h *halves) known(v *ir.Value) bool {
	_, seen := h.reach[v]
	_, bounded := h.spans[v]
	return seen || bounded
}

// leaves is the reason why a value's numbers are known to leave the type's range; "" if they are not.
func (h *halves) leaves(v *ir.Value) string {
	most, end := h.reach[v], scalar.Greatest(h.to)
	_, seen := h.reach[v]
	switch s, bounded := h.spans[v]; {
	case h.to != ir.F16 || v.Type != ir.F32:
		return "" // bf16 ends where f32 does
	case seen && most > end:
		return fmt.Sprintf("%s reaches %.4g on the calibration's inputs; the maximum of %s is %g", ir.Show(v.Name), most, h.to, end)
	case seen && most*headroom > end:
		return fmt.Sprintf("%s reaches %.4g on the calibration's inputs; the maximum of %s is %g, and other inputs may have numbers %d times as large", ir.Show(v.Name), most, h.to, end, headroom)
	case !seen && bounded && s.most() > end:
		return fmt.Sprintf("%s may have numbers from %.4g to %.4g; the maximum of %s is %g", ir.Show(v.Name), s.lo, s.hi, h.to, end)
	}
	return ""
}

// leave notes which inputs leave the range.
func (h *halves) leave() {
	for _, v := range h.g.Inputs {
		why := h.leaves(v)
		if why == "" {
			continue
		}
		if h.far[v] = why; h.kept[v] == "" {
			h.kept[v] = "an input: " + why
			k := Kept{"input " + ir.Show(v.Name), why}
			h.report.Far, h.report.Kept = append(h.report.Far, k), append(h.report.Kept, k)
		}
	}
}

// staysWide is the reason for which a node computes with f32 as before, "" where it may compute with 16 bits, and whether its results may be
// stored in 16 bits nevertheless. It notes which results are far: f32 that 16 bits would not hold, also where a contraction reads it.
func (h *halves) staysWide(n *ir.Node) (why string, settled bool, err error) {
	if why, settled, err = h.byOperands(n); err != nil {
		return "", false, err
	}
	beyond := ""
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if h.far[v] = h.leaves(v); h.far[v] != "" {
			beyond = h.far[v]
		}
	}
	if beyond != "" && why == "" {
		why = beyond
		h.report.Far = append(h.report.Far, Kept{n.Label(), beyond})
	}
	h.spread(n)
	return why, settled && beyond == "", nil
}

// flattens are operators that bring numbers beyond the range back to moderate size.
var flattens = map[string]bool{"Log": true, "Sqrt": true}

// spread marks results of unknown size as far: squares of what is not small, and what follows such.
func (h *halves) spread(n *ir.Node) {
	if h.to != ir.F16 {
		return
	}
	why := ""
	r, _ := ops.RangeOf(n, h.to)
	switch {
	case ops.Squares(n):
		why = "squares of numbers of unknown size"
	case (r == ops.Follows || r == ops.Weighs) && !flattens[n.Op]:
		for i, v := range n.Inputs {
			if v != nil && v.Const == nil && !(n.Op == "Div" && i == 1) && why == "" {
				why = h.far[v]
			}
		}
	}
	for _, v := range n.Outputs {
		if why != "" && v != nil && v.Type == ir.F32 && !h.known(v) {
			h.far[v] = why
		}
	}
}

// within reports whether all results of a node are known not to leave the range.
func (h *halves) within(n *ir.Node) bool {
	for _, v := range n.Outputs {
		if v != nil && v.Type == ir.F32 && (!h.known(v) || h.leaves(v) != "") {
			return false
		}
	}
	return true
}
