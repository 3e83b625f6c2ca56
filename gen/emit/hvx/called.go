package hvx

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"rules_dnn/gen/emit/hvx/packed"
)

// Calls of functions whose names say what they do.
var (
	linesCall = regexp.MustCompile(`\bdnn_hvx_lines_\w+`)
	rowsCall  = regexp.MustCompile(`\bdnn_hvx_rows_\w+`)
)

// called prints the functions that kernels with such bodies call.
func called[F any](call *regexp.Regexp, bodies string, parse func(string) (F, error), print func(F) string) string {
	names := map[string]bool{}
	for _, n := range call.FindAllString(bodies, -1) {
		names[n] = true
	}
	text := ""
	for _, n := range slices.Sorted(maps.Keys(names)) {
		f, err := parse(n)
		if err != nil {
			panic(err) // this package has written it
		}
		text += print(f) + "\n"
	}
	return text
}

// linesHead is the signature of such a function.
func linesHead(kind string, l packed.Lines) string {
	text := fmt.Sprintf("%s void %s(const uint8_t* from, uint8_t* to", kind, l.Name())
	if l.Masked {
		for i := range l.Parts() {
			text += fmt.Sprintf(", HVX_Vector keep%d, HVX_Vector fill%d", i, i)
		}
	}
	return text + ")"
}

// linesInC prints it in C.
func linesInC(l packed.Lines) string {
	w := &writer{}
	w.Block(linesHead("DNN_HVX_LEAF", l), func() {
		w.Block(fmt.Sprintf("for (int32_t i = 0; i < %d; ++i, from += %d, to += %d)", l.Groups, l.GroupStep, l.ToStep), func() {
			for r := range int64(fourLines) {
				w.line("const HVX_Vector l%d = dnn_hvx_load_any(from + %d);", r, r*l.LineStep)
			}
			for i, name := range []string{"a", "b"} {
				two := fmt.Sprintf("l%d, l%d", 2*i+1, 2*i)
				if l.Stride == 2 {
					w.line("const HVX_Vector %s = Q6_Vb_vshuffe_VbVb(%s);", name, two)
				} else {
					w.line("const HVX_Vector %s = Q6_V_lo_W(Q6_W_vshuff_VVR(%s, -1));", name, two)
				}
			}
			w.line("const HVX_VectorPair all = Q6_W_vshuff_VVR(b, a, -2);")
			for i := range l.Parts() {
				text := fmt.Sprintf("Q6_V_%s_W(all)", []string{"lo", "hi"}[i])
				if l.Masked {
					text = fmt.Sprintf("Q6_V_vor_VV(Q6_V_vand_VV(%s, keep%d), fill%d)", text, i, i)
				}
				w.line("const HVX_Vector p%d = %s;", i, text)
			}
			store := "dnn_hvx_store_any"
			if l.Aligned {
				store = "dnn_hvx_store"
			}
			w.line("%s(to, p0);", store)
			tail := l.Stored() % bytesWide
			switch {
			case tail > 0:
				w.line("dnn_hvx_store_any(to + %d, Q6_V_valign_VVR(p1, p0, %d));", tail, tail)
			case l.Parts() > 1:
				w.line("%s(to + %d, p1);", store, bytesWide)
			}
		})
	})
	return w.String()
}

// linesPacked prints it in packets for a version of Hexagon, or in C with the reason.
func linesPacked(l packed.Lines, version int) string {
	k, err := l.Packets(version)
	if err != nil {
		return fmt.Sprintf("// In C: %s.\n", err) + linesInC(l)
	}
	w := &writer{}
	w.line("// A group takes %d packets; slots and units allow %d.", k.Interval, k.Bound)
	w.Block(linesHead("DNN_HVX_PACKETS", l), func() { w.assembly(k.Program) })
	return w.String()
}

// rowsHead is the signature of such a function: it is given accumulators, the first row's place, how many lanes there are, and what rows are multiplied by,
// and gives the least fractions.
func rowsHead(kind string, r packed.Rows) string {
	return kind + fmt.Sprintf(" HVX_Vector %s(const int32_t* from, uint8_t* to, int32_t n, const dnn_hvx_rows* rows)", r.Name())
}

// rowsInC prints it in C.
func rowsInC(r packed.Rows) string {
	w := &writer{}
	w.Block(rowsHead("DNN_HVX_LEAF", r), func() {
		w.line("HVX_Vector nearest = Q6_V_vsplat_R(0x7fffffff);")
		w.Block(fmt.Sprintf("for (int32_t i = 0; i < %d; ++i, from += %d, to += %d)", r.Rows, r.From/4, r.To), func() {
			parts := r.Lanes / lanes
			for v := range parts {
				w.line("const HVX_Vector w%d = dnn_hvx_row(dnn_hvx_load(from + %d), rows, i, %d, &nearest);", v, lanes*v, r.Start())
			}
			word := func(i int64) string { return fmt.Sprintf("w%d", min(i, parts-1)) }
			w.line("const HVX_Vector a = Q6_Vh_vpack_VwVw_sat(%s, %s);", word(1), word(0))
			b := "a"
			if parts > 2 {
				b = fmt.Sprintf("Q6_Vh_vpack_VwVw_sat(%s, %s)", word(3), word(2))
			}
			typ, least, most := "ub", int64(0), int64(255)
			if r.Signed {
				typ, least, most = "b", -128, 127
			}
			text := fmt.Sprintf("Q6_V%s_vpack_VhVh_sat(%s, a)", typ, b)
			if r.Least > least {
				text = fmt.Sprintf("Q6_V%s_vmax_V%sV%s(%s, Q6_Vb_vsplat_R(%d))", typ, typ, typ, text, r.Least)
			}
			if r.Most < most {
				text = fmt.Sprintf("Q6_V%s_vmin_V%sV%s(%s, Q6_Vb_vsplat_R(%d))", typ, typ, typ, text, r.Most)
			}
			w.line("dnn_hvx_store_row(to, %s, n);", text)
		})
		w.line("return nearest;")
	})
	return w.String()
}

// rowsPacked prints it in packets for a version of Hexagon, or in C with the reason.
func rowsPacked(r packed.Rows, version int) string {
	k, err := r.Packets(version)
	if err != nil {
		return fmt.Sprintf("// In C: %s.\n", err) + rowsInC(r)
	}
	w := &writer{}
	w.line("// A row takes %d packets; slots and units allow %d.", k.Interval, k.Bound)
	w.Block(rowsHead("DNN_HVX_PACKETS", r), func() { w.assembly(k.Program) })
	return w.String()
}
