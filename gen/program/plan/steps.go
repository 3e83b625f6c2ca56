package plan

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// Step is one of the host program's: exactly one member is set.
type Step struct {
	*Call
	Copy  *Copy
	Check *block.Check // guards on run-time dims: refuses those with which what follows is malformed
	Set   *Set
	If    *If
	Loop  *Loop
	Carry *Carry
	// Launch and Transfer are of programs with a device.
	Launch   *Launch
	Transfer *Transfer
	Choose   *Choose
}

// Call runs a kernel on values: operands first, then results, as its buffers stand.
type Call struct {
	Kernel *loop.Kernel
	Args   []*ir.Value
	Block  *block.Block
	// Over are operands that lie where a result does, which is how the kernel reads them.
	Over   []*ir.Value
	Cycles float64 // estimated
	// Tuning is what the kernel was chosen from, by measurement; nil: by estimates alone.
	Tuning *tuning.Choice
	// Schedule is the text of the schedule that the kernel follows; "" where it was made without one.
	Schedule string
	// Align is what the kernel's scratch buffers are multiples of in the worker's memory, if it is more than Alignment.
	Align int64
	// Function is the name of what a printer made of the kernel; kernels that differ only in names share one.
	Function string
	// Others are what the library's other variants run instead (variant.go).
	Others []Lowering
}

// Copy copies a value's bytes to another of its type and shape.
type Copy struct{ From, To *ir.Value }

// Set computes a symbol.
type Set struct {
	Name  string
	Value sym.Expr
	// Once, in a Carry, is the counter of the loop that sets the symbol in its first iteration and refuses
	// another value in later ones; "" elsewhere.
	Once string
}

// Carry gives values that a loop's iterations make, with dimensions that only they know, to the next iteration, or to the
// whole that they are a part of: it refuses dimensions beyond what memory is there for, copies bytes of the
// values From, whose shapes speak of the symbols before, and sets the symbols, all at once.
type Carry struct {
	Label  string
	Copies []Copy
	Sets   []Set
}

// If runs Then where Cond, one bool, holds, and else Else.
type If struct {
	Label      string
	Cond       *ir.Value
	Then, Else []Step
}

// Loop runs Body for Counter = 0, 1, ... at most Trips times and, where they are not nil, at most
// the element of Max times and as long as While, one bool, holds before.
type Loop struct {
	Label      string
	Counter    string
	Trips      sym.Expr
	Max, While *ir.Value
	Body       []Step
	Made       string // the symbol that becomes the number of iterations, or ""
}

// Home reports that a value lies in the storage of Of from the element At on.
type Home struct {
	Of *ir.Value
	At sym.Expr
	// Part reports that a loop's body gives the value, and Of keeps it beyond the iteration.
	Part bool
	// Whole reports that the value is all that lies in Of by then: what may be written over the one may be written over the other.
	Whole bool
}

// Calls are the steps that run kernels on the host, in the program's order.
func (p *Program) Calls() []*Call { return p.callsIn(layout.Host) }

// Launches are the steps that run kernels on the device, in the program's order.
func (p *Program) Launches() []*Launch {
	var out []*Launch
	walk(p.Steps, func(s Step) {
		if s.Launch != nil {
			out = append(out, s.Launch)
		}
	})
	return out
}

// Transfers are the steps that copy values between spaces.
func (p *Program) Transfers() []*Transfer {
	var out []*Transfer
	walk(p.Steps, func(s Step) {
		if s.Transfer != nil {
			out = append(out, s.Transfer)
		}
	})
	return out
}

// callsIn are the kernels' calls in a space.
func (p *Program) callsIn(space layout.Space) []*Call {
	var out []*Call
	walk(p.Steps, func(s Step) {
		if c, at := s.call(); c != nil && at == space {
			out = append(out, c)
		}
	})
	return out
}

// call is the kernel's call that the step is, and where it runs; nil for other steps.
func (s Step) call() (*Call, layout.Space) {
	if s.Launch != nil {
		return s.Launch.Call, layout.Device
	}
	return s.Call, layout.Host
}

