package interp

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// evaluation is a stage's results, compiled.
type evaluation struct {
	p     *program
	roots []node
	dst   []*buffer
	to    *form
	outer []int
	vec   int
	place scalar.Vec // where a vector of results goes
}

func (r *run) newResults(s *te.Stage, shape []int64, accs, out []*ir.Tensor) (*evaluation, error) {
	p, err := r.newProgram(s, shape, nil)
	if err != nil {
		return nil, err
	}
	p.accs = accs
	e := &evaluation{p: p, roots: make([]node, len(out)), dst: make([]*buffer, len(out))}
	for k, x := range s.Results {
		if e.roots[k], err = p.compile(x); err != nil {
			return nil, err
		}
	}
	axes := p.slots(0, len(s.Axes))
	e.to = p.rowMajor(axes)
	p.merge(axes)
	e.vec = p.longAxis(axes)
	e.outer = without(axes, e.vec)
	for k, t := range out {
		if e.dst[k], err = bufferOf(t); err != nil {
			return nil, err
		}
	}
	p.setVector(e.vec)
	return e, nil
}

// run evaluates vectors [from, to).
func (e *evaluation) run(from, to int64) error {
	p := e.p
	return p.walk(e.outer, e.vec, from, to, func() error {
		for k, root := range e.roots {
			to, direct := root.(interface{ into(*scalar.Vec) })
			e.place = scalar.Vec{}
			if direct = direct && e.to.step(p) == 1 && e.dst[k].Alias(&e.place, e.to.at(p), int64(p.n)); direct {
				to.into(&e.place)
			}
			v := root.eval(p)
			if p.err != nil {
				return p.err
			}
			if direct {
				to.into(nil)
				continue
			}
			e.dst[k].Store(v, e.to.at(p), e.to.step(p))
		}
		return nil
	})
}
