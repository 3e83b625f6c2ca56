// Package interp executes stages of tensor expressions for concrete dimensions.
//
// A stage is compiled to loops over slices: one loop is the vector, which scalar
// functions run over as slices, and the others are an odometer around it. Contractions
// become blocked matrix products (contract.go). It is the compiler's
// constant folder and the reference that generated code is tested against, so its
// results are a pure function of the inputs: reductions run in row-major order of
// their axes, one element after the other, float32 accumulators are float32, and
// every product is rounded before it is added.
package interp

import (
	"fmt"
	"slices"
	"sync"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// DefaultMaxBytes is the size above which Eval refuses to make a tensor.
const DefaultMaxBytes = 4 << 30

// DefaultMaxTrips is the number of iterations after which a Loop is given up: one
// whose condition never falls would run forever.
const DefaultMaxTrips = 1 << 24

// Interp holds the limits of an evaluation. Its zero value has the default ones.
type Interp struct {
	// MaxBytes is the greatest size of one tensor; 0 means DefaultMaxBytes.
	MaxBytes int64
	// MaxTrips is the greatest number of iterations of a Loop; 0 means DefaultMaxTrips.
	MaxTrips int64
	// MaxPoints is how often the expressions of a node may be evaluated; 0 means that there is no limit.
	MaxPoints int64
	// Workers is how many goroutines evaluate a stage; 0 means 1. Results do not depend on it.
	Workers int
	// SkipZeros leaves products with a zero out where one factor of a sum is mostly zeros. Results do not depend on it where all values are finite; where they are
	// not, zero times infinity may be missing.
	SkipZeros bool
	// Memory is where tensors' memory comes from and goes to; nil leaves it to Go.
	Memory *Memory
}

// Eval computes the outputs of stages with the default limits.
func Eval(stages []*te.Stage, outputs []te.Source, operands []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	return Interp{}.Eval(stages, outputs, operands, env)
}

// Eval computes the outputs of stages. Loads read operands (nil where absent) and
// earlier stages; env gives the symbols' values. An output that is an operand is
// that operand itself.
func (in Interp) Eval(stages []*te.Stage, outputs []te.Source, operands []*ir.Tensor, env map[string]int64) ([]*ir.Tensor, error) {
	r := &run{Interp: in, env: env, operands: operands, stages: make([][]*ir.Tensor, len(stages))}
	if r.MaxBytes == 0 {
		r.MaxBytes = DefaultMaxBytes
	}
	lastUse, err := lastUses(stages, outputs)
	if err != nil {
		return nil, err
	}
	for i, s := range stages {
		if lastUse[i] < i {
			continue // no output needs it
		}
		if r.stages[i], err = r.stage(s); err != nil {
			return nil, fmt.Errorf("stage %q: %w", s.Name, err)
		}
		for k := range r.stages[:i] {
			if lastUse[k] == i {
				if r.Memory != nil {
					r.Memory.Give(r.stages[k]...)
				}
				r.stages[k] = nil
			}
		}
	}
	out := make([]*ir.Tensor, len(outputs))
	for i, src := range outputs {
		if out[i], err = r.tensor(src); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return out, nil
}

// run is one evaluation.
type run struct {
	Interp
	env      map[string]int64
	operands []*ir.Tensor
	stages   [][]*ir.Tensor // computed results by stage and part
	points   int64          // that stages have so far, where there is a limit
	mu       sync.Mutex
	read     map[int]*buffer // operands of files that loads have asked for: each is read once, however many loads there are
}

// buffer is what a source names, as loads read it.
func (r *run) buffer(s te.Source) (*buffer, error) {
	t, err := r.tensor(s)
	if err != nil {
		return nil, err
	}
	if s.Stage || t.Src == nil {
		return bufferOf(t)
	}
	r.mu.Lock() // of workers each makes its own loads
	defer r.mu.Unlock()
	if b := r.read[s.N]; b != nil {
		return b, nil
	}
	b, err := bufferOf(t)
	if err != nil {
		return nil, err
	}
	if r.read == nil {
		r.read = map[int]*buffer{}
	}
	r.read[s.N] = b
	return b, nil
}

// tensor is what a source names.
func (r *run) tensor(s te.Source) (*ir.Tensor, error) {
	if !s.Stage {
		if s.N < 0 || s.N >= len(r.operands) || r.operands[s.N] == nil {
			return nil, fmt.Errorf("operand %d is absent", s.N)
		}
		return r.operands[s.N], nil
	}
	if s.N < 0 || s.N >= len(r.stages) || s.Part < 0 || s.Part >= len(r.stages[s.N]) {
		return nil, fmt.Errorf("result %d of stage %d is not computed before", s.Part, s.N)
	}
	return r.stages[s.N][s.Part], nil
}

// lastUses is the last stage that loads each stage, itself computed for some
// output; len(stages) for outputs, -1 for stages of no use.
func lastUses(stages []*te.Stage, outputs []te.Source) ([]int, error) {
	last := slices.Repeat([]int{-1}, len(stages))
	for _, src := range outputs {
		if src.Stage {
			if src.N < 0 || src.N >= len(stages) {
				return nil, fmt.Errorf("an output is stage %d of %d stages", src.N, len(stages))
			}
			last[src.N] = len(stages)
		}
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if last[i] < 0 {
			continue
		}
		for _, e := range expressions(stages[i]) {
			te.Walk(e, func(e te.Expr) {
				l, ok := e.(te.Load)
				if ok && l.Source.Stage && l.Source.N >= 0 && l.Source.N < i {
					last[l.Source.N] = max(last[l.Source.N], i)
				}
			})
		}
	}
	return last, nil
}

// expressions are all scalar expressions of a stage.
func expressions(s *te.Stage) []te.Expr {
	out := s.Exprs()
	if s.Combine != nil {
		out = slices.Concat(out, s.Combine.Init, s.Combine.Join)
	}
	return out
}

// stage computes the tensors of one stage.
func (r *run) stage(s *te.Stage) ([]*ir.Tensor, error) {
	if err := wellFormed(s); err != nil {
		return nil, err
	}
	shape, err := r.extents(s.Axes)
	if err != nil {
		return nil, err
	}
	if err := r.spend(s, shape); err != nil {
		return nil, err
	}
	out := make([]*ir.Tensor, len(s.Results))
	for k, e := range s.Results {
		if out[k], err = r.make(e.DType(), shape); err != nil {
			return nil, err
		}
	}
	if out[0].Len() == 0 {
		return out, nil
	}
	var accs []*ir.Tensor
	if s.Combine != nil {
		if accs, err = r.reduce(s, shape, out); err != nil || accs == nil {
			return out, err
		}
	}
	if err := r.results(s, shape, accs, out); err != nil || s.Update == nil {
		return out, err
	}
	return out, r.update(s.Update, out[0])
}

func wellFormed(s *te.Stage) error {
	switch {
	case len(s.Results) == 0:
		return fmt.Errorf("there are no results")
	case s.Update != nil && len(s.Results) != 1:
		return fmt.Errorf("an update of %d results", len(s.Results))
	case s.Combine == nil && len(s.Reduce)+len(s.Values) > 0:
		return fmt.Errorf("a stage has reduction axes or values, but no combiner")
	case s.Combine != nil && (len(s.Combine.Init) != len(s.Values) || len(s.Combine.Join) != len(s.Values) || len(s.Values) == 0):
		return fmt.Errorf("combiner %q has %d neutral values and %d joins for %d values",
			s.Combine.Name, len(s.Combine.Init), len(s.Combine.Join), len(s.Values))
	}
	for _, e := range expressions(s) {
		if e == nil {
			return fmt.Errorf("an expression is missing")
		}
	}
	return nil
}

func (r *run) extents(axes []te.Axis) ([]int64, error) {
	out := make([]int64, len(axes))
	for i, a := range axes {
		x, err := a.Extent.Eval(r.env)
		if err != nil {
			return nil, fmt.Errorf("extent of axis %s: %w", a.Var, err)
		}
		if x < 0 {
			return nil, fmt.Errorf("extent of axis %s is %d", a.Var, x)
		}
		out[i] = x
	}
	return out, nil
}

// make allocates a tensor within the limit.
func (r *run) make(t ir.DType, shape []int64) (*ir.Tensor, error) {
	n, err := ir.Len(shape)
	if err != nil {
		return nil, err
	}
	if n > r.MaxBytes/int64(max(t.Size(), 1)) {
		return nil, r.tooLarge(t, shape)
	}
	return r.Memory.tensor(t, shape, n), nil
}

// results evaluates a stage's results over its axes.
func (r *run) results(s *te.Stage, shape []int64, accs, out []*ir.Tensor) error {
	first, err := r.newResults(s, shape, accs, out)
	if err != nil {
		return err
	}
	return r.share(first.p.units(first.outer, first.vec), out[0].Len(), func() (func(from, to int64) error, error) {
		e := first
		if first = nil; e == nil {
			if e, err = r.newResults(s, shape, accs, out); err != nil {
				return nil, err
			}
		}
		return e.run, nil
	})
}
