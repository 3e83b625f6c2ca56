package plan

import (
	"fmt"

	"rules_dnn/gen/limit"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
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
	for _, e := range []sym.Expr{p.ArenaBytes, p.ScratchBytes} {
		if err := p.fits(e, "the memory of all values"); err != nil {
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
	switch {
	case s.Call != nil && seen[s.Kernel]:
		return nil
	case s.Call != nil:
		seen[s.Kernel] = true
		if err := s.Kernel.Fits(); err != nil {
			return fmt.Errorf("block %s: %w", s.Block.Label(), err)
		}
		offsets, _ := s.Scratch()
		for _, e := range offsets {
			if err := p.fits(e, "scratch memory of block %s", s.Block.Label()); err != nil {
				return err
			}
		}
	case s.Check != nil:
		for _, e := range []sym.Expr{s.Check.A, s.Check.B} {
			if err := p.fits(e, "%s", s.Check.Text()); err != nil {
				return err
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

func (p *Program) fits(e sym.Expr, what string, args ...any) error {
	if e.Fits(p.Facts) {
		return nil
	}
	return fmt.Errorf("%s (%s) leaves 64 bits, divides by 0, or is an expression of more than %d characters: want smaller dimensions",
		fmt.Sprintf(what, args...), e, limit.Expression)
}
