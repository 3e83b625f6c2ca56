package loop

import (
	"fmt"
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Verify checks what printers rely on: every name is declared once in a block and before its use, buffers are in scope and those
// that are stored to may be written, and types agree.
func Verify(k *Kernel) error {
	v := &verifier{names: map[string][]name{}}
	for _, s := range k.Syms {
		v.declare(s, symbol{})
	}
	for _, b := range slices.Concat(k.Buffers, k.Scratch) {
		v.declare(b.Name, b)
	}
	if !slices.ContainsFunc(k.Grid, func(a te.Axis) bool { return a.Var == TaskVar }) {
		v.declare(TaskVar, index{})
	}
	for _, a := range k.Grid {
		v.declare(a.Var, index{})
	}
	for _, s := range k.Body { // its block is the parameters'
		v.stmt(s)
	}
	if v.err != nil {
		return fmt.Errorf("kernel %s: %w", k.Anchor, v.err)
	}
	return nil
}

// What a name may be besides a *Buffer.
type (
	symbol   struct{}
	index    struct{}
	variable struct{ t ir.DType }
)

// name is what a name is, and how deep the block lies that declares it.
type name struct {
	what  any
	depth int
}

// verifier knows the names in scope; the first error stays.
type verifier struct {
	names map[string][]name // the innermost last
	here  []string          // those of the innermost block
	depth int
	err   error
}

func (v *verifier) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

func (v *verifier) declare(n string, what any) {
	all := v.names[n]
	if len(all) > 0 && all[len(all)-1].depth == v.depth {
		v.fail("%q is declared twice in one block", n)
	}
	v.here = append(v.here, n)
	v.names[n] = append(all, name{what, v.depth})
}

// lookup is what a name is here, nil where it is nothing.
func (v *verifier) lookup(n string) any {
	if all := v.names[n]; len(all) > 0 {
		return all[len(all)-1].what
	}
	return nil
}

// block checks statements, some names being declared for them.
func (v *verifier) block(body []Stmt, indices ...string) {
	around := v.here
	v.here = nil
	v.depth++
	for _, n := range indices {
		v.declare(n, index{})
	}
	for _, s := range body {
		v.stmt(s)
	}
	for _, n := range v.here {
		v.names[n] = v.names[n][:len(v.names[n])-1]
	}
	v.depth--
	v.here = around
}

func (v *verifier) stmt(s Stmt) {
	switch x := s.(type) {
	case For:
		v.index(x.Extent)
		v.block(x.Body, x.Var)
	case Index:
		v.index(x.Value)
		v.declare(x.Var, index{})
	case Bind:
		if t := v.expr(x.Value); !t.IsInteger() {
			v.fail("the index %q is made of %s", x.Var, t)
		}
		v.indices(x.Lo, x.Hi)
		v.declare(x.Var, index{})
	case Def:
		v.declare(x.Name, variable{v.expr(x.Init)})
	case Set:
		is, ok := v.lookup(x.Name).(variable)
		if t := v.expr(x.Value); !ok || t != is.t {
			v.fail("%s is assigned to %q, which is %T %v here", t, x.Name, v.lookup(x.Name), is.t)
		}
	case Alloc:
		if n, known := x.Buf.Size.Const(); !known || n < 0 || !x.Buf.Local {
			v.fail("the local array %q has %s elements", x.Buf.Name, x.Buf.Size)
		}
		v.declare(x.Buf.Name, x.Buf)
	case Store:
		v.memory(x.Buf, true)
		v.index(x.Index)
		v.texel(x.Texel, x.Buf)
		if t := v.expr(x.Value); t != x.Buf.Type {
			v.fail("%s is stored to %q of %s", t, x.Buf.Name, x.Buf.Type)
		}
	case Claim:
		v.memory(x.Buf, true)
		v.index(x.Index)
	case If:
		v.within(x.Cond)
		v.block(x.Then)
		v.block(x.Else)
	case Tile:
		v.tile(x)
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
	case written && !b.Write && !b.Local:
		v.fail("%q is written, which is an operand", b.Name)
	}
}

func (v *verifier) texel(t Texel, b *Buffer) {
	if b != nil && b.Image != nil {
		v.indices(t.X, t.Y)
	}
}

// tile checks that a micro-kernel gets the types that its instruction takes.
func (v *verifier) tile(x Tile) {
	for i, b := range []*Buffer{x.X, x.W, x.Acc} {
		if v.memory(b, i == 2); v.err != nil {
			return
		}
		if want := []ir.DType{x.Micro.Instr.X, x.Micro.Instr.W, x.Micro.Instr.Acc}[i]; b.Type != want {
			v.fail("a tile of %q, which is %s, by %s, which wants %s", b.Name, b.Type, x.Micro.Instr.Name, want)
		}
	}
	if !x.Micro.Instr.Allows(x.Micro.X) || x.Micro.X != instr.Vector && x.Micro.Rows < 1 || x.Micro.Vectors < 1 {
		v.fail("instruction %s gets X of kind %s in %d rows of %d registers", x.Micro.Instr.Name, x.Micro.X, x.Micro.Rows, x.Micro.Vectors)
	}
	v.indices(x.XAt, x.At, x.AccAt, x.FetchAt)
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
		v.fail("the index %s has %q, which is none in scope", e, missing)
	}
}

func (v *verifier) within(ws []te.Within) {
	for _, w := range ws {
		v.indices(w.E, w.Lo, w.Hi)
	}
}
