package block

import (
	"fmt"

	"rules_dnn/gen/ir/te"
)

// verifyTypes checks that loads have the types of what they load, that accumulators are those of the stage's combiner, and
// that results have their values' types.
func (b *Block) verifyTypes() (err error) {
	for _, s := range b.Stages() {
		if c := s.Combine; (c == nil) != (len(s.Reduce) == 0) || c != nil && (len(c.Init) != len(s.Values) || len(c.Join) != len(s.Values)) {
			return fmt.Errorf("stage %s reduces %d values along %d axes", s.Name, len(s.Values), len(s.Reduce))
		}
		for _, e := range s.Exprs() {
			te.Walk(e, func(x te.Expr) {
				if wrong := b.wrong(s, x); wrong != "" && err == nil {
					err = fmt.Errorf("stage %s: %s", s.Name, wrong)
				}
			})
		}
	}
	for i, r := range b.Results {
		if t := b.Stage.Results[i].DType(); t != r.Type {
			return fmt.Errorf("it computes %[2]q as %[1]s; want %[3]s", t, r.Name, r.Type)
		}
	}
	return err
}

// wrong says what is wrong with a node of an expression, or nothing.
func (b *Block) wrong(s *te.Stage, e te.Expr) string {
	switch x := e.(type) {
	case te.Load:
		if x.Source.Stage {
			if p := b.Placed[x.Source.N]; x.Source.Part >= len(p.Results) || p.Results[x.Source.Part].DType() != x.Type {
				return fmt.Sprintf("loads result %d of stage %d as %s", x.Source.Part, x.Source.N, x.Type)
			}
		} else if t := b.Operands[x.Source.N].Type; t != x.Type {
			return fmt.Sprintf("loads operand %d, which is %s, as %s", x.Source.N, t, x.Type)
		}
		if (len(x.Guard) == 0) != (x.Default == nil) {
			return fmt.Sprintf("a load with %d conditions has the default %v; want a default if and only if it has conditions", len(x.Guard), x.Default)
		}
	case te.Acc:
		if s.Combine == nil || x.N >= len(s.Combine.Init) || s.Combine.Init[x.N].DType() != x.Type {
			return fmt.Sprintf("reads accumulator %d as %s", x.N, x.Type)
		}
	case te.In:
		return "reads the new value of an accumulator outside a reduction"
	}
	return ""
}
