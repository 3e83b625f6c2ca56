// Package shrink takes channels out of a network that change nothing: those that are constant, because their filters are empty, and
// those that nothing reads, because the kernels on them are. What computes and reads the channel shrinks with it.
//
// Values whose channels are the same ones are a family: those before and after an activation, a normalization or a pool, the operands and
// the result of a residual addition. A channel goes from all of a family or from none: all that compute it, or all that
// read it, must agree. A family that something else touches (an output, a concatenation, a grouped convolution) stays as it is.
package shrink

import (
	"fmt"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// Kept are the indices along the axes of a constant that are left, of its first shape; nil: all.
type Kept [2][]int

// Result is what Run did.
type Result struct {
	Channels int              // that are gone
	Weights  map[string]*Kept // by the names of weights of Conv, Gemm and MatMul
}

// Run shrinks a graph, again and again until nothing is left to take out. Weights that are dropped must be zeros.
func Run(g *ir.Graph) (*Result, error) {
	r := &Result{Weights: map[string]*Kept{}}
	for {
		if err := shape.Infer(g); err != nil {
			return nil, err
		}
		s, err := newShrinker(g)
		if err != nil {
			return nil, err
		}
		n, err := s.run(r)
		if err != nil || n == 0 {
			return r, err
		}
		r.Channels += n
		forget(g)
	}
}

// forget makes the types and shapes of inner values unknown.
func forget(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if v != nil && !edit.IsOutput(g, v) {
				v.Shape, v.HasShape, v.Elems = nil, false, nil
			}
		}
	}
}

// shrinker is one round.
type shrinker struct {
	g        *ir.Graph
	uses     map[*ir.Value]int
	families map[*ir.Value]*family // of values with channels; follow find
	known    map[*ir.Value][]fact  // of values in families
	bytes    map[*ir.Value][]byte  // of constants
	order    []*family
}

// family is values that have the same channels.
type family struct {
	into    *family // another one that this is a part of
	n       int     // channels
	fixed   bool
	values  []*ir.Value
	parts   []part // constants and weights that have an axis of these channels
	readers []reading
}

// part is an axis of a constant that the family's channels lie along, each of each indices.
type part struct {
	node    *ir.Node
	operand int
	axis    int
	each    int
}

// reading is weights that read the channels of a value.
type reading struct {
	part
	value *ir.Value
}

func newShrinker(g *ir.Graph) (*shrinker, error) {
	s := &shrinker{g: g, uses: edit.Uses(g), families: map[*ir.Value]*family{}, known: map[*ir.Value][]fact{}, bytes: map[*ir.Value][]byte{}}
	for _, v := range g.Inputs {
		s.fix(v)
	}
	for _, n := range g.Nodes {
		s.join(n)
	}
	for _, v := range g.Outputs {
		s.fix(v)
	}
	for _, n := range g.Nodes {
		if err := s.learn(n); err != nil {
			return nil, n.Errorf("%w", err)
		}
	}
	return s, nil
}

// find is the family of a value; nil where its channels are not known.
func (s *shrinker) find(v *ir.Value) *family {
	if v == nil || v.Const != nil {
		return nil
	}
	f := s.families[v]
	if f == nil {
		n, ok := channels(v)
		if !ok {
			return nil
		}
		f = &family{n: n, values: []*ir.Value{v}}
		s.families[v] = f
		s.order = append(s.order, f)
	}
	for f.into != nil {
		f = f.into
	}
	return f
}

// channels is the extent of axis 1.
func channels(v *ir.Value) (int, bool) {
	if !v.HasShape || len(v.Shape) < 2 {
		return 0, false
	}
	n, ok := v.Shape[1].Const()
	return int(n), ok && n > 0 && n < 1<<24
}

// fix says that a value keeps its channels.
func (s *shrinker) fix(v *ir.Value) {
	if f := s.find(v); f != nil {
		f.fixed = true
	}
}

// same says that two values have the same channels.
func (s *shrinker) same(a, b *ir.Value) {
	f, h := s.find(a), s.find(b)
	switch {
	case f == nil || h == nil || f.n != h.n:
		s.fix(a)
		s.fix(b)
		return
	case f == h:
		return
	}
	h.into = f
	f.fixed = f.fixed || h.fixed
	f.values = append(f.values, h.values...)
	f.parts = append(f.parts, h.parts...)
	f.readers = append(f.readers, h.readers...)
}

// along says that a constant operand lies along a value's channels. One that is read elsewhere, too, cannot change.
func (s *shrinker) along(v *ir.Value, p part) {
	f := s.find(v)
	if f == nil {
		return
	}
	if w := p.node.Inputs[p.operand]; w.Const == nil || s.uses[w] != 1 {
		f.fixed = true
	}
	f.parts = append(f.parts, p)
}

// run takes out the channels of one round: which ones is decided before any goes.
func (s *shrinker) run(r *Result) (int, error) {
	keeps := map[*family][]int{}
	for _, f := range s.order {
		if f.into != nil || f.fixed {
			continue
		}
		gone, err := s.gone(f)
		if err != nil {
			return 0, err
		}
		for c, x := range gone {
			if !x {
				keeps[f] = append(keeps[f], c)
			}
		}
		if len(keeps[f]) == 0 {
			keeps[f] = []int{0} // a tensor has one channel at least
		}
	}
	taken := 0
	for _, f := range s.order {
		if keep := keeps[f]; keep != nil && len(keep) < f.n {
			if err := f.take(keep, r); err != nil {
				return 0, err
			}
			taken += f.n - len(keep)
		}
	}
	return taken, nil
}

// gone are the channels of a family that change nothing.
func (s *shrinker) gone(f *family) ([]bool, error) {
	out := make([]bool, f.n)
	unread := make([]bool, f.n)
	for c := range out {
		unread[c] = true
		out[c] = true
	}
	for _, p := range f.readers {
		w, err := s.constant(p.node.Inputs[p.operand])
		if err != nil {
			return nil, err
		}
		for c := range out {
			zero := isZero(w, p.node.Inputs[p.operand], p.axis, c*p.each, p.each)
			unread[c] = unread[c] && zero
			x := s.known[p.value]
			out[c] = out[c] && (zero || x != nil && x[c].known && x[c].value == 0)
		}
	}
	for c := range out {
		out[c] = out[c] || unread[c]
	}
	return out, nil
}

// isZero reports whether the elements at some indices of an axis are all zeros.
func isZero(w []byte, v *ir.Value, axis, first, n int) bool {
	inner := v.Const.Type.Size()
	for _, d := range v.Const.Shape[axis+1:] {
		inner *= int(d)
	}
	row := int(v.Const.Shape[axis]) * inner
	for at := 0; at < len(w); at += row {
		if !zeros(w[at+first*inner:at+(first+n)*inner], v.Const.Type.Size()) {
			return false
		}
	}
	return true
}

// zeros reports whether floats are all zero: but for their signs no bit is set.
func zeros(b []byte, size int) bool {
	for i, x := range b {
		if x != 0 && (x != 0x80 || i%size != size-1) {
			return false
		}
	}
	return true
}

// constant is the bytes of a constant of floats.
func (s *shrinker) constant(v *ir.Value) ([]byte, error) {
	if x, ok := s.bytes[v]; ok {
		return x, nil
	}
	if !v.Const.Type.IsFloat() {
		return nil, fmt.Errorf("constant %s: want floats, found %s", ir.Show(v.Name), v.Const.Type)
	}
	x, err := v.Const.Bytes()
	if err != nil {
		return nil, fmt.Errorf("constant %s: %w", ir.Show(v.Name), err)
	}
	s.bytes[v] = x
	return x, nil
}
