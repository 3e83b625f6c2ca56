package block

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// Narrow is a block as it is under facts that hold in some runs only, on values of its own, whose shapes are as simple as these facts make
// them, and the value that each of them stands for.
func (b *Block) Narrow(f sym.Facts) (*Block, map[*ir.Value]*ir.Value) {
	of, twins := map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
	twin := func(vs []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(vs))
		for i, v := range vs {
			if v.Const != nil {
				out[i], of[v] = v, v
				continue
			}
			if twins[v] == nil {
				t := *v
				t.Shape = make(ir.Shape, len(v.Shape))
				for k, d := range v.Shape {
					t.Shape[k] = d.Under(f)
				}
				twins[v], of[&t] = &t, v
			}
			out[i] = twins[v]
		}
		return out
	}
	out := *b
	out.Operands, out.Results = twin(b.Operands), twin(b.Results)
	out.Stage = b.Stage.Narrow(f)
	out.Placed = nil
	for _, s := range b.Placed {
		out.Placed = append(out.Placed, s.Narrow(f))
	}
	return &out, of
}
