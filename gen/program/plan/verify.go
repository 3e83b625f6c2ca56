package plan

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// Verify checks that the steps can run in their order: each is one thing, what it reads was written before, in the space
// where the step runs, what a kernel gets is what its buffers say, as many work-items start as it has tasks, and, once values
// are placed, that all of them are and that none lies where another one does in its life.
func (p *Program) Verify(proofs loop.Proofs) error {
	if err := p.verifyVariants(proofs); err != nil {
		return err
	}
	v := &verifier{p: p, facts: p.Facts, proofs: proofs, known: map[any]bool{}, filled: map[*ir.Value]sym.Expr{}, outside: map[*ir.Value]bool{}, right: map[*loop.Kernel]bool{}}
	for _, x := range p.Inputs {
		v.known[x], v.outside[x] = true, true
	}
	for _, s := range p.Symbols {
		v.known[s.Name] = !s.Computed
	}
	if err := v.steps(p.Steps); err != nil {
		return err
	}
	for _, x := range p.Outputs {
		if err := v.read("the program", x, layout.Host); err != nil {
			return err
		}
	}
	if p.Places == nil {
		return nil
	}
	return p.verifyPlaces()
}

// verifier knows in which values' storage something was written, and which symbols have values.
type verifier struct {
	p       *Program
	facts   sym.Facts              // what is known of symbols where a step stands
	proofs  loop.Proofs            // of kernels that earlier passes had
	known   map[any]bool           // values and names of symbols
	order   []any                  // as they were known first
	filled  map[*ir.Value]sym.Expr // the bytes of values from 0 on that transfers have written
	outside map[*ir.Value]bool     // the caller's inputs
	right   map[*loop.Kernel]bool  // kernels that steps share are looked at once
}

// learn notes that a value is written, or that a symbol has a value.
func (v *verifier) learn(x any) {
	if !v.known[x] {
		v.known[x] = true
		v.order = append(v.order, x)
	}
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
	for _, is := range []bool{s.Call != nil, s.Copy != nil, s.Check != nil, s.Set != nil, s.If != nil, s.Loop != nil, s.Carry != nil,
		s.Launch != nil, s.Transfer != nil, s.Choose != nil} {
		if is {
			members++
		}
	}
	switch {
	case members != 1:
		return fmt.Errorf("a step has %d of its kinds set; want exactly one", members)
	case s.Call != nil:
		return v.call(s.Call, layout.Host)
	case s.Launch != nil:
		return v.launch(s.Launch)
	case s.Transfer != nil:
		return v.transfer(s.Transfer)
	case s.Copy != nil:
		return v.copies("a copy", *s.Copy)
	case s.Carry != nil:
		for _, x := range s.Carry.Sets {
			v.learn(x.Name)
		}
		return v.copies(s.Carry.Label, s.Carry.Copies...)
	case s.If != nil:
		if err := v.read(s.If.Label, s.If.Cond, layout.Host); err != nil {
			return err
		}
		return v.branches(s.inner(), nil)
	case s.Loop != nil:
		return v.loop(s.Loop)
	case s.Choose != nil:
		return v.choose(s.Choose, s.inner())
	case s.Set != nil:
		v.learn(s.Set.Name)
	}
	return nil
}

// call checks a kernel's operands and results, which lie in the space where it runs.
func (v *verifier) call(c *Call, space layout.Space) error {
	if !v.right[c.Kernel] {
		if err := v.proofs.Verify(c.Kernel); err != nil {
			return fmt.Errorf("block %s: %w", c.Block.Label(), err)
		}
		v.right[c.Kernel] = true
	}
	if err := v.sized(c); err != nil {
		return err
	}
	if len(c.Args) != len(c.Kernel.Buffers) {
		return fmt.Errorf("block %s: %d values for a kernel of %d buffers", c.Block.Label(), len(c.Args), len(c.Kernel.Buffers))
	}
	for _, x := range c.Over {
		if err := v.read(c.Block.Label(), x, space); err != nil {
			return err
		}
	}
	for i, b := range c.Kernel.Buffers {
		x := c.Args[i]
		if n := v.p.Layouts[x].Elements(x.Shape); b.Type != x.Type || !b.Size.Equal(n) && !b.Size.Equal(n.Under(v.facts)) {
			return fmt.Errorf("block %s: %q has %s elements of %s, and its kernel's %q has %s of %s", c.Block.Label(), x.Name, n, x.Type, b.Name, b.Size, b.Type)
		}
		if b.Write {
			continue
		}
		if err := v.read(c.Block.Label(), x, space); err != nil {
			return err
		}
	}
	for i, b := range c.Kernel.Buffers {
		if !b.Write {
			continue
		}
		if b.Holds && len(c.Over) == 0 {
			return fmt.Errorf("block %s: %q does not contain the operand that its kernel reads there", c.Block.Label(), c.Args[i].Name)
		}
		if err := v.write(c.Block.Label(), c.Args[i], space); err != nil {
			return err
		}
	}
	for _, name := range c.Kernel.Sets {
		v.learn(name)
	}
	return nil
}

