package lower

import (
	"fmt"

	"rules_dnn/gen/fkw"
	"rules_dnn/gen/ir"
)

// Encodings are those of constants that were pruned, each found once for all layouts and chips.
type Encodings struct {
	zeros map[*ir.Tensor]bool
	found map[string]*fkw.Encoding
	// Alone: kernels load what they read of values for each tap, to measure what sharing loads gains.
	Alone bool
}

// NewEncodings looks for pruned weights. A nil one does not.
func NewEncodings() *Encodings {
	return &Encodings{zeros: map[*ir.Tensor]bool{}, found: map[string]*fkw.Encoding{}}
}

func (e *Encodings) on() bool { return e != nil }

// leastZeros is the part of weights that must be zero before anything is looked for, and sampled how many are looked at of weights that are
// dense. Weights of more than mostSought bytes are not looked at: what is looked for takes them in memory at once.
const (
	leastZeros = 0.4
	sampled    = 1 << 14
	mostSought = 1 << 27
)

// Sparse reports whether so many elements of a constant are zero that kernels may leave them out.
func (e *Encodings) Sparse(v *ir.Value) (bool, error) {
	if e == nil || v.Const == nil || v.Type != ir.F32 || v.Const.Len() < 2 || 4*v.Const.Len() > mostSought {
		return false, nil
	}
	if known, ok := e.zeros[v.Const]; ok {
		return known, nil
	}
	sparse, err := zeros(v.Const)
	if err != nil {
		return false, fmt.Errorf("constant %q: %w", v.Name, err)
	}
	e.zeros[v.Const] = sparse
	return sparse, nil
}

// zeros reports whether many elements are zero: of the first ones, then of all. Where all are, nothing is left to compute with.
func zeros(t *ir.Tensor) (bool, error) {
	first := make([]byte, 4*min(sampled, t.Len()))
	if err := t.ReadBytes(first, 0); err != nil {
		return false, err
	}
	c := &zeroCounter{}
	if c.count(first); float64(c.zeros) < leastZeros*float64(c.all)/2 {
		return false, nil
	}
	c = &zeroCounter{}
	if _, err := t.WriteTo(c); err != nil {
		return false, err
	}
	return c.zeros < c.all && float64(c.zeros) >= leastZeros*float64(c.all), nil
}

// zeroCounter counts f32 elements that are written to it.
type zeroCounter struct {
	zeros, all int64
	rest       []byte // of an element
}

func (c *zeroCounter) Write(b []byte) (int, error) {
	c.rest = append([]byte{}, c.count(append(c.rest, b...))...)
	return len(b), nil
}

// count counts whole elements, and gives the bytes that are left.
func (c *zeroCounter) count(b []byte) []byte {
	for ; len(b) >= 4; b = b[4:] {
		if c.all++; b[0]|b[1]|b[2]|b[3] == 0 {
			c.zeros++
		}
	}
	return b
}

// find is the encoding of a contraction's weights in which so many filters share what they keep, in blocks of channels, or nil.
func (e *Encodings) find(c *contraction, share, block int64) (*fkw.Encoding, error) {
	if c.channels%share != 0 {
		return nil, nil
	}
	dims, steps, base := c.order()
	key := fmt.Sprintf("%p %v %v %d %d %d", c.wv.Const, dims, steps, base, share, block)
	if enc, ok := e.found[key]; ok {
		return enc, nil
	}
	t, err := c.ordered()
	if err != nil {
		return nil, err
	}
	e.found[key] = fkw.Find(t, share, block)
	return e.found[key], nil
}

// order is the extents of the weights with the filters first, then the axes of the sum, and where they lie in the constant.
func (c *contraction) order() (dims, steps []int64, base int64) {
	step, base := c.weightSteps()
	dims, steps = []int64{c.channels}, []int64{step(c.b.Stage.Axes[c.channel].Var)}
	for _, a := range c.reduce {
		n, _ := a.Extent.Const()
		dims, steps = append(dims, n), append(steps, step(a.Var))
	}
	return dims, steps, base
}

// ordered is the weights in that order.
func (c *contraction) ordered() (*ir.Tensor, error) {
	data, err := c.wv.Const.Bytes()
	if err != nil {
		return nil, err
	}
	dims, steps, base := c.order()
	out := &ir.Tensor{Type: ir.F32, Shape: dims}
	if base == 0 && inOrder(dims, steps) {
		out.Data = data
		return out, nil
	}
	out = ir.NewTensor(ir.F32, dims...)
	at := make([]int64, len(dims))
	for i := range out.Len() {
		from := base
		for d, x := range at {
			from += x * steps[d]
		}
		copy(out.Data[4*i:4*i+4], data[4*from:])
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < dims[d] {
				break
			}
			at[d] = 0
		}
	}
	return out, nil
}

// inOrder reports whether steps are those of elements that lie one after the other.
func inOrder(dims, steps []int64) bool {
	n := int64(1)
	for d := len(dims) - 1; d >= 0; d-- {
		if dims[d] > 1 && steps[d] != n {
			return false
		}
		n *= dims[d]
	}
	return true
}
