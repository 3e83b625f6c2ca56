package plan

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// Fits checks that the program computes all integers within 64 bits: printers have no text for others.
func (p *Program) Fits() error {
	for i := range p.Others {
		if err := p.Variant(i).Fits(); err != nil {
			return err
		}
	}
	seen := map[*loop.Kernel]bool{} // kernels that steps share are looked at once
	for i, s := range p.Shapes {
		for k, d := range s {
			if err := p.fits(d, "dimension %d of output %q", k, p.Outputs[i].Name); err != nil {
				return err
			}
		}
	}
	for _, c := range p.Checks {
		if err := p.stepFits(Step{Check: &c}, seen); err != nil {
			return err
		}
	}
	for _, v := range p.mentioned() {
		if err := p.fits(p.Places[v].Offset, "the place of value %q in memory", v.Name); err != nil {
			return err
		}
	}
	for _, space := range p.spaces() {
		m := p.memory(space)
		if err := p.allFit([]sym.Expr{m.ArenaBytes, m.ScratchBytes}, "the memory of all values"); err != nil {
			return err
		}
	}
	var err error
	walk(p.Steps, func(s Step) {
		if err == nil {
			err = p.stepFits(s, seen)
		}
	})
	return err
}

// stepFits checks what a step computes itself.
func (p *Program) stepFits(s Step, seen map[*loop.Kernel]bool) error {
	switch c, _ := s.call(); {
	case c != nil:
		return p.callFits(s, c, seen)
	case s.Transfer != nil:
		for _, r := range []Range{s.Transfer.From, s.Transfer.To} {
			if err := p.allFit([]sym.Expr{r.At, r.Bytes}, "a transfer of %q", r.Value.Name); err != nil {
				return err
			}
		}
	case s.Check != nil:
		return p.allFit([]sym.Expr{s.Check.A, s.Check.B}, "%s", s.Check.Text())
	case s.Choose != nil:
		for _, v := range s.Choose.Versions {
			for _, g := range v.Guard.Dims {
				if err := p.allFit([]sym.Expr{g.A, g.B}, "a guard of %s", s.Choose.Label); err != nil {
					return err
				}
			}
		}
	case s.Set != nil:
		return p.fits(s.Set.Value, "symbol %q", s.Set.Name)
	case s.Loop != nil:
		return p.fits(s.Loop.Trips, "the iterations of %s", s.Loop.Label)
	case s.Carry != nil:
		for _, set := range s.Carry.Sets {
			if err := p.fits(set.Value, "symbol %q of %s", set.Name, s.Carry.Label); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Program) callFits(s Step, c *Call, seen map[*loop.Kernel]bool) error {
	if l := s.Launch; l != nil {
		if err := p.allFit(l.Global[:], "the work-items of block %s", c.Block.Label()); err != nil {
			return err
		}
	}
	if seen[c.Kernel] {
		return nil
	}
	seen[c.Kernel] = true
	if err := c.Kernel.Fits(); err != nil {
		return fmt.Errorf("block %s: %w", c.Block.Label(), err)
	}
	offsets, _ := c.Scratch()
	return p.allFit(offsets, "scratch memory of block %s", c.Block.Label())
}

func (p *Program) allFit(es []sym.Expr, what string, args ...any) error {
	for _, e := range es {
		if err := p.fits(e, what, args...); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) fits(e sym.Expr, what string, args ...any) error {
	if e.Fits(p.Facts) {
		return nil
	}
	return fmt.Errorf("%s (%s) overflows 64 bits, divides by 0, or is an expression of more than %d characters; use smaller dimensions",
		fmt.Sprintf(what, args...), e, limit.Expression)
}
