package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func (p *program) load(x te.Load) (node, error) {
	t, err := p.run.tensor(x.Source)
	if err != nil {
		return nil, err
	}
	k := &fetch{what: sourceName(x.Source)}
	if k.buf, err = p.run.buffer(x.Source); err != nil {
		return nil, err
	}
	if t.Type != x.Type || len(t.Shape) != len(x.Index) {
		return nil, fmt.Errorf("%s is loaded as %s of rank %d, but is %s of shape %v", k.what, x.Type, len(x.Index), t.Type, t.Shape)
	}
	if err := p.guards(k, x); err != nil {
		return nil, err
	}
	return k, p.address(k, x)
}

func sourceName(s te.Source) string {
	if s.Stage {
		return fmt.Sprintf("result %d of stage %d", s.Part, s.N)
	}
	return fmt.Sprintf("operand %d", s.N)
}

// guards compiles the guard and its default.
func (p *program) guards(k *fetch, x te.Load) error {
	k.all = *scalar.NewVec(x.Type, chunk)
	if len(x.Guard) == 0 {
		return nil
	}
	if x.Default == nil || x.Default.DType() != x.Type {
		return fmt.Errorf("a guarded load of %s needs a default of type %s", k.what, x.Type)
	}
	var err error
	if k.guard, k.needs, err = p.conditions(x.Guard); err != nil {
		return err
	}
	k.keep = make([]bool, chunk)
	if k.def, err = p.branch(x.Default); err == nil {
		k.needs |= k.def.deps()
	}
	return err
}

// address compiles the indices to an offset, and to checks of those that may be outside.
func (p *program) address(k *fetch, x te.Load) error {
	off, stride := sym.Const(0), int64(1)
	for d := len(x.Index) - 1; d >= 0; d-- {
		index, extent := p.concrete(x.Index[d]), k.buf.shape[d]
		off = sym.Add(off, sym.Scale(index, stride))
		stride *= max(extent, 1)
		lo, hi := index.Bounds(p.facts)
		if lo >= 0 && hi < extent || p.guarded(x, index, extent) {
			continue
		}
		f, err := p.form(index)
		if err != nil {
			return err
		}
		if c, ok := index.Const(); ok && k.def == nil && p.conditional == 0 {
			return fmt.Errorf("index %d of dimension %d is outside of %s, whose shape is %v", c, d, k.what, k.buf.shape)
		}
		k.check = append(k.check, bound{d, f, extent})
		p.forms = append(p.forms, f)
	}
	var err error
	if k.off, err = p.form(p.join(off)); err != nil {
		return err
	}
	p.forms = append(p.forms, k.off)
	k.needs |= p.resolve(k.off.deps)
	return nil
}

// guarded reports whether the guard itself keeps the index inside the dimension.
func (p *program) guarded(x te.Load, index sym.Expr, extent int64) bool {
	for _, g := range x.Guard {
		lo, _ := p.concrete(g.Lo).Bounds(p.facts)
		_, hi := p.concrete(g.Hi).Bounds(p.facts)
		if lo >= 0 && hi <= extent && p.concrete(g.E).Equal(index) {
			return true
		}
	}
	return false
}

// loadAcc reads an accumulator of the finished reduction.
func (p *program) loadAcc(x te.Acc) (node, error) {
	if err := p.checkArgument("Acc", x.N, x.Type); err != nil {
		return nil, err
	}
	buf, err := bufferOf(p.accs[x.N])
	if err != nil {
		return nil, err
	}
	off := p.rowMajor(p.slots(0, p.loops))
	p.forms = append(p.forms, off)
	return &fetch{buf: buf, off: off, needs: off.deps, all: *scalar.NewVec(buf.Type, chunk)}, nil
}

// checkSize reports that a tensor's bytes are as many as its shape says.
func checkSize(t *ir.Tensor, raw []byte) error {
	if t.Type.Kind() == ir.KindNone {
		return fmt.Errorf("a tensor of type %s", t.Type)
	}
	n, err := ir.Len(t.Shape)
	if err != nil {
		return err
	}
	if n > int64(len(raw))/int64(t.Type.Size()) || n*int64(t.Type.Size()) != int64(len(raw)) {
		return fmt.Errorf("a tensor of type %s and shape %v has %d bytes", t.Type, t.Shape, len(raw))
	}
	return nil
}