// sized checks that the symbols have, where a call stands, no values but those that its kernel is made for.
func (v *verifier) sized(c *Call) error {
	for _, s := range v.p.Symbols {
		r, here := v.facts[s.Name]
		if of, known := c.Kernel.Facts[s.Name]; here && known && (r.Lo < of.Lo || r.Hi > of.Hi) {
			return fmt.Errorf("block %s: its kernel supports values of %s from %d to %d, but runs may have %d to %d", c.Block.Label(), s.Name, of.Lo, of.Hi, r.Lo, r.Hi)
		}
	}
	return nil
}

func (v *verifier) copies(what string, copies ...Copy) error {
	for _, c := range copies {
		if err := v.read(what, c.From, layout.Host); err != nil {
			return err
		}
		if c.From.Type != c.To.Type {
			return fmt.Errorf("%s: %q of %s becomes %q of %s", what, c.From.Name, c.From.Type, c.To.Name, c.To.Type)
		}
	}
	for _, c := range copies {
		if err := v.write(what, c.To, layout.Host); err != nil {
			return err
		}
	}
	return nil
}

// branches checks lists of steps of which one runs, each after what was before all; what only some of them write is not
// written after them. Of each list something may be known of symbols.
func (v *verifier) branches(lists [][]Step, facts []sym.Facts) error {
	mark, before := len(v.order), v.order
	var all map[any]bool // what each list so far makes known
	around := v.facts
	defer func() { v.facts = around }()
	for i, steps := range lists {
		if v.order = slices.Clone(before); facts != nil {
			v.facts = facts[i]
		}
		if err := v.steps(steps); err != nil {
			return err
		}
		mine := map[any]bool{}
		for _, x := range v.order[mark:] {
			mine[x] = all == nil || all[x]
			delete(v.known, x)
		}
		all = mine
	}
	for _, x := range v.order[mark:] {
		v.known[x] = all[x]
	}
	v.order = slices.DeleteFunc(v.order, func(x any) bool { return !v.known[x] })
	return nil
}

// loop checks the body as its first iteration runs.
func (v *verifier) loop(x *Loop) error {
	for _, read := range []*ir.Value{x.Max, x.While} {
		if read == nil {
			continue
		}
		if err := v.read(x.Label, read, layout.Host); err != nil {
			return err
		}
	}
	v.learn(x.Counter)
	if x.Made != "" {
		v.learn(x.Made)
	}
	return v.steps(x.Body)
}

func (v *verifier) read(what string, x *ir.Value, space layout.Space) error {
	if err := v.lies(what, "reads", x, space); err != nil {
		return err
	}
	if r, _ := v.p.home(x); x.Const == nil && !v.known[r] {
		return fmt.Errorf("%s reads %q before a step writes it", what, x.Name)
	}
	return nil
}

// lies checks that a value lies where a step runs, as does that in whose storage it is.
func (v *verifier) lies(what, verb string, x *ir.Value, space layout.Space) error {
	r, _ := v.p.home(x)
	for _, y := range []*ir.Value{x, r} {
		if at := v.p.Space(y); at != space {
			return fmt.Errorf("%s, on the %s, %s %q, which is on the %s; want a transfer that copies it", what, space, verb, y.Name, at)
		}
	}
	return nil
}

func (v *verifier) write(what string, x *ir.Value, space layout.Space) error {
	if err := v.lies(what, "writes", x, space); err != nil {
		return err
	}
	r, _ := v.p.home(x)
	if x.Const != nil || r.Const != nil || v.outside[r] {
		return fmt.Errorf("%s writes %q, which is a constant or the caller's", what, x.Name)
	}
	v.learn(r)
	return nil
}
