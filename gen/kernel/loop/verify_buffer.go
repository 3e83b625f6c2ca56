package loop

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// parameter checks a buffer of the kernel, or of the worker's memory.
func (v *verifier) parameter(b *Buffer, scratch bool) {
	v.buffer(b)
	switch {
	case b.Local || b.Packed:
		v.fail("%q is a local array, and a parameter", b.Name)
	case scratch && (!b.Write || b.Holds || b.Const):
		v.fail("%q is the worker's memory; want a buffer that is written and contains neither an operand nor constants", b.Name)
	case b.Write && b.Const:
		v.fail("%q is written, but contains constants", b.Name)
	case !b.Write && b.Holds:
		v.fail("%q contains an operand, but is not a result", b.Name)
	}
}

// array checks and declares a local array.
func (v *verifier) array(b *Buffer) {
	v.buffer(b)
	if n, known := b.Size.Const(); !known || n < 0 || !b.Local {
		v.fail("the local array %q has %s elements", b.Name, b.Size)
	}
	if b.Packed && b.Type != ir.F16 {
		v.fail("%q packs elements of type %s; want f16", b.Name, b.Type)
	}
	if !b.Write || b.Holds || b.Const || b.Image != nil {
		v.fail("%q is a local array; want a buffer that is written, contains neither an operand nor constants, and is not an image", b.Name)
	}
	v.declare(b.Name, b)
}

// buffer checks what all buffers have.
func (v *verifier) buffer(b *Buffer) {
	if b.Type.Kind() == ir.KindNone {
		v.fail("%q has elements of type %s", b.Name, b.Type)
	}
	if _, most := b.Size.Bounds(v.k.Facts); most < 0 {
		v.fail("%q has %s elements", b.Name, b.Size)
	}
	if b.Image == nil {
		return
	}
	n := sym.Scale(sym.Mul(b.Image.Width, b.Image.Height), layout.TexelLanes)
	if off, known := sym.Sub(n, b.Size).Const(); known && off != 0 {
		v.fail("%q has %s elements, and its image of %s x %s texels %s", b.Name, b.Size, b.Image.Width, b.Image.Height, n)
	}
}

// texel checks where in an image an element lies; other buffers have no such place.
func (v *verifier) texel(t Texel, b *Buffer) {
	switch {
	case v.err != nil:
	case b.Image != nil:
		v.indices(t.X, t.Y)
	case !t.X.Is(0) || !t.Y.Is(0):
		v.fail("%q has a texel, but is not an image", b.Name)
	}
}

// whole checks what only all statements together show: that each result is written, that memory which is read is written too,
// and that a call computes the kernel's symbols.
func (v *verifier) whole() {
	for _, b := range v.k.Buffers {
		if b.Write && !v.written[b] && sym.AtLeast(b.Size, 1, v.k.Facts) {
			v.fail("nothing writes the result %q", b.Name)
		}
	}
	for _, b := range slices.Concat(v.k.Scratch, v.k.Shared) {
		v.filled(b)
	}
	var computed []string
	Walk(v.k.Body, func(s Stmt) bool {
		switch x := s.(type) {
		case Alloc:
			v.filled(x.Buf)
		case Call:
			for _, c := range x.Computes {
				computed = append(computed, c.Name)
			}
		}
		return true
	})
	for i, n := range v.k.Sets {
		if i >= len(computed) || computed[i] != n {
			v.fail("nothing computes the symbol %q", n)
		}
	}
}

func (v *verifier) filled(b *Buffer) {
	if v.read[b] && !v.written[b] {
		v.fail("%q is read, but nothing writes it", b.Name)
	}
}
