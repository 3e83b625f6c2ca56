package shape

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// scan infers a Scan.
func (in *inference) scan(n *ir.Node, tainted bool) error {
	s, err := ops.ScanOf(n)
	if err != nil {
		return err
	}
	x := &scanning{in: in, n: n, s: s}
	b := &body{Graph: s.Body}
	for i, v := range s.States {
		k, err := x.operand(s.First+i, v)
		if err != nil {
			return err
		}
		b.carried = append(b.carried, k)
	}
	for i, v := range s.Scanned {
		k, err := x.slice(i, s.First+len(s.States)+i, v)
		if err != nil {
			return err
		}
		b.last = append(b.last, k)
	}
	_, err = in.iterate(n, b, nil)
	if wrong, ok := err.(*bodyError); ok {
		in.fail(n, wrong, false)
		return nil
	} else if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case i < len(s.States):
			k := b.carried[i]
			k.shape = slices.Concat(x.batch, k.shape)
			err = in.carriedResult(n, b, i, tainted, false, k)
		default:
			err = x.stacked(i, tainted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scanning is the inference of one Scan.
type scanning struct {
	in     *inference
	n      *ir.Node
	s      *ops.ScanSpec
	batch  ir.Shape   // the batch axis, if it has one
	length []sym.Expr // of the scan, once it is known
}

// operand is what the body sees of operand i, but for slicing.
func (x *scanning) operand(i int, v *ir.Value) (known, error) {
	k := x.in.known(v)
	switch {
	case !k.hasShape:
		return k, x.n.Errorf("%w", &ops.UnknownError{What: fmt.Sprintf("the rank of operand %d (%q)", i, v.Name)})
	case !x.s.Batch:
		return k, nil
	case len(k.shape) == 0:
		return k, x.n.Errorf("operand %d (%q) is a scalar; opset 8 needs a batch axis", i, v.Name)
	}
	if x.batch == nil {
		x.batch = k.shape[:1:1]
	}
	err := x.same(k.shape[0], x.batch[0], "the batch axis of operand %d (%q)", i, v.Name)
	k.shape, k.elems = k.shape[1:], nil
	return k, err
}

// slice is what the body sees of scanned operand j.
func (x *scanning) slice(j, i int, v *ir.Value) (known, error) {
	k, err := x.operand(i, v)
	if err != nil {
		return k, err
	}
	axis, err := x.s.In[j].Of(len(k.shape))
	if err != nil {
		return k, x.n.Errorf("operand %d (%q): %w", i, v.Name, err)
	}
	if x.length == nil {
		x.length = []sym.Expr{k.shape[axis]}
	}
	err = x.same(k.shape[axis], x.length[0], "the length of operand %d (%q) along its scan axis", i, v.Name)
	k.shape, k.elems = slices.Delete(slices.Clone(k.shape), axis, axis+1), nil
	return k, err
}

// same requires two dimensions to be equal.
func (x *scanning) same(a, b sym.Expr, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	diff := sym.Sub(a, b)
	if sym.AtLeast(diff, 1, x.in.facts) || sym.AtMost(diff, -1, x.in.facts) {
		return x.n.Errorf("%s: found %s, and %s for another operand", what, a, b)
	}
	if !diff.Is(0) && x.in.maybe == 0 {
		x.in.equal = append(x.in.equal, equality{x.n, ops.Check{Kind: ops.SameDim, A: a, B: b, What: what}})
	}
	return nil
}

// stacked sets result i, whose slices the body gives.
func (x *scanning) stacked(i int, tainted bool) error {
	v := x.n.Outputs[i]
	k := x.in.known(x.s.Body.Outputs[i])
	if k.hasShape {
		axis, err := x.s.Out[i-len(x.s.States)].Of(len(k.shape) + 1)
		if err != nil {
			return x.n.Errorf("result %d (%q): %w", i, v.Name, err)
		}
		k.shape = slices.Concat(x.batch, slices.Insert(slices.Clone(k.shape), axis, x.length[0]))
	}
	k.elems = nil
	return x.in.settle(x.n, v, k, tainted)
}
