package fuse

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
)

// fewElements is the least that a concatenation should have: smaller ones, as of shapes, are cheaper as
// part of what reads them.
const fewElements = 256

// viewed reports whether a block only puts values together that other blocks compute in full: these may
// then write them where they belong, and nothing is left to do. What is fused with it would have
// to choose among them for every element.
func (f *fuser) viewed(b *block.Block) bool {
	c := f.concatenation(b)
	if !c.ok || !f.o.Views {
		return false
	}
	shape, size := b.Results[0].Shape, int64(1)
	for i, d := range shape {
		n, known := d.Const()
		if i < c.axis && !d.Is(1) {
			return false
		}
		if size *= n; !known {
			size = fewElements
		}
	}
	for _, p := range c.pieces {
		if !f.stays(b.Operands[p.Operand]) {
			return false
		}
	}
	return size >= fewElements
}

// stays reports whether a value's block remains one whoever reads it: it reduces, or is appended to one
// that does, or has several readers.
func (f *fuser) stays(v *ir.Value) bool {
	d := f.def[v]
	if d == nil || d.Control != nil {
		return false
	}
	return d.Stage == nil || d.Stage.Combine != nil || d.Stage.Update != nil || len(d.Placed) > 0 || f.readers[v].n > 1 || f.appends(d) || f.viewed(d)
}

// appends reports whether a block can be appended to one that computes an operand and reduces.
func (f *fuser) appends(b *block.Block) bool {
	for n := range b.Operands {
		if f.appendsTo(b, n) {
			return true
		}
	}
	return false
}

// appendsTo reports whether it can be appended to the one that computes operand n, and that one reduces.
func (f *fuser) appendsTo(b *block.Block, n int) bool {
	v := b.Operands[n]
	d := f.def[v]
	return f.single(v) && d.Stage != nil && d.Stage.Combine != nil && consumerLegal(f, pair{d, b, n})
}

// narrows reports whether a block can be appended to one that reduces, of whose elements it makes smaller ones, as a quantization does of sums: then
// these are what is in memory, whoever reads them. Of two products that are quantized and then added, one would store its sums otherwise.
func (f *fuser) narrows(b *block.Block) bool {
	for n, v := range b.Operands {
		if v.Type.Size() > b.Results[0].Type.Size() && f.appendsTo(b, n) {
			return true
		}
	}
	return false
}
