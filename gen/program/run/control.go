package run

import (
	"encoding/binary"
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// steps runs steps in order.
func (h *host) steps(steps []plan.Step) error {
	for i, s := range steps {
		if err := h.step(s); err != nil {
			return fmt.Errorf("step %d%s: %w", i, label(s), err)
		}
	}
	return nil
}

func label(s plan.Step) string {
	switch {
	case s.Call != nil && s.Block != nil:
		return " (" + s.Block.Model() + ")"
	case s.Launch != nil && s.Launch.Block != nil:
		return " (" + s.Launch.Block.Model() + ")"
	case s.Transfer != nil:
		return fmt.Sprintf(" (transfer of %q)", s.Transfer.From.Value.Name)
	case s.Choose != nil:
		return " (" + s.Choose.Label + ")"
	case s.Carry != nil:
		return " (" + s.Carry.Label + ")"
	case s.If != nil:
		return " (" + s.If.Label + ")"
	case s.Loop != nil:
		return " (" + s.Loop.Label + ")"
	}
	return ""
}

func (h *host) step(s plan.Step) error {
	switch {
	case s.Call != nil:
		return h.call(s.Call, layout.Host, laterFirst)
	case s.Launch != nil:
		return h.launch(s.Launch)
	case s.Transfer != nil:
		return h.transfer(s.Transfer)
	case s.Choose != nil:
		return h.choose(s.Choose)
	case s.Copy != nil:
		return h.copy(s.Copy)
	case s.Carry != nil:
		return h.carry(s.Carry)
	case s.Check != nil:
		return checkDims([]block.Check{*s.Check}, h.symbols)
	case s.Set != nil:
		x, err := s.Set.Value.Eval(h.symbols)
		h.symbols[s.Set.Name] = x
		return err
	case s.If != nil:
		cond, err := h.element(s.If.Cond)
		if err != nil {
			return err
		}
		if cond != 0 {
			return h.steps(s.If.Then)
		}
		return h.steps(s.If.Else)
	}
	return h.loop(s.Loop)
}

func (h *host) copy(s *plan.Copy) error {
	from, err := h.bytes(s.From)
	if err != nil {
		return fmt.Errorf("%q: %w", s.From.Name, err)
	}
	if err := h.intact(s.From, from); err != nil {
		return err
	}
	return h.fill(s.To, slices.Clone(from))
}

// element is the only element of a value: a bool or an int64.
func (h *host) carry(s *plan.Carry) error {
	values := make([]int64, len(s.Sets))
	for i, x := range s.Sets {
		var err error
		if values[i], err = x.Value.Eval(h.symbols); err != nil {
			return err
		}
		if lo, hi := h.p.Facts[x.Name].Lo, h.bounds[x.Name]; values[i] < lo || values[i] > hi {
			return fmt.Errorf("%s would be %d; there is memory for %d to %d", x.Name, values[i], lo, hi)
		}
		if x.Once != "" && h.symbols[x.Once] > 0 && values[i] != h.symbols[x.Name] {
			return fmt.Errorf("%s is %d in the first iteration and %d in a later one", x.Name, h.symbols[x.Name], values[i])
		}
	}
	data := make([][]byte, len(s.Copies))
	for i, c := range s.Copies {
		from, err := h.bytes(c.From)
		if err == nil {
			err = h.intact(c.From, from)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", c.From.Name, err)
		}
		data[i] = slices.Clone(from)
	}
	for i, x := range s.Sets {
		h.symbols[x.Name] = values[i]
	}
	for i, c := range s.Copies {
		if err := h.fill(c.To, data[i]); err != nil {
			return err
		}
	}
	return nil
}

// fill writes all bytes of a value.
func (h *host) fill(v *ir.Value, data []byte) error {
	to, err := h.bytes(v)
	if err != nil {
		return fmt.Errorf("%q: %w", v.Name, err)
	}
	if len(to) != len(data) {
		return fmt.Errorf("%q has %d bytes, what is copied to it %d", v.Name, len(to), len(data))
	}
	copy(to, data)
	h.own(v, to)
	return nil
}

func (h *host) element(v *ir.Value) (int64, error) {
	data, err := h.bytes(v)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", v.Name, err)
	}
	if err := h.intact(v, data); err != nil {
		return 0, err
	}
	if len(data) == 1 {
		return int64(data[0]), nil
	}
	return int64(binary.LittleEndian.Uint64(data)), nil
}

func (h *host) loop(s *plan.Loop) error {
	trips, err := s.Trips.Eval(h.symbols)
	if err != nil {
		return err
	}
	if s.Max != nil {
		most, err := h.element(s.Max)
		if err != nil {
			return err
		}
		trips = min(trips, most)
	}
	if s.Made != "" {
		h.symbols[s.Made] = 0
	}
	for i := int64(0); i < trips; i++ {
		if s.While != nil {
			if again, err := h.element(s.While); err != nil || again == 0 {
				return err
			}
		}
		if s.Made != "" && i >= h.bounds[s.Made] {
			return fmt.Errorf("more than %d iterations", h.bounds[s.Made])
		}
		h.symbols[s.Counter] = i
		if err := h.steps(s.Body); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		if s.Made != "" {
			h.symbols[s.Made] = i + 1
		}
	}
	return nil
}
