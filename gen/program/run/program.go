package run

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
)

// Program runs a model's host program on inputs, in the model's order, and gives its outputs. Values lie
// where the generated C++ puts them, so that plans are checked too: memory that is big enough, no value
// overwritten before its last use, whole results, zeros where layouts pad.
//
// Each memory space has memory of its own. Features are what the processor has, for versions that ask for some.
func Program(p *plan.Program, inputs []*ir.Tensor, features ...string) ([]*ir.Tensor, error) {
	h := &host{p: p, features: features, written: map[*ir.Value]bool{}}
	var err error
	if h.symbols, err = bindSymbols(p, inputs); err != nil {
		return nil, err
	}
	h.bounds = maps.Clone(h.symbols)
	if err := checkDims(p.Checks, h.symbols); err != nil {
		return nil, err
	}
	if err := h.allocate(inputs); err != nil {
		return nil, err
	}
	if err := h.steps(p.Steps); err != nil {
		return nil, err
	}
	for i, v := range p.Outputs {
		if err := h.cut(i); err != nil {
			return nil, err
		}
		if !h.written[v] && len(h.outputs[i].Data) > 0 {
			return nil, fmt.Errorf("no step writes the output %q", v.Name)
		}
	}
	return h.outputs, nil
}

// cut gives an output the shape that the run has computed.
func (h *host) cut(i int) error {
	shape, err := evalAll(h.p.Shapes[i], h.symbols)
	if err != nil {
		return err
	}
	n, err := ir.Len(shape)
	if err != nil {
		return err
	}
	t := h.outputs[i]
	h.outputs[i] = &ir.Tensor{Type: t.Type, Shape: shape, Data: t.Data[:n*int64(t.Type.Size())]}
	return nil
}

// host is one run of a program.
type host struct {
	p       *plan.Program
	symbols map[string]int64
	bounds  map[string]int64 // the symbols before the run: those that it computes at their greatest
	inputs  []*ir.Tensor
	outputs []*ir.Tensor
	stores  map[layout.Space]*store
	written map[*ir.Value]bool
	// features are what the processor has.
	features []string
}

// bindSymbols gives each symbol the extent of the inputs' dimension that is the symbol.
func bindSymbols(p *plan.Program, inputs []*ir.Tensor) (map[string]int64, error) {
	if len(inputs) != len(p.Inputs) {
		return nil, fmt.Errorf("%d inputs for a model of %d", len(inputs), len(p.Inputs))
	}
	out := map[string]int64{}
	for i, v := range p.Inputs {
		if t := inputs[i]; t.Type != v.Type || len(t.Shape) != len(v.Shape) {
			return nil, fmt.Errorf("input %q is %s%v; the model wants %s of rank %d", v.Name, t.Type, t.Shape, v.Type, len(v.Shape))
		}
		for d, e := range v.Shape {
			if name, ok := e.AsVar(); ok {
				out[name] = inputs[i].Shape[d]
			}
		}
	}
	for _, s := range p.Symbols {
		if s.Computed {
			continue
		}
		if x, ok := out[s.Name]; !ok || x < s.Lo || x > s.Hi {
			return nil, &ShapeError{fmt.Sprintf("symbol %s is %d (given: %v); the model takes %d to %d", s.Name, x, ok, s.Lo, s.Hi)}
		}
	}
	for i, v := range p.Inputs {
		if want, err := evalAll(v.Shape, out); err != nil || !slices.Equal(want, inputs[i].Shape) {
			return nil, &ShapeError{fmt.Sprintf("input %q has shape %v; the model wants %v (%v)", v.Name, inputs[i].Shape, want, err)}
		}
	}
	return out, p.BindBounds(out)
}

// ShapeError reports that an input's shape is none that the program takes; generated code refuses it, too.
type ShapeError struct{ text string }

func (e *ShapeError) Error() string { return e.text }

// DimsError reports that the program refuses a run's dimensions, as the generated code does.
type DimsError struct{ Check block.Check }

func (e *DimsError) Error() string { return "refused dimensions: " + e.Check.String() }

