package plan

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
)

// Verify checks that the steps can run in their order: each is one thing, what it reads was written before, what a kernel
// gets is what its buffers say, and, once values are placed, that all of them are.
func (p *Program) Verify(proofs loop.Proofs) error {
	if err := p.verifyVariants(proofs); err != nil {
		return err
	}
	v := &verifier{p: p, proofs: proofs, written: map[*ir.Value]bool{}, outside: map[*ir.Value]bool{}, right: map[*loop.Kernel]bool{}}
	for _, x := range p.Inputs {
		v.written[x], v.outside[x] = true, true
	}
	if err := v.steps(p.Steps); err != nil {
		return err
	}
	for _, x := range p.Outputs {
		if err := v.read("the program", x); err != nil {
			return err
		}
	}
	if p.Places == nil {
		return nil
	}
	for _, x := range p.mentioned() {
		if _, placed := p.Places[x]; !placed {
			return fmt.Errorf("%q has no place in memory", x.Name)
		}
	}
	return nil
}

// verifier knows in which values' storage something was written.
type verifier struct {
	p       *Program
	proofs  loop.Proofs // of kernels that earlier passes had
	written map[*ir.Value]bool
	order   []*ir.Value           // as they were written first
	outside map[*ir.Value]bool    // the caller's inputs
	right   map[*loop.Kernel]bool // kernels that steps share are looked at once
}

func (v *verifier) steps(steps []Step) error {
	for i := range steps {
		if err := v.step(&steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) step(s *Step) error {
	members := 0
	for _, is := range []bool{s.Call != nil, s.Copy != nil, s.Check != nil, s.Set != nil, s.If != nil, s.Loop != nil, s.Carry != nil} {
		if is {
			members++
		}
	}
	switch {
	case members != 1:
		return fmt.Errorf("a step is %d things", members)
	case s.Call != nil:
		return v.call(s.Call)
	case s.Copy != nil:
		return v.copies("a copy", *s.Copy)
	case s.Carry != nil:
		return v.copies(s.Carry.Label, s.Carry.Copies...)
	case s.If != nil:
		return v.branches(s.If)
	case s.Loop != nil:
		return v.loop(s.Loop)
	}
	return nil
}

// call checks a kernel's operands and results.
func (v *verifier) call(c *Call) error {
	if !v.right[c.Kernel] {
		if err := v.proofs.Verify(c.Kernel); err != nil {
			return fmt.Errorf("block %s: %w", c.Block.Label(), err)
		}
		v.right[c.Kernel] = true
	}
	if len(c.Args) != len(c.Kernel.Buffers) {
		return fmt.Errorf("block %s: %d values for a kernel of %d buffers", c.Block.Label(), len(c.Args), len(c.Kernel.Buffers))
	}
	for _, x := range c.Over {
		if err := v.read(c.Block.Label(), x); err != nil {
			return err
		}
	}
	for i, b := range c.Kernel.Buffers {
		x := c.Args[i]
		if n := v.p.Layouts[x].Elements(x.Shape); b.Type != x.Type || !b.Size.Equal(n) {
			return fmt.Errorf("block %s: %q has %s elements of %s, and its kernel's %q has %s of %s", c.Block.Label(), x.Name, n, x.Type, b.Name, b.Size, b.Type)
		}
		if b.Write {
			continue
		}
		if err := v.read(c.Block.Label(), x); err != nil {
			return err
		}
	}
	for i, b := range c.Kernel.Buffers {
		if !b.Write {
			continue
		}
		if b.Holds && len(c.Over) == 0 {
			return fmt.Errorf("block %s: %q holds no operand that its kernel reads there", c.Block.Label(), c.Args[i].Name)
		}
		if err := v.write(c.Block.Label(), c.Args[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) copies(what string, copies ...Copy) error {
	for _, c := range copies {
		if err := v.read(what, c.From); err != nil {
			return err
		}
		if c.From.Type != c.To.Type {
			return fmt.Errorf("%s: %q of %s becomes %q of %s", what, c.From.Name, c.From.Type, c.To.Name, c.To.Type)
		}
	}
	for _, c := range copies {
		if err := v.write(what, c.To); err != nil {
			return err
		}
	}
	return nil
}

// branches checks either branch after what was before both; what only one of them writes is not written after them.
func (v *verifier) branches(x *If) error {
	if err := v.read(x.Label, x.Cond); err != nil {
		return err
	}
	mark := len(v.order)
	if err := v.steps(x.Then); err != nil {
		return err
	}
	then := map[*ir.Value]bool{}
	for _, r := range v.order[mark:] {
		then[r] = true
		delete(v.written, r)
	}
	v.order = v.order[:mark]
	if err := v.steps(x.Else); err != nil {
		return err
	}
	for _, r := range v.order[mark:] {
		if !then[r] {
			delete(v.written, r)
		}
	}
	return nil
}

// loop checks the body as its first iteration runs.
func (v *verifier) loop(x *Loop) error {
	for _, read := range []*ir.Value{x.Max, x.While} {
		if read == nil {
			continue
		}
		if err := v.read(x.Label, read); err != nil {
			return err
		}
	}
	return v.steps(x.Body)
}

func (v *verifier) read(what string, x *ir.Value) error {
	if r, _ := v.p.home(x); x.Const == nil && !v.written[r] {
		return fmt.Errorf("%s reads %q before a step has written it", what, x.Name)
	}
	return nil
}

func (v *verifier) write(what string, x *ir.Value) error {
	r, _ := v.p.home(x)
	if x.Const != nil || r.Const != nil || v.outside[r] {
		return fmt.Errorf("%s writes %q, which is a constant or the caller's", what, x.Name)
	}
	if !v.written[r] {
		v.written[r] = true
		v.order = append(v.order, r)
	}
	return nil
}
