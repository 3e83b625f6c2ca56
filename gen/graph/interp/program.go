package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// chunk is the number of elements that a vector has at most: the vectors of an
// expression stay in the first-level cache.
const chunk = 1024

// program is expressions compiled for one set of loops, with the loops' state.
// Slots are the stage's axes, then its reduction axes, then let variables.
type program struct {
	run   *run
	stage *te.Stage
	accs  []*ir.Tensor // what Acc reads, in results

	names   map[string]int
	symbols map[string]sym.Expr
	facts   sym.Facts
	loops   int
	extent  []int64 // of the loops; 1 once merged into another
	lets    []*let
	forms   []*form // all that merging must respect

	v       []int64 // the slots' values, at the vector's first element
	vec     int     // the loop that is the vector, or -1
	varying set     // vec, and the let variables that vary along it
	n       int     // the vector's length now
	mask    []bool  // elements that matter; nil: all
	old, in []*scalar.Vec

	conditional int // branches around what is compiled now

	spare [][]int64
	used  int
	err   error
}

// newProgram makes loops of a stage's axes and, if their extents are given, reduction axes.
func (r *run) newProgram(s *te.Stage, shape, reduce []int64) (*program, error) {
	p := &program{run: r, stage: s, names: map[string]int{}, symbols: map[string]sym.Expr{}, facts: sym.Facts{}, vec: -1}
	axes := s.Axes
	if reduce != nil {
		axes = append(append([]te.Axis{}, s.Axes...), s.Reduce...)
	}
	p.extent = append(append(p.extent, shape...), reduce...)
	p.loops = len(axes)
	if p.loops > 48 {
		return nil, fmt.Errorf("the stage has %d axes; at most 48 are supported", p.loops)
	}
	for name, x := range r.env {
		p.symbols[name] = sym.Const(x)
	}
	for i, a := range axes {
		if _, ok := p.names[a.Var]; ok {
			return nil, fmt.Errorf("two axes are called %s", a.Var)
		}
		p.bind(a.Var, i, 0, p.extent[i]-1)
	}
	p.v = make([]int64, p.loops, te.MaxVariables)
	return p, nil
}

// bind makes name the slot, of a value in [lo, hi].
func (p *program) bind(name string, slot int, lo, hi int64) {
	p.names[name] = slot
	p.facts[name] = sym.Range{Lo: lo, Hi: hi}
	delete(p.symbols, name)
}

func (p *program) slots(from, to int) []int {
	out := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// fail keeps the first error.
func (p *program) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// scratch lends a vector of integers; release gives the last k back.
func (p *program) scratch(n int) []int64 {
	if p.used == len(p.spare) {
		p.spare = append(p.spare, make([]int64, chunk))
	}
	p.used++
	return p.spare[p.used-1][:n]
}

func (p *program) release(k int) { p.used -= k }

// rowMajor is the form of an element's number in a row-major tensor over the loops.
func (p *program) rowMajor(axes []int) *form {
	f := &form{coef: make([]int64, p.loops)}
	stride := int64(1)
	for i := len(axes) - 1; i >= 0; i-- {
		f.coef[axes[i]] = stride
		f.deps |= 1 << axes[i]
		stride *= p.extent[axes[i]]
	}
	return f
}

// merge joins neighbouring loops of a list, in row-major order, where all forms
// are lines across both: the inner gets the extents' product, the outer 1.
func (p *program) merge(axes []int) {
	inner := -1
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if p.extent[a] == 1 {
			continue
		}
		if inner >= 0 && p.joinable(a, inner) {
			p.extent[inner] *= p.extent[a]
			p.extent[a] = 1
			continue
		}
		inner = a
	}
}

func (p *program) joinable(outer, inner int) bool {
	both := set(1)<<outer | set(1)<<inner
	for _, f := range p.forms {
		if f.irregular&both != 0 || f.coef[outer] != f.coef[inner]*p.extent[inner] {
			return false
		}
	}
	return true
}

// longAxis picks the loop to be the vector: the innermost, unless it is short and
// another is longer, or indices are no lines along it and they are along another. It is -1 where all extents are 1.
func (p *program) longAxis(axes []int) int {
	if best := p.longest(axes, p.crooked()); best >= 0 && p.extent[best] >= 16 {
		return best
	}
	return p.longest(axes, 0)
}

// crooked are the loops along which some index is no line.
func (p *program) crooked() (out set) {
	for _, f := range p.forms {
		out |= f.irregular
	}
	return out
}

func (p *program) longest(axes []int, but set) int {
	best := -1
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if p.extent[a] == 1 || but.has(a) || best >= 0 && p.extent[best] >= min(16, p.extent[a]) {
			continue
		}
		best = a
	}
	return best
}

// setVector makes a loop the vector; -1 is a vector of one element.
func (p *program) setVector(slot int) {
	p.vec, p.varying = slot, 0
	if slot >= 0 {
		p.varying = 1 << slot
	}
	for i, l := range p.lets {
		if l.binds&p.varying != 0 {
			p.varying |= 1 << (p.loops + i)
		}
	}
}

func without(axes []int, slot int) []int {
	out := make([]int, 0, len(axes))
	for _, a := range axes {
		if a != slot {
			out = append(out, a)
		}
	}
	return out
}

// odometer calls body for all values of the loops, the last running fastest.
func (p *program) odometer(axes []int, body func() error) error {
	for _, a := range axes {
		p.v[a] = 0
	}
	for {
		if err := body(); err != nil {
			return err
		}
		if !p.next(axes) {
			return nil
		}
	}
}

// next advances the loops; at the end all are 0 again.
func (p *program) next(axes []int) bool {
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if p.v[a]++; p.v[a] < p.extent[a] {
			return true
		}
		p.v[a] = 0
	}
	return false
}

// chunks calls body for the vector's parts, p.n elements from p.v[vec] on.
func (p *program) chunks(vec int, body func() error) error {
	if vec < 0 {
		p.n = 1
		return body()
	}
	for at := int64(0); at < p.extent[vec]; at += chunk {
		p.v[vec], p.n = at, int(min(chunk, p.extent[vec]-at))
		if err := body(); err != nil {
			return err
		}
	}
	p.v[vec] = 0
	return nil
}