// BoundsError reports that a call computed a symbol beyond what the program has memory for.
type BoundsError struct {
	Symbol        string
	Value, Lo, Hi int64
}

func (e *BoundsError) Error() string {
	return fmt.Sprintf("%s is %d; its bounds are %d and %d", e.Symbol, e.Value, e.Lo, e.Hi)
}

// ValueError reports that a block, named after a space, loaded an index outside of its bounds; generated code refuses the
// run, too.
type ValueError struct{ Block string }

func (e *ValueError) Error() string { return "an index is out of bounds, or a divisor is 0" + e.Block }

func checkDims(checks []block.Check, symbols map[string]int64) error {
	for _, c := range checks {
		if ok, err := holds(c.Check, symbols); err != nil {
			return err
		} else if !ok {
			return &DimsError{c}
		}
	}
	return nil
}

func holds(c ops.Check, symbols map[string]int64) (bool, error) {
	a, err := c.A.Eval(symbols)
	if err != nil {
		return false, err
	}
	b, err := c.B.Eval(symbols)
	return err == nil && plan.Holds(c, a, b), err
}

func evalAll(s ir.Shape, symbols map[string]int64) ([]int64, error) {
	out := make([]int64, len(s))
	for i, e := range s {
		var err error
		if out[i], err = e.Eval(symbols); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// call runs a kernel in a space: every operand must still be as it was written, every result becomes so.
func (h *host) call(s *plan.Call, space layout.Space, tasks func(*Kernel) error) error {
	if len(s.Args) != len(s.Kernel.Buffers) {
		return fmt.Errorf("%d values for a kernel of %d buffers", len(s.Args), len(s.Kernel.Buffers))
	}
	for _, name := range s.Kernel.Sets {
		h.symbols[name] = h.bounds[name]
	}
	k, err := Compile(s.Kernel, h.symbols)
	if err != nil {
		return err
	}
	buffers := make([][]byte, len(s.Args))
	for i, v := range s.Args {
		if buffers[i], err = h.memory(v, k.params[i]); err != nil {
			return fmt.Errorf("%q: %w", v.Name, err)
		}
	}
	if err := h.claim(s, buffers); err != nil {
		return err
	}
	scratch, err := h.workerMemory(s, k, h.stores[space].scratch)
	if err != nil {
		return err
	}
	if err := k.Start(append(buffers, scratch...)...); err != nil {
		return err
	}
	if err := tasks(k); err != nil {
		return err
	}
	if k.BadIndex() {
		return &ValueError{label(plan.Step{Call: s})}
	}
	if err := k.Finish(); err != nil {
		return err
	}
	for i, name := range s.Kernel.Sets {
		if lo := h.p.Facts[name].Lo; k.computed[i] < lo {
			return fmt.Errorf("%s is %d; it is at least %d", name, k.computed[i], lo)
		}
		h.symbols[name] = k.computed[i]
	}
	for i, v := range s.Args {
		if s.Kernel.Buffers[i].Write {
			if err := h.checkPadding(v, buffers[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// workerMemory is the worker's memory of each of the kernel's scratch buffers.
func (h *host) workerMemory(s *plan.Call, k *Kernel, memory []byte) ([][]byte, error) {
	var out [][]byte
	offsets, _ := s.Scratch()
	for i, m := range k.scratch {
		at, err := offsets[i].Eval(h.symbols)
		if err != nil {
			return nil, err
		}
		end := at + m.size*int64(m.Type.Size())
		if at%max(plan.Alignment, s.Align) != 0 || end > int64(len(memory)) {
			return nil, fmt.Errorf("the kernel's %s ends at byte %d of scratch, the plan has %d", m.name, end, len(memory))
		}
		out = append(out, memory[at:end])
	}
	return out, nil
}

// laterFirst runs a kernel's tasks in another order than generated code does: the later ones go first.
func laterFirst(k *Kernel) error {
	if err := k.Run(k.tasks/2, k.tasks); err != nil {
		return err
	}
	return k.Run(0, k.tasks/2)
}
