package hvx

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// copied prints n neighbours from one on as a vector of what is stored: bytes, or numbers of 16 bits.
type copied struct {
	w     *ckernel.Kernel
	v     string // the variable of lanes
	first sym.Expr
	n     int64
	// least and most bound the lanes that may be read, where they are given; lines come before what reads them.
	least, most string
	lines       []string
	names       int
}

// of is an expression in vectors of a type; false where there is none.
func (c *copied) of(e te.Expr, t ir.DType) (string, bool) {
	if k, ok := e.(te.Const); ok {
		return splat(t, int64(k.Bits)), true
	}
	if s, ok := e.(te.Select); ok {
		return c.guarded(s, t)
	}
	if m, ok := e.(loop.Mem); ok && m.Buf.Type == t {
		if t.Size() == 2 {
			return c.halves(m)
		}
		return c.load(m)
	}
	from := argument(e, "cast", t)
	if m, ok := from.(loop.Mem); ok && t == ir.I16 && m.Buf.Type.Size() == 1 {
		return c.halves(m)
	}
	a, z, ok := binary(from, "sub")
	n, known := literal(z)
	m, isLoad := argument(a, "cast", ir.I32).(loop.Mem)
	if !ok || !known || !isLoad || m.Buf.Type.Size() != 1 {
		return "", false
	}
	switch {
	case t == ir.I16:
		x, ok := c.halves(m)
		return fmt.Sprintf("Q6_Vh_vsub_VhVh(%s, %s)", x, splat(ir.I16, n)), ok && n == int64(int16(n))
	case t.Size() == 1 && t != m.Buf.Type && (n == 128 || n == -128): // the other bit at the top
		x, ok := c.load(m)
		return fmt.Sprintf("Q6_V_vxor_VV(%s, %s)", x, splat(ir.U8, 128)), ok
	}
	return "", false
}

// splat is a literal in all lanes.
func splat(t ir.DType, n int64) string {
	if t.Size() == 1 {
		return fmt.Sprintf("Q6_Vb_vsplat_R(%d)", n)
	}
	return fmt.Sprintf("Q6_Vh_vsplat_R(%d)", n)
}

// load reads bytes: neighbours, or every other one.
func (c *copied) load(m loop.Mem) (string, bool) {
	step, known := stepOf(m.Index, c.v, c.w.Facts())
	if !known || m.Buf.Image != nil {
		return "", false
	}
	at := c.at(m)
	switch step {
	case 1:
		return c.part(at, 0, 1, c.n), true
	case 2:
		return fmt.Sprintf("Q6_Vb_vpacke_VhVh(%s, %s)", c.part(at, bytesWide, 2, 2*c.n-1), c.part(at, 0, 2, 2*c.n-1)), true
	}
	return "", false
}

// halves reads up to 64 numbers of 16 bits, or bytes as such: neighbours, or every other one.
func (c *copied) halves(m loop.Mem) (string, bool) {
	if c.n > bytesWide/2 {
		return "", false
	}
	step, known := stepOf(m.Index, c.v, c.w.Facts())
	if !known || m.Buf.Image != nil || m.Buf.Type == ir.U16 {
		return "", false
	}
	if m.Buf.Type.Size() == 1 {
		x, ok := c.load(m)
		unpack := map[ir.DType]string{ir.U8: "Q6_Wuh_vunpack_Vub", ir.I8: "Q6_Wh_vunpack_Vb"}[m.Buf.Type]
		return fmt.Sprintf("Q6_V_lo_W(%s(%s))", unpack, x), ok && unpack != ""
	}
	at := c.at(m)
	switch {
	case c.least != "":
	case step == 1:
		return c.part(at, 0, 2, 2*c.n), true
	case step == 2:
		return fmt.Sprintf("Q6_Vh_vpacke_VwVw(%s, %s)", c.part(at, bytesWide, 4, 4*c.n-2), c.part(at, 0, 4, 4*c.n-2)), true
	}
	return "", false
}

// at is the address of the first lane.
func (c *copied) at(m loop.Mem) string {
	return fmt.Sprintf("(const uint8_t*)(%s + (%s))", m.Buf.Name, ckernel.Strip(c.w.Index(m.Index.Subst(map[string]sym.Expr{c.v: c.first}, c.w.Facts()))))
}

// part reads the vector that begins so many bytes after an address, of what has so many; lanes are so many bytes apart.
func (c *copied) part(at string, skip, apart, bytes int64) string {
	if skip > 0 {
		at = fmt.Sprintf("%s + %d", at, skip)
	}
	if c.least != "" {
		return fmt.Sprintf("dnn_hvx_load_between(%s, %d * %s - %d, %d * %s - %d)", at, apart, c.least, skip, apart, c.most, skip+apart-1)
	}
	if bytes <= skip {
		return "Q6_V_vzero()"
	}
	return fmt.Sprintf("dnn_hvx_load_part(%s, %d)", at, min(bytes-skip, bytesWide))
}

// guarded is a value where conditions hold, and a literal where they do not: each is of one line, or bounds lanes.
func (c *copied) guarded(s te.Select, t ir.DType) (string, bool) {
	other, ok := s.Else.(te.Const)
	if !ok {
		return "", false
	}
	least, most := c.least, c.most
	if least == "" {
		least, most = "0", fmt.Sprint(c.n)
	}
	own := []string{"0", fmt.Sprint(c.n)}
	for _, g := range s.Cond {
		lo, hi, ok := c.bounds(g)
		if !ok {
			return "", false
		}
		least, most = fmt.Sprintf("dnn_max(%s, %s)", least, lo), fmt.Sprintf("dnn_min(%s, %s)", most, hi)
		own[0], own[1] = fmt.Sprintf("dnn_max(%s, %s)", own[0], lo), fmt.Sprintf("dnn_min(%s, %s)", own[1], hi)
	}
	name := fmt.Sprintf("%s_b%d", c.v, c.names)
	c.names++
	c.lines = append(c.lines, fmt.Sprintf("const int32_t %s_least = %s, %s_most = %s, %s_first = %s, %s_last = %s;", name, least, name, most, name, own[0], name, own[1]))
	outer := [2]string{c.least, c.most}
	c.least, c.most = name+"_least", name+"_most"
	x, ok := c.of(s.Then, t)
	c.least, c.most = outer[0], outer[1]
	size := t.Size()
	return fmt.Sprintf("Q6_V_vmux_QVV(dnn_hvx_lanes(%d * %s_first, %d * %s_last), %s, %s)", size, name, size, name, x, splat(t, int64(other.Bits))), ok
}

// bounds are the first lane for which a condition holds and the one after the last.
func (c *copied) bounds(g te.Within) (lo, hi string, ok bool) {
	f := c.w.Facts()
	step, known := stepOf(g.E, c.v, f)
	if !known || step < 0 || step > 2 || g.Lo.Uses(c.v) || g.Hi.Uses(c.v) {
		return "", "", false
	}
	e := g.E.Subst(map[string]sym.Expr{c.v: c.first}, f)
	low, high := "("+ckernel.Strip(c.w.Index(sym.Sub(g.Lo, e)))+")", "("+ckernel.Strip(c.w.Index(sym.Sub(g.Hi, e)))+")"
	switch step {
	case 0: // all or none
		return "0", fmt.Sprintf("(%s <= 0 && %s > 0 ? %d : 0)", low, high, c.n), true
	case 2:
		return "((" + low + " + 1) >> 1)", "((" + high + " + 1) >> 1)", true
	}
	return low, high, true
}
