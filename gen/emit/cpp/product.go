package cpp

import (
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// Products collects the kinds of products that kernels' tiles compute.
type Products struct{ All []cppapi.Product }

// Of returns the number, from 1 on, of the kind of a kernel's products: that of its first tile, as all tiles of a kernel have one.
func (p *Products) Of(k *loop.Kernel) int {
	var row *instr.Row
	loop.Tiles(k.Body, func(t loop.Tile) {
		if row == nil {
			row = t.Micro.Instr
		}
	})
	if row == nil || row.Acc == ir.F32 && row.Group == 1 {
		return cppapi.FloatProducts
	}
	text := row.Text("cpp", "sum", "x", "w")
	if text == "" || row.Matrix > 0 { // those of matrices are bound by more than registers
		return cppapi.UnknownProducts
	}
	for i, x := range p.All {
		if x.Name == row.Name {
			return i + 1
		}
	}
	p.All = append(p.All, cppapi.Product{Name: row.Name, Sum: sumType(row), Operand: operandType(row), Text: text, Count: row.Lanes * row.Group})
	return len(p.All)
}
