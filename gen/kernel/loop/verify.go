package loop

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Verify checks what printers rely on: every name is declared once and before its use, buffers are in scope and those
// that are stored to may be written, types agree, loops that run in vectors can, tiles get what their instruction takes. Where ranges
// and extents prove it, it finds accesses beyond a buffer, facts that do not hold, and tasks that store to one place; what depends on
// more is left to package run.
func Verify(k *Kernel) error { return verify(k, true) }

// Proofs are the kernels whose ranges were found right: no pass changes a kernel but makes another.
type Proofs map[*Kernel]bool

// Verify is Verify of a kernel after another pass: the ranges of one that passes share are looked at once.
func (p Proofs) Verify(k *Kernel) error {
	err := verify(k, !p[k])
	p[k] = p[k] || err == nil
	return err
}

func verify(k *Kernel, ranges bool) error {
	v := newVerifier(k)
	v.ranges = ranges
	for _, s := range k.Syms {
		v.declare(s, symbol{})
	}
	for _, b := range k.Buffers {
		v.parameter(b, false)
		v.declare(b.Name, b)
	}
	for _, b := range slices.Concat(k.Scratch, k.Shared) {
		v.parameter(b, true)
		v.declare(b.Name, b)
	}
	v.groups()
	if !slices.ContainsFunc(k.Grid, func(a te.Axis) bool { return a.Var == TaskVar }) {
		v.declare(TaskVar, index{loop: true})
	}
	v.declare(FirstVar, index{loop: true})
	for _, a := range k.Grid {
		v.declare(a.Var, index{loop: true})
		v.enter(a.Var, a.Extent, true)
	}
	for _, s := range k.Body { // its block is the parameters'
		v.stmt(s)
	}
	v.whole()
	if v.err != nil {
		return fmt.Errorf("kernel %s: %w", k.Anchor, v.err)
	}
	return nil
}

func newVerifier(k *Kernel) *verifier {
	return &verifier{k: k, names: map[string][]name{}, values: map[string]sym.Expr{}, read: map[*Buffer]bool{}, written: map[*Buffer]bool{}}
}

// verifier knows the names in scope; the first error stays.
type verifier struct {
	k      *Kernel
	names  map[string][]name // the innermost last
	here   []string          // those of the innermost block
	depth  int
	err    error
	ranges bool // look at ranges, races and vectors, too
	// around are the axes of the grid and the loops around, outermost first, and values what index variables are, by these.
	around []around
	values map[string]sym.Expr
	// unsure is how many conditions, and loops that may not run once, are around.
	unsure  int
	vectors bool // a loop around runs in vectors
	// read and written are the buffers that statements read and write.
	read, written map[*Buffer]bool
}

func (v *verifier) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// block checks statements, some names being declared for them.
func (v *verifier) block(body []Stmt, indices ...string) {
	around := v.here
	v.here = nil
	v.depth++
	for _, n := range indices {
		v.declare(n, index{loop: true})
	}
	for _, s := range body {
		v.stmt(s)
	}
	for _, n := range v.here {
		v.undeclare(n)
	}
	v.depth--
	v.here = around
}

func (v *verifier) stmt(s Stmt) {
	switch x := s.(type) {
	case For:
		v.index(x.Extent)
		v.loop(x)
	case Index:
		v.index(x.Value)
		v.declare(x.Var, index{})
		v.is(x.Var, x.Value)
	case Bind:
		if t := v.expr(x.Value); !t.IsInteger() {
			v.fail("the index %q is made of %s", x.Var, t)
		}
		v.indices(x.Lo, x.Hi)
		v.declare(x.Var, index{loop: true})
		v.bound(x)
	case Def:
		v.declare(x.Name, variable{v.expr(x.Init)})
	case Set:
		is, ok := v.lookup(x.Name).(variable)
		if t := v.expr(x.Value); !ok || t != is.t {
			v.fail("%s is assigned to %q, which is a %T of type %v here", t, x.Name, v.lookup(x.Name), is.t)
		}
	case Alloc:
		v.array(x.Buf)
	case Store:
		v.memory(x.Buf, true)
		v.index(x.Index)
		v.texel(x.Texel, x.Buf)
		if t := v.expr(x.Value); v.err == nil && t != x.Buf.Type {
			v.fail("%s is stored to %q of %s", t, x.Buf.Name, x.Buf.Type)
		}
		v.place(x.Buf, x.Index, x.Texel)
		v.races(x)
	case Claim:
		v.flat(x.Buf, !x.Later)
		v.index(x.Index)
	case If:
		v.within(x.Cond)
		v.unsure++
		v.block(x.Then)
		v.block(x.Else)
		v.unsure--
	case Tile:
		v.tile(x)
	case Barrier:
		v.fail("a barrier; kernels wait only at the ends of loops over items")
	case Call:
		v.call(x)
	default:
		v.fail("a statement of type %T", s)
	}
}

// memory checks that a buffer is in scope by its name.
func (v *verifier) memory(b *Buffer, written bool) {
	switch {
	case b == nil:
		v.fail("a buffer is missing")
	case v.lookup(b.Name) != any(b):
		v.fail("no buffer %q is in scope", b.Name)
	case written && !b.Write:
		v.fail("%q is written, which is an operand", b.Name)
	case written:
		v.written[b] = true
	default:
		v.read[b] = true
	}
}

// flat checks a buffer whose elements are counted from its beginning.
func (v *verifier) flat(b *Buffer, written bool) {
	if v.memory(b, written); v.err == nil && b.Image != nil {
		v.fail("the elements of %q are in an image", b.Name)
	}
}

// call checks the memory of an opaque operator's call.
func (v *verifier) call(x Call) {
	for _, b := range x.Operands {
		if b != nil {
			v.memory(b, false)
		}
	}
	for _, b := range slices.Concat(x.Results, x.Scratch) {
		if b != nil {
			v.memory(b, true)
		}
	}
	if len(x.Operands) != len(x.Call.Operands) || len(x.Results) != len(x.Call.Results) || len(x.Scratch) != len(x.Call.Scratch) {
		v.fail("%s gets %d operands, %d results and %d scratch buffers", x.Name, len(x.Operands), len(x.Results), len(x.Scratch))
	}
	for _, a := range x.Args {
		v.index(a.Size)
		v.indices(a.Dims...)
	}
	if v.vectors || v.unsure > 0 || !sym.AtMost(v.k.Tasks(), 1, v.k.Facts) {
		v.fail("opaque operator %s is called in several tasks, in a vectorized loop or under a condition; want one unconditional call in one task", x.Name)
	}
}

func (v *verifier) indices(es ...sym.Expr) {
	for _, e := range es {
		v.index(e)
	}
}

// index checks that the variables of an index expression are in scope.
func (v *verifier) index(e sym.Expr) {
	used := map[string]bool{}
	e.Vars(used)
	missing := ""
	for n := range used {
		switch v.lookup(n).(type) {
		case symbol, index:
		default:
			missing = max(missing, n)
		}
	}
	if missing != "" {
		v.fail("the index %s uses %q, which is not in scope", e, missing)
	}
}

func (v *verifier) within(ws []te.Within) {
	for _, w := range ws {
		v.indices(w.E, w.Lo, w.Hi)
	}
}
