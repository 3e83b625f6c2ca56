package loop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// The text form of a kernel, which Parse reads back: its parameters, then a statement a line.
//
//	kernel "contraction" {
//	  symbol N
//	  facts N 1..64, i0 0..7, task 0..511
//	  operand x f32[3072*N]
//	  operand w f32[432] const
//	  result y f32[512*N] holds
//	  scratch s i64[3*N] image [N, 3]
//	  shared t f32[64]
//	  sets K
//	  micro m0 fma_f32x8 mem 6 x 2 row 64 run 3 256 vector 16 k 3 by 64, 48 k 8 by 1, 16 prefetch_w 64 prefetch_x fetch 12
//	  grid task < 8*N
//	  index n = ((task) // (8))
//	  array acc f32[96]
//	  tile m0 acc[0] = x[64*task] * w[0] fetch 128
//	  for j < 32 items {
//	    t[j] = x[j]
//	  }
//	  for i0 < 8 lanes 4 stride 2 {
//	    bind g = i64 cast(x[i0]) in 0..N - 1
//	    if 0 <= i0 + g < N and 1 <= n < 2 {
//	      var v = f32 add((acc[g] if 0 <= g < 4 else f32:0), f32(i0))
//	    } else {
//	      v = f32:-0.5
//	    }
//	    claim y[i0]
//	    fetch x[i0 + 64]
//	    y[i0; g, n] = v
//	  }
//	}
//
// Scalar expressions are written as in the text of stages (te.Writer): a call is the type, the function and its arguments; a choice
// is "(a if lo <= e < hi else b)"; "f32(i0)" is the value of an index expression, and "f32:0.5" a literal. What follows ";" in an
// index is the texel. "v" reads a variable; "v:f16" as of another type than the text declares, or where it has the name of a type. "()" is no condition at all.

// String is the kernel's text form. It holds all of a kernel but facts of what the kernel does not have, and an opaque call's
// function and constants (see Parse). Only kernels that Verify finds right are sure to be read back.
func (k *Kernel) String() string {
	p := &printer{vars: newScope[ir.DType](), micros: map[string]string{}}
	p.line("kernel %s {", quote(k.Anchor))
	p.depth++
	p.head(k)
	p.stmts(k.Body)
	p.depth--
	p.line("}")
	return p.String()
}

// printer writes one kernel.
type printer struct {
	strings.Builder
	depth  int
	vars   *scope[ir.DType]  // types of variables
	micros map[string]string // names by text
}

func quote(s string) string { return strconv.QuoteToASCII(s) }

func (p *printer) begin() {
	for range p.depth {
		p.WriteString("  ")
	}
}

// line appends a line.
func (p *printer) line(format string, args ...any) {
	p.begin()
	fmt.Fprintf(p, format+"\n", args...)
}

// head writes what stands before the statements.
func (p *printer) head(k *Kernel) {
	for _, s := range k.Syms {
		p.line("symbol %s", s)
	}
	p.facts(k)
	for _, b := range k.Buffers {
		kind := "operand"
		if b.Write {
			kind = "result"
		}
		p.line("%s %s", kind, declaration(b, b.Write, false))
	}
	for _, b := range k.Scratch {
		p.line("scratch %s", declaration(b, true, false))
	}
	for _, b := range k.Shared {
		p.line("shared %s", declaration(b, true, false))
	}
	for _, s := range k.Sets {
		p.line("sets %s", s)
	}
	Tiles(k.Body, func(x Tile) {
		text := x.Micro.text()
		if _, ok := p.micros[text]; !ok {
			p.micros[text] = fmt.Sprintf("m%d", len(p.micros))
			p.line("micro %s %s", p.micros[text], text)
		}
	})
	for _, a := range k.Grid {
		p.line("grid %s < %s", a.Var, a.Extent)
	}
}

// facts writes the ranges of what the kernel has.
func (p *printer) facts(k *Kernel) {
	used := map[string]bool{}
	k.names(used)
	var out []string
	for n, r := range k.Facts {
		if used[n] {
			out = append(out, fmt.Sprintf("%s %d..%d", n, r.Lo, r.Hi))
		}
	}
	if slices.Sort(out); len(out) > 0 {
		p.line("facts %s", strings.Join(out, ", "))
	}
}

// names adds the names of all that facts can be of: symbols, and variables of index expressions.
func (k *Kernel) names(used map[string]bool) {
	add := func(e sym.Expr) { e.Vars(used) }
	Names(k, func(n string) { used[n] = true })
	for _, n := range slices.Concat(k.Syms, k.Sets) {
		used[n] = true
	}
	for _, a := range k.Grid {
		used[a.Var] = true
		add(a.Extent)
	}
	for _, b := range slices.Concat(k.Buffers, k.Scratch, k.Shared) {
		b.sizes(add)
	}
	Exprs(k.Body, add)
}

// sizes calls f for what a buffer's declaration computes.
func (b *Buffer) sizes(f func(sym.Expr)) {
	f(b.Size)
	if b.Image != nil {
		f(b.Image.Width)
		f(b.Image.Height)
	}
}

// declaration is a buffer's name, type, size and attributes; write and local are what the word before it says.
func declaration(b *Buffer, write, local bool) string {
	out := fmt.Sprintf("%s %s[%s]", b.Name, b.Type, b.Size)
	for _, a := range []struct {
		word string
		is   bool
	}{{"readonly", write && !b.Write}, {"local", b.Local && !local}, {"shared", local && !b.Local}, {"packed", b.Packed}, {"holds", b.Holds}, {"const", b.Const}} {
		if a.is {
			out += " " + a.word
		}
	}
	if b.Image != nil {
		out += fmt.Sprintf(" image [%s, %s]", b.Image.Width, b.Image.Height)
	}
	return out
}

// text is a micro-kernel: its instruction, how X reaches it, its rows and registers, and what is not 0 of the rest.
func (m *MicroKernel) text() string {
	if m == nil || m.Instr == nil {
		return "none"
	}
	out := fmt.Sprintf("%s %s %d x %d", m.Instr.Name, m.X, m.Rows, m.Vectors)
	number := func(word string, n int64) {
		if n != 0 {
			out += fmt.Sprintf(" %s %d", word, n)
		}
	}
	if m.Stored != ir.Invalid {
		out += " from " + m.Stored.String()
	}
	number("row", m.RowStep)
	if m.Run != 0 || m.RunStep != 0 {
		out += fmt.Sprintf(" run %d %d", m.Run, m.RunStep)
	}
	number("vector", m.VecStep)
	for _, k := range m.K {
		out += fmt.Sprintf(" k %d by %d, %d", k.Extent, k.XStep, k.WStep)
	}
	if m.Kept != nil {
		out += m.Kept.text()
	}
	if m.Adds {
		out += " adds"
	}
	number("narrow", m.Narrow)
	number("prefetch_w", m.PrefetchW)
	if m.PrefetchX {
		out += " prefetch_x"
	}
	number("fetch", m.Fetch)
	number("fetch_x", m.FetchX)
	return out
}

// conditions are what te.Within says, all of which hold.
func conditions(ws []te.Within) string {
	if len(ws) == 0 {
		return "()"
	}
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = fmt.Sprintf("%s <= %s < %s", w.Lo, w.E, w.Hi)
	}
	return strings.Join(out, " and ")
}