// HostUses reports of each input and output whether steps of the host read or write it, other than by transfers.
func (p *Program) HostUses() (inputs, outputs []bool) {
	inputs, outputs = make([]bool, len(p.Inputs)), make([]bool, len(p.Outputs))
	walk(p.Steps, func(s Step) {
		if s.Launch != nil || s.Transfer != nil {
			return
		}
		for _, v := range s.values() {
			switch at := p.Places[v]; at.Region {
			case Input:
				inputs[at.N] = true
			case Output:
				outputs[at.N] = true
			}
		}
	})
	return inputs, outputs
}

// Walk calls f for each step of the program, then for the steps in it.
func (p *Program) Walk(f func(Step)) { walk(p.Steps, f) }

// walk calls f for each step, then for the steps in it.
func walk(steps []Step, f func(Step)) {
	for _, s := range steps {
		f(s)
		for _, inner := range s.inner() {
			walk(inner, f)
		}
	}
}

// inner are the lists of steps in a step.
func (s Step) inner() [][]Step {
	switch {
	case s.If != nil:
		return [][]Step{s.If.Then, s.If.Else}
	case s.Loop != nil:
		return [][]Step{s.Loop.Body}
	case s.Choose != nil:
		var out [][]Step
		for _, v := range s.Choose.Versions {
			out = append(out, v.Steps)
		}
		return out
	}
	return nil
}

// values are what the step itself reads and writes.
func (s Step) values() []*ir.Value {
	var out []*ir.Value
	switch {
	case s.Call != nil:
		return slices.Concat(s.Over, s.Args)
	case s.Launch != nil:
		return slices.Concat(s.Launch.Over, s.Launch.Args)
	case s.Transfer != nil:
		return []*ir.Value{s.Transfer.From.Value, s.Transfer.To.Value}
	case s.Copy != nil:
		return []*ir.Value{s.Copy.From, s.Copy.To}
	case s.Carry != nil:
		for _, c := range s.Carry.Copies {
			out = append(out, c.From, c.To)
		}
	case s.If != nil:
		return []*ir.Value{s.If.Cond}
	case s.Loop != nil:
		for _, v := range []*ir.Value{s.Loop.Max, s.Loop.While} {
			if v != nil {
				out = append(out, v)
			}
		}
	}
	return out
}

// mentioned are the values of all steps, in order, as often as they occur.
func (p *Program) mentioned() []*ir.Value {
	var out []*ir.Value
	walk(p.Steps, func(s Step) { out = append(out, s.values()...) })
	return out
}

// home is the value in whose storage v lies, itself where there is no other, and from which
// element on.
func (p *Program) home(v *ir.Value) (*ir.Value, sym.Expr) {
	r := p.root(v)
	return r.of, r.at
}

// root is where a value lies in the end, of one that lies in another's storage, which lies in another's, and so on.
type root struct {
	of    *ir.Value
	at    sym.Expr
	whole bool // all of these homes are
	parts int  // how many of them are
}

// root follows homes, and remembers where they lead to: only a value without a home gets one later.
func (p *Program) root(v *ir.Value) root {
	near, known := p.roots[v]
	if !known {
		h, ok := p.Homes[v]
		if !ok {
			return root{of: v, at: sym.Const(0), whole: true}
		}
		near = root{of: h.Of, at: h.At, whole: h.Whole}
		if h.Part {
			near.parts = 1
		}
	}
	far := p.root(near.of)
	r := root{far.of, sym.Add(near.at, far.at), near.whole && far.whole, near.parts + far.parts}
	if p.roots == nil {
		p.roots = map[*ir.Value]root{}
	}
	p.roots[v] = r
	return r
}

// placeHomes places the values that lie in others.
func (p *Program) placeHomes() {
	for _, v := range p.mentioned() {
		of, at := p.home(v)
		if _, placed := p.Places[v]; placed || of == v {
			continue
		}
		in := p.Places[of]
		in.Offset = sym.Add(in.Offset, sym.Scale(at, int64(v.Type.Size())))
		p.Places[v] = in
	}
}
