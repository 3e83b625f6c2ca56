package sel

import (
	"fmt"
	"hash/fnv"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// class is the block's.
func (s *selector) class(b *block.Block) (*class, error) {
	if c, ok := s.classOf[b]; ok {
		return c, nil
	}
	key, err := s.key(b)
	if err != nil {
		return nil, err
	}
	c, ok := s.classes[key]
	if !ok {
		c = &class{kernels: map[string]Kernel{}}
		s.classes[key] = c
	}
	s.classOf[b] = c
	return c, nil
}

// key is what the candidates of a block depend on, besides the target, the options and what is known of symbols, which
// are the same in a run: all that the block computes, and all that the layouts and kernels of its values depend on.
func (s *selector) key(b *block.Block) (string, error) {
	w := te.NewWriter()
	for _, st := range b.Stages() {
		w.Stage(st)
	}
	first, zeros := map[*ir.Value]int{}, match.ZeroPoints(b)
	for i, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if _, ok := first[v]; !ok {
			first[v] = i
		}
		held, err := s.held(v, zeros)
		if err != nil {
			return "", err
		}
		w.Line("%d %s %s %v %s", first[v], v.Type, w.Exprs(v.Shape), s.layouts(v), held)
	}
	w.Line("depth %d, %d operands", b.Depth, len(b.Operands))
	if s.wantsPacked(b) {
		w.Line("packed")
	}
	if b.Call != nil {
		c := *b.Call.Call
		c.Run, c.Consts = nil, nil // the function is Name's, and constants are among the operands
		w.Line("%+v of %v gives %v", c, b.Call.Operands, b.Call.Results)
	}
	return w.String(), nil
}

// held is what kernels may ask of a constant.
func (s *selector) held(v *ir.Value, zeros map[*ir.Value]bool) (string, error) {
	if v.Const == nil {
		return "", nil
	}
	out := "constant"
	for _, d := range s.sides {
		key, err := propose.ConstantKey(v, zeros[v], d.env())
		if err != nil {
			return "", err
		}
		if key == lower.Elements {
			return hashed(v)
		}
		out += ", " + key
	}
	return out, nil
}

// hashed is a constant by its elements.
func hashed(v *ir.Value) (string, error) {
	h := fnv.New128a()
	if _, err := v.Const.WriteTo(h); err != nil {
		return "", fmt.Errorf("constant %q: %w", v.Name, err)
	}
	return fmt.Sprintf("constant %x", h.Sum(nil)), nil
}
