package plan

import (
	"crypto/sha256"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// placeConstants lays a space's constants out in the order of their first use; equal ones share a place.
func (p *Program) placeConstants(space layout.Space, m *Memory) error {
	seen := contents{}
	for _, v := range p.mentioned() {
		if p.Space(v) != space {
			continue
		}
		if err := p.placeConstant(v, space, m, seen); err != nil {
			return err
		}
	}
	for i := range p.Others { // what they read alone comes after what the last one reads
		for _, v := range p.Variant(i).mentioned() {
			if p.Space(v) != space {
				continue
			}
			if err := p.placeConstant(v, space, m, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeConstant gives a constant its place, unless it has one.
func (p *Program) placeConstant(v *ir.Value, space layout.Space, m *Memory, seen contents) error {
	if _, placed := p.Places[v]; placed || v.Const == nil {
		return nil
	}
	c, err := seen.find(v.Const)
	if err != nil {
		return err
	}
	if !c.placed {
		c.placed, c.at = true, m.WeightsBytes
		m.Constants = append(m.Constants, Constant{Offset: c.at, Value: v})
		m.WeightsBytes = alignInt(c.at+v.Const.Len()*int64(v.Type.Size()), m.align())
	}
	p.Places[v] = Place{Region: Weights, Offset: sym.Const(c.at), Space: space}
	return nil
}

// beginning is how many bytes tell most constants apart.
const beginning = 4 << 10

// contents are constants by their size and the hash of their beginning. Only where these agree are
// the constants read, or computed, as a whole.
type contents map[contentKey][]*content

type contentKey struct {
	size  int64
	start [sha256.Size]byte
}

// content is what equal constants hold, and its place.
type content struct {
	tensor *ir.Tensor
	sum    []byte // of all bytes, once it is known
	placed bool
	at     int64
}

// find is the content of a constant, which may be new.
func (c contents) find(t *ir.Tensor) (*content, error) {
	size := t.Len() * int64(t.Type.Size())
	b := make([]byte, min(size, beginning))
	if err := t.ReadBytes(b, 0); err != nil {
		return nil, err
	}
	key := contentKey{size, sha256.Sum256(b)}
	x := &content{tensor: t}
	for _, y := range c[key] {
		same, err := x.equals(y, size)
		if err != nil || same {
			return y, err
		}
	}
	c[key] = append(c[key], x)
	return x, nil
}

// equals reports whether constants of one size and one beginning are equal.
func (c *content) equals(o *content, size int64) (bool, error) {
	if size <= beginning || c.tensor == o.tensor {
		return true, nil
	}
	for _, x := range []*content{c, o} {
		if x.sum != nil {
			continue
		}
		h := sha256.New()
		if _, err := x.tensor.WriteTo(h); err != nil {
			return false, err
		}
		x.sum = h.Sum(nil)
	}
	return string(c.sum) == string(o.sum), nil
}
