package quant

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text is the report as a table.
func (r *Report) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "node\toperator\ttype\tscale\tzero point\tSQNR, dB\talone, dB")
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprintf("%.1f", *x)
	}
	for _, n := range r.Nodes {
		switch {
		case n.Float != "":
			fmt.Fprintf(w, "%s\t%s\tfloat\t%s\n", n.Name, n.Op, n.Float)
		case n.WeightBits > 0:
			fmt.Fprintf(w, "%s\t%s\tweights of %d bits\t\t\t%s\t%s\n", n.Name, n.Op, n.WeightBits, number(n.SQNR), number(n.Alone))
		case n.Type == "":
			fmt.Fprintf(w, "%s\t%s\twith the next\t\t\t\t%s\n", n.Name, n.Op, number(n.Alone))
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\t%.3g\t%d\t%s\t%s\n", n.Name, n.Op, n.Type, n.Scale, n.ZeroPoint, number(n.SQNR), number(n.Alone))
		}
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	for _, o := range r.Outputs {
		if o.SQNR == nil {
			fmt.Fprintf(&b, "output %s: of another size than the float model's on some input\n", o.Name)
			continue
		}
		fmt.Fprintf(&b, "output %s: SQNR %.1f dB\n", o.Name, *o.SQNR)
	}
	if a := r.Accuracy; a != nil {
		fmt.Fprintf(&b, "accuracy on %d inputs: %.2f %% float, %.2f %% quantized\n", a.Inputs, 100*a.Float, 100*a.Quantized)
	}
	return b.String()
}
